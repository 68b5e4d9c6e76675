/**
 * Lookups answered together give each caller what its own statement would: the same rows in the same order, and errors of its
 * own; one caller that leaves stops nobody else.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Engine, Row } from '../../src/engine/types.ts'
import { AppError } from '../../src/errors.ts'
import { type DatasetName, datasetOf } from '../../src/model/datasets.ts'
import { type PeriodChoice, planRecord } from '../../src/query/lists/list.ts'
import { planLookup, type RecordKey } from '../../src/query/lists/lookup.ts'
import { createLookups } from '../../src/query/lists/lookup-batches.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { print, sql, table } from '../../src/sql.ts'
import { makeSmallRelease, openReleases } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const { engine, store, close } = await openReleases(small.releasesDir, 2, 0)
t.teardown(close)
const view = store.current() as ReleaseView
const PERIODS = [202604, 202605] as const

/** The engine, with every statement counted and something done before it runs. */
function watch(
  before: (statement: number, signal: AbortSignal | undefined) => Promise<void> | void = () => {},
) {
  let statements = 0
  const run: Engine['run'] = async (statement, release, options = {}) => {
    statements += 1
    await before(statements, options.signal)
    return engine.run(statement, release, options)
  }
  return { run, statements: () => statements }
}
const alone = (dataset: DatasetName, key: RecordKey, period: PeriodChoice): Promise<Row[]> =>
  engine.run(planRecord(datasetOf(dataset), key, period), view)
const column = async (dataset: DatasetName, name: string, limit: number): Promise<(string | number)[]> =>
  (
    await engine.run(
      sql`SELECT DISTINCT ${{ parts: [{ kind: 'text', text: name }] }} AS value FROM ${table(dataset)} ORDER BY hash(value) LIMIT ${limit}`,
      view,
    )
  ).map(({ value }) => value as string | number)

t.test('each caller gets the rows of its own statement', async (t) => {
  const facilities = await column('facilities', 'cnes_code', 30)
  // Twice, absent, shorter, with what SQL would read: all are keys like any other.
  const codes = [...facilities, facilities[0] ?? '', '0000000', '1', "'; --", ...facilities.slice(3, 6)]
  const scoped = ['facilities', 'bed_capacity', 'equipment_inventory', 'specialized_services'] as const
  const wanted: { dataset: DatasetName; key: RecordKey; period: PeriodChoice }[] = scoped.flatMap((dataset) =>
    [...PERIODS, 'all' as const].flatMap((period) =>
      codes.map((cnes_code) => ({ dataset, key: { cnes_code }, period })),
    ),
  )
  for (const ibge_code of [...(await column('municipalities', 'ibge_code', 20)), 1, 9_999_999_999])
    wanted.push({ dataset: 'municipalities', key: { ibge_code }, period: null })
  for (const municipality_code of await column('population', 'municipality_code', 20))
    wanted.push({ dataset: 'population', key: { municipality_code }, period: null })
  const types = await engine.run(
    sql`SELECT category_code, equipment_code FROM ${table('equipment_types')} LIMIT 20`,
    view,
  )
  for (const { category_code, equipment_code } of types as {
    category_code: string
    equipment_code: string
  }[]) {
    wanted.push({ dataset: 'equipment_types', key: { category_code, equipment_code }, period: null })
    // Each half exists, together they may not; and columns in another order.
    wanted.push({ dataset: 'equipment_types', key: { equipment_code: '01', category_code }, period: null })
    wanted.push({ dataset: 'equipment_types', key: { category_code }, period: null })
  }
  const watched = watch()
  const lookups = createLookups(watched, { waitingMax: 10_000 })
  const together = await Promise.all(
    wanted.map(({ dataset, key, period }) => lookups.find(view, dataset, key, period)),
  )
  t.ok(watched.statements() < wanted.length / 10, `${watched.statements()} statements`)
  let many = 0
  for (const [index, { dataset, key, period }] of wanted.entries()) {
    const own = await alone(dataset, key, period)
    if (own.length > 1) many += 1
    const isSame = JSON.stringify(together[index]) === JSON.stringify(own)
    if (!isSame) t.same(together[index], own, `${dataset} ${JSON.stringify(key)} ${period}`)
  }
  t.ok(many > 20, `${many} keys with several rows`)
})

