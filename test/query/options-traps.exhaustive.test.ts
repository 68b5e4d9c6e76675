/** Where naive totals, changes and conditions go wrong, with numbers that can be added by hand (test/fixtures/miniature.ts). */
import t, { type Test } from 'tap'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { openClient } from '../fixtures/client.ts'
import { ALTO_ALEGRE, AMAJARI, BOA_VISTA, BONFIM, makeMiniature } from '../fixtures/miniature.ts'

const { releasesDir } = await makeMiniature()
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const RORAIMA = { dimension: 'state', operator: 'EQ', value: 'RR' }
interface AnswerRow {
  rank?: number | null
  dimensions: Record<string, { code: string | number | null }>
  metrics: Record<string, number | null>
}
interface Answer {
  data: AnswerRow[]
  totals: { group_by: string[]; data: AnswerRow[] }[]
  meta: { notes: WrittenNote[]; query: Record<string, unknown>; fingerprint: string; rows_sha256: string }
}
async function ask(body: Record<string, unknown>): Promise<Answer> {
  const { status, body: answer, text } = await client.query({ filters: [RORAIMA], ...body })
  if (status !== 200) throw new Error(text)
  return answer
}
const sumOf = (rows: readonly AnswerRow[], metric: string): number =>
  rows.reduce((sum, { metrics }) => sum + (metrics[metric] ?? 0), 0)
const at = (rows: readonly AnswerRow[], code: unknown, dimension = 'municipality') =>
  rows.find(({ dimensions }) => dimensions[dimension]?.code === code)?.metrics ?? {}

t.test('the total of a rate is the rate of the total, not the sum of rates', async (t) => {
  const { data, totals } = await ask({
    metrics: ['beds_existing_per_100k'],
    group_by: ['municipality'],
    totals: [[]],
  })
  // 1000 + 2000 + 0: their sum is 3000; the state has 21 beds and 2,000 people.
  t.equal(sumOf(data, 'beds_existing_per_100k'), 3000)
  t.same(totals, [
    {
      group_by: [],
      data: [
        {
          label: 'Total do escopo selecionado',
          dimensions: {},
          metrics: { beds_existing_per_100k: 1050 },
        },
      ],
    },
  ])
})

t.test('the total of a distinct count counts each once', async (t) => {
  // Hospital 1 has beds of two types; types of equipment are in several places.
  const beds = await ask({ metrics: ['facilities_with_beds'], group_by: ['bed_type'], totals: true })
  const total = beds.totals[0]?.data[0]?.metrics.facilities_with_beds
  t.equal(total, 3)
  t.ok(sumOf(beds.data, 'facilities_with_beds') > 3, String(sumOf(beds.data, 'facilities_with_beds')))
  const types = await ask({ metrics: ['equipment_types_present'], group_by: ['municipality'], totals: true })
  const alone = await ask({ metrics: ['equipment_types_present'], group_by: [] })
  t.equal(
    types.totals[0]?.data[0]?.metrics.equipment_types_present,
    alone.data[0]?.metrics.equipment_types_present,
  )
})

t.test('the total of a stock over months is refused, or says how', async (t) => {
  const question = { metrics: ['bed_capacity_existing'], group_by: ['reference_period'], totals: true }
  const refused = await client.query({ ...question, filters: [RORAIMA] })
  t.equal(refused.body.code, 'semi_additive', 'never 61')
  const over = async (over_period: string) =>
    (await ask({ ...question, over_period })).totals[0]?.data[0]?.metrics.bed_capacity_existing
  t.equal(await over('first'), 40)
  t.equal(await over('last'), 21)
  t.equal(await over('avg'), 30.5)
  t.equal(await over('max'), 40)
})

t.test('a change is of exact numbers, and one from nothing has no percentage', async (t) => {
  const { data, totals } = await ask({
    metrics: ['bed_capacity_existing', 'beds_existing_per_100k', 'population_census'],
    group_by: ['municipality'],
    totals: [[]],
    change: { to: 'previous' },
  })
  t.match(at(data, BOA_VISTA), {
    bed_capacity_existing: 10,
    bed_capacity_existing__base: 29,
    bed_capacity_existing__change: -19,
    // -19 of 29
    bed_capacity_existing__change_percent: -65.52,
    beds_existing_per_100k__base: 2900,
    beds_existing_per_100k__change: -1900,
    population_census__base: null,
    population_census__change: null,
  })
  t.match(at(data, AMAJARI), {
    bed_capacity_existing__base: 0,
    bed_capacity_existing__change: 0,
    bed_capacity_existing__change_percent: null,
  })
  t.match(at(data, BONFIM), {
    bed_capacity_existing__change: 0,
    beds_existing_per_100k__base: null,
    beds_existing_per_100k__change: null,
  })
  t.match(totals[0]?.data[0]?.metrics, {
    bed_capacity_existing: 21,
    bed_capacity_existing__base: 40,
    bed_capacity_existing__change: -19,
    bed_capacity_existing__change_percent: -47.5,
    beds_existing_per_100k__change: -950,
  })
})

