/**
 * Groupings, filtered metrics and ratios against test/fixtures/groupings-oracle.ts, alone and with totals, shares, ranks, conditions,
 * percentiles and over_period. SUS_TESTS_FACTOR draws more of them.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import {
  type DrawnGrouping,
  type DrawnMetric,
  type ExpectedRow,
  expectLevel,
  type GroupingsQuestion,
  nameOfMetric,
} from '../fixtures/groupings-oracle.ts'
import {
  COLUMNS,
  cellOf,
  DIMENSIONS_OF,
  datasetOf,
  type Filter,
  isRatio,
  type Row,
} from '../fixtures/oracle.ts'
import { readOracleData } from '../fixtures/oracle-data.ts'
import { REGISTRY_METRICS } from '../fixtures/registry-metrics.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const { folder, releasesDir } = await makeSmallRelease('admissions')
const client = await openClient(releasesDir, 1, { residentBytes: RESIDENT_BYTES })
t.teardown(() => client.close())
const data = await readOracleData(client, ['2026-03', '2026-04', '2026-05'])
const { draw, pick, shuffle } = createDraws(23)

type Dataset = keyof typeof DIMENSIONS_OF
const DATASETS = Object.keys(DIMENSIONS_OF) as Dataset[]
const SCOPE: Filter = { dimension: 'state', operator: 'IN', value: ['RR', 'AC', 'AP'] }
const isOfPlaces = (code: string): boolean => /^(state|municipality|region|health_.*)$/.test(code)
const isDistinct = (code: string): boolean => /facilities|types_present/.test(code)
const rowsOf = (dataset: Dataset): readonly Row[] =>
  dataset === 'ages' ? data.ages : dataset === 'population' ? data.facts.facilities : data.facts[dataset]

/** Codes that rows have in a dimension; places may lie elsewhere, too. */
function drawCodes(dataset: Dataset, dimension: string, count: number): (string | number)[] {
  const rows = isOfPlaces(dimension) && draw(2) === 0 ? data.municipalities : rowsOf(dataset)
  const codes = Array.from({ length: count }, () => {
    const row = pick(rows)
    const column = COLUMNS[dimension] ?? ''
    return cellOf(
      'ibge_code' in row ? { ...row, municipality_ibge_code: row.ibge_code ?? null } : row,
      column,
      data,
    )
  })
  return [...new Set(codes)].filter((code): code is string | number => code !== null && code !== undefined)
}

function drawGrouping(dataset: Dataset): DrawnGrouping | null {
  const dimension = pick(DIMENSIONS_OF[dataset].filter((code) => code !== 'reference_period'))
  const codes = drawCodes(dataset, dimension, 1 + draw(12))
  const groups = ['A', 'b.2', '03']
    .map((code, index) => ({
      code,
      name: `Grupo ${code}`,
      members: codes.filter((_, at) => at % 3 === index),
    }))
    .filter(({ members }) => members.length > 0)
  return groups.length === 0 ? null : { dimension, groups, others: pick(['leave_out', 'group'] as const) }
}

function drawQuestion(): GroupingsQuestion {
  const dataset = pick(DATASETS)
  const codes = shuffle(REGISTRY_METRICS.filter((code) => datasetOf(code) === dataset)).slice(0, 1 + draw(3))
  const grouping = draw(4) === 0 ? null : drawGrouping(dataset)
  // A rate by facilities has no denominator.
  const plain = codes.filter((code) => grouping?.dimension !== 'facility' || !isRatio(code))
  const dimensions = DIMENSIONS_OF[dataset].filter((code) => code !== 'facility')
  const group_by = shuffle([
    ...(grouping === null ? [] : ['own_groups']),
    ...shuffle(dimensions).slice(0, draw(3)),
  ])
  const isByMonth = group_by.includes('reference_period')
  const filtered: DrawnMetric[] = (plain.length === 0 ? ['bed_capacity_existing'] : plain).flatMap(
    (metric, index) => {
      const dimension = pick(dimensions.filter((code) => code !== 'reference_period'))
      const value = drawCodes(dataset, dimension, 1 + draw(4))
      return draw(2) === 0 || value.length === 0 || plain.length === 0
        ? []
        : [
            {
              metric,
              as: `part_${index}`,
              filters: [{ dimension, operator: pick(['IN', 'NOT_IN'] as const), value }],
            },
          ]
    },
  )
  const named: DrawnMetric[] = [...plain, ...filtered]
  const metrics = named.length === 0 ? ['facilities_count'] : named
  const counts = metrics
    .filter(
      (metric) => !isRatio(typeof metric === 'string' ? metric : 'metric' in metric ? metric.metric : ''),
    )
    .map(nameOfMetric)
  const ratio: DrawnMetric[] =
    counts.length === 0
      ? []
      : [
          {
            as: 'quotient',
            ratio: [pick(counts), pick(counts)],
            scale: pick([1, 100, 1000]),
            decimals: pick([0, 1, 2, 4]),
          },
        ]
  const over =
    !isByMonth && draw(4) === 0 ? { over_period: pick(['last', 'first', 'avg', 'max'] as const) } : {}
  const levels = [group_by.slice(0, -1), group_by.slice(0, 1), []].filter(
    (level) => !isByMonth || level.includes('reference_period'),
  )
  const totals = [...new Map(levels.map((level) => [level.join(), level])).values()].sort(
    (left, right) => right.length - left.length,
  )
  const field = pick([...metrics, ...ratio].map(nameOfMetric))
  const adding = metrics.some((metric) => addsUp(metric))
  return {
    metrics: [...metrics, ...ratio],
    group_by,
    filters: draw(6) === 0 && dataset !== 'ages' ? [] : [SCOPE],
    ...(grouping === null ? {} : { groupings: { own_groups: grouping } }),
    ...(draw(2) === 0 ? { totals } : {}),
    ...over,
    ...(draw(3) === 0 && adding && !('over_period' in over) && !isByMonth ? { share_of: [] } : {}),
    ...(draw(3) === 0
      ? { having: [{ metric: field, operator: pick(['GT', 'LTE'] as const), value: draw(30) }] }
      : {}),
    ...(draw(2) === 0
      ? { order_by: [{ field, direction: pick(['asc', 'desc'] as const) }], rank: draw(2) === 0 }
      : {}),
    ...(draw(4) === 0 ? { percentile: true } : {}),
  }
}

