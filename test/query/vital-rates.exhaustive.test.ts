/**
 * Rates of deaths and births against plain SQL over the same records: ratios across both areas, rates of residents by age, and shares
 * of births. A side that was not collected gives null with a note.
 */
import t from 'tap'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { poisson, rounded, wilson } from '../fixtures/limits-twin.ts'
import { countOf } from '../fixtures/rings.ts'
import { importVitalRecords } from '../fixtures/vital-records.ts'

const { releasesDir, result, ask } = await importVitalRecords()
await writePointer(releasesDir, result.analytics)
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const { draw, pick, shuffle } = createDraws(20)

interface Twin {
  readonly scale: number
  /** Table and condition of each side. */
  readonly top: readonly [table: string, condition: string]
  readonly bottom: readonly [table: string, condition: string] | null
}
const infant = (condition: string): Twin => ({
  scale: 1000,
  top: ['deaths', condition],
  bottom: ['births', 'true'],
})
const ofKnown = (column: string): Twin => ({
  scale: 100,
  top: ['births', column],
  bottom: ['births', `${column} IS NOT NULL`],
})
const TWINS: Readonly<Record<string, Twin>> = {
  deaths: { scale: 1, top: ['deaths', 'true'], bottom: null },
  births: { scale: 1, top: ['births', 'true'], bottom: null },
  infant_mortality_rate: infant('infant_age IS NOT NULL'),
  neonatal_mortality_rate: infant("infant_age IN ('early_neonatal', 'late_neonatal')"),
  early_neonatal_mortality_rate: infant("infant_age = 'early_neonatal'"),
  late_neonatal_mortality_rate: infant("infant_age = 'late_neonatal'"),
  post_neonatal_mortality_rate: infant("infant_age = 'post_neonatal'"),
  maternal_mortality_ratio: { scale: 100_000, top: ['deaths', 'is_maternal'], bottom: ['births', 'true'] },
  ill_defined_deaths_share: { scale: 100, top: ['deaths', "chapter = '18'"], bottom: ['deaths', 'true'] },
  external_cause_deaths: { scale: 1, top: ['deaths', "chapter = '20'"], bottom: null },
  maternal_deaths: { scale: 1, top: ['deaths', 'is_maternal'], bottom: null },
  premature_ncd_deaths_per_100k: {
    scale: 100_000,
    top: ['deaths', 'is_premature'],
    bottom: ['residents', "age_group >= '30' AND age_group < '70'"],
  },
  low_birth_weight_share: ofKnown('is_low'),
  preterm_share: ofKnown('is_preterm'),
  caesarean_share: ofKnown('is_caesarean'),
  prenatal_7plus_share: ofKnown('has_many'),
  adolescent_mothers_share: ofKnown('is_adolescent'),
}
const METRICS = Object.keys(TWINS)

/** Dimension → column of the table. */
const COLUMNS: Readonly<Record<string, string>> = {
  reference_period: 'period',
  reference_year: 'year',
  residence_state: 'uf',
  residence_municipality: 'municipality',
  sex: 'sex',
  race: 'race',
}
/** By sex, the ratio of maternal deaths has no meaning; residents have no race. */
const isAllowed = (metric: string, dimension: string): boolean =>
  !(
    (metric === 'maternal_mortality_ratio' && dimension === 'sex') ||
    (metric === 'premature_ncd_deaths_per_100k' && dimension === 'race')
  )
const isTime = (dimension: string): boolean => dimension.startsWith('reference_')

type Counts = ReadonlyMap<string, number>
async function countBy(
  [table, condition]: readonly [string, string],
  groups: readonly string[],
  where: string,
): Promise<Counts> {
  const columns = groups.map((code) => COLUMNS[code])
  const value = table === 'residents' ? 'sum(people)' : 'count(*)'
  const rows = await ask(
    `SELECT ${[...columns, `${value} FILTER (WHERE ${condition}) AS counted`].join(', ')} FROM ${table} WHERE ${where} ${groups.length === 0 ? '' : 'GROUP BY ALL'}`,
  )
  return new Map(
    rows.map((row) => [
      columns.map((column) => row[column ?? ''] ?? null).join('|'),
      Number(row.counted ?? 0),
    ]),
  )
}

