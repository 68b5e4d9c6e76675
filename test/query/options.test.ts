/**
 * Totals, changes, shares, ranks and conditions on values against test/fixtures/options-oracle.ts: other code, another engine;
 * and totals against the queries they stand for. The first ring takes a sample of the second's questions.
 */
import t from 'tap'
import { METRIC_CODES } from '../../src/model/metrics.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { type ExpectedRow, expect, type OptionsQuestion } from '../fixtures/options-oracle.ts'
import {
  COLUMNS,
  cellOf,
  DIMENSIONS_OF,
  datasetOf,
  type Filter,
  isPeople,
  isRatio,
} from '../fixtures/oracle.ts'
import { readOracleData } from '../fixtures/oracle-data.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(3)
const client = await openClient(small.releasesDir)
const twoThreads = await openClient(small.releasesDir, 2)
t.teardown(async () => {
  await client.close()
  await twoThreads.close()
})
const data = await readOracleData(client, ['2026-03', '2026-04', '2026-05'])
const { draw, pick, shuffle } = createDraws(11)
type Dataset = keyof typeof DIMENSIONS_OF
const DATASETS = Object.keys(DIMENSIONS_OF) as Dataset[]
const CODES = METRIC_CODES.map(String)

/** Most questions are about the three states that have facilities: the others are 5,500 rows of 0. */
const SCOPE: Filter = { dimension: 'state', operator: 'IN', value: ['RR', 'AC', 'AP'] }

function drawFilters(dataset: Dataset): Filter[] {
  const scope = draw(8) === 0 && dataset !== 'ages' ? [] : [SCOPE]
  return draw(3) > 0 ? scope : [...scope, ...drawFilter(dataset)]
}

function drawFilter(dataset: Dataset): Filter[] {
  const dimension = pick(
    DIMENSIONS_OF[dataset].filter((code) => code !== 'reference_period' && code !== 'facility'),
  )
  const rows =
    dataset === 'ages' ? data.ages : dataset === 'population' ? data.facts.facilities : data.facts[dataset]
  const codes = [1, 2, 3].map(
    () => cellOf(pick(rows), COLUMNS[dimension] ?? '', data) as string | number | null,
  )
  const known = [...new Set(codes.filter((code) => code !== null))]
  return known.length === 0 ? [] : [{ dimension, operator: pick(['IN', 'NOT_IN'] as const), value: known }]
}

/** Some subsets of the groups; those that leave out the months only where something makes them one. */
function drawTotals(groups: readonly string[], isOne: boolean): string[][] {
  const levels = [groups.slice(0, -1), groups.slice(0, 1), [], groups.filter(() => draw(2) === 0)]
  const usable = levels.filter(
    (level) => isOne || !groups.includes('reference_period') || level.includes('reference_period'),
  )
  const chosen = new Map(usable.map((level) => [level.join(), [...level]]))
  // In the order of answers: the finest first, then by the places of their dimensions.
  const places = (level: readonly string[]): string => level.map((code) => groups.indexOf(code)).join()
  return [...chosen.values()].sort(
    (left, right) => right.length - left.length || (places(left) < places(right) ? -1 : 1),
  )
}

function drawQuestion(): OptionsQuestion {
  const dataset = pick(DATASETS)
  const count = 1 + draw(3)
  const group_by = shuffle(DIMENSIONS_OF[dataset].filter((code) => code !== 'facility')).slice(0, count)
  const isByMonth = group_by.includes('reference_period')
  const one = draw(2) === 0
  const over = isByMonth && one ? { over_period: pick(['last', 'first'] as const) } : {}
  const months: Filter[] =
    !isByMonth && !isPeople(dataset) && draw(3) === 0
      ? [{ dimension: 'reference_period', operator: 'EQ', value: pick(['2026-04', '2026-05']) }]
      : []
  const metrics = shuffle(CODES.filter((code) => datasetOf(code) === dataset)).slice(0, 1 + draw(4))
  const change = draw(2) === 0 ? { change: { to: pick(['previous', '-2', '2026-03']) } } : {}
  const adding = metrics.filter((code) => !isRatio(code) && additive(code))
  const levels = isByMonth ? ['reference_period'] : []
  const share =
    adding.length > 0 && draw(2) === 0
      ? { share_of: group_by.filter((code) => levels.includes(code) || draw(3) === 0) }
      : {}
  const [field = ''] = metrics
  const fields = [
    field,
    ...('change' in change ? [`${field}__change`] : []),
    ...('share_of' in share && adding.includes(field) ? [`${field}__share`] : []),
  ]
  const order =
    draw(2) === 0
      ? {
          order_by: [{ field: pick(fields), direction: pick(['asc', 'desc'] as const) }],
          rank: draw(2) === 0,
        }
      : {}
  const having =
    draw(3) === 0
      ? {
          having: [
            pick([
              { metric: pick(fields), operator: pick(['GT', 'GTE', 'LT', 'LTE']), value: draw(40) },
              { metric: pick(fields), operator: 'BETWEEN', value: [0, draw(200) + 0.5] },
              { metric: pick(fields), operator: 'EQ', value: 0 },
            ]),
          ],
        }
      : {}
  return {
    metrics,
    group_by,
    filters: [...drawFilters(dataset), ...months],
    totals: drawTotals(group_by, one),
    ...over,
    ...change,
    ...share,
    ...order,
    ...having,
  }
}

