/**
 * Laws that hold whatever the numbers are, on seeded random questions: groups add up to their total, a question is the sum
 * of its parts, the order of what is asked and the number of threads change nothing, metrics do not disturb each other,
 * pages are the whole.
 */
import t from 'tap'
import { metricOf } from '../../src/model/metrics.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { COLUMNS, DIMENSIONS_OF, datasetOf, isPeople, isPerPeople } from '../fixtures/oracle.ts'
import { REGISTRY_METRICS } from '../fixtures/registry-metrics.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'
import { trinoOfTests } from '../fixtures/trino.ts'

/** Trino takes some tenths of a second for each. */
const QUERIES = countOf(3000, trinoOfTests === null ? 250 : 80)
const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir, 1, { residentBytes: RESIDENT_BYTES })
const twoThreads = await openClient(small.releasesDir, 2, { residentBytes: RESIDENT_BYTES })
t.teardown(async () => {
  await client.close()
  await twoThreads.close()
})
const { draw, pick, shuffle } = createDraws(77)
/** Codes of every dimension that are in the data. */
const MEMBERS: Record<string, readonly (string | number)[]> = {}
for (const dimension of Object.keys(COLUMNS)) {
  const { body } = await client.get(`/v1/analytics/dimensions/${dimension}/values?limit=250`)
  MEMBERS[dimension] = body.data.map(({ code }: { code: string | number }) => code)
}
MEMBERS.state = ['RR', 'AC', 'AP', 'SP']
const CODES = REGISTRY_METRICS.map(String)
type Dataset = keyof typeof DIMENSIONS_OF
const DATASETS = Object.keys(DIMENSIONS_OF) as Dataset[]
const metricsOf = (dataset: Dataset): string[] => CODES.filter((code) => datasetOf(code) === dataset)

interface Asked {
  metrics: string[]
  group_by: string[]
  filters: { dimension: string; operator: string; value: unknown }[]
  order_by?: { field: string; direction: string }[]
  over_period?: string
  limit?: number
  offset?: number
}

function drawFilters(dataset: Dataset, count: number): Asked['filters'] {
  return Array.from({ length: count }, () => {
    const dimension = pick(DIMENSIONS_OF[dataset].filter((code) => code !== 'reference_period'))
    const members = MEMBERS[dimension] ?? []
    const operator = pick(['EQ', 'IN', 'NEQ', 'NOT_IN'])
    const value =
      operator === 'EQ' || operator === 'NEQ' ? pick(members) : shuffle(members).slice(0, 1 + draw(6))
    return { dimension, operator, value }
  })
}

function drawQuestion(dataset: Dataset): Asked {
  const group_by = shuffle(DIMENSIONS_OF[dataset].filter((code) => code !== 'facility')).slice(0, draw(4))
  const months =
    isPeople(dataset) || group_by.includes('reference_period')
      ? []
      : [pick([null, null, 'last', 'first', 'avg', 'max'])]
  return {
    metrics: shuffle(metricsOf(dataset)).slice(0, 1 + draw(5)),
    group_by,
    filters: drawFilters(dataset, draw(3)),
    ...(months[0] === null || months[0] === undefined ? {} : { over_period: months[0] }),
  }
}

let asked = 0
async function ask(question: Asked, of = client): Promise<Reply['body']> {
  asked += 1
  const { status, body, text } = await of.query({ limit: 10_000, ...question })
  if (status !== 200) throw new Error(`${JSON.stringify(question)}: ${text.slice(0, 300)}`)
  return body
}
interface AnswerRow {
  dimensions: Record<string, { code: unknown }>
  metrics: Record<string, number | null>
}
const byKey = (rows: readonly AnswerRow[], groups: readonly string[]): Map<string, AnswerRow> =>
  new Map(
    rows.map((row) => [JSON.stringify(groups.map((group) => row.dimensions[group]?.code ?? null)), row]),
  )
const isAdditive = (code: string): boolean => {
  const { kind } = metricOf(code as (typeof REGISTRY_METRICS)[number])
  return (kind === 'sum' || kind === 'count') && datasetOf(code) !== 'population'
}

/** Runs a law on drawn questions until it has used its share of queries. @returns what broke it */
async function hold(share: number, law: (dataset: Dataset) => Promise<string | null>): Promise<string[]> {
  const broken: string[] = []
  const end = asked + QUERIES * share
  for (let turn = 0; asked < end; turn += 1) {
    const difference = await law(DATASETS[turn % DATASETS.length] as Dataset)
    if (difference !== null) broken.push(difference)
  }
  return broken.slice(0, 5)
}

t.test('groups add up to the total of an additive metric', async (t) => {
  const broken = await hold(0.15, async (dataset) => {
    const metrics = metricsOf(dataset).filter(isAdditive).slice(0, 20)
    if (metrics.length === 0) return null
    const filters = drawFilters(dataset, draw(3))
    const group_by = shuffle(
      DIMENSIONS_OF[dataset].filter(
        // Of residents, municipalities by age and sex are more groups than a page holds.
        (code) =>
          code !== 'reference_period' &&
          code !== 'facility' &&
          !(dataset === 'ages' && code === 'municipality'),
      ),
    ).slice(0, 1 + draw(2))
    const total = (await ask({ metrics, group_by: [], filters })).data[0]
    const groups = (await ask({ metrics, group_by, filters })).data as AnswerRow[]
    const wrong = metrics.find(
      (code) => groups.reduce((sum, row) => sum + (row.metrics[code] ?? 0), 0) !== (total.metrics[code] ?? 0),
    )
    return wrong === undefined ? null : `${wrong} by ${group_by} under ${JSON.stringify(filters)}`
  })
  t.same(broken, [])
})