/** Half away from zero, exactly: integers until the last step. */
const divide = (top: number, bottom: number, scale: number): number =>
  Number((2n * BigInt(top) * BigInt(scale) * 100n + BigInt(bottom)) / (2n * BigInt(bottom))) / 100

interface Asked {
  readonly status: number
  readonly rows: ReadonlyMap<string, Readonly<Record<string, number | string | null>>>
  readonly notes: readonly { readonly code: string }[]
  readonly body: { readonly errors?: unknown }
}
async function question(
  body: Record<string, unknown> & { readonly group_by: readonly string[] },
): Promise<Asked> {
  const reply = await client.query({ limit: 10_000, ...body })
  const rows = (reply.body.data ?? []).map(
    ({
      dimensions,
      metrics,
    }: {
      dimensions: Record<string, { code: unknown }>
      metrics: Record<string, number>
    }) => [
      body.group_by
        .map((code) => {
          const member = dimensions[code]?.code ?? null
          return member === null ? null : String(member).replace(/^(\d{4})-(\d\d)$/, '$1$2')
        })
        .join('|'),
      metrics,
    ],
  )
  return { status: reply.status, rows: new Map(rows), notes: reply.body.meta?.notes ?? [], body: reply.body }
}
const inRoraima = { dimension: 'residence_state', operator: 'EQ', value: 'RR' }
const inYear = (year: number) => ({ dimension: 'reference_year', operator: 'EQ', value: year })

t.test('drawn questions on Roraima, which has both sides', async (t) => {
  for (let index = 0; index < countOf(60, 20); index += 1) {
    const metric = pick(METRICS)
    const group_by = shuffle(Object.keys(COLUMNS))
      .filter((code) => isAllowed(metric, code))
      .slice(0, draw(3))
    const year = pick([2020, 2021])
    const { status, rows, body } = await question({
      metrics: [metric],
      group_by,
      filters: [inRoraima, inYear(year)],
    })
    const name = `${metric} by ${group_by.join()} in ${year}`
    t.equal(status, 200, `${name} ${JSON.stringify(body.errors ?? '')}`)
    const { scale, top, bottom } = TWINS[metric] as Twin
    const isOfResidents = bottom?.[0] === 'residents'
    const ofPlaces = group_by.filter((code) => !isOfResidents || !isTime(code))
    const where = `uf = 'RR' AND year = ${year}`
    const tops = await countBy(top, group_by, where)
    const bottoms =
      bottom === null ? null : await countBy(bottom, ofPlaces, isOfResidents ? "uf = 'RR'" : where)
    let compared = 0
    for (const [key, metrics] of rows) {
      const events = tops.get(key) ?? 0
      const members = key.split('|').filter((_, place) => ofPlaces.includes(group_by[place] ?? ''))
      const among = bottoms?.get(members.join('|')) ?? 0
      const expected = bottom === null ? events : among === 0 ? null : divide(events, among, scale)
      if (metrics[metric] !== expected) t.equal(metrics[metric], expected, `${name}: ${key}`)
      compared += 1
    }
    t.ok(compared > 0 && [...tops.keys()].every((key) => rows.has(key)), `${name}: every group has a row`)
  }
})

t.test('infant mortality of a table counted by hand, with limits and comparator', async (t) => {
  const components = ['early_neonatal', 'late_neonatal', 'post_neonatal'].map(
    (code) => `${code}_mortality_rate`,
  )
  const metrics = ['infant_mortality_rate', ...components, 'maternal_mortality_ratio']
  const { rows } = await question({
    metrics,
    group_by: ['residence_municipality'],
    filters: [inRoraima, inYear(2021)],
    limits: 0.95,
    compare_to: { with: 'state' },
  })
  const where = "uf = 'RR' AND year = 2021"
  const births = await countBy(['births', 'true'], ['residence_municipality'], where)
  const all = await countBy(['births', 'true'], [], where)
  for (const metric of metrics) {
    const { scale, top } = TWINS[metric] as Twin
    const events = await countBy(top, ['residence_municipality'], where)
    const state = divide((await countBy(top, [], where)).get('') ?? 0, all.get('') ?? 0, scale)
    for (const [place, among] of births) {
      const row = rows.get(place) ?? {}
      const count = events.get(place) ?? 0
      const [lower, upper] = poisson(count, 0.95).map((limit) => rounded((limit * scale) / among))
      t.same(
        [metric, '__lower', '__upper', '__comparator'].map(
          (kind) => row[kind === metric ? kind : `${metric}${kind}`],
        ),
        [divide(count, among, scale), lower, upper, state],
        `${metric} of ${place}: ${count} ÷ ${among}`,
      )
    }
  }
  const infantDeaths = [...(await countBy(['deaths', "infant_age = 'unknown'"], [], where)).values()][0] ?? 0
  t.ok(infantDeaths > 0, 'deaths of unknown days count in the infant rate alone')
  const share = await question({
    metrics: ['low_birth_weight_share'],
    group_by: ['residence_municipality'],
    filters: [inRoraima, inYear(2021)],
    limits: 0.95,
  })
  const known = await countBy(['births', 'is_low IS NOT NULL'], ['residence_municipality'], where)
  const low = await countBy(['births', 'is_low'], ['residence_municipality'], where)
  for (const [place, among] of known) {
    const limits = (wilson(low.get(place) ?? 0, among, 0.95) ?? []).map((limit) => rounded(limit * 100))
    const row = share.rows.get(place) ?? {}
    t.same([row.low_birth_weight_share__lower, row.low_birth_weight_share__upper], limits, place)
  }
})