const additive = (code: string): boolean => !/facilities|types_present/.test(code)

interface AnswerRow {
  readonly rank?: number | null
  readonly dimensions: Readonly<Record<string, { readonly code: unknown }>>
  readonly metrics: Readonly<Record<string, number | null>>
}

/** @returns the first differences between rows and what is expected of them */
function compareRows(
  rows: readonly AnswerRow[],
  expected: ReadonlyMap<string, ExpectedRow>,
  groups: readonly string[],
): string[] {
  const found: string[] = []
  for (const { dimensions, metrics, rank } of rows) {
    const key = JSON.stringify(groups.map((group) => dimensions[group]?.code))
    const told = expected.get(key)
    if (told === undefined) {
      found.push(`${key} is no group`)
      continue
    }
    if (Object.keys(metrics).sort().join() !== Object.keys(told.values).sort().join())
      found.push(`${key} has ${Object.keys(metrics)} for ${Object.keys(told.values)}`)
    for (const [name, text] of Object.entries(told.values))
      if (metrics[name] !== (text === null ? null : Number(text)))
        found.push(`${key} ${name}: ${metrics[name]} for ${text}`)
    if ((rank ?? null) !== told.rank) found.push(`${key} rank: ${rank} for ${told.rank}`)
  }
  if (rows.length !== expected.size) found.push(`${rows.length} rows for ${expected.size}`)
  return found
}

t.test('drawn questions against the oracle', async (t) => {
  const wrong: string[] = []
  let cells = 0
  for (let turn = 0; turn < cases(600, 20); turn += 1) {
    const question = drawQuestion()
    const { status, body, text } = await client.query({ ...question, limit: 10_000 })
    if (status !== 200) {
      wrong.push(`${JSON.stringify(question)}: ${text.slice(0, 300)}`)
      continue
    }
    const expected = expect(question, data)
    const found = [
      ...compareRows(body.data, expected.rows, question.group_by),
      ...(question.totals ?? []).flatMap((level, index) => {
        const total = body.totals[index]
        if (total.group_by.join() !== level.join()) return [`level ${total.group_by} for ${level}`]
        return compareRows(total.data, expected.totals[index] ?? new Map(), level).map(
          (said) => `[${level}] ${said}`,
        )
      }),
    ]
    cells += body.data.length * question.metrics.length
    if (found.length > 0) wrong.push(`${JSON.stringify(question)}: ${found.slice(0, 3).join('; ')}`)
  }
  t.same(wrong.slice(0, 6), [], `${cells} rows × metrics`)
})

t.test('totals are what the queries they stand for answer', async (t) => {
  const wrong: string[] = []
  let levels = 0
  for (let turn = 0; turn < cases(2000, 20); turn += 1) {
    const { order_by: _order, rank: _rank, having: _having, ...question } = drawQuestion()
    const { status, body, text } = await client.query({ ...question, limit: 1 })
    if (status !== 200) {
      wrong.push(`${JSON.stringify(question)}: ${text.slice(0, 300)}`)
      continue
    }
    for (const total of body.totals ?? []) {
      levels += 1
      const { share_of, totals: _totals, ...rest } = question
      const isByMonth = question.group_by.includes('reference_period')
      const leavesMonths = isByMonth && !total.group_by.includes('reference_period')
      const keepsShare = share_of?.every((code) => total.group_by.includes(code)) === true
      const asked = {
        ...rest,
        group_by: total.group_by,
        ...(keepsShare ? { share_of } : {}),
        ...(leavesMonths && question.over_period === undefined ? { over_period: 'last' } : {}),
        limit: 10_000,
      }
      const alone = await client.query(asked)
      if (JSON.stringify(alone.body.data) !== JSON.stringify(total.data))
        wrong.push(
          `${JSON.stringify(question)} [${total.group_by}]: ${JSON.stringify(total.data).slice(0, 200)} for ${alone.text.slice(0, 200)}`,
        )
    }
  }
  t.same(wrong.slice(0, 6), [], `${levels} levels`)
})

t.test('the number of threads changes no fingerprint', async (t) => {
  for (let turn = 0; turn < cases(100, 4); turn += 1) {
    const question = { ...drawQuestion(), limit: 1 }
    const [one, two] = [await client.query(question), await twoThreads.query(question)]
    t.equal(one.body.meta.fingerprint, two.body.meta.fingerprint)
    t.same(one.body.totals, two.body.totals)
  }
})