t.test('a question is the sum of what a filter keeps and what it leaves', async (t) => {
  const broken = await hold(0.15, async (dataset) => {
    const metrics = metricsOf(dataset).filter(isAdditive).slice(0, 20)
    if (metrics.length === 0) return null
    const filters = drawFilters(dataset, draw(2))
    const [filter] = drawFilters(dataset, 1)
    if (filter === undefined) return null
    const opposite = { EQ: 'NEQ', NEQ: 'EQ', IN: 'NOT_IN', NOT_IN: 'IN' }[filter.operator] ?? ''
    const [all, kept, left] = (await Promise.all(
      [filters, [...filters, filter], [...filters, { ...filter, operator: opposite }]].map(
        async (some) => (await ask({ metrics, group_by: [], filters: some })).data[0],
      ),
    )) as [AnswerRow, AnswerRow, AnswerRow]
    const wrong = metrics.find(
      (code) => (kept.metrics[code] ?? 0) + (left.metrics[code] ?? 0) !== (all.metrics[code] ?? 0),
    )
    return wrong === undefined
      ? null
      : `${wrong}: ${JSON.stringify(filter)} beside ${JSON.stringify(filters)}`
  })
  t.same(broken, [])
})

t.test('order of metrics, filters and lists, repetition and threads change nothing', async (t) => {
  const broken = await hold(0.3, async (dataset) => {
    const question = drawQuestion(dataset)
    // A fingerprint covers all rows, so few need to be written.
    const first = await ask({ ...question, limit: 1 })
    const permuted: Asked = {
      ...question,
      metrics: [...shuffle(question.metrics), question.metrics[0] ?? ''],
      filters: shuffle([...question.filters, ...question.filters.slice(0, 1)]).map((filter) => ({
        ...filter,
        value: Array.isArray(filter.value) ? shuffle([...filter.value, filter.value[0]]) : filter.value,
      })),
    }
    const again = await ask({ ...permuted, limit: 1 + draw(50) }, twoThreads)
    return first.meta.fingerprint === again.meta.fingerprint &&
      first.meta.rows_sha256 === again.meta.rows_sha256
      ? null
      : `${JSON.stringify(question)} and ${JSON.stringify(permuted)}`
  })
  t.same(broken, [])
})

t.test('a metric alone is what it is beside 19 others', async (t) => {
  const broken = await hold(0.2, async (dataset) => {
    const code = pick(metricsOf(dataset))
    const group_by = shuffle(
      DIMENSIONS_OF.population.concat(
        isPeople(dataset) ? [] : ['management_type', 'legal_nature', 'reference_period'],
      ),
    ).slice(0, draw(3))
    const filters = drawFilters(isPeople(dataset) ? 'population' : 'facilities', draw(2)).filter(
      ({ dimension }) => dimension !== 'facility',
    )
    const usable = CODES.filter(
      (other) => other !== code && (isPeople(dataset) || !isPeople(datasetOf(other))),
    )
    const others = shuffle(
      isPeople(dataset) ? usable.filter((other) => isPeople(datasetOf(other))) : usable,
    ).slice(0, 19)
    if ([code, ...others].some(isPerPeople) && group_by.includes('facility')) return null
    const alone = byKey((await ask({ metrics: [code], group_by, filters })).data, group_by)
    const beside = byKey(
      (await ask({ metrics: shuffle([code, ...others]), group_by, filters })).data,
      group_by,
    )
    for (const [key, row] of alone)
      if (row.metrics[code] !== beside.get(key)?.metrics[code]) return `${code} at ${key} beside ${others}`
    // Others may have groups of their own; there the metric has no facts.
    for (const [key, row] of beside)
      if (!alone.has(key) && ![0, null].includes(row.metrics[code] ?? null))
        return `${code} at ${key} beside ${others}`
    return null
  })
  t.same(broken, [])
})

t.test('pages laid end to end are the whole, in any order asked for', async (t) => {
  const broken = await hold(0.2, async (dataset) => {
    const question = drawQuestion(dataset)
    const fields = [...question.metrics, ...question.group_by]
    question.order_by = Array.from({ length: draw(3) }, () => ({
      field: pick(fields),
      direction: pick(['asc', 'desc']),
    }))
    const whole = await ask(question)
    const { total_rows } = whole.pagination
    const limit = Math.max(1, Math.ceil(Math.min(total_rows, 10_000) / (1 + draw(4))))
    const rows: AnswerRow[] = []
    for (let offset = 0; offset < Math.min(total_rows, 10_000); offset += limit) {
      const page = await ask({ ...question, limit, offset })
      if (page.meta.fingerprint !== whole.meta.fingerprint)
        return `${JSON.stringify(question)}: another fingerprint`
      rows.push(...page.data)
    }
    const beyond = await ask({ ...question, limit: 5, offset: total_rows })
    if (beyond.data.length !== 0 || beyond.pagination.has_more) return 'rows beyond the end'
    return JSON.stringify(rows.slice(0, whole.data.length)) === JSON.stringify(whole.data)
      ? null
      : JSON.stringify(question)
  })
  t.same(broken, [])
  t.ok(asked >= QUERIES, `${asked} queries`)
})