t.test('those that come while a statement runs go together in the next, so many at most', async (t) => {
  const keys = (await column('facilities', 'cnes_code', 11)).map((cnes_code) => ({ cnes_code }))
  const more: Promise<readonly Row[]>[] = []
  const find = (key: RecordKey) => lookups.find(view, 'facilities', key, 202605)
  const watched = watch((statement) => {
    if (statement === 1) more.push(...keys.slice(1).map(find), ...keys.slice(1).map(find))
  })
  const lookups = createLookups(watched, { waitingMax: 100, keysMax: 4 })
  t.equal((await find(keys[0] ?? {})).length, 1)
  const found = await Promise.all(more)
  t.equal(watched.statements(), 1 + Math.ceil(10 / 4), 'the same key twice is looked up once')
  t.same(
    found.map(([row]) => row?.cnes_code),
    [...keys.slice(1), ...keys.slice(1)].map(({ cnes_code }) => cnes_code),
  )
})

t.test('a client that leaves is told at once, and stops nobody else', async (t) => {
  const [first = '', second = ''] = await column('facilities', 'cnes_code', 2)
  const leaves = new AbortController()
  let isStopped: boolean | undefined
  const lookups = createLookups(
    watch((_, signal) => {
      leaves.abort()
      isStopped = signal?.aborted
    }),
    { waitingMax: 100 },
  )
  const find = (cnes_code: string | number, signal?: AbortSignal) =>
    lookups.find(view, 'facilities', { cnes_code }, 202605, signal)
  const gone = t.rejects(find(first, leaves.signal), {
    code: 'query_timeout',
    message: 'The client has left.',
  })
  t.equal((await find(second))[0]?.cnes_code, second)
  await gone
  t.equal(isStopped, false)
  await t.rejects(find(first, leaves.signal), { code: 'query_timeout' }, 'who has left before')
  t.equal((await find(first))[0]?.cnes_code, first, 'the key is looked up again')
})

t.test(
  'a statement that nobody waits for is interrupted, and one that has not begun never does',
  async (t) => {
    const [first = '', second = ''] = await column('facilities', 'cnes_code', 2)
    const leave = [new AbortController(), new AbortController()]
    const never = new AbortController()
    let isStopped: boolean | undefined
    const watched = watch((_, signal) => {
      void find(second, never.signal).catch(() => {})
      for (const each of [...leave, never]) each.abort()
      isStopped = signal?.aborted
    })
    const lookups = createLookups(watched, { waitingMax: 100 })
    const find = (cnes_code: string | number, signal?: AbortSignal) =>
      lookups.find(view, 'facilities', { cnes_code }, 202605, signal)
    await Promise.all(leave.map(({ signal }) => t.rejects(find(first, signal), { code: 'query_timeout' })))
    t.equal(isStopped, true)
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.equal(watched.statements(), 1)
  },
)

