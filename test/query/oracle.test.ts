/**
 * Every metric × every valid set of up to two dimensions (and a seeded sample of three), without filter, with EQ, with IN,
 * against test/fixtures/oracle.ts: other code, another engine. Groups, values and order must be the same. The first ring takes
 * every 25th set of dimensions.
 */
import t from 'tap'
import type { ReleaseView } from '../../src/release/view.ts'
import { sql, TEXT, table } from '../../src/sql.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import {
  answer,
  COLUMNS,
  cellOf,
  type DatasetName,
  DEFINITIONS,
  DIMENSIONS_OF,
  datasetOf,
  type Filter,
  isPeople,
  isPerPeople,
  type People,
  type Question,
  type Row,
} from '../fixtures/oracle.ts'
import { readOracleData } from '../fixtures/oracle-data.ts'
import { REGISTRY_METRICS } from '../fixtures/registry-metrics.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir, 1, { residentBytes: RESIDENT_BYTES })
t.teardown(() => client.close())
const data = await readOracleData(client, ['2026-03', '2026-04', '2026-05'])
const { pick, shuffle } = createDraws(5)

/** Sets of up to two dimensions. */
const pairs = (dimensions: readonly string[]): string[][] => [
  [],
  ...dimensions.map((one) => [one]),
  ...dimensions.flatMap((one, index) => dimensions.slice(index + 1).map((two) => [one, two])),
]

/** A filter on a dimension of the dataset with codes that are there (and one that is not). */
function drawFilter(dataset: DatasetName | People, operator: 'EQ' | 'IN'): Filter {
  const dimension = pick(DIMENSIONS_OF[dataset])
  const column = COLUMNS[dimension] ?? ''
  const rows =
    dataset === 'ages' ? data.ages : dataset === 'population' ? data.facts.facilities : data.facts[dataset]
  const codes = [...Array(operator === 'EQ' ? 1 : 3)].map(
    () => (cellOf(pick(rows), column, data) ?? null) as string | number | null,
  )
  const known = [...new Set(codes.filter((code) => code !== null))]
  if (known.length === 0) return { dimension: 'state', operator: 'EQ', value: 'RR' }
  return operator === 'EQ'
    ? { dimension, operator, value: known[0] as string | number }
    : { dimension, operator, value: known }
}

const named = (rows: readonly Row[], key: string): Map<unknown, string> =>
  new Map(rows.map((row) => [row[key], row.name as string]))
const namedPlaces = async (level: string): Promise<Map<unknown, string>> => {
  const view = client.store.current() as ReleaseView
  const places = await client.engine.run(
    sql`SELECT ${TEXT(`${level}_code AS code, ${level}_name AS name`)} FROM ${table(`${level}s`)}`,
    view,
  )
  return named(places as Row[], 'code')
}
const NAMES: Readonly<Record<string, Map<unknown, string>>> = {
  state: named(data.states, 'uf'),
  municipality: named(data.municipalities, 'ibge_code'),
  health_region: await namedPlaces('health_region'),
  health_macroregion: await namedPlaces('health_macroregion'),
}
const collator = new Intl.Collator('pt')

/** Are rows in the dimensions' own order: places by name as a Portuguese reader sorts them, other codes by their bytes? */
function isOrdered(keys: readonly (readonly unknown[])[], groups: readonly string[]): boolean {
  if (groups.includes('facility')) return true
  const compare = (left: readonly unknown[], right: readonly unknown[]): number => {
    for (const [index, group] of groups.entries()) {
      const [one, two] = [left[index], right[index]]
      if (one === two) continue
      if (one === null) return 1
      if (two === null) return -1
      const names = NAMES[group]
      const byName = names === undefined ? 0 : collator.compare(names.get(one) ?? '', names.get(two) ?? '')
      if (byName !== 0) return byName
      return typeof one === 'number'
        ? one - (two as number)
        : Buffer.compare(Buffer.from(String(one)), Buffer.from(String(two)))
    }
    return 0
  }
  return keys.every((key, index) => index === 0 || compare(keys[index - 1] ?? [], key) < 0)
}

let cells = 0
let questions = 0
/** @returns the first differences between our answer and the oracle's */
async function differences(question: Question): Promise<string[]> {
  const expected = answer(question, data)
  const found: string[] = []
  const keys: (readonly unknown[])[] = []
  questions += 1
  for (let offset = 0; ; offset += 10_000) {
    const { status, body, text } = await client.query({ ...question, limit: 10_000, offset })
    if (status !== 200) return [`${status} ${text.slice(0, 300)}`]
    for (const { dimensions, metrics } of body.data) {
      const key = question.group_by.map((group) => dimensions[group].code)
      keys.push(key)
      const wanted = expected.get(JSON.stringify(key))
      if (wanted === undefined) {
        found.push(`${JSON.stringify(key)} is no group`)
        continue
      }
      for (const metric of question.metrics) {
        cells += 1
        const want = wanted[metric] ?? null
        if (metrics[metric] !== (want === null ? null : Number(want)))
          found.push(`${JSON.stringify(key)} ${metric}: ${metrics[metric]} for ${want}`)
      }
    }
    if (!body.pagination.has_more) break
  }
  if (keys.length !== expected.size) found.push(`${keys.length} groups for ${expected.size}`)
  if (!isOrdered(keys, question.group_by)) found.push('not in order')
  return found
}

t.same(
  Object.keys(DEFINITIONS).sort(),
  [...REGISTRY_METRICS].sort(),
  'every metric of the catalog but those of admissions, which test/query/admissions.test.ts has',
)

