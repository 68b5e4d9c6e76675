/**
 * Questions across areas, drawn: twelve months of admissions of which files are missing, two of beds, two of production, three years of
 * transfers. Every value of every answer and of its totals is that of the oracle (test/fixtures/areas-oracle.ts), and no group with facts is missing.
 */
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { writePointer } from '../../src/release/writer.ts'
import { admissionFiles } from '../../tools/demo/admissions.ts'
import { planFacilities } from '../../tools/demo/facilities.ts'
import { financingFiles } from '../../tools/demo/financing.ts'
import { listMunicipalities } from '../../tools/demo/geography.ts'
import { createChance } from '../../tools/demo/random.ts'
import {
  AREA_COLUMNS,
  type AreaFilter,
  type AreaMetric,
  type AreaQuestion,
  type AreaRow,
  type AreasData,
  type AreaTable,
  answerAreas,
  BY_HOME,
  BY_PLACE,
  type Cell,
  dimensionsOf,
} from '../fixtures/areas-oracle.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import {
  answerPeriods,
  monthsUpTo,
  moveMonths,
  nameOf,
  type PeriodRow,
  type PeriodsQuestion,
} from '../fixtures/periods-oracle.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const QUESTIONS = countOf(250, 250)
const PERIODS = countOf(150, 150)
const OWN = ['AC', 'AP', 'RR']
const small = await makeSmallRelease('production')
const { releasesDir } = small
const folder = join(small.folder, 'twelve')
const months = [
  '2025-06',
  '2025-07',
  '2025-08',
  '2025-09',
  '2025-10',
  '2025-11',
  '2025-12',
  '2026-01',
  '2026-02',
  '2026-03',
  '2026-04',
  '2026-05',
]
/** A month that nobody collected, and states whose files did not come. */
const lacks = (uf: string, month: string): boolean =>
  month === '2025-11' || (month === '2026-01' && uf === 'AC') || (month === '2025-08' && uf !== 'RR')
// The places and hospitals of the other months.
const chance = createChance(1)
const all = listMunicipalities(chance)
const ufs = new Set(OWN)
const context = { plan: planFacilities(all, ufs, 4000, chance), all, chance, rate: 0.0003 }
for (const [age, month] of months.slice(0, 10).toReversed().entries()) {
  const period = Number(month.replace('-', ''))
  mkdirSync(join(folder, 'sih', month), { recursive: true })
  const states = OWN.filter((uf) => !lacks(uf, month))
  for (const { name, chunks } of admissionFiles({ period, states }, age + 2, context))
    writeFileSync(join(folder, 'sih', month, name), Buffer.concat([...chunks]))
}
for (const name of ['sih', 'sigtap'])
  cpSync(join(small.snapshots, name), join(folder, name), { recursive: true })
for (const [name, files] of Object.entries(financingFiles({ all, ufs, chance }))) {
  mkdirSync(join(folder, 'financing', name), { recursive: true })
  for (const [file, bytes] of files) writeFileSync(join(folder, 'financing', name, file), bytes)
}
const joined = await importPaths([folder], { releasesDir, maxRejected: 0.001 })
writePointer(releasesDir, joined.analytics)
const client = await openClient(releasesDir, 1, { residentBytes: RESIDENT_BYTES })
t.teardown(() => client.close())

const connection = await (await DuckDBInstance.create(':memory:')).connect()
const rowsOf = async (
  id: string | null,
  dataset: string,
  columns: string,
  where = 'true',
): Promise<AreaRow[]> =>
  (
    await connection.runAndReadAll(
      `SELECT ${columns.replace('reference_period', "left(CAST(reference_period AS VARCHAR), 4) || '-' || right(CAST(reference_period AS VARCHAR), 2) AS reference_period")}
       FROM read_parquet('${join(releasesDir, id ?? '', dataset)}/**/*.parquet', hive_partitioning = true) WHERE ${where}`,
    )
  ).getRowObjects() as AreaRow[]
