/**
 * Confidence limits and percentiles: constants recomputed with many digits, cases of other programs, and a twin in plain TypeScript
 * over the rows of real answers.
 */
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { AGE_GROUPS } from '../../src/model/demography/code-lists.ts'
import { standardOf } from '../../src/model/demography/standard-populations.ts'
import { LEVEL_CONSTANTS, LIMIT_LEVELS, type LimitLevel } from '../../src/model/limits/levels.ts'
import { limitsOf } from '../../src/model/limits/methods.ts'
import { METRIC_CODES, metricOf } from '../../src/model/metrics.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { limitSql } from '../../src/query/analytics/dialect/duckdb/limits.ts'
import { print } from '../../src/sql.ts'
import { openClient } from '../fixtures/client.ts'
import { dobson, poisson, rounded, wilson } from '../fixtures/limits-twin.ts'
import { PUBLISHED_LIMITS } from '../fixtures/published-limits.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { releasesDir } = await makeSmallRelease('admissions')
const client = await openClient(releasesDir)
t.teardown(() => client.close())

type Values = Readonly<Record<string, number | null>>
interface AnswerRow {
  readonly dimensions: Readonly<Record<string, { readonly code: string | number | null }>>
  readonly metrics: Values
}
interface Answer {
  readonly data: readonly AnswerRow[]
  readonly totals: readonly { readonly group_by: readonly string[]; readonly data: readonly AnswerRow[] }[]
  readonly meta: {
    readonly limits?: { readonly level: number; readonly methods: Readonly<Record<string, string>> }
    readonly notes: readonly WrittenNote[]
    readonly query: Readonly<Record<string, unknown>>
    readonly rows_sha256: string
    readonly fingerprint: string
  }
}
async function answerOf(body: Record<string, unknown>): Promise<Answer> {
  const { status, body: answer, text } = await client.query({ limit: 10_000, ...body })
  if (status !== 200) throw new Error(text)
  return answer
}

/** Fixed-point numbers of 50 digits, for constants that doubles cannot check themselves against. */
const ONE = 10n ** 50n
const times = (left: bigint, right: bigint): bigint => (left * right) / ONE
/** e^-x by its series at x ÷ 64, then squared six times. */
function exponential(x: bigint): bigint {
  const small = -x / 64n
  let [term, sum] = [ONE, ONE]
  for (let count = 1n; count < 60n; count += 1n) {
    term = times(term, small) / count
    sum += term
  }
  for (let count = 0; count < 6; count += 1) sum = times(sum, sum)
  return sum
}
/** Probability of at most `count` events when `mean` are expected. */
function poissonUpTo(count: number, mean: bigint): bigint {
  let [term, sum] = [ONE, ONE]
  for (let event = 1n; event <= BigInt(count); event += 1n) {
    term = times(term, mean) / event
    sum += term
  }
  return times(exponential(mean), sum)
}
/** Solves falling(x) = goal between low and high by halving. */
function solve(falling: (x: bigint) => bigint, goal: bigint, low: bigint, high: bigint): bigint {
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if (falling(middle) > goal) low = middle
    else high = middle
  }
  return high
}
const toDouble = (value: bigint): number => Number(`${value / ONE}.${String(value % ONE).padStart(50, '0')}`)
/** Twice the integral of the normal density from 0 to z, by its series. */
function withinNormal(z: bigint): bigint {
  const half = times(z, z) / 2n
  let [power, sum] = [z, z]
  for (let count = 1n; count < 120n; count += 1n) {
    power = (times(power, half) * -1n) / count
    sum += power / (2n * count + 1n)
  }
  // √(2 ÷ π), to 50 digits.
  return times(sum, 79788456080286535587989211986876373695171726232986n)
}

t.test('constants are the doubles nearest to their definitions', (t) => {
  for (const level of LIMIT_LEVELS) {
    const { z, poisson: exact } = LEVEL_CONSTANTS[level]
    const confidence = level === 0.95 ? (ONE * 95n) / 100n : (ONE * 998n) / 1000n
    const tail = (ONE - confidence) / 2n
    t.equal(toDouble(solve((x) => -withinNormal(x), -confidence, 0n, 5n * ONE)), z, `z of ${level}`)
    exact.forEach(([lower, upper], count) => {
      const highest = 40n * ONE
      t.equal(
        toDouble(solve((mean) => poissonUpTo(count, mean), tail, 0n, highest)),
        upper,
        `upper limit of ${count}`,
      )
      const atLeast = (mean: bigint): bigint => poissonUpTo(count - 1, mean)
      t.equal(
        count === 0 ? 0 : toDouble(solve(atLeast, ONE - tail, 0n, highest)),
        lower,
        `lower limit of ${count}`,
      )
    })
  }
  t.end()
})

