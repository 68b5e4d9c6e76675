/** Reports that fail leave nothing behind: no connection of the engine, no file, no job that nobody waits for. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { buildReport } from '../../src/report/build.ts'
import { createReportPool } from '../../src/report/pool.ts'
import { workerEntry } from '../../src/workers/entry.ts'
import { makeSmallRelease, openReleases, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const { engine, store, close } = await openReleases(small.releasesDir)
t.teardown(close)
const view = store.current() as ReleaseView
const folder = temporaryFolder('failures')
const body = { metrics: ['bed_capacity_existing'], group_by: ['state'] }
const parts = { engine, view, capabilities: CAPABILITIES, language: 'pt', sign: null } as const

t.test('a report whose file cannot be made gives its connection back', async (t) => {
  for (let turn = 0; turn < 6; turn += 1)
    await t.rejects(buildReport(body, 'csv', join(folder, 'absent/report.csv'), parts), { code: 'ENOENT' })
  t.equal(engine.stats().running, 0)
  t.equal((await buildReport(body, 'csv', join(folder, 'report.csv'), parts)).rows, 27)
})

t.test('a worker that dies takes its file with it, and the next report gets a new one', async (t) => {
  const entry = join(folder, 'worker.mjs')
  writeFileSync(
    entry,
    `import { writeFileSync } from 'node:fs'
process.on('message', ({ file }) => {
  writeFileSync(file, 'half a report')
  process.exit(3)
})
`,
  )
  const before = process.env.TMPDIR
  process.env.TMPDIR = join(folder, 'reports')
  mkdirSync(process.env.TMPDIR)
  const pool = createReportPool({
    worker: { releasesDir: '', memory: '', threads: 1, timeoutMs: 1, signingKeyFile: '' },
    entry: { file: entry, execArgv: [] },
    queue: 4,
    heapMb: 64,
  })
  const own = join(process.env.TMPDIR, readdirSync(process.env.TMPDIR)[0] ?? '')
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  // The worker alone keeps no process alive.
  const alive = setInterval(() => undefined, 1000)
  t.teardown(async () => {
    clearInterval(alive)
    await pool.close()
  })
  const job = { owner: 'k', body, format: 'csv', view, capabilities: CAPABILITIES, language: 'pt' } as const
  for (let turn = 0; turn < 2; turn += 1)
    await t.rejects(pool.build(job, new AbortController().signal), { code: 'internal' })
  t.same(readdirSync(own), [])
  await t.rejects(pool.build(job, AbortSignal.abort()), { code: 'query_timeout' }, 'its client has left')
  t.same(readdirSync(own), [])
})

t.test('who signals all processes of the server interrupts no report, and its end is theirs', async (t) => {
  const { releasesDir } = small
  const settings = { releasesDir, memory: '256MB', threads: 1, timeoutMs: 30_000, signingKeyFile: '' }
  const { file, execArgv } = workerEntry('report')
  const worker = fork(file, [JSON.stringify(settings)], {
    execArgv: [...execArgv],
    serialization: 'advanced',
  })
  const make = async (id: number): Promise<unknown> => {
    const job = { body, format: 'csv', view, capabilities: CAPABILITIES, language: 'pt' }
    worker.send({ kind: 'build', id, file: join(folder, `${id}.csv`), job })
    return (await once(worker, 'message'))[0]
  }
  t.match(await make(1), { kind: 'built', report: { rows: 27 } })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) worker.kill(signal)
  t.match(await make(2), { kind: 'built', report: { rows: 27 } })
  worker.disconnect()
  t.same(await once(worker, 'exit'), [0, null])
})
