/**
 * What is held in memory and what was added up before change no answer: seeded questions are asked of the files alone, of
 * tables in memory, and of a release without pre-aggregates. And it is bounded, and given back.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { answerQuery } from '../../src/analytics/query.ts'
import { createResidentTables } from '../../src/engine/duckdb/resident-tables.ts'
import type { Engine } from '../../src/engine/types.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { datasetOf } from '../../src/model/datasets.ts'
import { type DimensionCode, dimensionOf } from '../../src/model/dimensions.ts'
import type { MetricCode } from '../../src/model/metrics.ts'
import { isTime } from '../../src/model/periods.ts'
import { PRE_AGGREGATE_NAMES } from '../../src/model/pre-aggregates.ts'
import { allowedDimensions } from '../../src/query/analytics/checks.ts'
import { planAggregate } from '../../src/query/analytics/plan.ts'
import { choosePreAggregates } from '../../src/query/analytics/pre-aggregates.ts'
import { parseQuery } from '../../src/query/analytics/request.ts'
import { residentRelations } from '../../src/query/analytics/resident-relations.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { sql, table } from '../../src/sql.ts'
import { createDraws } from '../fixtures/draws.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { REGISTRY_METRICS } from '../fixtures/registry-metrics.ts'
import { cases } from '../fixtures/rings.ts'
import { makeEngine, makeSmallRelease, openReleases, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const QUESTIONS = cases(120, 30)
/** Pages of the files that DuckDB keeps beside. */
const FILE_CACHE = 2 ** 23
const small = await makeSmallRelease('admissions')
const warm = await openReleases(small.releasesDir, 2, RESIDENT_BYTES)
const cold = await openReleases(small.releasesDir, 2)
const bareId = await forgeRelease(small.releasesDir, small.result.analytics, (folder, manifest) => {
  for (const name of PRE_AGGREGATE_NAMES) rmSync(join(folder, name), { recursive: true, force: true })
  manifest.datasets = {}
  manifest.files = []
})
const view = warm.store.current() as ReleaseView
const bare = (await warm.store.pin(bareId)) as ReleaseView
await warm.engine.warm(view)
t.teardown(async () => {
  await warm.close()
  await cold.close()
})

const { draw, pick, shuffle } = createDraws(2026)
const some = <Item>(items: readonly Item[], count: number): Item[] => shuffle(items).slice(0, count)

/** Coarser periods are no columns of tables; areas-oracle draws questions by them. */
const drawnDimensions = (code: MetricCode): DimensionCode[] =>
  allowedDimensions(code).filter((dimension) => dimension === 'reference_period' || !isTime(dimension))
const MEMBERS = new Map<string, (string | number)[]>()
for (const code of drawnDimensions('bed_capacity_existing').concat(
  drawnDimensions('equipment_existing'),
  drawnDimensions('service_offerings'),
  drawnDimensions('population_by_age'),
)) {
  const dimension = dimensionOf(code)
  const dataset = dimension.datasets.find((name) => name !== 'facilities') ?? 'facilities'
  // Places that no fact carries are those of the municipalities.
  const from =
    dimension.derivedFrom !== undefined
      ? table('municipalities')
      : table(dataset, datasetOf(dataset).periodic ? 202605 : null)
  const rows = await cold.engine.run(
    sql`SELECT DISTINCT ${{ parts: [{ kind: 'text', text: dimension.column }] }} AS code FROM ${from} ORDER BY code LIMIT 60`,
    view,
  )
  const codes = rows.flatMap(({ code: value }) =>
    typeof value === 'string' || typeof value === 'number' ? [value] : [],
  )
  // A code that nothing has, too, where any text may be one.
  MEMBERS.set(
    code,
    ['municipality', 'reference_period', 'region', 'state', 'sex', 'age_group'].includes(code)
      ? codes
      : [...codes, 'none'],
  )
}

interface Question {
  readonly metrics: readonly string[]
  readonly group_by: readonly string[]
  readonly [name: string]: unknown
}

