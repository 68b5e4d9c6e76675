/**
 * Metrics of hospital admissions against their twin: each written again as plain SQL over the release's files, its quotient in whole
 * numbers. Then what holds of all of them: months are added up, parts add up to the whole, both sources of admissions agree, what was
 * not collected is null, and lineage leads to the published file.
 */

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { readDbfColumns } from '../../src/import/readers/dbf.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { writePointer } from '../../src/release/writer.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openWithout } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { forgeRelease, removeContent } from '../fixtures/forged-release.ts'
import { compareWithTwin, sumGroups, type TwinAnswer, type TwinQuestion } from '../fixtures/metric-twins.ts'
import { decimal } from '../fixtures/oracle.ts'
import { ADMISSION_METRICS } from '../fixtures/registry-metrics.ts'
import { countOf, secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir, 1, { residentBytes: RESIDENT_BYTES })
t.teardown(() => client.close())
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const folderOf = (id: string | null): string => join(small.releasesDir, id ?? '')
const view = (name: string, id: string | null, dataset: string, where = ''): Promise<unknown> =>
  connection.run(
    `CREATE VIEW ${name} AS SELECT * FROM read_parquet('${folderOf(id)}/${dataset}/**/*.parquet', hive_partitioning = true)${where}`,
  )
await view('places', small.result.demography, 'municipalities')
await view('residents', small.result.demography, 'population', " WHERE population_type = 'CENSUS_POPULATION'")
await view('ages', small.result.demography, 'population_by_age', ' WHERE reference_year = 2025')
await view('hospitals_stored', small.result.sih, 'hospital_admissions')
await view('residences_stored', small.result.sih, 'hospital_admissions_by_residence')
await view('flows', small.result.sih, 'hospital_admission_flows')
await view('beds_stored', small.result.cnes, 'bed_capacity', ' WHERE is_active')
for (const name of ['hospitals', 'beds'])
  await connection.run(
    `CREATE VIEW ${name} AS SELECT f.*, p.region_code, p.health_region_code, p.health_macroregion_code FROM ${name}_stored f LEFT JOIN places p ON p.ibge_code = f.municipality_ibge_code`,
  )
await connection.run(
  'CREATE VIEW residences AS SELECT f.*, p.health_region_code AS residence_health_region_code, p.region_code AS residence_region_code FROM residences_stored f LEFT JOIN places p ON p.ibge_code = f.residence_municipality_code',
)

await connection.run(
  'CREATE VIEW flows_placed AS SELECT f.*, h.region_code, h.health_region_code, h.health_macroregion_code, r.health_region_code AS residence_health_region_code, r.region_code AS residence_region_code FROM flows f LEFT JOIN places h ON h.ibge_code = f.hospital_municipality_code LEFT JOIN places r ON r.ibge_code = f.residence_municipality_code',
)

/** Top and bottom as sums over a table; cents become reais by a bottom of 100. */
interface Twin {
  readonly top: string
  readonly bottom?: string
  readonly times?: bigint
  readonly over?: bigint
  readonly of?: 'beds' | 'residents'
  /** Whose top is not of admissions. */
  readonly from?: 'beds' | 'residences' | 'flows_placed'
  /** By age group, to the standard population. */
  readonly isStandardized?: true
}
const DAYS = "day(last_day(strptime(CAST(reference_period AS VARCHAR) || '01', '%Y%m%d')))"
/** Admissions of flows whose two ends are known, or known and different, by two columns. */
const knownPlaces = (residence: string, hospital: string): string =>
  `CASE WHEN ${residence} IS NOT NULL AND ${hospital} IS NOT NULL THEN admissions ELSE 0 END`
const outside = (residence: string, hospital: string): string =>
  `CASE WHEN ${residence} <> ${hospital} THEN admissions ELSE 0 END`
