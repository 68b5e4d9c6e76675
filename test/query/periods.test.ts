/**
 * Years, quarters, quadrimesters and windows by hand, over admissions of five months of three states: of the newest month, one
 * state's file did not come.
 */
import t from 'tap'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { monthsOfPeriod, periodOf, readPeriod, shiftPeriod, showPeriod } from '../../src/model/periods.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const client = await openClient((await makeSmallRelease('admissions')).releasesDir)
t.teardown(() => client.close())

const inStates = (...states: string[]) => ({ dimension: 'state', operator: 'IN', value: states })
const monthsUpTo = (last: string) => ({ dimension: 'reference_period', operator: 'LTE', value: last })
type Answer = {
  data: AnswerRow[]
  totals?: { data: AnswerRow[] }[]
  meta: { notes: WrittenNote[]; query: object }
}
type AnswerRow = { metrics: Record<string, number | null>; dimensions: Record<string, { code: unknown }> }
async function ask(query: object): Promise<Answer> {
  const { status, body } = await client.query(query)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const valuesOf = ({ data }: Answer, metric: string) => data.map(({ metrics }) => metrics[metric])
const sum = (values: readonly (number | null | undefined)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? Number.NaN), 0)
const codesOf = ({ data }: Answer, dimension: string) => data.map((row) => row.dimensions[dimension]?.code)
const noteOf = ({ meta }: Answer, code: string) => meta.notes.find((note) => note.code === code)

t.test('periods are read, shown, and consist of months', async (t) => {
  for (const [dimension, shown, months] of [
    ['reference_quarter', '2025-Q4', [202510, 202511, 202512]],
    ['reference_quadrimester', '2025-C2', [202505, 202506, 202507, 202508]],
    ['reference_period', '2025-01', [202501]],
  ] as const) {
    const code = readPeriod(dimension, shown) ?? 0
    t.equal(showPeriod(dimension, code), shown)
    t.same(monthsOfPeriod(dimension, code), months)
    for (const month of months) t.equal(periodOf(dimension, month), code)
  }
  t.equal(readPeriod('reference_year', '2025'), 2025)
  t.equal(readPeriod('reference_quarter', '2025-Q5'), null)
  t.equal(showPeriod('reference_quarter', shiftPeriod('reference_quarter', 20251, -1)), '2024-Q4')
  t.equal(showPeriod('reference_quadrimester', shiftPeriod('reference_quadrimester', 20253, 1)), '2026-C1')
})

t.test('flows are summed over the months that a filter leaves of a period', async (t) => {
  const query = { metrics: ['admissions'], filters: [inStates('RR'), monthsUpTo('2026-05')] }
  const byMonth = await ask({ ...query, group_by: ['reference_period'] })
  t.same(codesOf(byMonth, 'reference_period'), ['2026-03', '2026-04', '2026-05'])
  const [march, april, may] = valuesOf(byMonth, 'admissions')
  const inMonths = {
    ...query,
    filters: [...query.filters, { dimension: 'reference_period', operator: 'GTE', value: '2026-03' }],
  }
  for (const [dimension, code, expected] of [
    ['reference_year', 2026, [march, april, may]],
    ['reference_quadrimester', '2026-C1', [march, april]],
    ['reference_quarter', '2026-Q2', [april, may]],
  ] as const) {
    const rows = (await ask({ ...inMonths, group_by: [dimension] })).data
    const found = rows.find((row) => row.dimensions[dimension]?.code === code)
    t.equal(found?.metrics.admissions, sum(expected), dimension)
  }
  const both = await ask({
    ...inMonths,
    group_by: ['reference_period', 'reference_quadrimester'],
    totals: [['reference_quadrimester'], []],
    share_of: ['reference_quadrimester'],
  })
  t.same(codesOf(both, 'reference_quadrimester'), ['2026-C1', '2026-C1', '2026-C2'])
  const [first] = both.data
  t.equal(
    first?.metrics.admissions__share,
    Math.round((10_000 * (march ?? 0)) / sum([march, april])) / 100,
    'a month as a share of its quadrimester',
  )
  t.same(both.totals?.[1]?.data[0]?.metrics.admissions, sum([march, april, may]))
  const shares = {
    metrics: ['admissions'],
    group_by: ['reference_period', 'reference_quadrimester'],
    filters: [inStates('RR')],
  }
  const ofIncomplete = await ask({ ...shares, share_of: ['reference_quadrimester'] })
  t.same(valuesOf(ofIncomplete, 'admissions__share'), [null, null, null])
  t.match(noteOf(ofIncomplete, 'incomplete_period'), {
    status: 'incomplete',
    incomplete_periods: ['2026-C1', '2026-C2'],
  })
  const allowed = await ask({ ...shares, share_of: ['reference_quadrimester'], incomplete: 'allow' })
  t.equal(valuesOf(allowed, 'admissions__share')[2], 100)
  t.match(noteOf(allowed, 'incomplete_period'), { status: 'partial' }, 'a month is all that was collected')
})