t.test('limits are those of other programs', async (t) => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  for (const [method, level, events, exposure, scale, lower, upper] of PUBLISHED_LIMITS) {
    const columns = (['lower', 'upper'] as const).map(
      (side) => print(limitSql(method, side, { index: 0, scale, level }), () => '').text,
    )
    const reader = await connection.runAndReadAll(
      `SELECT ${columns.join(', ')} FROM (SELECT ${events}::DOUBLE AS events_0, ${exposure}::DOUBLE AS exposure_0)`,
    )
    const found = (reader.getRows()[0] ?? []).map(Number)
    const name = `${method} ${level} ${events}/${exposure}`
    t.same(
      found.map((value) => value.toPrecision(9)),
      [lower, upper].map((value) => value.toPrecision(9)),
      name,
    )
  }
  t.ok(PUBLISHED_LIMITS.length >= 60)
})

const COUNTED = ['admissions', 'hospital_deaths', 'hospital_mortality_share', 'admissions_per_10k']

function expectedLimits(
  { admissions = null, hospital_deaths: deaths = null }: Values,
  people: number | null,
  level: LimitLevel,
): Record<string, readonly (number | null)[]> {
  const none = [null, null]
  const shown = (pair: readonly number[] | null, scale: number): readonly (number | null)[] =>
    pair === null ? none : pair.map((value) => rounded(value * scale))
  const counted = (events: number | null): readonly (number | null)[] =>
    events === null ? none : shown(poisson(events, level), 1)
  return {
    admissions: counted(admissions),
    hospital_deaths: counted(deaths),
    hospital_mortality_share:
      deaths === null || admissions === null ? none : shown(wilson(deaths, admissions, level), 100),
    admissions_per_10k:
      admissions === null || people === null || people === 0
        ? none
        : shown(
            poisson(admissions, level).map((value) => (value * 10_000) / people),
            1,
          ),
  }
}

for (const level of cases([...LIMIT_LEVELS], [0.95]) as LimitLevel[])
  t.test(`limits at ${level} equal the twin in rows and totals, and contain the value`, async (t) => {
    const answer = await answerOf({
      metrics: [...COUNTED, 'days_of_stay'],
      group_by: ['residence_state', 'residence_municipality'],
      totals: true,
      limits: level,
    })
    const rows = [...answer.data, ...answer.totals.flatMap(({ data }) => data)]
    const population = await answerOf({
      metrics: ['population_census'],
      group_by: ['state', 'municipality'],
      totals: true,
    })
    const placeOf = ({ dimensions }: AnswerRow): string =>
      Object.values(dimensions)
        .map(({ code }) => code)
        .join()
    const people = new Map(
      [...population.data, ...population.totals.flatMap(({ data }) => data)].map((row) => [
        placeOf(row),
        row.metrics.population_census ?? null,
      ]),
    )
    let compared = 0
    for (const row of rows) {
      const { metrics } = row
      const expected = expectedLimits(metrics, people.get(placeOf(row)) ?? null, level)
      for (const [code, limits] of Object.entries(expected)) {
        const found = [metrics[`${code}__lower`], metrics[`${code}__upper`]]
        if (JSON.stringify(found) !== JSON.stringify(limits))
          t.same(found, limits, `${code} ${JSON.stringify(metrics)}`)
        const [lower, upper] = found
        const value = metrics[code]
        if (typeof value === 'number' && typeof lower === 'number' && typeof upper === 'number') {
          compared += 1
          if (!(lower <= value && value <= upper)) t.fail(`${code}: ${lower} ≤ ${value} ≤ ${upper}`)
        }
      }
    }
    t.ok(compared > 100, `${compared} values have limits`)
    t.ok(
      rows.every(
        ({ metrics }) => metrics.days_of_stay__lower === null && metrics.days_of_stay__upper === null,
      ),
    )
    t.equal(answer.meta.limits?.level, level)
    t.same(answer.meta.limits?.methods, {
      admissions: 'poisson',
      hospital_deaths: 'poisson',
      hospital_mortality_share: 'wilson',
      admissions_per_10k: 'poisson',
      days_of_stay: 'none',
    })
    const notes = answer.meta.notes.filter(({ code }) => code === 'no_limits' || code === 'repeated_events')
    t.same(
      notes.map((note) => [note.code, (note as { readonly metrics?: unknown }).metrics]),
      [
        ['no_limits', ['days_of_stay']],
        ['repeated_events', ['admissions', 'admissions_per_10k']],
      ],
    )
  })