/** Codes of the ignored municipality of a state end with zeros and a check digit. */
const MUNICIPALITIES = ['residence_municipality_code', 'hospital_municipality_code'].map(
  (column) => `CASE WHEN regexp_matches(CAST(${column} AS VARCHAR), '^..0000') THEN NULL ELSE ${column} END`,
) as [string, string]
const REGIONS = ['residence_health_region_code', 'health_region_code'] as const
const UFS = ['residence_uf', 'uf'] as const
const flow = (top: string, bottom?: string): Twin => ({
  top,
  ...(bottom === undefined ? {} : { bottom, times: 100n }),
  from: 'flows_placed',
})
const TWINS: Readonly<Record<string, Twin>> = {
  admissions: { top: 'admissions' },
  admission_records: { top: 'admission_records' },
  days_of_stay: { top: 'days_of_stay' },
  average_stay_days: { top: 'days_of_stay', bottom: 'admissions' },
  hospital_deaths: { top: 'deaths' },
  hospital_mortality_share: { top: 'deaths', bottom: 'admissions', times: 100n },
  admissions_value: { top: 'value_total_cents', over: 100n },
  average_admission_value: { top: 'value_total_cents', bottom: 'admissions', over: 100n },
  icu_days: { top: 'icu_days' },
  admissions_per_10k: {
    top: 'admissions',
    bottom: 'population',
    of: 'residents',
    times: 10_000n,
    from: 'residences',
  },
  admissions_per_10k_standardized: { top: 'admissions', from: 'residences', isStandardized: true },
  icsap_universe_admissions: { top: 'icsap_universe_admissions', from: 'residences' },
  icsap_admissions: {
    top: "CASE WHEN icsap_group_code BETWEEN '01' AND '19' THEN icsap_universe_admissions ELSE 0 END",
    from: 'residences',
  },
  icsap_share: {
    top: 'icsap_admissions',
    bottom: 'icsap_universe_admissions',
    times: 100n,
    from: 'residences',
  },
  icsap_per_10k: {
    top: 'icsap_admissions',
    bottom: 'population',
    of: 'residents',
    times: 10_000n,
    from: 'residences',
  },
  admissions_outside_municipality: flow(outside(...MUNICIPALITIES)),
  admissions_of_known_municipality: flow(knownPlaces(...MUNICIPALITIES)),
  admissions_outside_municipality_share: flow(outside(...MUNICIPALITIES), knownPlaces(...MUNICIPALITIES)),
  admissions_outside_health_region: flow(outside(...REGIONS)),
  admissions_of_known_health_region: flow(knownPlaces(...REGIONS)),
  admissions_outside_health_region_share: flow(outside(...REGIONS), knownPlaces(...REGIONS)),
  admissions_outside_state: flow(outside(...UFS)),
  admissions_of_known_state: flow(knownPlaces(...UFS)),
  admissions_outside_state_share: flow(outside(...UFS), knownPlaces(...UFS)),
  admissions_received_share: flow(outside(...MUNICIPALITIES), knownPlaces(...MUNICIPALITIES)),
  admissions_with_distance: flow('CASE WHEN distance_km IS NULL THEN 0 ELSE admissions END'),
  distance_km_total: flow('coalesce(distance_km, 0) * admissions'),
  average_distance_km: {
    top: 'distance_km * admissions',
    bottom: 'CASE WHEN distance_km IS NULL THEN 0 ELSE admissions END',
    from: 'flows_placed',
  },
  sus_bed_days: { top: `beds_sus * ${DAYS}`, from: 'beds' },
  bed_occupancy_share: { top: 'days_of_stay', bottom: `beds_sus * ${DAYS}`, of: 'beds', times: 100n },
}
const COLUMNS: Readonly<Record<string, string>> = {
  state: 'uf',
  municipality: 'municipality_ibge_code',
  region: 'region_code',
  health_region: 'health_region_code',
  health_macroregion: 'health_macroregion_code',
  facility: 'cnes_code',
  reference_period: 'reference_period',
  procedure_group: 'procedure_group_code',
  procedure_subgroup: 'procedure_subgroup_code',
  procedure_form: 'procedure_form_code',
  procedure: 'procedure_code',
  care_character: 'care_character_code',
  complexity: 'complexity_code',
  financing_kind: 'financing_code',
  diagnosis_chapter: 'diagnosis_chapter_code',
  diagnosis_category: 'diagnosis_category_code',
  icsap_group: 'icsap_group_code',
  cause_group: 'cause_group_code',
  race: 'race_code',
  age_group: 'age_group',
  sex: 'sex',
  residence_state: 'residence_uf',
  residence_municipality: 'residence_municipality_code',
  residence_health_region: 'residence_health_region_code',
  residence_region: 'residence_region_code',
}
const OF_RESIDENCE = new Set([
  'diagnosis_chapter',
  'diagnosis_category',
  'icsap_group',
  'cause_group',
  'race',
  'age_group',
  'sex',
  'residence_state',
  'residence_municipality',
  'residence_health_region',
  'residence_region',
])
/** What the population has of a residence. */
const OF_PEOPLE: Readonly<Record<string, string>> = {
  residence_uf: 'r.uf',
  residence_municipality_code: 'CAST(r.municipality_code AS INTEGER)',
  residence_health_region_code: 'p.health_region_code',
  residence_region_code: 'p.region_code',
}

/** Brazil on 1 July 2010, by age group (POPSBR): written again, as everything here is. */
const STANDARD = [
  14926565, 16004125, 17190853, 17259413, 17342029, 17495165, 16070561, 14030008, 13050194, 12011024,
  10282765, 8368585, 6506111, 4834001, 3751073, 2638919, 2987938,
].map(BigInt)
const AGES = [...Array.from({ length: 16 }, (_, index) => index * 5), 80].map((age) =>
  age === 80 ? '80+' : `${String(age).padStart(2, '0')}-${String(age + 4).padStart(2, '0')}`,
)

/** Σ w·N/P ÷ Σ w as one fraction of whole numbers. @param people by group of residents and age @returns null where an age has nobody */
function standardized(
  events: ReadonlyMap<string, bigint>,
  people: ReadonlyMap<string, bigint>,
  group: string,
  home: string,
): string | null {
  const at = (key: string, age: string): string => JSON.stringify([...(JSON.parse(key) as unknown[]), age])
  const residents = AGES.map((age) => people.get(at(home, age)) ?? 0n)
  if (residents.some((count) => count === 0n)) return null
  const product = residents.reduce((all, count) => all * count, 1n)
  const top = AGES.reduce(
    (sum, age, index) =>
      sum +
      ((STANDARD[index] ?? 0n) * (events.get(at(group, age)) ?? 0n) * product) / (residents[index] ?? 1n),
    0n,
  )
  return decimal(top * 10_000n, product * STANDARD.reduce((all, weight) => all + weight, 0n))
}

const sums = (from: string, value: string, groups: readonly string[], where: string) =>
  sumGroups(connection, from, value, groups, where)

const OF_HOSPITAL_PLACES = new Set(['state', 'municipality', 'region', 'health_region', 'health_macroregion'])
/** Groups by both ends, which only flows have. */
const isOfBothEnds = ({ group_by }: Pick<TwinQuestion, 'group_by'>): boolean =>
  group_by.some((code) => OF_HOSPITAL_PLACES.has(code)) && group_by.some((code) => OF_RESIDENCE.has(code))
const isAboutResidents = (question: TwinQuestion): boolean =>
  !isOfBothEnds(question) &&
  (question.group_by.some((code) => OF_RESIDENCE.has(code)) ||
    question.metrics.some((code) => TWINS[code]?.from === 'residences'))