const addsUp = (metric: DrawnMetric): boolean => {
  if (typeof metric !== 'string' && 'ratio' in metric) return false
  const code = typeof metric === 'string' ? metric : metric.metric
  return !isRatio(code) && !isDistinct(code)
}

interface AnswerRow {
  readonly rank?: number | null
  readonly dimensions: Readonly<Record<string, { readonly code: unknown }>>
  readonly metrics: Readonly<Record<string, number | null>>
}

function compareRows(
  rows: readonly AnswerRow[],
  expected: ReadonlyMap<string, ExpectedRow>,
  groups: readonly string[],
): string[] {
  const keys = new Set(
    rows.map(({ dimensions }) => JSON.stringify(groups.map((group) => dimensions[group]?.code ?? null))),
  )
  const found = [...expected.keys()].filter((key) => !keys.has(key)).map((key) => `${key} is missing`)
  for (const { dimensions, metrics, rank } of rows) {
    const key = JSON.stringify(groups.map((group) => dimensions[group]?.code ?? null))
    const wanted = expected.get(key)
    if (wanted === undefined) {
      found.push(`${key} is no group`)
      continue
    }
    const names = Object.keys({ ...wanted.values, ...metrics })
    for (const name of names)
      if ((metrics[name] ?? null) !== (wanted.values[name] ?? null))
        found.push(`${key} ${name}: ${metrics[name]} for ${wanted.values[name]}`)
    if ((rank ?? null) !== wanted.rank) found.push(`${key} rank: ${rank} for ${wanted.rank}`)
  }
  return found
}

t.test('drawn questions against the oracle', async (t) => {
  const wrong: string[] = []
  let cells = 0
  const count = countOf(24, 0)
  for (let turn = 0; turn < count; turn += 1) {
    const question = drawQuestion()
    const { status, body, text } = await client.query({ ...question, limit: 10_000 })
    if (status !== 200) {
      wrong.push(`${JSON.stringify(question)}: ${text.slice(0, 300)}`)
      continue
    }
    const names = new Set(question.metrics.filter(addsUp).map(nameOfMetric))
    const expect = (level: readonly string[], isOfRows: boolean) =>
      expectLevel(question, level, (name) => names.has(name), data, isOfRows)
    const rows = body.pagination.has_more
      ? []
      : compareRows(body.data, expect(question.group_by, true), question.group_by)
    const found = [
      ...rows,
      ...(question.totals ?? []).flatMap((level, index) =>
        compareRows(body.totals[index].data, expect(level, false), level).map(
          (difference) => `[${level}] ${difference}`,
        ),
      ),
    ]
    cells += body.data.length * question.metrics.length
    if (found.length > 0) wrong.push(`${JSON.stringify(question)}: ${found.slice(0, 3).join('; ')}`)
  }
  t.comment(`${count} questions, ${cells} cells, ${wrong.length} differ`)
  t.same(wrong.slice(0, 4), [])
})

t.test('reports hold groups and defined metrics, and are reproduced', async (t) => {
  const body = {
    metrics: [
      'admissions',
      'admissions_per_10k',
      {
        metric: 'admissions',
        as: 'of_women',
        filters: [{ dimension: 'sex', operator: 'EQ', value: 'F' }],
        label: 'Mulheres',
      },
      { as: 'share_of_women', ratio: ['of_women', 'admissions'], scale: 100, decimals: 1 },
    ],
    groupings: {
      consortium: {
        dimension: 'residence_municipality',
        groups: [
          { code: 'A.1', name: 'Um "consórcio"; =1+1', members: [140010, 1400050] },
          { code: 'B', name: 'Outro', members: [120040] },
        ],
        others: 'group',
      },
    },
    group_by: ['consortium', 'reference_quadrimester'],
    filters: [{ dimension: 'reference_period', operator: 'BETWEEN', value: ['2026-03', '2026-04'] }],
    limits: 0.95,
    percentile: true,
    change: { to: 'previous' },
    incomplete: 'allow',
    order_by: ['-share_of_women'],
    rank: true,
    totals: [['reference_quadrimester']],
    share_of: ['reference_quadrimester'],
  }
  for (const format of ['xlsx', 'json', 'json-stat', 'parquet']) {
    const report = await client.post(`/v1/analytics/export?format=${format}`, body)
    t.equal(report.status, 200, `${format} ${report.text.slice(0, 300)}`)
    const path = join(folder, `groupings.${format}`)
    writeFileSync(path, report.bytes)
    const verdict = await verifyReport(path, releasesDir, null, readSettings({}))
    t.equal(verdict.verdict, 'reproduced', `${format} ${JSON.stringify(verdict).slice(0, 400)}`)
  }
})