const MEASURES = 'admission_records, admissions, days_of_stay, icu_days, deaths, value_total_cents'
const PROCEDURE = 'procedure_code, procedure_group_code, procedure_subgroup_code, procedure_form_code'
/** By the names of files: state and month of each. */
const filesOf = (below: string, name: RegExp): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>()
  for (const path of readdirSync(below, { recursive: true, encoding: 'utf8' })) {
    const [, uf = '', year = '', month = ''] = name.exec(path) ?? []
    if (uf !== '') found.set(`20${year}-${month}`, (found.get(`20${year}-${month}`) ?? new Set()).add(uf))
  }
  return found
}
const ofAdmissions = filesOf(join(folder, 'sih'), /RD([A-Z]{2})(\d\d)(\d\d)\.dbf$/)
const EVERY_STATE = STATES.map(({ uf }) => uf)
const everyState = new Set(EVERY_STATE)
const data: AreasData = {
  tables: {
    hospitals: await rowsOf(
      joined.sih,
      'hospital_admissions',
      `reference_period, cnes_code, uf, municipality_ibge_code, ${PROCEDURE}, care_character_code, complexity_code, financing_code, ${MEASURES}`,
    ),
    residences: await rowsOf(
      joined.sih,
      'hospital_admissions_by_residence',
      `reference_period, residence_uf AS uf, residence_municipality_code AS municipality_ibge_code, diagnosis_chapter_code, diagnosis_category_code, age_group, sex, ${MEASURES}`,
    ),
    production: await rowsOf(
      small.result.sia,
      'outpatient_production',
      `reference_period, care_period, cnes_code, uf, municipality_ibge_code, ${PROCEDURE}, complexity_code, financing_code, quantity_approved, quantity_presented, value_approved_cents`,
    ),
    funds: await rowsOf(
      joined.financing,
      'federal_health_transfers',
      'reference_period, uf, municipality_ibge_code, transferred_cents, CAST(left(entity_code, 1) AS INTEGER) AS region_code',
    ),
    beds: await rowsOf(
      small.result.cnes,
      'bed_capacity',
      'reference_period, cnes_code, uf, municipality_ibge_code, beds_sus',
      'is_active',
    ),
  },
  people: await rowsOf(
    small.result.demography,
    'population',
    'CAST(municipality_code AS INTEGER) AS municipality_ibge_code, uf, population',
    "population_type = 'CENSUS_POPULATION'",
  ),
  places: new Map(
    (
      await rowsOf(
        small.result.demography,
        'municipalities',
        'ibge_code, ibge_code AS municipality_ibge_code, uf, region_code, health_region_code, health_macroregion_code',
        "territorial_type <> 'ADMINISTRATIVE_REGION'",
      )
    ).map((row) => [Number(row.ibge_code), row]),
  ),
  published: {
    hospitals: ofAdmissions,
    residences: ofAdmissions,
    production: filesOf(join(small.snapshots, 'sia'), /PA([A-Z]{2})(\d\d)(\d\d)[a-z]?\.dbf$/),
    funds: new Map(['2024-12', '2025-12', '2026-03'].map((month) => [month, new Set(OWN)])),
    beds: new Map(['2026-04', '2026-05'].map((month) => [month, everyState])),
  },
}
t.equal(ofAdmissions.size, 11, 'eleven of twelve months')
t.ok(Object.values(data.tables).every((rows) => rows.length > 100))

const { draw, pick, shuffle } = createDraws(1717)
const members = (dimension: string, tables: readonly AreaTable[]): Cell[] => {
  const column = AREA_COLUMNS[dimension] ?? ''
  const found = new Set<Cell>()
  for (const table of tables)
    for (const row of data.tables[table]) {
      const value = row[column] ?? data.places.get(Number(row.municipality_ibge_code))?.[column] ?? null
      if (value !== null) found.add(value)
    }
  return [...found].sort()
}
const YEARS = ['2024-12', '2025-12', '2026-03']

/** @param first whose months are likelier */
function drawMonths(first: string): string[] {
  const some = shuffle(months)
  if (first.startsWith('federal') && draw(2) === 0)
    return shuffle(YEARS)
      .slice(0, 1 + draw(3))
      .sort()
  if (/bed_/.test(first) && draw(2) === 0)
    return shuffle(['2026-04', '2026-05'])
      .slice(0, 1 + draw(2))
      .sort()
  const drawn = pick([
    () => months,
    () => months.slice(draw(6), 6 + draw(6)),
    () => ['2026-04', '2026-05'],
    () => ['2026-05'],
    () => ['2026-04'],
    () => some.slice(0, 1 + draw(4)),
    () => shuffle(YEARS).slice(0, 1 + draw(3)),
    () => [...some.slice(0, 2), '2024-12'],
  ])()
  return [...new Set(drawn)].sort()
}