/** @returns key of a group → text of each metric; groups with admissions alone */
async function twin(question: TwinQuestion): Promise<TwinAnswer> {
  const { metrics, group_by, states, months } = question
  const isOfResidence = isAboutResidents(question)
  const inStates = states.map((uf) => `'${uf}'`).join(', ')
  const inMonths = `reference_period IN (${months.join(', ')})`
  const columns = group_by.map((code) => COLUMNS[code] ?? '')
  const people = columns.filter((column) => column in OF_PEOPLE)
  const sides = new Map<string, { own: Twin; top: Map<string, bigint>; bottom: Map<string, bigint> | null }>()
  for (const metric of metrics) {
    const own = TWINS[metric]
    if (own === undefined) throw new Error(`no twin of ${metric}`)
    const isByResidence = isOfResidence || own.from === 'residences'
    const table =
      own.from === 'beds'
        ? 'beds'
        : own.from === 'flows_placed' || isOfBothEnds(question)
          ? 'flows_placed'
          : isByResidence
            ? 'residences'
            : 'hospitals'
    const where = `${isByResidence ? 'residence_uf' : 'uf'} IN (${inStates}) AND ${inMonths}`
    const top = await sums(table, own.top, columns, where)
    const bottom =
      own.bottom === undefined
        ? null
        : own.of === 'residents'
          ? await sums(
              `(SELECT r.population, r.uf, ${people.map((column) => `${OF_PEOPLE[column]} AS ${column}`).join(', ') || '1'} FROM residents r LEFT JOIN places p ON p.ibge_code = CAST(r.municipality_code AS INTEGER))`,
              'population',
              people,
              `uf IN (${inStates})`,
            )
          : await sums(own.of ?? table, own.bottom, columns, where)
    sides.set(metric, { own, top, bottom })
  }
  const keys = new Set(
    [...sides.values()].flatMap(({ own, top, bottom }) => [
      ...top.keys(),
      ...(own.of === 'beds' ? (bottom?.keys() ?? []) : []),
    ]),
  )
  const answer: TwinAnswer = new Map()
  const ofAges = columns.filter((column) => column === 'sex' || column in OF_PEOPLE)
  const [events, ages] = metrics.some((code) => TWINS[code]?.isStandardized)
    ? [
        await sums(
          'residences',
          'admissions',
          [...columns, 'age_group'],
          `residence_uf IN (${inStates}) AND ${inMonths}`,
        ),
        await sums(
          `(SELECT r.population, r.uf, r.age_group, r.sex, ${people.map((column) => `${OF_PEOPLE[column]} AS ${column}`).join(', ') || '1'} FROM ages r LEFT JOIN places p ON p.ibge_code = CAST(r.municipality_code AS INTEGER))`,
          'population',
          [...ofAges, 'age_group'],
          `uf IN (${inStates})`,
        ),
      ]
    : [new Map<string, bigint>(), new Map<string, bigint>()]
  for (const key of keys)
    for (const [metric, { own, top, bottom }] of sides) {
      const codes = JSON.parse(key) as unknown[]
      if (own.isStandardized === true) {
        const home = JSON.stringify(codes.filter((_, index) => ofAges.includes(columns[index] ?? '')))
        answer.set(key, { ...answer.get(key), [metric]: standardized(events, ages, key, home) })
        continue
      }
      const lower =
        own.of === 'residents'
          ? JSON.stringify(codes.filter((_, index) => (columns[index] ?? '') in OF_PEOPLE))
          : key
      const value = top.get(key) ?? 0n
      const divisor = (bottom === null ? 1n : (bottom.get(lower) ?? 0n)) * (own.over ?? 1n)
      const text =
        bottom === null && own.over === undefined
          ? String(value)
          : divisor > 0n
            ? decimal(value * (own.times ?? 1n), divisor)
            : null
      answer.set(key, { ...answer.get(key), [metric]: text })
    }
  return answer
}

/** Places without admissions are groups, too; of a ratio their value is null. */
const compare = (t: Test, question: TwinQuestion): Promise<unknown> =>
  compareWithTwin(t, client, question, {
    twin,
    hasDecimals: (metric) => {
      const { bottom, over, isStandardized = false } = TWINS[metric] ?? { top: '' }
      return bottom !== undefined || over !== undefined || isStandardized
    },
    stateDimension: isAboutResidents(question) ? 'residence_state' : 'state',
  })

t.same(Object.keys(TWINS).sort(), [...ADMISSION_METRICS].sort(), 'every metric of admissions has its twin')

const OF_HOSPITALS = Object.keys(COLUMNS).filter((code) => !OF_RESIDENCE.has(code))
const PLAIN = Object.keys(TWINS).filter(
  (code) =>
    ![
      'admissions_per_10k',
      'admissions_per_10k_standardized',
      'sus_bed_days',
      'bed_occupancy_share',
    ].includes(code) && !['residences', 'flows_placed'].includes(TWINS[code]?.from ?? ''),
)
const OF_FLOWS = Object.keys(TWINS).filter((code) => TWINS[code]?.from === 'flows_placed')
const BOTH = { states: ['AC', 'RR'], months: [202605] }
const EARLIER = { states: ['AC', 'AP', 'RR'], months: [202603, 202604] }

t.test('by hospital', async (t) => {
  for (const [index, code] of OF_HOSPITALS.entries()) {
    const scope = index % 2 === 0 ? BOTH : EARLIER
    await compare(t, { metrics: PLAIN, group_by: [code], ...scope })
    const other = OF_HOSPITALS[(index + 5) % OF_HOSPITALS.length] ?? 'state'
    await compare(t, { metrics: PLAIN, group_by: [code, other], ...(index % 2 === 0 ? EARLIER : BOTH) })
  }
  await compare(t, { metrics: PLAIN, group_by: [], ...EARLIER })
})

t.test('by residence', async (t) => {
  const codes = ['reference_period', ...OF_RESIDENCE]
  for (const [index, code] of codes.entries()) {
    const other = codes[(index + 3) % codes.length] ?? 'sex'
    await compare(t, { metrics: PLAIN, group_by: [...new Set([code, 'sex'])], ...EARLIER })
    await compare(t, {
      metrics: [
        ...PLAIN,
        ...(code === 'race' || other === 'race' ? [] : ['admissions_per_10k', 'icsap_per_10k']),
        'icsap_admissions',
        ...(code === 'icsap_group' || other === 'icsap_group' ? [] : ['icsap_share']),
      ],
      group_by: [code, other].filter((own) => !['sex', 'age_group'].includes(own)),
      ...BOTH,
    })
  }
})

t.test('by both ends', async (t) => {
  const byResidence = OF_FLOWS.filter((code) => code !== 'admissions_received_share')
  for (const group_by of [
    ['state', 'residence_state'],
    ['municipality', 'residence_municipality'],
    ['residence_health_region', 'health_region', 'reference_period'],
    ['region', 'residence_municipality', 'complexity'],
    ['health_macroregion', 'diagnosis_chapter'],
  ])
    for (const metrics of [PLAIN, byResidence]) await compare(t, { metrics, group_by, ...EARLIER })
  for (const group_by of [[], ['municipality'], ['state', 'reference_period'], ['health_region']])
    await compare(t, { metrics: OF_FLOWS, group_by, ...EARLIER })
  for (const group_by of [['residence_municipality'], ['residence_state', 'diagnosis_chapter']])
    await compare(t, { metrics: byResidence, group_by, ...BOTH })
})

