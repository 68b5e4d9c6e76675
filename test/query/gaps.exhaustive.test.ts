/**
 * Answers about what was not collected: the oracle, laws, lineage and reports over the demonstration of which months, tables and
 * states are missing, and over one state's files of it. What was published is told by the names of the files alone.
 *
 * The first ring draws a sample of the second's questions.
 */
import { cpSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { metricOf } from '../../src/model/metrics.ts'
import { writePointer } from '../../src/release/writer.ts'
import { REPORT_FORMAT_NAMES } from '../../src/report/formats.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { disagreement } from '../fixtures/lineage-sums.ts'
import { expect } from '../fixtures/options-oracle.ts'
import {
  answer,
  COLUMNS,
  cellOf,
  type DatasetName,
  DIMENSIONS_OF,
  datasetOf,
  type Filter,
  isPerPeople,
  type OracleData,
  type Question,
} from '../fixtures/oracle.ts'
import { readOracleData } from '../fixtures/oracle-data.ts'
import { REGISTRY_METRICS } from '../fixtures/registry-metrics.ts'
import { cases, countOf, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES, temporaryFolder } from '../fixtures/small-release.ts'

const { draw, pick, shuffle } = createDraws(41)
const DATASETS = ['facilities', 'beds', 'equipment', 'services'] as const
const GROUPS = { ST: 'facilities', LT: 'beds', EQ: 'equipment', SR: 'services' } as const

/** The data of a release, with what was published as the names of the files say. */
async function oracleDataOf(client: Client, snapshots: string, onlyState?: string): Promise<OracleData> {
  const states = readdirSync(snapshots, { recursive: true, encoding: 'utf8' })
  const published: Record<DatasetName, Record<string, string[]>> = {
    facilities: {},
    beds: {},
    equipment: {},
    services: {},
  }
  const byState = new Set<string>()
  const national = new Set<string>()
  for (const path of states) {
    const base = /^BASE_DE_DADOS_CNES_(\d{4})(\d{2})\.ZIP$/.exec(basename(path))
    if (base !== null) national.add(`${base[1]}-${base[2]}`)
    const found = /^(ST|LT|EQ|SR)([A-Z]{2})(\d{2})(\d{2})\.dbf$/.exec(basename(path))
    if (found === null) continue
    const [, group, uf = '', year, month] = found
    const table = published[GROUPS[group as keyof typeof GROUPS]]
    const period = `20${year}-${month}`
    byState.add(period)
    table[period] = [...(table[period] ?? []), uf]
  }
  const data = await readOracleData(client, [...byState, ...national].sort())
  for (const period of national)
    for (const table of DATASETS) published[table][period] = data.states.map(({ uf }) => String(uf))
  // Files by state publish the legal nature from 2012 on, and since 2010 their columns of providers say nothing.
  const carries = (dimension: string, _state: string, month: string): boolean =>
    !byState.has(month) ||
    (dimension === 'legal_nature'
      ? month >= '2012'
      : !['provider_kind', 'service_characteristic'].includes(dimension) || month < '2010')
  return {
    ...data,
    published,
    byState: [...byState],
    carries,
    ...(onlyState === undefined ? {} : { onlyState }),
  }
}

const gaps = await makeSmallRelease('gaps')
const client = await openClient(gaps.releasesDir, 1, { residentBytes: RESIDENT_BYTES })
const data = await oracleDataOf(client, gaps.snapshots)
t.teardown(() => client.close())

const isOwn = (path: string): boolean => !/\.(ZIP|dbf)$/.test(path) || /^..RR\d{4}\.dbf$/.test(basename(path))
const oneState = temporaryFolder('one-state')
cpSync(gaps.snapshots, oneState, {
  recursive: true,
  filter: (path) => !path.includes('/cnes/') || isOwn(path),
})
const oneReleases = join(temporaryFolder('one-state-releases'), 'releases')
const oneImport = await importPaths([oneState], { releasesDir: oneReleases, maxRejected: 0.01 })
writePointer(oneReleases, oneImport.analytics)
const ofOne = await openClient(oneReleases)
const dataOfOne = await oracleDataOf(ofOne, oneState, 'RR')
t.teardown(() => ofOne.close())

const SIDES = [
  { name: 'months of the country and by state', client, data },
  { name: 'one state', client: ofOne, data: dataOfOne },
]

let cells = 0
let nulls = 0
/** @returns the first differences between an answer and the oracle's */
async function differences(question: Question, of: (typeof SIDES)[number]): Promise<string[]> {
  const expected = answer(question, of.data)
  const found: string[] = []
  let rows = 0
  let isNull = false
  for (let offset = 0; ; offset += 10_000) {
    const { status, body, text } = await of.client.query({ ...question, limit: 10_000, offset })
    if (status !== 200) return [`${status} ${text.slice(0, 300)}`]
    rows += body.data.length
    for (const { dimensions, metrics } of body.data) {
      const key = JSON.stringify(question.group_by.map((group) => dimensions[group].code))
      const wanted = expected.get(key)
      if (wanted === undefined) {
        found.push(`${key} is no group`)
        continue
      }
      for (const metric of question.metrics) {
        const want = wanted[metric] ?? null
        cells += 1
        if (want === null) nulls += 1
        if (metrics[metric] === null && !isPerPeople(metric) && metricOf(metric as never).kind !== 'ratio')
          isNull = true
        if (metrics[metric] !== (want === null ? null : Number(want)))
          found.push(`${key} ${metric}: ${metrics[metric]} for ${want}`)
      }
    }
    if (isNull && body.meta.notes.length === 0) found.push('null without a note')
    if (!body.pagination.has_more) break
  }
  if (rows !== expected.size) found.push(`${rows} groups for ${expected.size}`)
  return found
}

const metricsOf = (dataset: DatasetName): string[] =>
  REGISTRY_METRICS.map(String).filter((code) => datasetOf(code) === dataset)
const STATES = ['RR', 'AC', 'AP', 'SP']

/** Months, by any operator that names them. */
function drawMonths(of: OracleData): Filter[] {
  const dimension = 'reference_period'
  const [one = '', other = one] = shuffle([...of.periods, ...NOT_HERE])
  switch (draw(6)) {
    case 0:
    case 1:
      return [
        {
          dimension,
          operator: pick(['IN', 'NOT_IN'] as const),
          value: shuffle([...of.periods, '2026-03']).slice(0, 1 + draw(3)),
        },
      ]
    case 2:
      return [{ dimension, operator: 'BETWEEN', value: [one, other].sort() }]
    case 3: {
      // Ranges without an end, and two that leave a few months.
      const above: Filter = { dimension, operator: pick(['GT', 'GTE'] as const), value: one }
      const below: Filter = { dimension, operator: pick(['LT', 'LTE'] as const), value: other }
      return pick([[above], [below], [above, below]])
    }
    default:
      return []
  }
}
/** Months that the publisher has and nobody collected, one before its first, and one that is yet to come. */
const NOT_HERE = ['2026-03', '2025-12', '2005-01', '2027-01']

function drawPlaces(): Filter[] {
  const operator = pick(['IN', 'NOT_IN'] as const)
  switch (draw(6)) {
    case 0:
    case 1:
      return [{ dimension: 'state', operator: 'IN', value: shuffle(STATES).slice(0, 1 + draw(2)) }]
    case 2:
      return [{ dimension: 'state', operator, value: shuffle(STATES).slice(0, 1 + draw(3)) }]
    case 3:
      return [
        {
          dimension: 'municipality',
          operator,
          value: shuffle(data.municipalities.filter(({ uf }) => STATES.includes(String(uf))))
            .slice(0, 1 + draw(3))
            .map(({ ibge_code }) => ibge_code as number),
        },
      ]
    case 4:
      return [{ dimension: 'health_region', operator, value: [pick(['14001', '12001', '16001'])] }]
    default:
      return []
  }
}

function drawOther(dataset: DatasetName, of: OracleData): Filter[] {
  const dimension = pick(
    DIMENSIONS_OF[dataset].filter((code) => !['reference_period', 'state', 'municipality'].includes(code)),
  )
  if (of.facts[dataset].length === 0) return []
  const code = cellOf(pick(of.facts[dataset]), COLUMNS[dimension] ?? '', of)
  return code === null || code === undefined
    ? []
    : [{ dimension, operator: pick(['EQ', 'NEQ'] as const), value: code as string | number }]
}

/** A question about a table: some metrics, groups, places, months, and a filter of another kind. */
function drawQuestion(dataset: DatasetName, of: OracleData): Question {
  const group_by = shuffle(
    DIMENSIONS_OF[dataset].filter((code) => code !== 'facility' || draw(3) === 0),
  ).slice(0, draw(3))
  const filters = [...drawPlaces(), ...drawMonths(of), ...(draw(3) === 0 ? drawOther(dataset, of) : [])]
  const usable = metricsOf(dataset).filter((code) => !(group_by.includes('facility') && isPerPeople(code)))
  const isByMonth = group_by.includes('reference_period')
  const needsOne = filters.some(({ dimension }) => dimension === 'reference_period')
  const over =
    !isByMonth && (needsOne || draw(3) === 0)
      ? { over_period: pick(['last', 'first', 'avg', 'max'] as const) }
      : {}
  return { metrics: shuffle(usable).slice(0, 12), group_by, filters, ...over }
}

for (const side of SIDES)
  t.test(`${side.name}: drawn questions against the oracle`, async (t) => {
    const wrong: string[] = []
    ;[cells, nulls] = [0, 0]
    for (let turn = 0; turn < countOf(100, 10); turn += 1) {
      const question = drawQuestion(DATASETS[turn % 4] as DatasetName, side.data)
      const found = await differences(question, side)
      if (found.length > 0) wrong.push(`${JSON.stringify(question)}: ${found.slice(0, 3).join('; ')}`)
    }
    t.same(wrong.slice(0, 8), [], `${wrong.length} wrong; ${cells} cells, ${nulls} of them null`)
    t.ok(nulls > cells / 100 && nulls < cells, `${nulls} of ${cells} cells are null`)
  })

const byKey = (rows: readonly AnswerRow[]): Map<string, AnswerRow> =>
  new Map(rows.map((row) => [JSON.stringify(Object.values(row.dimensions).map(({ code }) => code)), row]))
interface AnswerRow {
  readonly dimensions: Record<string, { code: unknown }>
  readonly metrics: Record<string, number | null>
}
const isAdditive = (code: string): boolean =>
  ['sum', 'count'].includes(metricOf(code as (typeof REGISTRY_METRICS)[number]).kind)

t.test('no month, and no health region', async (t) => {
  const inStates = (value: string[]): Filter => ({ dimension: 'state', operator: 'IN', value })
  const before = await ofOne.query({
    metrics: ['facilities_count', 'facilities_per_100k'],
    group_by: ['state', 'reference_period'],
    filters: [inStates(['AC'])],
  })
  t.equal(before.status, 200, 'nothing was collected of the state in any month')
  t.same(before.body.data, [])
  // What lies in no health region is known where all states asked for are.
  const question = {
    metrics: ['facilities_count'],
    group_by: ['reference_period', 'health_macroregion'],
    filters: [inStates(['AC', 'AP'])],
  }
  t.same(await differences(question, SIDES[0] as (typeof SIDES)[number]), [])
  const { body } = await client.query(question)
  const none = (body.data as AnswerRow[]).filter(
    ({ dimensions }) => dimensions.health_macroregion?.code === null,
  )
  t.same(
    none.map(({ metrics }) => metrics.facilities_count),
    [null, null, null, 1, 1, null],
  )
})

t.test('a facility in places where nobody looked', async (t) => {
  // Of Roraima in a release of Roraima alone: what the other states have of it is not known, nor what a place of them has.
  const facility = dataOfOne.facts.facilities.find(({ is_active: isActive }) => isActive === true)
  const filters: Filter[] = [{ dimension: 'facility', operator: 'EQ', value: String(facility?.cnes_code) }]
  const elsewhere: Filter = { dimension: 'municipality', operator: 'EQ', value: 3531605 }
  for (const question of [
    { metrics: ['facilities_count'], group_by: ['health_region'], filters },
    { metrics: ['facilities_count'], group_by: ['legal_nature', 'health_macroregion'], filters },
    { metrics: ['facilities_count'], group_by: [], filters: [...filters, elsewhere] },
  ])
    t.same(await differences(question, SIDES[1] as (typeof SIDES)[number]), [], JSON.stringify(question))
  const { body } = await ofOne.query({ metrics: ['facilities_count'], group_by: ['state'], filters })
  const values = (body.data as AnswerRow[]).map(({ dimensions, metrics }) => [
    dimensions.state?.code,
    metrics.facilities_count,
  ])
  t.same(
    values.filter(([, value]) => value !== null),
    [['RR', 1]],
  )
})

t.test('groups add up to a total, and a total is null where a group of it is unknown', async (t) => {
  const broken: string[] = []
  for (let turn = 0; turn < cases(100, 6); turn += 1) {
    const dataset = DATASETS[turn % 4] as DatasetName
    const metrics = metricsOf(dataset).filter((code) => isAdditive(code) || code === 'facilities_count')
    const [place] = shuffle(['state', 'municipality', 'health_region', 'region'])
    const other = draw(2) === 0 ? [] : shuffle(['management_type', 'legal_nature']).slice(0, 1)
    const filters = [...drawPlaces(), ...drawMonths(data)]
    const over_period = filters.some(({ dimension }) => dimension === 'reference_period')
      ? { over_period: pick(['last', 'first']) }
      : {}
    const ask = async (group_by: string[], more: Filter[] = []): Promise<AnswerRow[]> => {
      const { body, text, status } = await client.query({
        metrics,
        group_by,
        filters: [...filters, ...more],
        ...over_period,
        limit: 10_000,
      })
      if (status !== 200) throw new Error(text)
      return body.data
    }
    const [total] = await ask([])
    const groups = await ask([place as string, ...other])
    for (const code of metrics) {
      const values = groups.map((row) => row.metrics[code] ?? null)
      const whole = total?.metrics[code] ?? null
      // Without rows there is no group that could be unknown.
      if (
        whole === null
          ? values.length > 0 && other.length === 0 && !values.includes(null)
          : values.includes(null)
      )
        broken.push(
          `${code} by ${place},${other}: ${whole} of ${values.slice(0, 5)} ${JSON.stringify(filters)}`,
        )
      else if (whole !== null && values.reduce((sum: number, value) => sum + (value ?? 0), 0) !== whole)
        broken.push(`${code} by ${place},${other} is not ${whole} ${JSON.stringify(filters)}`)
    }
  }
  t.same(broken.slice(0, 5), [])
})

t.test('a metric alone is what it is beside others; a state alone what it is among others', async (t) => {
  const broken: string[] = []
  for (let turn = 0; turn < cases(100, 6); turn += 1) {
    const question = drawQuestion(DATASETS[turn % 4] as DatasetName, data)
    const ask = async (body: unknown): Promise<Map<string, AnswerRow>> =>
      byKey((await client.query({ ...(body as object), limit: 10_000 })).body.data)
    const beside = await ask(question)
    const [metric = ''] = shuffle(question.metrics)
    const alone = await ask({ ...question, metrics: [metric] })
    for (const [key, row] of alone)
      if (row.metrics[metric] !== beside.get(key)?.metrics[metric])
        broken.push(`${metric} at ${key}: ${JSON.stringify(question)}`)
    const months = [{ dimension: 'reference_period', operator: 'EQ', value: pick(data.periods) }]
    const uf = pick(['RR', 'AC', 'AP'])
    const metrics = question.metrics
    const among = await ask({ metrics, group_by: ['state'], filters: months })
    const only = await ask({
      metrics,
      group_by: [],
      filters: [...months, { dimension: 'state', operator: 'EQ', value: uf }],
    })
    if (JSON.stringify(among.get(`["${uf}"]`)?.metrics) !== JSON.stringify(only.get('[]')?.metrics))
      broken.push(`${uf} in ${months[0]?.value}: ${metrics}`)
  }
  t.same(broken.slice(0, 5), [])
})

t.test(
  'order, repetition and the number of threads change nothing; pages are the whole',
  secondRing,
  async (t) => {
    const two = await openClient(gaps.releasesDir, 2, { residentBytes: RESIDENT_BYTES })
    for (let turn = 0; turn < cases(100, 6); turn += 1) {
      const question = drawQuestion(DATASETS[turn % 4] as DatasetName, data)
      const { body: first } = await client.query({ ...question, limit: 7 })
      const other = {
        ...question,
        metrics: [...shuffle(question.metrics), question.metrics[0]],
        filters: shuffle([...question.filters, ...question.filters.slice(0, 1)]),
        limit: 1,
      }
      const { status, body: again, text } = await two.query(other)
      if (status !== 200) t.fail(`${JSON.stringify(other)}: ${text}`)
      t.equal(again.meta.fingerprint, first.meta.fingerprint)
      t.equal(again.meta.rows_sha256, first.meta.rows_sha256)
      const { body: next } = await client.query({ ...question, limit: 7, offset: 7 })
      const { body: both } = await client.query({ ...question, limit: 14 })
      t.same([...first.data, ...next.data], both.data)
    }
    await two.close()
  },
)

t.test('records behind cells add up to them; behind what is unknown there are none', async (t) => {
  const wrong: string[] = []
  let unknown = 0
  const wanted = cases(150, 12)
  for (let turn = 0, made = 0; made < wanted; turn += 1) {
    const { metrics, ...question } = drawQuestion(DATASETS[turn % 4] as DatasetName, data)
    const code = metrics[0] as (typeof REGISTRY_METRICS)[number]
    const query = { ...question, metrics: [code] }
    const { body: first } = await client.query({ ...query, limit: 1 })
    const total = first.pagination.total_rows
    if (total === 0) continue
    const { body } = await client.query({ ...query, limit: 1, offset: draw(total) })
    const { dimensions, metrics: values } = body.data[0] as AnswerRow
    const key = Object.fromEntries(Object.entries(dimensions).map(([name, member]) => [name, member.code]))
    made += 1
    if (values[code] === null) unknown += 1
    const difference = await disagreement(client, code, { query, key, value: values[code] ?? null }).catch(
      (error: unknown) => `${JSON.stringify({ ...query, key })}: ${String(error)}`,
    )
    if (difference !== null) wrong.push(difference)
  }
  t.same(wrong.slice(0, 5), [])
  t.ok(unknown > wanted / 10 && unknown < wanted, `${unknown} of ${wanted} are null`)
})

/** Months in which anything was published of any of the states. */
const heldOf = (states: readonly string[]): string[] =>
  data.periods.filter((month) =>
    DATASETS.some((table) => states.some((uf) => data.published?.[table][month]?.includes(uf))),
  )

t.test('totals, changes and shares against the oracle', async (t) => {
  const wrong: string[] = []
  for (let turn = 0; turn < cases(60, 4); turn += 1) {
    const dataset = DATASETS[turn % 4] as DatasetName
    const states = shuffle(STATES).slice(0, 1 + draw(3))
    const own = { ...data, periods: heldOf(states) }
    const other = shuffle(['state', 'municipality', 'health_region', 'management_type']).slice(0, 1 + draw(2))
    const group_by = ['reference_period', ...other]
    const question = {
      metrics: shuffle(metricsOf(dataset)).slice(0, 4),
      group_by,
      filters: [{ dimension: 'state', operator: 'IN' as const, value: states }],
      totals: other.length === 2 ? [group_by.slice(0, 2), ['reference_period']] : [['reference_period']],
      ...(draw(2) === 0 ? {} : { change: { to: pick(['previous', '-2', '2026-02', '2026-04']) } }),
      ...(draw(2) === 0 ? {} : { share_of: ['reference_period'] }),
    }
    if ('share_of' in question && !question.metrics.some(isAdditive)) continue
    const { status, body, text } = await client.query({ ...question, limit: 10_000 })
    if (status !== 200) {
      wrong.push(`${JSON.stringify(question)}: ${text.slice(0, 300)}`)
      continue
    }
    const expected = expect(question, own)
    const levels = [
      { groups: group_by, rows: body.data as AnswerRow[], wanted: expected.rows },
      ...question.totals.map((groups, index) => ({
        groups,
        rows: body.totals[index].data as AnswerRow[],
        wanted: expected.totals[index] as typeof expected.rows,
      })),
    ]
    for (const { groups, rows, wanted } of levels) {
      if (rows.length !== wanted.size)
        wrong.push(`${JSON.stringify(question)}: ${rows.length} for ${wanted.size}`)
      for (const { dimensions, metrics } of rows) {
        const key = JSON.stringify(groups.map((group) => dimensions[group]?.code))
        for (const [name, value] of Object.entries(wanted.get(key)?.values ?? {}))
          if (metrics[name] !== (value === null ? null : Number(value)))
            wrong.push(`${JSON.stringify(question)} ${key} ${name}: ${metrics[name]} for ${value}`)
      }
    }
  }
  t.same(wrong.slice(0, 5), [])
})

t.test('reports with what is unknown are reproduced, in every format', async (t) => {
  const folder = temporaryFolder('gaps-reports')
  const question = {
    metrics: [
      'facilities_sus',
      'equipment_existing',
      'beds_existing_per_100k',
      'service_offerings_outsourced',
    ],
    group_by: ['reference_period', 'state'],
    filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC', 'AP'] }],
    totals: [['reference_period']],
    change: { to: 'previous' },
  }
  const { body: answer } = await client.query(question)
  const values = (answer.data as AnswerRow[]).flatMap(({ metrics }) => Object.values(metrics))
  t.ok(values.includes(null) && values.some((value) => value !== null))
  for (const format of REPORT_FORMAT_NAMES) {
    const { status, bytes, headers, text } = await client.post(
      `/v1/analytics/export?format=${format}`,
      question,
    )
    t.equal(status, 200, text.slice(0, 300))
    t.equal(headers['x-report-fingerprint'], answer.meta.fingerprint)
    const file = join(folder, `report.${format}`)
    writeFileSync(file, bytes)
    const { verdict, differences: found } = await verifyReport(file, gaps.releasesDir, null, readSettings({}))
    t.equal(verdict, 'reproduced', `${format}: ${found.join('; ')}`)
  }
})
