/**
 * Laws of limits, comparators, peers, statuses, windows, periods, groupings, filtered metrics and constant prices, over drawn combinations of them:
 * what stands beside a value changes no value, and agrees with the answers to the same question without it.
 */
import t from 'tap'
import { dimensionsOf, type MetricCode } from '../../src/model/metrics.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const client = await openClient((await makeSmallRelease('admissions')).releasesDir)
t.teardown(() => client.close())
const { draw, pick, shuffle } = createDraws(2036)

type Body = Record<string, unknown>
interface AnswerRow {
  readonly dimensions: Readonly<Record<string, { readonly code: string | number | null }>>
  readonly metrics: Readonly<Record<string, number | string | null>>
  readonly status?: Readonly<Record<string, string>>
}
/** @returns the rows of an answer; null for a question that is refused with a reason */
async function rowsOf(body: Body): Promise<readonly AnswerRow[] | null> {
  const { status, body: answer, text } = await client.query({ limit: 10_000, ...body })
  if (status >= 500) throw new Error(`${JSON.stringify(body)}: ${text.slice(0, 300)}`)
  return status === 200 ? answer.data : null
}
const keyOf = ({ dimensions }: AnswerRow, names: readonly string[]): string =>
  names.map((name) => dimensions[name]?.code ?? 'null').join('/')
const valuesByKey = (rows: readonly AnswerRow[], names: readonly string[]) =>
  new Map(rows.map((row) => [keyOf(row, names), row.metrics]))

/** Metrics of each kind of limits, of money, of stocks and flows. */
const METRICS: readonly MetricCode[] = [
  'admissions',
  'hospital_deaths',
  'hospital_mortality_share',
  'average_stay_days',
  'admissions_value',
  'beds_existing_per_100k',
  'bed_capacity_existing',
  'admissions_per_10k',
]
const LARGER: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  municipality: { state: 'state', region: 'region', health_region: 'health_region' },
  health_region: { state: 'state', region: 'region' },
  state: { region: 'region' },
  residence_municipality: { state: 'residence_state' },
}
const TIMES = ['reference_period', 'reference_quarter', 'reference_year'] as const

/** Members of each place, with the larger place that contains it, by answers grouped by both. */
const containing = new Map<string, Map<string, string>>()
for (const [place, larger] of Object.entries(LARGER))
  for (const dimension of Object.values(larger)) {
    const metric = place.startsWith('residence_') ? 'admissions' : 'population_census'
    const filters = metric === 'admissions' ? [month('GTE', '2026-03')] : []
    const rows = (await rowsOf({ metrics: [metric], group_by: [dimension, place], filters })) ?? []
    containing.set(
      `${place} ${dimension}`,
      new Map(rows.map((row) => [keyOf(row, [place]), keyOf(row, [dimension])])),
    )
  }

interface Question {
  readonly place: string
  readonly names: readonly string[]
  readonly codes: readonly string[]
  /** Everything but what stands beside the values. */
  readonly plain: Body
  readonly marks: Body
  readonly larger: string | null
}

function drawQuestion(): Question {
  const place = pick(Object.keys(LARGER))
  const time = draw(2) === 0 ? null : pick(TIMES)
  const fits = METRICS.filter((code) => dimensionsOf(code).some((dimension) => dimension === place))
  const metrics = shuffle(fits).slice(0, 1 + draw(3))
  const [first = 'admissions'] = metrics
  const defined = draw(3) === 0 ? [{ metric: first, as: 'filtered', filters: [filterOf(first, place)] }] : []
  const ratio = draw(4) === 0 && metrics.includes('admissions') && metrics.includes('hospital_deaths')
  const names = [place, ...(time === null ? [] : [time])]
  const level = pick([0.95, 0.998])
  const name = pick(Object.keys(LARGER[place] ?? {}))
  const plain = {
    metrics: [
      ...metrics,
      ...defined,
      ...(ratio ? [{ as: 'own_ratio', ratio: ['hospital_deaths', 'admissions'], scale: 100 }] : []),
    ],
    group_by: names,
    filters: pick([[], [], [month('IN', ['2026-04', '2026-05'])], [month('GTE', '2026-04')]]),
    over_period: 'last',
    ...(draw(2) === 0 ? { incomplete: 'allow' } : {}),
    ...(time === 'reference_period' && draw(2) === 0
      ? { window: pick([{ months: 2 }, { months: 3 }, { since: 'year_start' }]) }
      : {}),
    ...(draw(3) === 0 ? { prices: pick(['2026-05', '2026-04']) } : {}),
  }
  return {
    place,
    names,
    codes: [...metrics, ...defined.map(({ as }) => as), ...(ratio ? ['own_ratio'] : [])],
    plain,
    marks: {
      limits: level,
      compare_to: { with: name, level },
      status: true,
      percentile: draw(2) === 0,
    },
    larger: LARGER[place]?.[name] ?? null,
  }
}
/** @returns a filter that the metric takes together with the place; a comparison takes none on months or places */
function filterOf(metric: MetricCode, place: string) {
  if (place.startsWith('residence_')) return { dimension: 'sex', operator: 'EQ', value: 'F' }
  return dimensionsOf(metric).includes('complexity')
    ? { dimension: 'complexity', operator: 'EQ', value: '02' }
    : { dimension: 'management_type', operator: 'EQ', value: 'M' }
}
function month(operator: string, value: unknown) {
  return { dimension: 'reference_period', operator, value }
}