t.test('a group that has facts in the month compared with alone is a row', async (t) => {
  // Hospital 3 is closed in May: its 20 beds are the change of the month.
  const { data } = await ask({
    metrics: ['bed_capacity_existing'],
    group_by: ['facility'],
    change: { to: '2026-04' },
  })
  t.match(at(data, '1000003', 'facility'), {
    bed_capacity_existing: 0,
    bed_capacity_existing__base: 20,
    bed_capacity_existing__change: -20,
    bed_capacity_existing__change_percent: -100,
  })
})

t.test('a month that was not collected is not compared with the one before it', async (t) => {
  const back = await ask({
    metrics: ['bed_capacity_existing'],
    group_by: ['reference_period'],
    change: { to: '-12' },
  })
  for (const { metrics } of back.data)
    t.match(metrics, {
      bed_capacity_existing__base: null,
      bed_capacity_existing__change: null,
      bed_capacity_existing__change_percent: null,
    })
  t.match(
    back.meta.notes.find(({ code }) => code === 'change_not_collected'),
    { dataset: 'bed_capacity', base_period: '2025-04', periods: ['2026-04'] },
  )
  const previous = await ask({
    metrics: ['bed_capacity_existing'],
    group_by: ['reference_period'],
    change: { to: 'previous' },
  })
  t.same(
    previous.data.map(({ metrics }) => metrics.bed_capacity_existing__change),
    [null, -19],
  )
})

t.test('conditions on values are met after division, by what is shown', async (t) => {
  const having = async (operator: string, value: unknown, metric = 'beds_existing_per_100k') =>
    (
      await ask({
        metrics: ['beds_existing_per_100k', 'bed_capacity_existing'],
        group_by: ['municipality'],
        having: [{ metric, operator, value }],
      })
    ).data.map(({ dimensions }) => dimensions.municipality?.code)
  t.same(await having('GT', 1000), [ALTO_ALEGRE])
  t.same(await having('GTE', 1000), [ALTO_ALEGRE, BOA_VISTA])
  t.same(await having('EQ', 2000), [ALTO_ALEGRE])
  t.same(await having('between', [0.5, 1999.99]), [BOA_VISTA])
  t.same(await having('LT', 0.01), [AMAJARI], 'a rate that is not defined meets nothing')
  t.same(await having('GT', 0, 'bed_capacity_existing'), [ALTO_ALEGRE, BOA_VISTA, BONFIM])
  const { data, totals, meta } = await ask({
    metrics: ['bed_capacity_existing'],
    group_by: ['municipality'],
    having: [{ metric: 'bed_capacity_existing', operator: 'GT', value: 9 }],
    totals: true,
  })
  t.equal(sumOf(data, 'bed_capacity_existing'), 20)
  t.equal(totals[0]?.data[0]?.metrics.bed_capacity_existing, 21, 'totals are of the scope')
  t.ok(meta.notes.some(({ code }) => code === 'totals_ignore_having'))
})

t.test('shares are of the level asked for; ranks share a place', async (t) => {
  const { data } = await ask({
    metrics: ['bed_capacity_existing'],
    group_by: ['municipality'],
    share_of: [],
    order_by: ['-bed_capacity_existing__share'],
    rank: true,
  })
  t.same(
    data
      .slice(0, 5)
      .map(({ dimensions, metrics, rank }) => [
        dimensions.municipality?.code,
        metrics.bed_capacity_existing__share,
        rank,
      ]),
    [
      [ALTO_ALEGRE, 47.62, 1],
      [BOA_VISTA, 47.62, 1],
      [BONFIM, 4.76, 3],
      [AMAJARI, 0, 4],
      [data[4]?.dimensions.municipality?.code, 0, 4],
    ],
  )
  const months = await ask({
    metrics: ['bed_capacity_existing'],
    group_by: ['municipality', 'reference_period'],
    share_of: ['reference_period'],
  })
  const april = months.data.find(
    ({ dimensions }) =>
      dimensions.municipality?.code === BOA_VISTA && dimensions.reference_period?.code === '2026-04',
  )
  t.equal(april?.metrics.bed_capacity_existing__share, 72.5, '29 of 40')
})