t.test('a period with a month that was not collected is null, unless that is allowed', async (t) => {
  const query = { metrics: ['admissions'], group_by: ['reference_year'], filters: [inStates('RR')] }
  const strict = await ask(query)
  t.same(valuesOf(strict, 'admissions'), [null], 'the year that runs on')
  const note = noteOf(strict, 'incomplete_period') as Extract<WrittenNote, { code: 'incomplete_period' }>
  t.equal(note.status, 'incomplete')
  t.same(note.incomplete_periods, ['2026'])
  t.ok(note.periods.includes('2026-01') && note.periods.includes('2026-12'), 'it names the months')
  const partial = await ask({ ...query, incomplete: 'allow' })
  const byMonth = await ask({ ...query, group_by: ['reference_period'] })
  t.equal(partial.data[0]?.metrics.admissions, sum(valuesOf(byMonth, 'admissions')))
  t.equal((noteOf(partial, 'incomplete_period') as typeof note).status, 'partial')
  t.match(partial.meta.query, { incomplete: 'allow' })
  t.notOk(
    'incomplete' in (await ask({ ...query, group_by: [], incomplete: 'allow' })).meta.query,
    'no effect',
  )
  // The file of Amapá of the newest month did not come: both states have two months in common.
  const two = { ...query, filters: [inStates('RR', 'AP')], incomplete: 'allow' }
  const ofTwo = await ask(two)
  const months = await ask({ ...two, group_by: ['reference_period'] })
  t.equal(valuesOf(months, 'admissions').at(-1), null)
  t.equal(ofTwo.data[0]?.metrics.admissions, sum(valuesOf(months, 'admissions').slice(0, -1)))
  // A filter by year without a group is one period.
  const year = { dimension: 'reference_year', operator: 'EQ', value: 2026 }
  const single = { metrics: ['admissions'], filters: [inStates('RR'), year] }
  t.same(valuesOf(await ask(single), 'admissions'), [null])
  t.same(
    valuesOf(await ask({ ...single, incomplete: 'allow' }), 'admissions'),
    valuesOf(partial, 'admissions'),
  )
})

t.test('a stock needs to be told how months become one value', async (t) => {
  const query = { metrics: ['bed_capacity_sus'], filters: [inStates('RR')], incomplete: 'allow' }
  const byMonth = valuesOf(await ask({ ...query, group_by: ['reference_period'] }), 'bed_capacity_sus')
  const refused = await client.query({ ...query, group_by: ['reference_year'] })
  t.equal(refused.status, 400)
  t.equal(refused.body.code, 'semi_additive')
  t.same(refused.body.errors[0].allowed, ['last', 'first', 'avg', 'max'])
  const over = async (over_period: string) =>
    valuesOf(await ask({ ...query, group_by: ['reference_year'], over_period }), 'bed_capacity_sus')[0]
  t.equal(await over('last'), byMonth.at(-1))
  t.equal(await over('first'), byMonth[0])
  t.equal(await over('max'), Math.max(...byMonth.map(Number)))
  t.equal(await over('avg'), Math.round((100 * sum(byMonth)) / byMonth.length) / 100)
  // Occupancy: days of stay of the months over the bed-days of the months.
  const occupancy = { ...query, metrics: ['days_of_stay', 'sus_bed_days', 'bed_occupancy_share'] }
  const [year] = (await ask({ ...occupancy, group_by: ['reference_year'] })).data
  const { days_of_stay: days, sus_bed_days: beds, bed_occupancy_share: share } = year?.metrics ?? {}
  t.equal(share, Math.round((10_000 * (days ?? 0)) / (beds ?? 1)) / 100)
})

t.test('windows cover the months up to each month', async (t) => {
  const query = { metrics: ['admissions'], group_by: ['reference_period'], filters: [inStates('RR')] }
  const [march = 0, april = 0, may = 0] = valuesOf(await ask(query), 'admissions').map(Number)
  const ofTwo = await ask({ ...query, window: { months: 2 } })
  t.same(valuesOf(ofTwo, 'admissions'), [null, march + april, april + may])
  const sinceJanuary = { ...query, window: { since: 'year_start' } }
  t.same(valuesOf(await ask(sinceJanuary), 'admissions'), [null, null, null], 'January was not collected')
  t.same(valuesOf(await ask({ ...sinceJanuary, incomplete: 'allow' }), 'admissions'), [
    march,
    march + april,
    march + april + may,
  ])
  // The year to date that is compared with begins in January, too.
  const toDate = { ...sinceJanuary, incomplete: 'allow' }
  for (const [to, bases] of [
    ['previous', [null, march, march + april]],
    ['2026-04', [march + april, march + april, march + april]],
  ] as const)
    t.same(valuesOf(await ask({ ...toDate, change: { to } }), 'admissions__base'), bases, to)
  const { body: lineage } = await client.post('/v1/analytics/lineage', {
    ...query,
    window: { months: 2 },
    key: { reference_period: '2026-04' },
  })
  t.equal(lineage.meta.total, march + april)
  for (const refused of [
    { ...query, group_by: [], window: { months: 2 } },
    { ...query, window: { months: 2 }, totals: [[]] },
    { ...query, window: { months: 1 } },
    { ...query, window: { months: 61 } },
    { ...query, group_by: ['reference_quarter', 'reference_quadrimester'] },
    { ...query, group_by: ['reference_year'], change: { to: '2025-05' } },
  ])
    t.equal((await client.query(refused)).status, 400, JSON.stringify(refused))
})