t.test('drawn questions by residence, by hospital and by both', async (t) => {
  const { draw, pick, shuffle } = createDraws(371)
  const homes = ['residence_state', 'residence_municipality', 'residence_health_region']
  const ofBoth = ['diagnosis_chapter', 'complexity', 'financing_kind', 'reference_period']
  const byResidence = OF_FLOWS.filter((code) => code !== 'admissions_received_share')
  const ofResidents = [...OF_RESIDENCE, 'reference_period']
  const scopes = [
    BOTH,
    EARLIER,
    { states: ['RR'], months: [202603, 202605] },
    { states: ['AC'], months: [202604] },
  ]
  const counts = { both: 0, flows: 0, residents: 0 }
  for (let count = countOf(40, 6); count > 0; count -= 1) {
    const kind = pick(['both', 'flows', 'residents'] as const)
    counts[kind] += 1
    if (kind === 'residents') {
      const group_by = shuffle(ofResidents).slice(0, 1 + draw(3))
      const rates = group_by.some((code) => ['race', 'sex', 'age_group'].includes(code))
        ? []
        : ['admissions_per_10k', 'icsap_per_10k']
      const metrics = [...PLAIN, ...rates, 'icsap_admissions', 'icsap_universe_admissions', 'icsap_share']
      await compare(t, {
        metrics: shuffle(
          metrics.filter((code) => code !== 'icsap_share' || !group_by.includes('icsap_group')),
        ).slice(0, 4),
        group_by,
        ...pick(scopes),
      })
      continue
    }
    const places = kind === 'both' ? [pick(homes), pick([...OF_HOSPITAL_PLACES])] : []
    const group_by = shuffle([...places, ...shuffle(ofBoth).slice(0, draw(3))])
    await compare(t, {
      metrics: shuffle([...(kind === 'both' ? PLAIN : []), ...byResidence]).slice(0, 5),
      group_by,
      ...pick(scopes),
    })
  }
  t.ok(
    Object.values(counts).every((count) => count > 0),
    JSON.stringify(counts),
  )
})

t.test('occupancy of beds: days over beds times the days of each month', async (t) => {
  for (const group_by of [
    [],
    ['state'],
    ['health_region'],
    ['municipality'],
    ['facility'],
    ['reference_period'],
    ['state', 'reference_period'],
  ])
    for (const scope of [BOTH, EARLIER])
      await compare(t, {
        metrics: ['bed_occupancy_share', 'sus_bed_days', 'days_of_stay'],
        group_by,
        ...scope,
      })
})

t.test('standardized by age, against one fraction of whole numbers', async (t) => {
  const metrics = ['admissions_per_10k_standardized', 'admissions']
  for (const group_by of [
    [],
    ['residence_state'],
    ['residence_municipality'],
    ['residence_health_region'],
    ['sex'],
    ['residence_state', 'sex'],
    ['diagnosis_chapter'],
    ['diagnosis_category', 'residence_state', 'sex'],
    ['reference_period'],
    ['residence_municipality', 'reference_period'],
  ])
    for (const scope of [BOTH, EARLIER]) await compare(t, { metrics, group_by, ...scope })
  const query = {
    metrics: metrics.slice(0, 1),
    filters: [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }, monthsAre('2026-05')],
  }
  const { meta } = await one(query)
  t.match(
    meta.notes.find(({ code }: WrittenNote) => code === 'standardized'),
    { metric: 'admissions_per_10k_standardized', standard: 'brazil_2010', age_groups: 17 },
    'the standard is named',
  )
  t.ok(
    meta.notes.some(({ code }: WrittenNote) => code === 'population_by_age_source'),
    'and the source of the residents',
  )
  for (const group_by of [['age_group'], ['state'], ['facility']]) {
    const { status, body } = await client.query({ ...query, group_by })
    t.equal(status, 400, group_by.join())
    t.equal(body.code, 'incompatible_dimension')
    t.notOk(body.errors[0].allowed.includes('age_group'))
  }
  // One sex of one age group alone is no standard: its filter is refused, that of a sex is of its residents.
  const women = [...query.filters, { dimension: 'sex', operator: 'EQ', value: 'F' }]
  const bySex = (await one({ ...query, group_by: ['sex'] })).data.find(
    (row: { dimensions: { sex: { code: string } } }) => row.dimensions.sex.code === 'F',
  )
  t.same((await one({ ...query, filters: women })).data[0].metrics, bySex.metrics)
})

t.test('the standard is that of the published population', { skip: skipWithoutShared }, (t) => {
  const [header = '', ...lines] = readFileSync(sharedPath('population_age/standard_populations.csv'), 'utf8')
    .trim()
    .split('\n')
  const column = header.trim().split(',').indexOf('brazil_2010_popsbr')
  t.same(
    lines.map((line) => BigInt(line.trim().split(',')[column] ?? '')),
    STANDARD,
  )
  t.end()
})

t.test('lineage of a standardized rate: the admissions of known age, and the residents', async (t) => {
  const filters = [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }, monthsAre('2026-05')]
  for (const metric of ['admissions_per_10k_standardized', 'admissions_per_10k'])
    for (const side of ['numerator', 'denominator'])
      for (const group_by of [[], ['residence_municipality']]) {
        const { status, body } = await client.post('/v1/analytics/lineage', {
          metrics: [metric],
          group_by,
          key: group_by.length === 0 ? {} : { residence_municipality: 1400100 },
          side,
          filters,
          limit: 1000,
        })
        t.equal(status, 200, JSON.stringify(body).slice(0, 300))
        t.ok(body.meta.total > 0, `${metric} ${side} ${group_by}`)
        if (body.pagination.has_more) continue
        t.equal(
          body.data.reduce((sum: number, row: { contribution: number }) => sum + row.contribution, 0),
          body.meta.total,
        )
      }
})