function drawQuestion(): AreaQuestion {
  const isByHome = draw(4) === 0
  const metrics: Readonly<Record<string, AreaMetric>> = isByHome ? BY_HOME : BY_PLACE
  const [place, tables]: [string, AreaTable[]] = isByHome
    ? ['residence_state', ['residences']]
    : ['state', ['hospitals', 'production', 'beds', 'funds']]
  // A metric first, so that those with few dimensions come as often as others.
  const first = pick(Object.keys(metrics))
  const own = dimensionsOf(metrics[first] as AreaMetric)
  const chosen = shuffle(own)
  const group_by = isByHome && draw(3) === 0 ? ['residence_state'] : chosen.slice(0, draw(4))
  const filtered = chosen
    .slice(group_by.length, group_by.length + draw(3))
    .filter((code) => code !== place && !group_by.includes(code) && code !== 'region')
  const fitting = Object.entries(metrics).flatMap(([code, metric]) =>
    [...group_by, ...filtered].every((dimension) => dimensionsOf(metric).includes(dimension)) ? [code] : [],
  )
  const asked = [...new Set([first, ...shuffle(fitting).slice(0, draw(4))])]
  const states = shuffle([...OWN, 'AC', 'RR', ...(draw(8) === 0 && !isByHome ? ['SP'] : [])]).slice(
    0,
    1 + draw(3),
  )
  const filters = filtered.flatMap((dimension): AreaFilter[] => {
    if (dimension === 'facility') {
      const codes = shuffle(members(dimension, tables)).slice(0, 1 + draw(2)) as string[]
      return [{ dimension, operator: 'IN', value: codes }]
    }
    const found = members(dimension, tables)
    const operator = pick(['EQ', 'IN', 'NEQ', 'NOT_IN'] as const)
    const isPlace = /municipality|health/.test(dimension)
    const within = isPlace
      ? found.filter((code) =>
          states.includes(
            String([...data.places.values()].find((row) => row[AREA_COLUMNS[dimension] ?? ''] === code)?.uf),
          ),
        )
      : found
    if (within.length === 0) return []
    const value = operator.endsWith('EQ') ? pick(within) : shuffle(within).slice(0, 1 + draw(5))
    return [{ dimension, operator, value: value as AreaFilter['value'] }]
  })
  const of = drawMonths(first)
  const isByMonth = draw(3) === 0
  const hasStock = asked.some((code) => metrics[code]?.isStock === true)
  return {
    metrics: asked,
    group_by: isByMonth ? shuffle([...group_by, 'reference_period']) : group_by,
    filters: shuffle([
      ...filters,
      { dimension: place, operator: 'IN', value: [...new Set(states)] } as const,
    ]),
    months: of,
    over_period: hasStock && !isByMonth && of.length > 1 ? pick(['last', 'avg'] as const) : null,
  }
}

/** Months as a list, or as a range where they are one. Periods of transfers are years, so that a range of theirs is another. */
function monthFilters(asked: readonly string[], metrics: readonly string[]): object[] {
  const dimension = 'reference_period'
  const [first = '', last = first] = [asked[0], asked.at(-1)]
  const isRange =
    asked.join() === months.filter((month) => month >= first && month <= last).join() &&
    !metrics.some((code) => code.startsWith('federal'))
  const newest = months.at(-1) ?? ''
  if (!isRange) return [{ dimension, operator: 'IN', value: asked }]
  counts.ranges += 1
  return pick([
    [{ dimension, operator: 'BETWEEN', value: [first, last === newest ? '2027-12' : last] }],
    [
      { dimension, operator: 'GTE', value: first },
      { dimension, operator: 'LTE', value: last },
    ],
    last === newest
      ? [{ dimension, operator: 'GTE', value: first }]
      : [{ dimension, operator: 'BETWEEN', value: [first, last] }],
  ])
}
const counts = {
  values: 0,
  nulls: 0,
  occupancy: 0,
  transfers: 0,
  production: 0,
  mixed: 0,
  totals: 0,
  ranges: 0,
  facilities: 0,
  residences: 0,
}

interface AnswerRow {
  readonly dimensions: Record<string, { readonly code: Cell }>
  readonly metrics: Record<string, number | null>
}