const refused = async (
  t: Test,
  body: Record<string, unknown>,
  pointer: string,
  message: RegExp,
  code = 'invalid_request',
) => {
  const { status, body: answer } = await client.query(
    { metrics: ['bed_capacity_existing'], group_by: ['municipality'], ...body },
    { 'accept-language': 'en' },
  )
  t.equal(status, 400)
  t.equal(answer.code, code)
  t.equal(answer.errors[0]?.pointer, pointer)
  t.match(answer.errors[0]?.message, message)
}
t.test('what the options cannot mean is refused', async (t) => {
  await refused(t, { totals: [['state']] }, '/totals/0/0', /not a grouped dimension/)
  await refused(t, { totals: 'all' }, '/totals', /true, or a list/)
  await refused(t, { change: { to: 'yesterday' } }, '/change/to', /YYYY-MM/)
  await refused(t, { change: { to: '2026-13' } }, '/change/to', /YYYY-MM/)
  await refused(t, { change: { to: '-0' } }, '/change/to', /YYYY-MM/)
  await refused(
    t,
    { change: { to: 'previous' }, over_period: 'avg' },
    '/change',
    /one period with another/,
    'semi_additive',
  )
  await refused(
    t,
    { having: [{ metric: 'facilities_count', operator: 'GT', value: 1 }] },
    '/having/0/metric',
    /not a metric of the query/,
  )
  await refused(
    t,
    { having: [{ metric: 'bed_capacity_existing', operator: 'NEQ', value: 1 }] },
    '/having/0/operator',
    /./,
  )
  await refused(
    t,
    { having: [{ metric: 'bed_capacity_existing', operator: 'GT', value: [1, 2] }] },
    '/having/0/value',
    /single number/,
  )
  await refused(
    t,
    { having: [{ metric: 'bed_capacity_existing', operator: 'BETWEEN', value: [2, 1] }] },
    '/having/0/value',
    /lower first/,
  )
  await refused(
    t,
    { having: [{ metric: 'bed_capacity_existing', operator: 'GT', value: 1e-9 }] },
    '/having/0/value',
    /6 decimals/,
  )
  await refused(t, { metrics: ['beds_existing_per_100k'], share_of: [] }, '/share_of', /have no share/)
  await refused(t, { metrics: ['facilities_count'], share_of: [] }, '/share_of', /have no share/)
  await refused(t, { share_of: [], over_period: 'max' }, '/share_of', /do not add up/)
  await refused(
    t,
    { group_by: ['reference_period'], share_of: [] },
    '/share_of',
    /must keep reference_period/,
    'semi_additive',
  )
  await refused(t, { rank: true }, '/rank', /begins with a metric/)
  await refused(t, { rank: true, order_by: ['municipality'] }, '/rank', /begins with a metric/)
  await refused(t, { population_basis: 'census_2022' }, '/population_basis', /./)
  await refused(t, { order_by: ['-beds'] }, '/order_by/0/field', /not a metric/)
})

t.test('equal questions are equal, however they are written', async (t) => {
  const plain = await ask({
    metrics: ['bed_capacity_existing'],
    group_by: ['municipality', 'reference_period'],
    filters: [RORAIMA, { dimension: 'reference_period', operator: 'IN', value: ['2026-04', '2026-05'] }],
    order_by: [{ field: 'bed_capacity_existing', direction: 'desc' }],
    totals: [
      ['reference_period', 'municipality'],
      ['municipality', 'reference_period'],
      ['reference_period'],
    ],
    change: { to: 'previous' },
    having: [
      { metric: 'bed_capacity_existing', operator: 'GTE', value: 1 },
      { metric: 'bed_capacity_existing', operator: 'LT', value: 1000 },
    ],
  })
  const lax = await ask({
    metrics: ['bed_capacity_existing'],
    group_by: ['municipality', 'reference_period'],
    filters: [
      { dimension: 'reference_period', operator: 'in', value: [202605, '202604'] },
      { dimension: 'state', operator: 'eq', value: 'rr' },
    ],
    order_by: ['-bed_capacity_existing'],
    totals: [['reference_period'], ['municipality', 'reference_period']],
    change: { to: -1 },
    having: [
      { metric: 'bed_capacity_existing', operator: 'lt', value: 1e3 },
      { metric: 'bed_capacity_existing', operator: 'gte', value: 1 },
    ],
    include_ignored: true,
    population_basis: 'estimate',
    rank: false,
    share_of: null,
  })
  t.same(lax.meta.query, plain.meta.query)
  t.equal(lax.meta.fingerprint, plain.meta.fingerprint)
  t.same(lax.data, plain.data)
  t.same(lax.totals, plain.totals)
  const old = await ask({ metrics: ['bed_capacity_existing'], totals: [], having: [], change: null })
  t.same(
    Object.keys(old.meta.query),
    ['metrics', 'group_by', 'filters', 'order_by', 'over_period', 'limit', 'offset'],
    'a query without options has the form it always had',
  )
  t.notOk('totals' in old)
})

t.test('rates by the newest estimate have its people below', async (t) => {
  const { data, meta } = await ask({
    metrics: ['beds_existing_per_100k'],
    population_basis: 'estimate',
    group_by: ['municipality'],
  })
  t.equal(at(data, BONFIM).beds_existing_per_100k, 2000, '1 bed among the 50 people of the estimate')
  t.equal((meta.query as { population_basis: string }).population_basis, 'estimate')
})