for (const dataset of ['population', 'ages', 'facilities', 'beds', 'equipment', 'services'] as const)
  t.test(dataset, async (t) => {
    const metrics = REGISTRY_METRICS.filter((code) => datasetOf(code) === dataset)
    const dimensions = DIMENSIONS_OF[dataset]
    const triples = Array.from({ length: isPeople(dataset) ? 0 : 12 }, () => shuffle(dimensions).slice(0, 3))
    const wrong: string[] = []
    const before = [questions, cells] as const
    const sets = [...pairs(dimensions), ...triples].filter((_, index) => index % cases(1, 25) === 0)
    for (const group_by of sets)
      for (const variant of ['none', 'EQ', 'IN'] as const) {
        const filters = variant === 'none' ? [] : [drawFilter(dataset, variant)]
        const severalMonths =
          variant === 'IN' &&
          filters.some(
            ({ dimension, value }) =>
              dimension === 'reference_period' && Array.isArray(value) && value.length > 1,
          )
        const over =
          severalMonths && !group_by.includes('reference_period')
            ? { over_period: pick(['last', 'first', 'avg', 'max'] as const) }
            : {}
        const usable = group_by.includes('facility') ? metrics.filter((code) => !isPerPeople(code)) : metrics
        for (let from = 0; from < usable.length; from += 20) {
          const question = { metrics: usable.slice(from, from + 20), group_by, filters, ...over }
          const found = await differences(question)
          if (found.length > 0) wrong.push(`${JSON.stringify(question)}: ${found.slice(0, 3).join('; ')}`)
        }
      }
    const compared = `${questions - before[0]} questions, ${cells - before[1]} cells`
    t.comment(compared)
    t.same(wrong.slice(0, 8), [], compared)
  })

t.test('every metric by each place that follows from a municipality', secondRing, async (t) => {
  const wrong: string[] = []
  const regions = [...new Set(data.municipalities.map((row) => row.health_region_code))].filter(
    (code) => code !== null,
  ) as string[]
  const filters: readonly (readonly Filter[])[] = [
    [],
    [{ dimension: 'health_region', operator: 'IN', value: ['12001', '12002', '14001', '16002'] }],
    [{ dimension: 'health_macroregion', operator: 'EQ', value: '1201' }],
    [
      { dimension: 'health_region', operator: 'NEQ', value: '12001' },
      { dimension: 'region', operator: 'EQ', value: 1 },
    ],
    [{ dimension: 'region', operator: 'NOT_IN', value: [1, 3] }],
    [{ dimension: 'health_region', operator: 'EQ', value: pick(regions) }],
  ]
  const groups = [
    [],
    ['region'],
    ['health_region'],
    ['health_macroregion'],
    ...cases(
      [
        ['health_region', 'health_macroregion'],
        ['state', 'health_region'],
        ['municipality', 'health_macroregion'],
        ['health_region', 'reference_period'],
        ['region', 'facility_type'],
        ['facility', 'health_region'],
        ['state'],
        ['municipality'],
      ],
      [['region', 'facility_type']],
    ),
  ]
  for (const dataset of ['population', 'ages', 'facilities', 'beds', 'equipment', 'services'] as const)
    for (const group_by of groups) {
      if (!group_by.every((group) => DIMENSIONS_OF[dataset].includes(group))) continue
      const metrics = REGISTRY_METRICS.filter(
        (code) => datasetOf(code) === dataset && !(group_by.includes('facility') && isPerPeople(code)),
      )
      for (const filter of cases(filters, filters.slice(1, 4)))
        for (let from = 0; from < metrics.length; from += 20) {
          const question = { metrics: metrics.slice(from, from + 20), group_by, filters: filter }
          const found = await differences(question)
          if (found.length > 0) wrong.push(`${JSON.stringify(question)}: ${found.slice(0, 3).join('; ')}`)
        }
    }
  t.same(wrong.slice(0, 8), [])
})

t.test('several months, every way to one value', async (t) => {
  const wrong: string[] = []
  for (const over_period of ['last', 'first', 'avg', 'max'] as const)
    for (const group_by of cases(
      [[], ['state'], ['municipality'], ['management_type'], ['facility']],
      [['state']],
    ))
      for (const dataset of ['facilities', 'beds', 'equipment', 'services'] as const) {
        const metrics = REGISTRY_METRICS.filter(
          (code) => datasetOf(code) === dataset && !(group_by[0] === 'facility' && isPerPeople(code)),
        )
        const filters: Filter[] = [
          {
            dimension: 'reference_period',
            operator: 'IN',
            value: pick([
              ['2026-03', '2026-05'],
              ['2026-03', '2026-04', '2026-05'],
              ['2026-03', '2026-04'],
            ]),
          },
        ]
        const question = { metrics: metrics.slice(0, 20), group_by, filters, over_period }
        const found = await differences(question)
        if (found.length > 0) wrong.push(`${JSON.stringify(question)}: ${found.slice(0, 3).join('; ')}`)
      }
  t.same(wrong.slice(0, 8), [])
})

t.test('metrics of all datasets side by side', async (t) => {
  const wrong: string[] = []
  const facts = REGISTRY_METRICS.filter((code) => !isPeople(datasetOf(code)))
  for (const group_by of [
    ['state'],
    ['municipality'],
    ['facility_type'],
    ['state', 'management_type'],
    ['legal_nature', 'reference_period'],
  ])
    for (let turn = 0; turn < cases(4, 1); turn += 1) {
      const metrics = shuffle(facts).slice(0, 20)
      const found = await differences({ metrics, group_by, filters: [] })
      if (found.length > 0) wrong.push(`${group_by} ${metrics}: ${found.slice(0, 3).join('; ')}`)
    }
  t.same(wrong.slice(0, 8), [], `${questions} questions, ${cells} cells in all`)
})