t.test('a period is compared with the one before, and with the same a year before', async (t) => {
  const query = {
    metrics: ['admissions'],
    group_by: ['reference_quadrimester'],
    filters: [inStates('RR')],
    incomplete: 'allow',
  }
  const [first, second] = (await ask({ ...query, change: { to: 'previous' } })).data
  t.equal(first?.metrics.admissions__base, null)
  t.equal(second?.metrics.admissions__base, null, 'the same months of the period before were not collected')
  const { query: normalised } = (await ask({ ...query, change: { to: '-1y' } })).meta
  t.match(normalised, { change: { to: '-1y' } })
  // A level of totals is compared over the same distance as the rows, in periods of its own.
  const withTotals = {
    ...query,
    group_by: ['reference_year', 'reference_period'],
    totals: [['reference_year']],
  }
  for (const [to, status] of [
    ['-12', 200],
    ['-2', 400],
    ['2026-04', 400],
  ] as const) {
    const { status: found, body } = await client.query({ ...withTotals, change: { to } })
    t.equal(found, status, to)
    if (status === 400)
      t.match(body.errors, [{ pointer: '/change/to', message: /totals \[reference_year\]/ }])
  }
  for (const [options, pointer] of [
    [{ totals: true }, '/totals'],
    [{ totals: [['state']] }, '/totals'],
    [{ share_of: ['state'] }, '/share_of'],
  ] as const) {
    const { body } = await client.query(
      { ...query, group_by: ['state', 'reference_period'], change: { to: 'previous' }, ...options },
      { 'accept-language': 'en' },
    )
    const message = /must keep a period in the level (totals|share_of) \[state\]/
    t.match(body, { code: 'semi_additive', errors: [{ pointer, message }] })
  }
  const twelveMonths = await ask({ ...withTotals, change: { to: '-12' } })
  t.match(noteOf(twelveMonths, 'not_collected'), { periods: ['2025-03', '2025-04', '2025-05'] })
  // A change from what has no value has no percentage.
  const aged = { dimension: 'age_group', operator: 'EQ', value: '80+' }
  const few = { metric: 'admissions', filters: [aged], as: 'few' }
  const { data: changes } = await ask({
    metrics: ['admissions', few, { as: 'ratio', ratio: ['admissions', 'few'], decimals: 2 }],
    group_by: ['residence_municipality'],
    filters: [
      { ...inStates('RR'), dimension: 'residence_state' },
      { dimension: 'reference_period', operator: 'EQ', value: '2026-05' },
    ],
    change: { to: 'previous' },
    limit: 10_000,
  })
  const withoutBase = changes.filter(({ metrics }) => metrics.ratio !== null && metrics.ratio__base === null)
  t.ok(withoutBase.some(({ metrics }) => (metrics.admissions__base ?? 0) > 0))
  for (const { metrics } of withoutBase)
    t.match(metrics, { ratio__change: null, ratio__change_percent: null })
  const rates = {
    metrics: ['admissions_per_10k'],
    filters: [{ ...inStates('RR'), dimension: 'residence_state' }],
  }
  const note = noteOf(
    await ask({ ...rates, group_by: ['reference_year'], incomplete: 'allow' }),
    'months_covered',
  )
  t.match(note, { metrics: ['admissions_per_10k'], months: 3 })
  const inRange = { dimension: 'reference_period', operator: 'BETWEEN', value: ['2026-03', '2026-04'] }
  const ofRange = await ask({ ...rates, filters: [...rates.filters, inRange] })
  t.match(noteOf(ofRange, 'months_covered'), { metrics: ['admissions_per_10k'], months: 2 })
  const byMonth = await ask({
    ...rates,
    filters: [...rates.filters, inRange],
    group_by: ['reference_period'],
  })
  t.equal(noteOf(byMonth, 'months_covered'), undefined, 'a month is a month')
})

t.test('periods in tables, in JSON-stat and beside members', async (t) => {
  const query = {
    metrics: ['admissions'],
    group_by: ['state', 'reference_quarter'],
    filters: [inStates('RR')],
    incomplete: 'allow',
  }
  const csv = await client.query(query, { accept: 'text/csv' })
  t.match(csv.text, /reference_quarter/)
  t.match(csv.text, /2026-Q1/)
  const cube = await client.query(query, { accept: 'application/vnd.json-stat+json' })
  t.same(JSON.parse(cube.text).role.time, ['reference_quarter'])
  const values = await client.get('/v1/analytics/dimensions/reference_quarter/values')
  t.same(
    values.body.data.map(({ code }: { code: string }) => code),
    ['2026-Q1', '2026-Q2'],
  )
})