t.test('windows of 12 months, coarser periods, totals and the health region', async (t) => {
  const metric = 'infant_mortality_rate'
  const infants = (TWINS[metric] as Twin).top
  const window = await question({
    metrics: [metric],
    group_by: ['reference_period'],
    filters: [
      inRoraima,
      { dimension: 'reference_period', operator: 'BETWEEN', value: ['2020-12', '2021-12'] },
    ],
    window: { months: 12 },
  })
  for (const [period, metrics] of window.rows) {
    const last = Number(period)
    const where = `uf = 'RR' AND period > ${last - 100} AND period <= ${last}`
    const [top, bottom] = [await countBy(infants, [], where), await countBy(['births', 'true'], [], where)]
    t.equal(metrics[metric], divide(top.get('') ?? 0, bottom.get('') ?? 0, 1000), period)
  }
  t.equal(window.rows.size, 13)
  const quarters = await question({
    metrics: [metric],
    group_by: ['reference_quarter'],
    filters: [inRoraima, inYear(2021)],
  })
  t.equal(quarters.rows.size, 4)
  for (const [quarter, metrics] of quarters.rows) {
    const number = Number(quarter.at(-1))
    const where = `uf = 'RR' AND year = 2021 AND (period % 100 - 1) // 3 + 1 = ${number}`
    const [top, bottom] = [await countBy(infants, [], where), await countBy(['births', 'true'], [], where)]
    t.equal(metrics[metric], divide(top.get('') ?? 0, bottom.get('') ?? 0, 1000), quarter)
  }
  const { body } = await client.query({
    metrics: [metric],
    group_by: ['residence_municipality', 'sex'],
    totals: [['sex'], []],
    filters: [inRoraima, inYear(2021)],
  })
  const where = "uf = 'RR' AND year = 2021"
  const [top, bottom] = [await countBy(infants, [], where), await countBy(['births', 'true'], [], where)]
  const grand = body.totals.find(({ group_by }: { group_by: string[] }) => group_by.length === 0)
  t.equal(grand.data[0].metrics[metric], divide(top.get('') ?? 0, bottom.get('') ?? 0, 1000))
})

t.test('a side that was not collected gives null and a note that names it', async (t) => {
  const rates = METRICS.filter((metric) => (TWINS[metric] as Twin).bottom?.[0] === 'births').filter(
    (metric) => (TWINS[metric] as Twin).top[0] === 'deaths',
  )
  for (const [year, missing, there] of [
    [2021, 'births', 'deaths'],
    [2020, 'deaths', 'births'],
  ] as const) {
    const { rows, notes } = await question({
      metrics: [...rates, there, missing],
      group_by: ['residence_state'],
      filters: [{ dimension: 'residence_state', operator: 'IN', value: ['AC', 'RR'] }, inYear(year)],
    })
    for (const rate of [...rates, missing]) {
      t.equal(rows.get('AC')?.[rate], null, `${rate} of Acre in ${year}`)
      t.type(rows.get('RR')?.[rate], 'number')
    }
    t.ok(Number(rows.get('AC')?.[there]) > 0)
    t.match(
      notes.filter(({ code }) => code === 'not_collected'),
      [{ dataset: missing, states: ['AC'] }],
    )
  }
})
