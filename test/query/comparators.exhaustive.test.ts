/** Rows beside the larger place that contains them: equal to the larger place's answer to the same question, and to a twin's verdict. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { poisson, wilson } from '../fixtures/limits-twin.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { folder, releasesDir } = await makeSmallRelease('admissions')
const client = await openClient(releasesDir)
t.teardown(() => client.close())

interface AnswerRow {
  readonly label: string
  readonly dimensions: Readonly<Record<string, { readonly code: string | number | null }>>
  readonly metrics: Readonly<Record<string, number | string | null>>
}
interface Answer {
  readonly data: readonly AnswerRow[]
  readonly totals: readonly { readonly data: readonly AnswerRow[] }[]
  readonly meta: { readonly notes: readonly WrittenNote[]; readonly query: Readonly<Record<string, unknown>> }
}
async function answerOf(body: Record<string, unknown>): Promise<Answer> {
  const { status, body: answer, text } = await client.query({ limit: 10_000, ...body })
  if (status !== 200) throw new Error(text)
  return answer
}
const codeOf = ({ dimensions }: AnswerRow, dimension: string): string => String(dimensions[dimension]?.code)

/** Pairs of a place and its larger place, by an answer grouped by both. */
async function pairsOf(place: string, larger: string): Promise<Map<string, string>> {
  const metric = place.startsWith('residence_') ? 'admissions' : 'population_census'
  const { data } = await answerOf({ metrics: [metric], group_by: [larger, place] })
  return new Map(data.map((row) => [codeOf(row, place), codeOf(row, larger)]))
}

const COMPARED: readonly (readonly [
  place: string,
  name: string,
  larger: string,
  metrics: readonly string[],
])[] = [
  [
    'municipality',
    'state',
    'state',
    ['hospital_mortality_share', 'beds_existing_per_100k', 'average_stay_days'],
  ],
  ['municipality', 'health_region', 'health_region', ['hospital_mortality_share', 'facilities_per_100k']],
  ['municipality', 'health_macroregion', 'health_macroregion', ['beds_sus_share', 'bed_capacity_existing']],
  ['health_region', 'state', 'state', ['hospital_mortality_share', 'beds_existing_per_100k']],
  ['municipality', 'region', 'region', ['population_growth_since_census', 'beds_existing_per_100k']],
  ['state', 'region', 'region', ['population_census', 'beds_existing_per_100k']],
  ['residence_municipality', 'state', 'residence_state', ['admissions_per_10k', 'hospital_mortality_share']],
  ['residence_municipality', 'region', 'residence_region', ['admissions_per_10k']],
  ['residence_municipality', 'health_region', 'residence_health_region', ['admissions_per_10k']],
]

for (const [place, name, larger, metrics] of cases(COMPARED, COMPARED.slice(-2)))
  t.test(`${place} beside ${larger}`, async (t) => {
    const [answer, comparators, pairs] = await Promise.all([
      answerOf({ metrics, group_by: [place], compare_to: { with: name } }),
      answerOf({ metrics, group_by: [larger] }),
      pairsOf(place, larger),
    ])
    const values = new Map(comparators.data.map((row) => [codeOf(row, larger), row.metrics]))
    let compared = 0
    const differences: string[] = []
    for (const row of answer.data)
      for (const metric of metrics) {
        // A place without a code lies in no larger place, and members without a code are no place.
        const code = codeOf(row, place) === 'null' ? 'null' : (pairs.get(codeOf(row, place)) ?? 'null')
        const expected = code === 'null' ? null : (values.get(code)?.[metric] ?? null)
        const found = row.metrics[`${metric}__comparator`]
        if (found !== expected) differences.push(`${row.label} ${metric}: ${found}, not ${expected}`)
        if (typeof expected === 'number') compared += 1
        const [value, ratio] = [row.metrics[metric], row.metrics[`${metric}__ratio`]]
        if (typeof value !== 'number' || typeof expected !== 'number' || expected === 0) {
          if (ratio !== null) differences.push(`${row.label} ${metric}: ratio ${ratio}`)
        } else if (
          // Both shown values are rounded to hundredths.
          Math.abs(Number(ratio) - value / expected) >
          0.006 + (0.005 / Math.abs(expected)) * (1 + Math.abs(value / expected)) * 1.1
        )
          differences.push(`${row.label} ${metric}: ratio ${ratio} of ${value} ÷ ${expected}`)
      }
    t.same(differences, [])
    t.ok(compared > 0 || name === 'region', `${compared} values have a comparator`)
  })