/** Places of residence that are groups, with admissions or without: states that the question's filters leave. */
function placesOf({ filters, months: asked }: AreaQuestion, group_by: readonly string[]): Cell[][] {
  const state = filters.find(({ dimension }) => dimension === 'residence_state')
  const isWithin = filters.some(({ dimension }) => /^residence_(municipality|health)/.test(dimension))
  const isByState = group_by.includes('residence_state')
  const others = group_by.filter((code) => code !== 'residence_state' && code !== 'reference_period')
  if (state === undefined || isWithin || !isByState || others.length > 0) return []
  // Months of the rows are those that the publisher has, up to the newest here.
  const rows = group_by.includes('reference_period') ? asked.filter((month) => month <= '2026-05') : [null]
  return (state.value as string[]).flatMap((uf) =>
    rows.map((month) => group_by.map((code) => (code === 'residence_state' ? uf : month))),
  )
}

/** @returns what differs between an answer, with its totals, and the oracle */
async function compare(question: AreaQuestion): Promise<string[]> {
  const wrong: string[] = []
  const { metrics, group_by, filters, months: asked, over_period } = question
  // A level without the months needs to be told what becomes of stocks.
  const hasTotals = !(group_by.includes('reference_period') && metrics.includes('bed_capacity_sus'))
  const { status, body } = await client.query({
    metrics,
    group_by,
    filters: [...filters, ...monthFilters(asked, metrics)],
    limit: 10_000,
    ...(hasTotals ? { totals: true } : {}),
    ...(over_period === null ? {} : { over_period }),
  })
  const name = JSON.stringify(question)
  if (status !== 200) {
    wrong.push(`${name}: ${JSON.stringify(body).slice(0, 300)}`)
    return wrong
  }
  const levels: { group_by: readonly string[]; data: AnswerRow[] }[] = [
    { group_by, data: body.data },
    ...(body.totals ?? []),
  ]
  for (const [place, level] of levels.entries()) {
    const oracle = answerAreas({ ...question, group_by: level.group_by }, data, EVERY_STATE)
    const left = new Set(oracle.keys)
    for (const codes of placesOf(question, level.group_by)) left.add(JSON.stringify(codes))
    for (const { dimensions, metrics: values } of level.data) {
      const codes = level.group_by.map((code) => dimensions[code]?.code ?? null)
      left.delete(JSON.stringify(codes))
      for (const metric of metrics) {
        const found = values[metric] ?? null
        const wanted = oracle.valueOf(metric, codes)
        counts.values += 1
        if (place > 0) counts.totals += 1
        if (wanted === null) counts.nulls += 1
        else if (metric === 'bed_occupancy_share') counts.occupancy += 1
        else if (metric.startsWith('federal')) counts.transfers += 1
        else if (metric.startsWith('outpatient')) counts.production += 1
        if ((wanted === null ? null : Number(wanted)) !== found)
          wrong.push(
            `${name}: by ${level.group_by.join()} ${JSON.stringify(codes)} ${metric} is ${found}, not ${wanted}`,
          )
      }
    }
    if (level.data.length < 10_000 && left.size > 0)
      wrong.push(`${name}: by ${level.group_by.join()} lacks ${[...left].slice(0, 3).join()}`)
  }
  if (new Set(metrics.map((code) => code.split('_')[0])).size > 1) counts.mixed += 1
  if (filters.some(({ dimension }) => dimension === 'facility')) counts.facilities += 1
  if (placesOf(question, group_by).length > 0) counts.residences += 1
  return wrong
}

t.test('every value of drawn questions, and of their totals, is that of the oracle', async (t) => {
  const wrong: string[] = []
  for (let turn = 0; turn < QUESTIONS; turn += 1) wrong.push(...(await compare(drawQuestion())))
  t.same(wrong.slice(0, 8), [], `${wrong.length} are wrong`)
  t.comment(JSON.stringify(counts))
  for (const [what, count] of Object.entries(counts)) t.ok(count > 10, `${what}: ${count}`)
})