function drawQuestion(turn: number): Question {
  const first = REGISTRY_METRICS[turn % REGISTRY_METRICS.length] as MetricCode
  const dimensions = drawnDimensions(first).filter((code) => code !== 'facility' || turn % 7 === 0)
  const group_by = some(dimensions, draw(4)).filter(
    (code) => code !== 'facility' || !first.includes('per_100k'),
  )
  const used = [...group_by]
  const filters = some(
    dimensions.filter((code) => code !== 'reference_period' && code !== 'facility'),
    draw(3),
  ).map((dimension) => {
    used.push(dimension)
    const members = MEMBERS.get(dimension) ?? []
    const operator = pick(['EQ', 'IN', 'NEQ', 'NOT_IN'])
    const value = operator.endsWith('IN') ? some(members, 1 + draw(4)) : pick(members)
    return { dimension, operator, value }
  })
  const fitting = REGISTRY_METRICS.filter(
    (code) =>
      used.every((dimension) => allowedDimensions(code).includes(dimension)) &&
      !(group_by.includes('facility') && code.includes('per_100k')),
  )
  const metrics = [...new Set([first, ...some(fitting, draw(6))])]
  const over_period =
    group_by.includes('reference_period') || turn % 3 > 0 || drawnDimensions(first).length < 4
      ? null
      : pick(['last', 'first', 'avg', 'max'])
  const order_by =
    turn % 2 === 0 ? [] : [{ field: pick([...metrics, ...group_by]), direction: pick(['asc', 'desc']) }]
  return {
    metrics,
    group_by,
    filters,
    over_period,
    order_by,
    limit: 1 + draw(300),
    offset: pick([0, 0, 0, 5]),
  }
}

const ask = (engine: Engine, of: ReleaseView, body: unknown) =>
  answerQuery(body, { engine, view: of, capabilities: CAPABILITIES, language: 'pt' })

t.test('memory and pre-aggregates change no answer', async (t) => {
  const wrong: string[] = []
  let added = 0
  for (let turn = 0; turn < QUESTIONS; turn += 1) {
    const question = drawQuestion(turn)
    const plan = planAggregate(parseQuery(question), view, CAPABILITIES)
    if (choosePreAggregates(plan, view).datasets.some(({ source }) => source !== null)) added += 1
    const fromFiles = await ask(cold.engine, view, question)
    if (JSON.stringify(await ask(warm.engine, view, question)) !== JSON.stringify(fromFiles))
      wrong.push(JSON.stringify(question))
    for (const engine of [cold.engine, warm.engine]) {
      const { data, meta, pagination } = await ask(engine, bare, question)
      const same = [data, pagination, meta.rows_sha256, meta.notes]
      if (
        JSON.stringify(same) !==
        JSON.stringify([
          fromFiles.data,
          fromFiles.pagination,
          fromFiles.meta.rows_sha256,
          fromFiles.meta.notes,
        ])
      )
        wrong.push(`without pre-aggregates: ${JSON.stringify(question)}`)
    }
  }
  t.same(wrong.slice(0, 5), [], `${QUESTIONS} questions`)
  t.ok(added > QUESTIONS / 4, `${added} of them from pre-aggregates`)
})

t.test('the facts in memory give the same, too', async (t) => {
  await warm.engine.warm(bare)
  const wrong: string[] = []
  for (let turn = 0; turn < QUESTIONS / 2; turn += 1) {
    const question = drawQuestion(turn)
    const [one, other] = [await ask(cold.engine, bare, question), await ask(warm.engine, bare, question)]
    if (JSON.stringify(one) !== JSON.stringify(other)) wrong.push(JSON.stringify(question))
  }
  t.same(wrong.slice(0, 5), [])
})

t.test('months of one relation are found as far as they were loaded', async (t) => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const selectOf = (period: number): string =>
    `SELECT 'code ' || (number * ${period % 7}) AS code, number, ${period} AS reference_period FROM range(100) AS numbers(number)`
  const periods = [202603, 202602, 202601, 202512]
  const relation = {
    name: 'sums',
    rows: 400,
    select: periods.map(selectOf).join(' UNION ALL BY NAME '),
    codes: ['code'],
    number: null,
    months: periods.map((period) => ({ period, rows: 100, select: selectOf(period) })),
  }
  const load = async (database: string, bytesMax: number) => {
    const tables = createResidentTables(connection, { prefix: database, bytesMax, totalBytesMax: 2 ** 30 })
    await tables.load([relation])
    return tables
  }
  const all = await load('all', 2 ** 28)
  for (const asked of [periods, [202603], [202602, 202512], [202512, 202601], [202603, 202603], [202601]]) {
    const wanted = [...new Set(asked)].map(selectOf).join(' UNION ALL ')
    const [found, same] = await Promise.all(
      [`${all.find('sums', asked)}`, `(${wanted})`].map(async (from) =>
        (await connection.runAndReadAll(`SELECT * FROM ${from} ORDER BY ALL`)).getRows(),
      ),
    )
    t.same(found, same, asked.join())
  }
  t.equal(all.find('sums', [202603, 202511]), null, 'a month that the release does not have')
  // Room for what one month is estimated to take, but not for another beside it.
  const few = await load('few', 100_000)
  t.type(few.find('sums', [202603]), 'string', 'the newest')
  t.equal(few.find('sums', [202603, 202512]), null, 'not all of them')
  for (const tables of [all, few]) await tables.drop()
  connection.closeSync()
  instance.closeSync()
})