t.test('the significance is that of the twin, from exact numbers', async (t) => {
  for (const level of cases([0.95, 0.998], [0.95]) as (0.95 | 0.998)[]) {
    const places = ['residence_municipality']
    const [answer, counts, states, people] = await Promise.all([
      answerOf({
        metrics: ['admissions_per_10k', 'hospital_mortality_share', 'admissions', 'average_stay_days'],
        group_by: places,
        compare_to: { with: 'state', level },
      }),
      answerOf({ metrics: ['admissions', 'hospital_deaths'], group_by: places }),
      answerOf({ metrics: ['admissions', 'hospital_deaths'], group_by: ['residence_state'] }),
      answerOf({ metrics: ['population_census'], group_by: ['state', 'municipality'], totals: [['state']] }),
    ])
    const pairs = await pairsOf('residence_municipality', 'residence_state')
    const table = (rows: readonly AnswerRow[], dimension: string) =>
      new Map(rows.map((row) => [codeOf(row, dimension), row.metrics]))
    const [byPlace, byState] = [
      table(counts.data, 'residence_municipality'),
      table(states.data, 'residence_state'),
    ]
    const population = table(people.data, 'municipality')
    const populationOfStates = table(people.totals[0]?.data ?? [], 'state')
    const verdict = (limits: readonly number[] | null, comparator: number | null): string =>
      limits === null || comparator === null || Number.isNaN(comparator)
        ? 'not_compared'
        : (limits[0] ?? 0) > comparator
          ? 'higher'
          : (limits[1] ?? 0) < comparator
            ? 'lower'
            : 'similar'
    const tally = new Map<string, number>()
    for (const row of answer.data) {
      const place = codeOf(row, 'residence_municipality')
      const state = pairs.get(place) ?? ''
      const [own, larger] = [byPlace.get(place), byState.get(state)]
      const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
      const [admissions, deaths] = [numberOf(own?.admissions), numberOf(own?.hospital_deaths)]
      const residents = numberOf(population.get(place)?.population_census)
      const stateAdmissions = numberOf(larger?.admissions)
      const stateResidents = numberOf(populationOfStates.get(state)?.population_census)
      const rateLimits =
        admissions === null || residents === null || residents === 0
          ? null
          : poisson(admissions, level).map((limit) => limit / residents)
      const rate =
        stateAdmissions === null || stateResidents === null ? null : stateAdmissions / stateResidents
      const share =
        stateAdmissions === null || stateAdmissions === 0
          ? null
          : Number(larger?.hospital_deaths) / stateAdmissions
      const shareLimits = deaths === null || admissions === null ? null : wilson(deaths, admissions, level)
      const found = row.metrics.admissions_per_10k__significance
      const expected = [
        verdict(rateLimits, rate),
        verdict(shareLimits, share),
        'not_compared',
        'not_compared',
      ]
      const verdicts = [
        found,
        row.metrics.hospital_mortality_share__significance,
        row.metrics.admissions__significance,
        row.metrics.average_stay_days__significance,
      ]
      if (JSON.stringify(verdicts) !== JSON.stringify(expected)) t.same(verdicts, expected, row.label)
      tally.set(String(found), (tally.get(String(found)) ?? 0) + 1)
    }
    t.ok((tally.get('higher') ?? 0) + (tally.get('lower') ?? 0) > 0, JSON.stringify([...tally]))
  }
})

t.test('filters on places do not narrow the comparator, other filters and months do', async (t) => {
  const metrics = ['hospital_mortality_share']
  const filters = [{ dimension: 'procedure_group', operator: 'EQ', value: '03' }]
  const group_by = ['municipality', 'reference_period']
  const [alone, all, states] = await Promise.all([
    answerOf({
      metrics,
      group_by,
      filters: [...filters, { dimension: 'municipality', operator: 'EQ', value: 1400100 }],
      compare_to: { with: 'state' },
    }),
    answerOf({ metrics, group_by, filters, compare_to: { with: 'state' } }),
    answerOf({ metrics, group_by: ['state', 'reference_period'], filters }),
  ])
  t.ok(alone.data.length > 0)
  for (const row of alone.data) {
    const month = codeOf(row, 'reference_period')
    const isSame = (other: AnswerRow): boolean => codeOf(other, 'reference_period') === month
    t.same(
      row,
      all.data.find((other) => isSame(other) && codeOf(other, 'municipality') === '1400100'),
    )
    const state = states.data.find((other) => isSame(other) && codeOf(other, 'state') === 'RR')
    t.equal(row.metrics.hospital_mortality_share__comparator, state?.metrics.hospital_mortality_share ?? null)
  }
})