t.test('one month of beds and twelve of admissions', async (t) => {
  const year = { dimension: 'reference_period', operator: 'IN', value: months }
  const inRoraima = { dimension: 'state', operator: 'EQ', value: 'RR' }
  const one = async (query: object) => {
    const { status, body } = await client.query(query)
    t.equal(status, 200, JSON.stringify(body).slice(0, 200))
    return body
  }
  // The month that nobody collected takes the year with it; the eleven others have their sum beside the newest beds.
  const known = months.filter((month) => month !== '2025-11')
  for (const [asked, hasFlow] of [
    [months, false],
    [known, true],
  ] as const) {
    const { data: rows, meta } = await one({
      metrics: ['admissions', 'bed_capacity_sus', 'bed_occupancy_share'],
      filters: [inRoraima, { ...year, value: asked }],
      over_period: 'last',
    })
    t.equal(typeof rows[0].metrics.admissions === 'number', hasFlow)
    t.ok(rows[0].metrics.bed_capacity_sus > 0, 'a stock is of its month')
    t.equal(rows[0].metrics.bed_occupancy_share, null, 'beds of two months are no beds of twelve')
    t.ok(
      meta.notes.some(
        (note: WrittenNote) =>
          note.code === 'not_collected' &&
          note.dataset === 'bed_capacity' &&
          note.periods.includes('2025-06'),
      ),
    )
  }
  const { data: rows } = await one({
    metrics: ['admissions', 'bed_occupancy_share'],
    group_by: ['reference_period'],
    filters: [inRoraima, year],
  })
  t.same(
    rows
      .filter((row: { metrics: Record<string, number | null> }) => row.metrics.bed_occupancy_share !== null)
      .map(
        (row: { dimensions: { reference_period: { code: string } } }) => row.dimensions.reference_period.code,
      )
      .sort(),
    ['2026-04', '2026-05'],
  )
})

t.test('a group of several states needs only the state of the facility that is filtered', async (t) => {
  // The admissions of Amapá were not collected in 2026-05, and the facility lies in another state.
  const question: AreaQuestion = {
    metrics: ['hospital_mortality_share', 'admissions_value'],
    group_by: ['health_macroregion', 'financing_kind', 'municipality'],
    filters: [
      { dimension: 'state', operator: 'IN', value: ['AC', 'AP', 'RR'] },
      { dimension: 'facility', operator: 'IN', value: ['8837605'] },
    ],
    months: ['2026-04', '2026-05'],
    over_period: null,
  }
  t.same(await compare(question), [])
  const [named] = data.tables.hospitals.filter(
    ({ uf, reference_period: month, value_total_cents: cents }) =>
      uf === 'RR' && month === '2026-05' && Number(cents) > 0,
  )
  const facility = String(named?.cnes_code)
  for (const code of ['8837605', facility]) {
    const filters = [
      { dimension: 'facility', operator: 'EQ', value: code },
      { dimension: 'state', operator: 'IN', value: ['AC', 'AP', 'RR'] },
      { dimension: 'reference_period', operator: 'IN', value: question.months },
    ]
    const ask = async (...group_by: string[]) =>
      (await client.query({ metrics: ['admissions_value'], group_by, filters })).body.data
    const [total] = await ask()
    t.equal(total.metrics.admissions_value > 0, code === facility, 'collected, with or without admissions')
    // The region has a state that was not collected, and the facility does not lie there.
    t.same(
      (await ask('region')).map((row: AnswerRow) => row.metrics),
      [total.metrics],
    )
    const byMacroregion: AnswerRow[] = await ask('health_macroregion')
    for (const { dimensions, metrics } of byMacroregion) {
      const place = dimensions.health_macroregion?.code ?? null
      if (place === null) t.equal(metrics.admissions_value, 0, 'places without a macro-region')
      else t.equal(metrics.admissions_value === null, String(place).startsWith('16'), `${place}`)
    }
    t.ok(byMacroregion.some(({ dimensions }) => dimensions.health_macroregion?.code === null))
  }
})

t.test('a state has a row where filters leave only its ignored municipality', async (t) => {
  const filters = [
    { dimension: 'health_region', operator: 'NOT_IN', value: ['16003', '16001', '16002'] },
    { dimension: 'state', operator: 'IN', value: ['AP'] },
  ] as const
  const metrics = ['average_stay_days', 'outpatient_value_approved', 'outpatient_quantity_approved']
  t.same(await compare({ metrics, group_by: ['state'], filters, months: ['2026-04'], over_period: null }), [])
  const month = { dimension: 'reference_period', operator: 'EQ', value: '2026-04' }
  const ignored = { dimension: 'municipality', operator: 'EQ', value: 1600000 }
  const ask = async (group_by: readonly string[], ...places: object[]): Promise<AnswerRow[]> =>
    (await client.query({ metrics: metrics.slice(1), group_by, filters: [...places, month] })).body.data
  for (const places of [filters, [ignored]]) {
    const [total] = await ask([], ...places)
    t.ok(
      (total?.metrics.outpatient_quantity_approved ?? 0) > 0,
      'there is production in no known municipality',
    )
    for (const group_by of [['state'], ['region'], ['state', 'reference_period'], ['municipality']])
      t.same(
        (await ask(group_by, ...places)).map(({ metrics }) => metrics),
        [total?.metrics],
        `by ${group_by.join()}`,
      )
  }
})