t.test('a release without population by age: null, with notes', secondRing, async (t) => {
  const own = await makeSmallRelease('admissions')
  const demography = await forgeRelease(own.releasesDir, own.result.demography ?? '', (folder, manifest) => {
    rmSync(join(folder, 'population_by_age'), { recursive: true })
    delete manifest.datasets.population_by_age
    delete manifest.counts.population_by_age_year
    manifest.files = manifest.files.filter(({ path }) => !path.startsWith('population_by_age/'))
  })
  const analytics = await forgeRelease(own.releasesDir, own.result.analytics, (_folder, manifest) => {
    manifest.components.demography = demography
  })
  writePointer(own.releasesDir, analytics)
  const old = await openClient(own.releasesDir)
  t.teardown(() => old.close())
  for (const group_by of [[], ['residence_state'], ['sex', 'diagnosis_chapter']]) {
    const { status, body } = await old.query({
      metrics: ['admissions_per_10k_standardized', 'admissions'],
      group_by,
      filters: [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }, monthsAre('2026-05')],
    })
    t.equal(status, 200, JSON.stringify(body).slice(0, 300))
    t.ok(body.data.length > 0)
    t.ok(
      body.data.every(
        (row: { metrics: Record<string, number | null> }) =>
          row.metrics.admissions_per_10k_standardized === null && typeof row.metrics.admissions === 'number',
      ),
    )
    t.ok(body.meta.notes.some(({ code }: WrittenNote) => code === 'population_by_age_not_imported'))
  }
})

/** Records of a member in each table, by plain SQL. */
t.test('counts beside members are the records of the files', async (t) => {
  for (const [code, column] of Object.entries(COLUMNS)) {
    const isOfResidence = OF_RESIDENCE.has(code)
    const dataset = isOfResidence ? 'hospital_admissions_by_residence' : 'hospital_admissions'
    const place = isOfResidence ? 'residence_state' : 'state'
    const filters = [{ dimension: place, operator: 'IN', value: ['AC', 'RR'] }]
    const { status, body } = await client.get(
      `/v1/analytics/dimensions/${code}/values?limit=250&filters=${encodeURIComponent(JSON.stringify(filters))}`,
    )
    t.equal(status, 200, `${code}: ${JSON.stringify(body).slice(0, 200)}`)
    const wanted = await sums(
      isOfResidence ? 'residences' : 'hospitals',
      '1',
      [column],
      `${isOfResidence ? 'residence_uf' : 'uf'} IN ('AC', 'RR')${code === 'reference_period' ? '' : ' AND reference_period = 202605'}`,
    )
    const wrong = body.data.filter(
      ({ code: member, facts }: { code: string | number; facts: Record<string, number | null> }) => {
        const key = code === 'reference_period' ? Number(String(member).replace('-', '')) : member
        return facts[dataset] !== Number(wanted.get(JSON.stringify([key])) ?? 0n)
      },
    )
    t.same(wrong.slice(0, 3), [], code)
    t.ok(
      body.data.some(({ facts }: { facts: Record<string, number> }) => (facts[dataset] ?? 0) > 0) ||
        // Their first page by name may have none.
        ['facility', 'municipality'].includes(code),
      code,
    )
  }
  const months = (await client.get('/v1/analytics/dimensions/residence_state/values?counts=true')).body
  const of = (uf: string) => months.data.find(({ code }: { code: string }) => code === uf).facts
  const late = { hospital_admissions_by_residence: null, hospital_admission_flows: null }
  t.same(of('AP'), late, 'its hospitals are late')
  t.same(of('SP'), late)
  t.type(of('RR').hospital_admissions_by_residence, 'number')
  t.ok(months.meta.notes.some(({ code }: WrittenNote) => code === 'partial_residence'))
  t.match(
    months.meta.notes.filter(
      (note: WrittenNote) =>
        note.code === 'not_collected' && note.dataset === 'hospital_admissions_by_residence',
    ),
    [{ periods: ['2026-05'], metrics: ['facts.hospital_admissions_by_residence'] }],
  )
  const key = client.keyWithout('analytics.query.read')
  t.not(
    (await client.get('/v1/analytics/dimensions/sex/values?counts=true', { authorization: `Bearer ${key}` }))
      .status,
    500,
  )
})

/** Where the columns of a dBase file begin in a record. */
const offsetsOf = (bytes: Buffer): Readonly<Record<string, number>> =>
  Object.fromEntries(readDbfColumns(bytes).map(({ name, offset }) => [name, offset]))