t.test(
  'by year, quarter and window, the comparator is the answer of the larger place for the same periods',
  async (t) => {
    const periods = [
      { group_by: ['reference_year'], incomplete: 'allow' },
      { group_by: ['reference_quarter'] },
      { group_by: ['reference_period'], window: { months: 2 }, incomplete: 'allow' },
    ]
    for (const { group_by, ...options } of periods) {
      const body = { metrics: ['hospital_mortality_share', 'average_stay_days'], ...options }
      const [time = ''] = group_by
      const [answer, larger] = await Promise.all([
        answerOf({ ...body, group_by: ['municipality', time], compare_to: { with: 'state' } }),
        answerOf({ ...body, group_by: ['state', time] }),
      ])
      const pairs = await pairsOf('municipality', 'state')
      const values = new Map(
        larger.data.map((row) => [`${codeOf(row, 'state')} ${codeOf(row, time)}`, row.metrics]),
      )
      t.ok(answer.data.length > 0)
      const differences = answer.data.flatMap((row) => {
        const expected = values.get(`${pairs.get(codeOf(row, 'municipality'))} ${codeOf(row, time)}`)
        return body.metrics.filter(
          (metric) => row.metrics[`${metric}__comparator`] !== (expected?.[metric] ?? null),
        )
      })
      t.same(differences, [], time)
      if ('incomplete' in options)
        t.ok(
          [...values.values()].some((metrics) => metrics.average_stay_days !== null),
          time,
        )
    }
  },
)

t.test('a country of which states were not collected is null, with a note', async (t) => {
  const { data, meta } = await answerOf({
    metrics: ['hospital_mortality_share', 'population_growth_since_census'],
    group_by: ['municipality'],
    compare_to: { with: 'country', level: 0.998 },
    totals: [[]],
  })
  t.ok(data.every(({ metrics }) => metrics.hospital_mortality_share__comparator === null))
  t.ok(data.every(({ metrics }) => metrics.hospital_mortality_share__significance === 'not_compared'))
  t.ok(data.every(({ metrics }) => typeof metrics.population_growth_since_census__comparator === 'number'))
  t.ok(meta.notes.some(({ code }) => code === 'comparator_not_collected'))
  t.same(meta.query.compare_to, { with: 'country', level: 0.998 })
})

t.test('the note on what was not collected is about the larger places of the rows', async (t) => {
  for (const [name, state, isNoted] of [
    ['state', 'RR', false],
    ['health_region', 'RR', false],
    ['state', 'SP', true],
    ['region', 'RR', true],
    ['peers', 'RR', true],
  ] as const) {
    const { data, meta } = await answerOf({
      metrics: ['hospital_mortality_share'],
      group_by: ['municipality'],
      filters: [{ dimension: 'state', operator: 'EQ', value: state }],
      compare_to: { with: name },
    })
    const noted = meta.notes.some(({ code }) => code === 'comparator_not_collected')
    t.equal(noted, isNoted, `${name} of ${state}`)
    const hasValue = data.some(({ metrics }) => metrics.hospital_mortality_share__comparator !== null)
    t.equal(hasValue, !isNoted)
  }
})