const TIMES = [
  ['reference_year'],
  ['reference_quarter'],
  ['reference_quadrimester'],
  ['reference_quarter', 'reference_year'],
  ['reference_period', 'reference_year'],
  ['reference_period', 'reference_quarter'],
  [],
] as const
const LENGTHS: Readonly<Record<string, number>> = {
  reference_period: 1,
  reference_quarter: 3,
  reference_quadrimester: 4,
  reference_year: 12,
}
/** Two and a half years, the last of which runs on. */
const EVERY_MONTH = monthsUpTo('2026-05', 29)
const periodCounts = { values: 0, nulls: 0, bases: 0, totals: 0, windows: 0, partial: 0, stocks: 0, years: 0 }

function drawPeriods(): {
  readonly body: object
  readonly periods: PeriodsQuestion
  readonly times: readonly string[]
  readonly by: number
} {
  const drawn = drawQuestion()
  const question = { ...drawn, group_by: drawn.group_by.filter((code) => code !== 'reference_period') }
  const isYearly = question.metrics.some((code) => code.startsWith('federal'))
  const hasStock = question.metrics.includes('bed_capacity_sus')
  const window = isYearly || draw(4) > 0 ? null : pick([{ months: 2 + draw(11) }, { since: 'year_start' }])
  const times: readonly string[] =
    window !== null ? ['reference_period'] : isYearly ? pick([['reference_year'], []]) : pick(TIMES)
  const finest = Object.keys(LENGTHS).find((code) => times.includes(code))
  // The filter names periods of one dimension; months of the rows are all of theirs.
  const filtered: string = isYearly
    ? 'reference_year'
    : window !== null
      ? pick(['reference_period', 'reference_year'])
      : pick(['reference_year', 'reference_quarter', 'reference_quadrimester'])
  const names = [...new Set(EVERY_MONTH.map((month) => nameOf(filtered, month)))]
  // Beds are of the newest months, which stocks would seldom meet by chance.
  const from = hasStock && draw(3) > 0 ? names.length - 1 - draw(2) : draw(names.length)
  const chosen = names.slice(from, from + 1 + draw(filtered === 'reference_year' ? 3 : 4))
  const selected = EVERY_MONTH.filter((month) => chosen.includes(nameOf(filtered, month)))
  const operator = pick([
    { operator: 'IN', value: chosen },
    { operator: 'BETWEEN', value: [chosen[0], chosen.at(-1)] },
  ])
  const codesOf = (month: string): (string | number)[] => times.map((code) => nameOf(code, month))
  const complete = (month: string, dimension: string): string[] => {
    const length = LENGTHS[dimension] ?? 1
    const at = Number(month.slice(5)) - 1
    return moveMonths(monthsUpTo(month, length), length - 1 - (at % length))
  }
  const rowsByCode = new Map<string, PeriodRow>()
  for (const month of selected) {
    const codes = codesOf(month)
    const before = rowsByCode.get(JSON.stringify(codes))?.months ?? []
    const covered =
      window !== null
        ? monthsUpTo(month, 'since' in window ? Number(month.slice(5)) : (window.months ?? 1))
        : finest === undefined
          ? complete(month, filtered)
          : complete(month, finest).filter((other) => chosen.includes(nameOf(filtered, other)))
    rowsByCode.set(JSON.stringify(codes), { codes, months: [...new Set([...before, ...covered])].sort() })
  }
  const rows = [...rowsByCode.values()]
  const isSingle = rows.every(({ months: covered }) => covered.length === 1)
  const over_period = hasStock && !isSingle ? pick(['last', 'first', 'avg'] as const) : null
  const state = question.filters.find(({ dimension }) => /state$/.test(dimension))
  const isPlain = question.filters.every(({ dimension }) => !/municip|health|facility|region/.test(dimension))
  const isByPlace = question.group_by.some((code) => /state|munic|region|facility/.test(code))
  const hasWide = question.group_by.includes('region') || question.group_by.includes('facility')
  const allows = isPlain && !hasWide && draw(3) === 0
  const isCompared = finest !== undefined && draw(3) === 0
  const to = pick(['previous', '-1y'])
  const body = {
    metrics: question.metrics,
    group_by: shuffle([...question.group_by, ...times]),
    filters: [...question.filters, { dimension: filtered, ...operator }],
    limit: 10_000,
    ...(over_period === null ? {} : { over_period }),
    ...(allows ? { incomplete: 'allow' } : {}),
    ...(window === null ? {} : { window }),
    ...(isCompared ? { change: { to } } : {}),
    ...(times.length > 0 ? { totals: [times] } : {}),
  }
  return {
    body,
    periods: {
      question,
      rows,
      over_period,
      allows,
      isToDate: window !== null && 'since' in window,
      scope: (state?.value ?? []) as string[],
      isByPlace,
    },
    times,
    by: !isCompared ? 0 : to === '-1y' ? -12 : -(LENGTHS[finest ?? ''] ?? 0),
  }
}