const one = async (query: object) => {
  const { status, body } = await client.query(query)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const stateIs = (value: string) => ({ dimension: 'state', operator: 'EQ', value })
const monthsAre = (...value: string[]) => ({ dimension: 'reference_period', operator: 'IN', value })

t.test('flows are added up over months, stocks are not', async (t) => {
  const metrics = ['admissions']
  const filters = [stateIs('RR'), monthsAre('2026-03', '2026-04', '2026-05')]
  const all = (await one({ metrics, filters })).data[0].metrics.admissions
  const by = (await one({ metrics, group_by: ['reference_period'], filters, totals: true })) as {
    data: { metrics: { admissions: number } }[]
    totals: { data: { metrics: { admissions: number } }[] }[]
  }
  t.equal(
    by.data.reduce((sum, row) => sum + row.metrics.admissions, 0),
    all,
  )
  t.equal(by.totals[0]?.data[0]?.metrics.admissions, all, 'a total leaves the months out')
  const both = await client.query({ metrics: ['admissions', 'bed_capacity_sus'], filters })
  t.equal(both.status, 400)
  t.equal(both.body.code, 'semi_additive')
  for (const over_period of ['last', 'avg', 'max']) {
    const { data } = await one({ metrics: ['admissions', 'bed_capacity_sus'], filters, over_period })
    t.equal(data[0].metrics.admissions, all, over_period)
  }
  const newest = await one({ metrics, filters: [stateIs('RR')] })
  t.equal(newest.meta.reference_period, '2026-05', 'without a month, the newest')
  const share = await one({
    metrics,
    group_by: ['care_character'],
    filters: filters.slice(0, 1),
    share_of: [],
  })
  t.equal(
    Math.round(
      share.data.reduce(
        (sum: number, row: { metrics: Record<string, number> }) => sum + (row.metrics.admissions__share ?? 0),
        0,
      ),
    ),
    100,
  )
})

t.test('what was not collected is null', async (t) => {
  const metrics = ['admissions', 'admissions_value', 'bed_occupancy_share', 'bed_capacity_sus']
  const filters = [monthsAre('2026-05')]
  const body = await one({
    metrics,
    group_by: ['state'],
    filters: [{ dimension: 'state', operator: 'IN', value: ['AP', 'RR'] }, ...filters],
  })
  const [amapa, roraima] = body.data
  t.match(amapa.metrics, { admissions: null, admissions_value: null, bed_occupancy_share: null })
  t.type(amapa.metrics.bed_capacity_sus, 'number')
  t.type(roraima.metrics.bed_occupancy_share, 'number')
  t.match(body.meta.notes, [
    { code: 'not_collected', dataset: 'hospital_admissions', periods: ['2026-05'], states: ['AP'] },
  ])
  t.equal((await one({ metrics: ['admissions'], filters: [stateIs('AP')] })).meta.reference_period, '2026-04')
  const country = await one({ metrics: ['admissions'], filters })
  t.equal(country.data[0].metrics.admissions, null)
  const residents = await one({
    metrics: ['admissions', 'admissions_per_10k'],
    group_by: ['residence_state'],
    filters: [{ dimension: 'residence_state', operator: 'IN', value: ['AP', 'RR'] }, ...filters],
  })
  const named = new Map<string, { admissions: number | null }>(
    residents.data.map(
      (row: {
        dimensions: { residence_state: { code: string } }
        metrics: { admissions: number | null }
      }) => [row.dimensions.residence_state.code, row.metrics],
    ),
  )
  t.equal(named.get('AP')?.admissions ?? null, null)
  t.type(named.get('RR')?.admissions, 'number')
  const ofAmapa = await one({
    metrics: ['admissions', 'admissions_per_10k'],
    filters: [{ dimension: 'residence_state', operator: 'EQ', value: 'AP' }, ...filters],
  })
  t.match(
    ofAmapa.data[0].metrics,
    { admissions: null, admissions_per_10k: null },
    'its residents elsewhere are not all of them',
  )
  t.ok(residents.meta.notes.some(({ code }: WrittenNote) => code === 'partial_residence'))
})

t.test('lineage leads to the published file, and adds up', async (t) => {
  for (const [metric, side, group_by, key] of [
    ['days_of_stay', 'numerator', ['procedure'], { procedure: '0310010039' }],
    ['admissions', 'numerator', ['diagnosis_chapter'], { diagnosis_chapter: '15' }],
    ['icu_days', 'numerator', [], {}],
    ['hospital_deaths', 'numerator', [], {}],
    ['bed_occupancy_share', 'denominator', [], {}],
  ] as const) {
    const place = group_by[0] === 'diagnosis_chapter' ? 'residence_state' : 'state'
    const { status, body } = await client.post('/v1/analytics/lineage', {
      metrics: [metric],
      group_by,
      key,
      side,
      filters: [{ dimension: place, operator: 'EQ', value: 'RR' }, monthsAre('2026-04', '2026-05')],
      limit: 1000,
    })
    t.equal(status, 200, JSON.stringify(body).slice(0, 300))
    const total = body.data.reduce((sum: number, row: { contribution: number }) => sum + row.contribution, 0)
    t.equal(total, body.meta.total, metric)
    t.ok(total > 0, metric)
    t.notOk(
      body.data.some((row: { contribution: number }) => row.contribution === 0),
      `${metric}: records that contribute 0 are left out`,
    )
    t.equal(body.pagination.total_rows, body.data.length, 'and are not counted')
    if (side === 'numerator') {
      t.equal(body.meta.value, total)
      const { snapshots } = JSON.parse(
        readFileSync(join(folderOf(small.result.sih), 'manifest.json'), 'utf8'),
      )
      const [source] = body.data[0].sources
      const snapshot = snapshots.find(({ file }: { file: string }) => file === source.file)
      t.match(source, { publisher: 'DATASUS', sha256: snapshot.sha256, row: null })
      if (metric === 'icu_days')
        t.equal(source.column, 'UTI_MES_TO|UTI_TOTAL', 'older files have the total alone')
    }
  }
})

t.test('lineage of a value is in reais, as the value', async (t) => {
  const { body } = await client.post('/v1/analytics/lineage', {
    metrics: ['admissions_value'],
    filters: [stateIs('RR'), monthsAre('2026-05')],
    limit: 1000,
  })
  t.equal(body.meta.total, body.meta.value)
  const cents = body.data.reduce(
    (sum: number, row: { contribution: number }) => sum + Math.round(row.contribution * 100),
    0,
  )
  t.equal(cents, Math.round(body.meta.value * 100))
})

t.test('explain, members and their parents', async (t) => {
  const { body } = await client.post('/v1/analytics/explain', {
    metrics: ['admissions'],
    group_by: ['diagnosis_chapter'],
    filters: [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }],
  })
  t.match(JSON.stringify(body), /hospital_admissions_by_residence/)
  const { body: values } = await client.get('/v1/analytics/dimensions/procedure/values?search=parto')
  t.match(values.data, [
    { code: '0310010039', name: 'PARTO NORMAL', parent: { dimension: 'procedure_subgroup', code: '0310' } },
  ])
  const { body: kinds } = await client.get('/v1/analytics/dimensions/financing_kind/values')
  t.ok(kinds.data.length > 5)
})

t.test('reports: cents become reais in every form, and a workbook can be verified', secondRing, async (t) => {
  const query = {
    metrics: ['admissions_value', 'admissions', 'average_admission_value'],
    group_by: ['procedure_group', 'reference_period'],
    filters: [stateIs('RR')],
    totals: true,
  }
  const { data } = await one(query)
  const csv = (await client.query(query, { accept: 'text/csv' })).text.split(/\r?\n/)
  t.ok(csv.some((line) => line.includes(data[0].metrics.admissions_value.toFixed(2))))
  const workbook = await client.post('/v1/analytics/exports/xlsx', query)
  t.equal(workbook.status, 200)
  const path = join(small.folder, 'admissions.xlsx')
  writeFileSync(path, workbook.bytes)
  const verdict = await verifyReport(path, small.releasesDir, null, readSettings({}))
  t.equal(verdict.verdict, 'reproduced', JSON.stringify(verdict).slice(0, 300))
})

