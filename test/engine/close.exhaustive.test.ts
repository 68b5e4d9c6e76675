/** An engine that closes while statements run: each of them ends, and no thread is left that would hold the process. */
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createEngine } from '../../src/engine/duckdb/engine.ts'
import { openStore } from '../../src/release/store.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { sql } from '../../src/sql.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const STATEMENTS = 8
const { releasesDir } = await makeSmallRelease()
const store = await openStore({ releasesDir })
const view = store.current() as ReleaseView
store.close()

t.test('closing ends the statements that run and those that wait', async (t) => {
  const engine = await createEngine({
    releasesDir,
    memory: '256MB',
    threads: 2,
    timeoutMs: 60_000,
    concurrency: 3,
    queue: 100,
  })
  await engine.open(view)
  const slow = sql`SELECT sum(a.range * b.range) AS total FROM range(1000000) a, range(1000000) b`
  const ends = Array.from({ length: STATEMENTS }, () =>
    engine.run(slow, view).then(
      () => 'answered',
      () => 'ended',
    ),
  )
  await wait(200)
  t.equal(engine.stats().running, 3)
  const closed = engine.close().then(() => 'closed')
  const all = Promise.all([...ends, closed])
  t.same(await Promise.race([all, wait(10_000).then(() => 'never')]), [
    ...Array.from({ length: STATEMENTS }, () => 'ended'),
    'closed',
  ])
})