t.test('years, quarters, quadrimesters and windows are those of the oracle', async (t) => {
  const wrong: string[] = []
  for (let turn = 0; turn < PERIODS; turn += 1) {
    const { body: query, periods, times, by } = drawPeriods()
    const { status, body } = await client.query(query)
    const name = JSON.stringify(query)
    if (status !== 200) {
      wrong.push(`${name}: ${JSON.stringify(body).slice(0, 300)}`)
      continue
    }
    const levels: { group_by: readonly string[]; data: AnswerRow[] }[] = [
      { group_by: body.meta.query.group_by, data: body.data },
      ...(body.totals ?? []),
    ]
    for (const [place, { group_by, data: rows }] of levels.entries()) {
      const others = group_by.filter((code) => !times.includes(code))
      // Months of totals are those of the rows.
      const isByPlace = place === 0 ? periods.isByPlace : false
      const oracle = answerPeriods(
        { ...periods, isByPlace, question: { ...periods.question, group_by: others } },
        data,
        EVERY_STATE,
      )
      if (place > 0 && periods.allows && periods.isByPlace) continue
      const left = new Set(oracle.keys)
      for (const { dimensions, metrics: values } of rows) {
        const periodCodes = times.map((code) => dimensions[code]?.code ?? null)
        const row = periods.rows.findIndex(
          ({ codes }) => JSON.stringify(codes) === JSON.stringify(periodCodes),
        )
        const codes = others.map((code) => dimensions[code]?.code ?? null)
        left.delete(JSON.stringify([row, codes]))
        if (row < 0) {
          wrong.push(`${name}: no row ${periodCodes.join()}`)
          continue
        }
        for (const metric of periods.question.metrics) {
          const check = (found: number | null, wanted: string | null, what: string): void => {
            periodCounts.values += 1
            if (wanted === null) periodCounts.nulls += 1
            else {
              if (place > 0) periodCounts.totals += 1
              if ('window' in query) periodCounts.windows += 1
              if (periods.allows) periodCounts.partial += 1
              if (metric === 'bed_capacity_sus') periodCounts.stocks += 1
              if (metric.startsWith('federal')) periodCounts.years += 1
            }
            if ((wanted === null ? null : Number(wanted)) !== found)
              wrong.push(
                `${name}: by ${group_by.join()} ${JSON.stringify([...periodCodes, ...codes])} ${what} is ${found}, not ${wanted}`,
              )
          }
          check(values[metric] ?? null, oracle.valueOf(metric, row, codes), metric)
          if (by === 0) continue
          const wanted = oracle.valueOf(metric, row, codes, by)
          if (wanted !== null) periodCounts.bases += 1
          check(values[`${metric}__base`] ?? null, wanted, `${metric}__base`)
        }
      }
      if (rows.length < 10_000 && left.size > 0)
        wrong.push(`${name}: by ${group_by.join()} lacks ${[...left].slice(0, 3).join()}`)
    }
  }
  t.same(wrong.slice(0, 6), [], `${wrong.length} are wrong`)
  t.comment(JSON.stringify(periodCounts))
  for (const [what, count] of Object.entries(periodCounts)) t.ok(count > 10, `${what}: ${count}`)
})