t.test('places of residence are filtered as other places are', async (t) => {
  const asked = async (dimension: string, value: unknown, operator = 'EQ') =>
    (
      await one({
        metrics: ['admissions'],
        filters: [{ dimension, operator, value }, monthsAre('2026-05')],
      })
    ).data[0].metrics.admissions
  const wanted = await sums(
    'residences',
    'admissions',
    ['residence_municipality_code'],
    "reference_period = 202605 AND residence_uf IN ('AC', 'RR')",
  )
  const boaVista = Number(wanted.get('[1400100]') ?? 0n)
  t.ok(boaVista > 0)
  for (const value of [1400100, '1400100', '140010'])
    t.equal(await asked('residence_municipality', value), boaVista, String(value))
  t.equal(
    await asked('residence_municipality', [1400100, 1200401], 'IN'),
    boaVista + Number(wanted.get('[1200401]') ?? 0n),
  )
  t.equal(await asked('residence_state', 'rr'), await asked('residence_state', 'RR'))
  for (const [dimension, value] of [
    ['residence_state', 'XX'],
    ['residence_municipality', 'Boa Vista'],
  ] as const) {
    const { status } = await client.query({
      metrics: ['admissions'],
      filters: [{ dimension, operator: 'EQ', value }],
    })
    t.equal(status, 400, dimension)
  }
})

t.test('a hospital and a residence do not go together', async (t) => {
  const { status, body } = await client.query({
    metrics: ['admissions'],
    group_by: ['procedure', 'diagnosis_chapter'],
  })
  t.equal(status, 400)
  t.equal(body.code, 'incompatible_dimension')
  t.match(body.detail, /juntas as dimensões procedure, diagnosis_chapter/)
})

t.test(
  'admissions of months that have no facilities, and of releases that have none at all',
  secondRing,
  async (t) => {
    const ibge = ['RELATORIO_DTB_BRASIL_MUNICIPIO.csv', 'sidra_values_93_2022.json'].map((name) =>
      join(small.snapshots, 'ibge', name),
    )
    const releasesDir = join(small.folder, 'admissions-alone')
    const planted = join(small.folder, 'planted')
    mkdirSync(planted)
    // A hospital whose municipality is not known: the ignored one of its state.
    const path = join(small.snapshots, 'sih/202605/RDRR2605.dbf')
    const bytes = readFileSync(path)
    const { MUNIC_MOV: at = 0 } = offsetsOf(bytes)
    bytes.write('149999', bytes.readUInt16LE(8) + at, 'latin1')
    writeFileSync(join(planted, 'RDRR2605.dbf'), bytes)
    const { analytics } = await importPaths([...ibge, planted], { releasesDir, maxRejected: 0 })
    writePointer(releasesDir, analytics)
    const alone = await openClient(releasesDir)
    t.teardown(() => alone.close())
    const [total] = (await alone.query({ metrics: ['admission_records'] })).body.data
    t.type(total.metrics.admission_records, 'number', 'of the one state that the release is of')
    for (const group of [
      'municipality',
      'state',
      'facility',
      'region',
      'procedure_group',
      'residence_municipality',
    ]) {
      const { status, body } = await alone.query({
        metrics: ['admission_records'],
        group_by: [group],
        limit: 10_000,
      })
      t.equal(status, 200, `${group}: ${JSON.stringify(body).slice(0, 200)}`)
      const sum = body.data.reduce(
        (before: number, row: { metrics: { admission_records: number | null } }) =>
          before + (row.metrics.admission_records ?? 0),
        0,
      )
      // Who lives elsewhere or nowhere that is known is in no state that was collected.
      if (group === 'residence_municipality') t.ok(sum <= total.metrics.admission_records)
      else if (group === 'region') t.equal(sum, 0, 'not all states of the region were collected')
      else t.equal(sum, total.metrics.admission_records, group)
    }
    const { body } = await alone.query({
      metrics: ['admission_records'],
      group_by: ['municipality'],
      limit: 10_000,
    })
    t.ok(
      body.data.some(
        (row: { dimensions: { municipality: { code: number } } }) =>
          row.dimensions.municipality.code === 1400000,
      ),
    )
  },
)

t.test(
  'flows: both ends add up to either end, and shares by race are allowed where rates are refused',
  async (t) => {
    const filters = [{ dimension: 'reference_period', operator: 'EQ', value: '2026-05' }]
    const ask = async (metrics: readonly string[], group_by: readonly string[], more: object = {}) =>
      (await client.query({ metrics, group_by, filters, limit: 10_000, ...more })).body
    const total = new Map<string, number>()
    const pairs = await ask(['admissions'], ['residence_municipality', 'state'])
    for (const { dimensions, metrics } of pairs.data) {
      const code = String(dimensions.residence_municipality.code)
      total.set(code, (total.get(code) ?? 0) + metrics.admissions)
    }
    const residents = await ask(['admissions'], ['residence_municipality'])
    for (const { dimensions, metrics } of residents.data)
      if (metrics.admissions !== null)
        t.equal(total.get(String(dimensions.residence_municipality.code)) ?? 0, metrics.admissions)
    t.ok(residents.meta.notes.some(({ code }: WrittenNote) => code === 'partial_residence'))
    for (const [level, name] of [
      ['municipality', 'municipality'],
      ['health_region', 'health_region'],
      ['state', 'state'],
    ] as const) {
      const [out, all, share] = [
        `admissions_outside_${name}`,
        `admissions_of_known_${name}`,
        `admissions_outside_${name}_share`,
      ] as const
      const home = new Map<string, number>()
      for (const { dimensions, metrics } of (await ask([all], [`residence_${level}`, level])).data)
        if (dimensions[level].code === dimensions[`residence_${level}`].code)
          home.set(String(dimensions[level].code), metrics[all])
      let checked = 0
      for (const { dimensions, metrics } of (await ask([out, all, share], [`residence_${level}`])).data) {
        if (metrics[share] === null) continue
        checked += 1
        const stays = home.get(String(dimensions[`residence_${level}`].code)) ?? 0
        t.equal(metrics[out] + stays, metrics[all], `${level}: outside and at home are all`)
        // Both shares are rounded to two decimals.
        t.ok(Math.abs(metrics[share] + (100 * stays) / metrics[all] - 100) < 0.005001, `${level}: 100 %`)
      }
      t.ok(checked > 1, `${checked} places`)
    }
    // A pair needs the files of the hospital's state alone.
    const received = await ask(['admissions', 'admissions_outside_state'], ['residence_state'], {
      filters: [...filters, { dimension: 'state', operator: 'EQ', value: 'RR' }],
    })
    t.ok(
      received.data.every(({ metrics }: { metrics: { admissions: number } }) => metrics.admissions !== null),
    )
    t.ok(received.data.some(({ metrics }: { metrics: { admissions: number } }) => metrics.admissions > 0))
    const byRace = await ask(['admissions'], ['race'], { share_of: [] })
    t.ok(
      byRace.data.every(
        ({ metrics }: { metrics: Record<string, unknown> }) => 'admissions__share' in metrics,
      ),
    )
    for (const metric of ['admissions_per_10k', 'icsap_per_10k', 'admissions_per_10k_standardized']) {
      const refused = await ask([metric], ['race'])
      t.match(refused, { status: 400, code: 'denominator_not_defined', metric, detail: /raça/ })
    }
    t.match(await ask(['icsap_share'], ['icsap_group']), { status: 400, code: 'incompatible_dimension' })
    t.match(await ask(['admissions_received_share'], ['residence_state']), { status: 400 })
  },
)