t.test('records that some statements have read are held in memory, the same to the last byte', async (t) => {
  const own = await openReleases(small.releasesDir, 2)
  t.teardown(own.close)
  const release = own.store.current() as ReleaseView
  const lookups = createLookups(own.engine, { waitingMax: 1000 })
  const codes = (await column('facilities', 'cnes_code', 60)) as string[]
  for (const dataset of ['facilities', 'bed_capacity', 'specialized_services'] as const) {
    const find = (cnes_code: string) => lookups.find(release, dataset, { cnes_code }, 202605)
    const expected = JSON.stringify(
      await Promise.all(codes.map((cnes_code) => alone(dataset, { cnes_code }, 202605))),
    )
    for (const code of codes.slice(0, 12)) await find(code)
    const file = join(
      small.releasesDir,
      small.result.cnes ?? '',
      dataset,
      'reference_period=202605/part-0.parquet',
    )
    // It waits for what is being loaded, and is a no-op otherwise.
    await own.engine.warm(release)
    // Only what is in memory answers without the file.
    renameSync(file, `${file}.away`)
    t.teardown(() => renameSync(`${file}.away`, file))
    const found = await Promise.all(codes.map(find)).then(JSON.stringify, String)
    t.same(await find('0000000'), [], 'a key that nothing has')
    t.equal(found, expected, dataset)
    t.equal(
      JSON.stringify([await find(codes[0] ?? '')]),
      JSON.stringify(JSON.parse(expected).slice(0, 1)),
      'alone',
    )
  }
})

t.test(
  'the list of keys is tried in files only: it would keep DuckDB from the index of a table in memory',
  async (t) => {
    for (const period of [202605, 'all', null] as const) {
      const dataset = datasetOf(period === null ? 'municipalities' : 'facilities')
      const [name = ''] = dataset.key
      const statement = planLookup(dataset, [{ [name]: '1' }, { [name]: '2' }], period)
      const textOf = (held: string | null) =>
        print(
          statement,
          (relation) => relation,
          () => held,
        ).text
      t.match(textOf(null), /list_contains/)
      t.equal(textOf('held').includes('list_contains'), period !== 202605)
    }
  },
)

t.test('a month that does not fit the bound is read from its file', async (t) => {
  const own = await openReleases(small.releasesDir, 2, 2 ** 20)
  t.teardown(own.close)
  const release = own.store.current() as ReleaseView
  const lookups = createLookups(own.engine, { waitingMax: 1000 })
  const find = (cnes_code: string) => lookups.find(release, 'facilities', { cnes_code }, 202605)
  const codes = (await column('facilities', 'cnes_code', 12)) as string[]
  for (const code of codes) await find(code)
  await own.engine.warm(release)
  for (const cnes_code of codes)
    t.same(await find(cnes_code), await alone('facilities', { cnes_code }, 202605))
  const file = join(
    small.releasesDir,
    small.result.cnes ?? '',
    'facilities/reference_period=202605/part-0.parquet',
  )
  renameSync(file, `${file}.away`)
  t.teardown(() => renameSync(`${file}.away`, file))
  await t.rejects(find(codes[0] ?? ''), { code: 'release_damaged' })
})

t.test('errors', async (t) => {
  const [first = '', second = '', third = ''] = await column('facilities', 'cnes_code', 3)
  const failing = (code: 'internal' | 'query_timeout', statements: number) =>
    createLookups(
      watch((statement) => {
        if (statement <= statements) throw new AppError(code)
      }),
      { waitingMax: 2 },
    )
  const find = (
    lookups: ReturnType<typeof createLookups>,
    cnes_code: string | number,
    name: DatasetName = 'facilities',
  ) => lookups.find(view, name, { cnes_code }, 202605)

  const once = failing('internal', 1)
  const both = [find(once, first), find(once, second)]
  await t.rejects(find(once, third), { code: 'overloaded', headers: { 'Retry-After': '1' } }, 'one too many')
  t.same(
    (await Promise.all(both)).map(([row]) => row?.cnes_code),
    [first, second],
    'what failed together is tried alone',
  )
  t.equal((await find(once, third)).length, 1, 'nobody waits any more')

  const twice = failing('internal', 2)
  const results = await Promise.allSettled([find(twice, first), find(twice, second)])
  t.same(
    results.map(({ status }) => status),
    ['rejected', 'fulfilled'],
    'who fails alone fails alone',
  )
  const late = failing('query_timeout', 1)
  const timedOut = [find(late, first), find(late, second)]
  for (const each of timedOut) await t.rejects(each, { code: 'query_timeout' })
  t.equal((await find(late, first)).length, 1)
})