t.test('limits of a standardized rate equal the twin by age', async (t) => {
  const group_by = ['residence_state']
  const filters = [{ dimension: 'age_group', operator: 'IN', value: AGE_GROUPS }]
  const [answer, byAge, people] = await Promise.all([
    answerOf({ metrics: ['admissions_per_10k_standardized'], group_by, limits: 0.95, totals: [[]] }),
    answerOf({ metrics: ['admissions'], group_by: [...group_by, 'age_group'], filters }),
    answerOf({ metrics: ['population_by_age'], group_by: ['state', 'age_group'] }),
  ])
  const table = (rows: readonly AnswerRow[], place: string, metric: string) =>
    new Map(
      rows.map(({ dimensions, metrics }) => [
        `${dimensions[place]?.code} ${dimensions.age_group?.code}`,
        metrics[metric] ?? 0,
      ]),
    )
  const events = table(byAge.data, 'residence_state', 'admissions')
  const residents = table(people.data, 'state', 'population_by_age')
  const agesOf = (places: readonly string[]) =>
    standardOf('brazil_2010').map(([ageGroup, weight]) => ({
      weight,
      events: places.reduce((sum, place) => sum + (events.get(`${place} ${ageGroup}`) ?? 0), 0),
      people: places.reduce((sum, place) => sum + (residents.get(`${place} ${ageGroup}`) ?? 0), 0),
    }))
  let compared = 0
  const compareRow = ({ metrics, dimensions }: AnswerRow, places: readonly string[]): void => {
    const found = [
      metrics.admissions_per_10k_standardized__lower,
      metrics.admissions_per_10k_standardized__upper,
    ]
    const pair = metrics.admissions_per_10k_standardized == null ? null : dobson(agesOf(places), 0.95)
    if (pair !== null) compared += 1
    t.same(
      found,
      pair === null ? [null, null] : pair.map((value) => rounded(value * 10_000)),
      JSON.stringify(dimensions),
    )
  }
  for (const row of answer.data) compareRow(row, [String(row.dimensions.residence_state?.code)])
  t.ok(compared > 0, `${compared} rows have limits`)
})

t.test('limits and percentiles can be ordered by, filtered by and read as a table', async (t) => {
  const body = {
    metrics: ['admissions_per_10k'],
    group_by: ['residence_municipality'],
    limits: 0.95,
    percentile: true,
  }
  const answer = await answerOf({
    ...body,
    order_by: [{ field: 'admissions_per_10k__lower', direction: 'desc' }],
    having: [{ metric: 'admissions_per_10k__upper', operator: 'GT', value: 0 }],
  })
  const lowers = answer.data.map(({ metrics }) => metrics.admissions_per_10k__lower ?? -1)
  t.same(
    lowers,
    [...lowers].sort((left, right) => right - left),
  )
  const values = answer.data.map(({ metrics }) => metrics.admissions_per_10k as number)
  for (const { metrics } of answer.data) {
    const value = metrics.admissions_per_10k as number
    const below = values.filter((other) => other < value).length
    // Equal shown values may differ before rounding, so only the bounds of the tie are certain.
    const upTo = values.filter((other) => other <= value).length - 1
    const place = metrics.admissions_per_10k__percentile as number
    const percent = (count: number): number => rounded((100 * count) / (values.length - 1))
    t.ok(place >= percent(below) && place <= percent(upTo), `${place} of ${value}`)
  }
  const csv = await client.query({ ...body, limit: 10_000 }, { accept: 'text/csv' })
  t.match(
    csv.text.split('\n')[0],
    /admissions_per_10k,admissions_per_10k__lower,admissions_per_10k__upper,admissions_per_10k__percentile/,
  )
  const plain = await answerOf({ metrics: ['admissions_per_10k'], group_by: ['residence_municipality'] })
  const limited = await answerOf(body)
  t.not(plain.meta.rows_sha256, limited.meta.rows_sha256, 'the digest covers limits')
  t.same(limited.meta.query.limits, 0.95)
  t.same(limited.meta.query.percentile, true)
  t.notOk('limits' in plain.meta.query || 'limits' in plain.meta)
})

t.test('a single row is at the bottom of itself, and totals have no percentile', async (t) => {
  const answer = await answerOf({ metrics: ['population_census'], group_by: [], percentile: true })
  t.equal(answer.data[0]?.metrics.population_census__percentile, 0)
  const totals = await answerOf({
    metrics: ['admissions'],
    group_by: ['state'],
    percentile: true,
    totals: [[]],
  })
  t.notOk('admissions__percentile' in (totals.totals[0]?.data[0]?.metrics ?? {}))
})

t.test('refusals say what is allowed', async (t) => {
  for (const limits of [0.9, 95, '0.95', true]) {
    const { status, body } = await client.query({ metrics: ['admissions'], group_by: [], limits })
    t.equal(status, 400)
    t.match(body.errors[0], { pointer: '/limits' })
  }
  const percentile = { field: 'admissions__percentile', direction: 'asc' }
  const { status } = await client.query({
    metrics: ['admissions'],
    group_by: ['state'],
    percentile: true,
    order_by: [percentile],
  })
  t.equal(status, 400)
})

t.test('the catalog names the method of every metric, or why it has none', async (t) => {
  const { body } = await client.get('/v1/analytics/catalog')
  for (const { code, limits } of body.data.metrics) {
    t.equal(limits.method, limitsOf(code).method, code)
    t.equal(typeof limits.text, 'string')
  }
  const methods = new Map(METRIC_CODES.map((code) => [code, limitsOf(code)]))
  t.same(methods.get('average_stay_days'), { method: 'none', reason: 'no_spread' })
  t.same(methods.get('average_admission_value'), { method: 'none', reason: 'money' })
  t.same(methods.get('outpatient_quantity_approved'), { method: 'none', reason: 'mixed_units' })
  t.same(methods.get('bed_occupancy_share'), { method: 'none', reason: 'no_spread' })
  t.same(methods.get('beds_sus_share'), { method: 'none', reason: 'complete_count' })
  t.ok(METRIC_CODES.every((code) => limitsOf(code).method !== 'wilson' || metricOf(code).kind === 'ratio'))
})