t.test(
  'a release made before diagnoses, race and flows: what it could answer it answers, the rest is refused or null',
  async (t) => {
    const [sih, analytics] = [small.result.sih ?? '', small.result.analytics]
    const table = 'hospital_admissions_by_residence'
    const added = [
      'icsap_group_code',
      'cause_group_code',
      'race_code',
      'icsap_universe_admissions',
      'icsap_admissions',
    ]
    const rewritten = new Map<number, string>()
    for (const period of [202603, 202604, 202605]) {
      const path = join(small.releasesDir, `.before-${period}.parquet`)
      await connection.run(
        `COPY (SELECT * EXCLUDE (${added.join(', ')}) FROM read_parquet('${folderOf(sih)}/${table}/reference_period=${period}/part-0.parquet', hive_partitioning = false)) TO '${path}' (FORMAT parquet)`,
      )
      rewritten.set(period, path)
    }
    const former = await forgeRelease(small.releasesDir, sih, (folder, manifest) => {
      for (const [period, path] of rewritten)
        renameSync(path, join(folder, table, `reference_period=${period}`, 'part-0.parquet'))
      const entry = manifest.datasets[table]
      if (entry !== undefined)
        Object.assign(entry, { fields: entry.fields.filter(({ name }) => !added.includes(name)) })
      delete manifest.datasets.hospital_admission_flows
      delete manifest.coverage.hospital_admission_flows
      rmSync(join(folder, 'hospital_admission_flows'), { recursive: true })
      const kept = manifest.files.filter(({ path }) => !path.startsWith('hospital_admission_flows/'))
      Object.assign(manifest, { files: kept })
      removeContent(manifest)
    })
    const isNew = (name: string): boolean => /flows|icsap|race|resident_/.test(name)
    const joined = await forgeRelease(small.releasesDir, analytics, (folder, manifest) => {
      manifest.components.sih = former
      for (const name of Object.keys(manifest.datasets).filter(isNew)) {
        delete manifest.datasets[name]
        rmSync(join(folder, name), { recursive: true })
      }
      Object.assign(manifest, { files: manifest.files.filter(({ path }) => !isNew(path)) })
      removeContent(manifest)
    })
    writePointer(small.releasesDir, joined)
    const old = await openClient(small.releasesDir)
    t.teardown(() => {
      writePointer(small.releasesDir, analytics)
      return old.close()
    })
    for (const question of [
      { metrics: ['admissions', 'days_of_stay'], group_by: ['state'] },
      { metrics: ['admissions', 'admissions_per_10k'], group_by: ['residence_state'] },
      { metrics: ['admissions'], group_by: ['diagnosis_chapter', 'sex'] },
    ])
      t.same(
        (await old.query(question)).body.data,
        (await client.query(question)).body.data,
        question.group_by.join(),
      )
    for (const dimension of ['race', 'icsap_group', 'cause_group'])
      t.match((await old.query({ metrics: ['admissions'], group_by: [dimension] })).body, {
        status: 400,
        code: 'dimension_not_loaded',
        detail: /antes de haver essa dimensão/,
      })
    const icsap = (await old.query({ metrics: ['icsap_admissions'], group_by: [] })).body
    t.equal(icsap.data[0].metrics.icsap_admissions, null)
    t.ok(
      icsap.meta.notes.some(
        (note: WrittenNote) => note.code === 'not_carried' && note.dimension === 'icsap_group',
      ),
    )
    const flows = (await old.query({ metrics: ['admissions_outside_state_share'], group_by: [] })).body
    t.equal(flows.data[0].metrics.admissions_outside_state_share, null)
    t.ok(
      flows.meta.notes.some(
        (note: WrittenNote) => note.code === 'not_collected' && note.dataset === 'hospital_admission_flows',
      ),
    )
    t.same((await old.get('/v1/sih/flows')).body.data, [])
  },
)

t.test('a release without admissions: null with a note, and dimensions that are not loaded', async (t) => {
  const old = await openWithout(small, 'sih')
  t.teardown(() => old.close())
  const { body } = await old.query({
    metrics: ['admissions', 'bed_occupancy_share', 'bed_capacity_sus'],
    group_by: ['state'],
  })
  t.equal(body.data[0].metrics.admissions, null)
  t.equal(body.data[0].metrics.bed_occupancy_share, null)
  t.type(
    body.data.find((row: { dimensions: { state: { code: string } } }) => row.dimensions.state.code === 'RR')
      .metrics.bed_capacity_sus,
    'number',
  )
  t.ok(
    body.meta.notes.some(
      (note: WrittenNote) =>
        note.code === 'not_collected' && note.dataset === 'hospital_admissions' && note.states.length === 27,
    ),
  )
  const refused = await old.query({ metrics: ['admissions'], group_by: ['procedure'] })
  t.equal(refused.status, 400)
  t.equal(refused.body.code, 'dimension_not_loaded')
  t.equal((await old.get('/v1/analytics/dimensions/procedure/values')).status, 400)
  t.same((await old.query({ metrics: ['admissions'], group_by: ['care_character'] })).body.data, [])
})