t.test('a relation is loaded and compressed while statements read another one', async (t) => {
  const instance = await DuckDBInstance.create(':memory:')
  const [loader, reader] = [await instance.connect(), await instance.connect()]
  const relation = (name: string, rows: number) => ({
    name,
    rows,
    select: `SELECT number // 1000 AS number, number % 7 AS code FROM range(${rows}) AS numbers(number)`,
    codes: [],
    number: null,
  })
  const tables = createResidentTables(loader, {
    prefix: 'busy',
    bytesMax: 2 ** 30,
    totalBytesMax: 2 ** 30,
  })
  await tables.load([relation('first', 300_000)])
  const stream = await reader.stream(
    `SELECT a.code FROM ${tables.find('first')} a, range(1000) LIMIT 100000000`,
  )
  await stream.fetchChunk()
  await tables.load([relation('second', 1_000_000)])
  const before = await stream.fetchChunk()
  t.ok((before?.rowCount ?? 0) > 0, 'the first is still being read')
  const [counted] = (await loader.runAndReadAll(`SELECT count(*) FROM ${tables.find('second')}`)).getRows()
  t.same(counted, [1_000_000n])
  t.ok(tables.bytes() < 4_000_000, `${tables.bytes()} bytes instead of 16 a row`)
  reader.closeSync()
  await tables.drop()
  loader.closeSync()
  instance.closeSync()
})

const open = (residentBytes: number): Promise<Engine> =>
  makeEngine(small.releasesDir, {
    queue: 200,
    resident: { bytes: residentBytes, relations: residentRelations },
  })

t.test('what is held is bounded, and given back with the release', async (t) => {
  const held: number[] = []
  for (const bound of [0, 2 ** 24, 2 ** 28]) {
    const engine = await open(bound)
    await engine.open(view)
    const before = await engine.memoryBytes()
    await engine.warm(view)
    const grown = (await engine.memoryBytes()) - before
    held.push(grown)
    t.ok(grown <= bound + FILE_CACHE, `${grown} bytes of ${bound}`)
    await ask(engine, view, { metrics: ['bed_capacity_existing'], group_by: ['state'] })
    await engine.release(view.id)
    t.ok((await engine.memoryBytes()) <= before + FILE_CACHE, `${await engine.memoryBytes()} bytes after`)
    await engine.close()
  }
  t.ok((held[2] ?? 0) > 1.5 * (held[1] ?? 0), `${held}`)
})

t.test('a release that is used but not in service gets its tables, too', async (t) => {
  const engine = await open(2 ** 28)
  await engine.warm(view)
  await engine.open(bare)
  const before = await engine.memoryBytes()
  const question = { metrics: ['facilities_count'], group_by: ['state'] }
  for (let turn = 0; turn < 10; turn += 1) await ask(engine, bare, question)
  const hasGrown = async (): Promise<boolean> => (await engine.memoryBytes()) > before + 2 ** 20
  // A table takes more before it is compressed, so one reading does not say that it stays.
  let readings = 0
  for (let turn = 0; turn < 600 && readings < 5; turn += 1) {
    readings = (await hasGrown()) ? readings + 1 : 0
    await pause(100)
  }
  t.equal(readings, 5, 'they are beside those of the release in service')
  t.same((await ask(engine, bare, question)).data, (await ask(cold.engine, bare, question)).data)
  await engine.close()
})

t.test('questions are answered while tables come and go', async (t) => {
  const engine = await open(2 ** 28)
  const question = {
    metrics: ['bed_capacity_existing', 'equipment_existing_per_100k', 'service_facilities'],
    group_by: ['municipality'],
  }
  const expected = JSON.stringify((await ask(cold.engine, view, question)).data)
  let isOver = false
  const asking = [...Array(6)].map(async () => {
    let answers = 0
    for (; !isOver; answers += 1)
      for (const of of [view, bare])
        if (JSON.stringify((await ask(engine, of, question)).data) !== expected) return -1
    return answers
  })
  for (let turn = 0; turn < 2; turn += 1) {
    await engine.warm(view)
    await engine.warm(bare)
    await engine.release(bare.id)
  }
  isOver = true
  t.ok((await Promise.all(asking)).every((answers) => answers > 0))
  await engine.close()
})