t.test('comparators order rows, stand in conditions and in tables; totals have none', async (t) => {
  const body = {
    metrics: ['beds_existing_per_100k'],
    group_by: ['municipality'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
    compare_to: { with: 'state' },
  }
  const answer = await answerOf({
    ...body,
    totals: [[]],
    having: [{ metric: 'beds_existing_per_100k__ratio', operator: 'GT', value: 0 }],
    order_by: [{ field: 'beds_existing_per_100k__ratio', direction: 'desc' }],
  })
  const ratios = answer.data.map(({ metrics }) => Number(metrics.beds_existing_per_100k__ratio))
  t.ok(ratios.length > 1)
  t.same(
    ratios,
    [...ratios].sort((left, right) => right - left),
  )
  t.same(Object.keys(answer.totals[0]?.data[0]?.metrics ?? {}), ['beds_existing_per_100k'])
  const csv = await client.query({ ...body, limit: 10_000 }, { accept: 'text/csv' })
  t.match(
    csv.text,
    /beds_existing_per_100k__comparator,beds_existing_per_100k__ratio,beds_existing_per_100k__significance/,
  )
  t.match(csv.text, /,not_compared/)
})

t.test(
  'reports of all formats hold what stands beside a metric, and are reproduced',
  secondRing,
  async (t) => {
    const body = {
      metrics: ['admissions_per_10k', 'hospital_mortality_share'],
      group_by: ['residence_municipality', 'reference_year'],
      limits: 0.998,
      percentile: true,
      compare_to: { with: 'state', level: 0.95 },
      change: { to: 'previous' },
      incomplete: 'allow',
      totals: [['reference_year']],
    }
    for (const format of ['xlsx', 'csv', 'json', 'json-stat', 'arrow', 'parquet']) {
      const report = await client.post(`/v1/analytics/export?format=${format}`, body)
      t.equal(report.status, 200, `${format} ${report.text.slice(0, 300)}`)
      const path = join(folder, `report.${format}`)
      writeFileSync(path, report.bytes)
      const verdict = await verifyReport(path, releasesDir, null, readSettings({}))
      t.equal(verdict.verdict, 'reproduced', `${format} ${JSON.stringify(verdict).slice(0, 400)}`)
    }
  },
)

t.test('a health region in two macro-regions has the one that its row names, and none alone', async (t) => {
  const metrics = ['bed_capacity_existing', 'beds_existing_per_100k']
  const compare_to = { with: 'health_macroregion' }
  const { data: macroregions } = await answerOf({ metrics, group_by: ['health_macroregion'] })
  const byMacroregion = new Map(macroregions.map((row) => [codeOf(row, 'health_macroregion'), row.metrics]))
  const { data: pairs } = await answerOf({
    metrics,
    group_by: ['health_region', 'health_macroregion'],
    compare_to,
  })
  for (const metric of metrics)
    t.same(
      pairs.map((row) => row.metrics[`${metric}__comparator`]),
      pairs.map((row) =>
        codeOf(row, 'health_region') === 'null'
          ? null
          : byMacroregion.get(codeOf(row, 'health_macroregion'))?.[metric],
      ),
      metric,
    )
  const regions = pairs.map((row) => codeOf(row, 'health_region'))
  const inSeveral = new Set(regions.filter((code, index) => regions.indexOf(code) !== index))
  t.ok(inSeveral.size > 0)
  const { data: alone } = await answerOf({ metrics, group_by: ['health_region'], compare_to })
  const comparators = new Map(
    alone.map((row) => [codeOf(row, 'health_region'), row.metrics.beds_existing_per_100k__comparator]),
  )
  for (const code of inSeveral) t.equal(comparators.get(code), null, code)
})

t.test('a row without a place stands beside no country', async (t) => {
  const { data } = await answerOf({
    metrics: ['hospital_mortality_share'],
    group_by: ['residence_region'],
    compare_to: { with: 'country' },
  })
  for (const row of data)
    if (codeOf(row, 'residence_region') === 'null')
      t.match(row.metrics, {
        hospital_mortality_share__comparator: null,
        hospital_mortality_share__significance: 'not_compared',
      })
  t.ok(data.some((row) => codeOf(row, 'residence_region') === 'null'))
})

t.test('refusals say which places are larger', async (t) => {
  const refused = [
    [{ group_by: [] }, '/compare_to', undefined],
    [{ group_by: ['facility', 'municipality'] }, '/compare_to', undefined],
    [{ group_by: ['state'] }, '/compare_to/with', ['country', 'region']],
    [{ group_by: ['bed_type'] }, '/compare_to', undefined],
  ] as const
  for (const [extra, pointer, allowed] of refused) {
    const { status, body } = await client.query({
      metrics: ['bed_capacity_existing'],
      compare_to: { with: 'state' },
      ...extra,
    })
    t.equal(status, 400)
    t.equal(body.errors[0].pointer, pointer)
    if (allowed !== undefined) t.same(body.errors[0].allowed, allowed)
  }
})