const WITHOUT_VALUE = new Set(['not_collected', 'incomplete', 'no_denominator'])

/** @returns what is wrong with the answer to a question; none where it is refused, as without the options beside */
async function faultsOf({ place, names, codes, plain, marks, larger }: Question): Promise<string[] | null> {
  const [answer, alone] = await Promise.all([rowsOf({ ...plain, ...marks }), rowsOf(plain)])
  if (answer === null || alone === null)
    return answer === alone ? null : ['refused only with or without marks']
  const found: string[] = []
  const expected = valuesByKey(alone, names)
  const groups = [larger ?? '', ...names.slice(1)]
  const comparators = valuesByKey((await rowsOf({ ...plain, group_by: groups })) ?? [], groups)
  const pairs = containing.get(`${place} ${larger}`)
  if (answer.length !== alone.length) found.push(`${answer.length} rows, not ${alone.length}`)
  for (const row of answer) {
    const { metrics, status = {} } = row
    const key = keyOf(row, names)
    const [placeCode = '', ...rest] = key.split('/')
    // A place without a code, or in no larger place, has no comparator.
    const within = placeCode === 'null' ? undefined : pairs?.get(placeCode)
    const area = within === 'null' ? undefined : within
    for (const code of codes) {
      const fault = (text: string): void => void found.push(`${key} ${code}: ${text}`)
      const value = metrics[code] ?? null
      if (value !== (expected.get(key)?.[code] ?? null)) fault(`${value}, alone ${expected.get(key)?.[code]}`)
      const [lower, upper] = [metrics[`${code}__lower`] ?? null, metrics[`${code}__upper`] ?? null]
      if (value === null && lower !== null) fault('limits of nothing')
      // Both are rounded: a proportion of 0 or 100 is its own limit.
      if (lower !== null && (Number(lower) > Number(value) + 0.006 || Number(upper) < Number(value) - 0.006))
        fault(`${value} outside ${lower} to ${upper}`)
      const comparator = metrics[`${code}__comparator`] ?? null
      const wanted = area === undefined ? null : (comparators.get([area, ...rest].join('/'))?.[code] ?? null)
      if (comparator !== wanted) fault(`comparator ${comparator}, not ${wanted}`)
      const verdict = metrics[`${code}__significance`]
      const distance = (limit: unknown): number => Number(limit) - Number(comparator)
      if (comparator === null || lower === null) {
        if (verdict !== 'not_compared') fault(`${verdict} without limits or comparator`)
      } else if (verdict !== 'not_compared') {
        const sure = 0.02
        if (distance(lower) > sure && verdict !== 'higher') fault(`${verdict}, not higher`)
        if (distance(upper) < -sure && verdict !== 'lower') fault(`${verdict}, not lower`)
        if (distance(lower) < -sure && distance(upper) > sure && verdict !== 'similar')
          fault(`${verdict}, not similar`)
      }
      const state = status[code] ?? ''
      if ((value === null) !== WITHOUT_VALUE.has(state)) fault(`${state} of ${value}`)
      if (state === 'partial' && plain.incomplete !== 'allow') fault('partial without allowing it')
    }
  }
  return found
}

const COUNT = countOf(24, 6)
t.test(`${COUNT} drawn combinations agree with the answers without them`, async (t) => {
  const wrong: string[] = []
  let answered = 0
  let filtered = 0
  while (answered < COUNT) {
    const question = drawQuestion()
    const faults = await faultsOf(question)
    if (faults === null) continue
    answered += 1
    if (question.codes.includes('filtered')) filtered += 1
    if (faults.length > 0)
      wrong.push(
        `${JSON.stringify({ ...question.plain, ...question.marks })}: ${faults.slice(0, 3).join('; ')}`,
      )
  }
  t.same(wrong.slice(0, 5), [])
  t.ok(filtered > 0, `${filtered} with a filtered metric`)
})

t.test(
  'prices of a month of its own are nominal, and a grouping of single states is the state',
  async (t) => {
    const filters = [month('EQ', '2026-05')]
    const metrics = ['admissions_value', 'hospital_mortality_share']
    const [nominal, constant, grouped] = await Promise.all([
      rowsOf({ metrics, group_by: ['state'], filters }),
      rowsOf({ metrics, group_by: ['state'], filters, prices: '2026-05' }),
      rowsOf({
        metrics,
        group_by: ['g'],
        filters,
        groupings: {
          g: {
            dimension: 'state',
            groups: ['AC', 'RR', 'AP'].map((code) => ({ code, name: code, members: [code] })),
          },
        },
        status: true,
      }),
    ])
    t.same(constant, nominal)
    const states = valuesByKey(nominal ?? [], ['state'])
    t.equal(grouped?.length, 3)
    for (const row of grouped ?? []) t.same(row.metrics, states.get(keyOf(row, ['g'])), keyOf(row, ['g']))
  },
)
