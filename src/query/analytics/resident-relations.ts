/**
 * Defines the relations that an engine may keep in memory: names of members in order, population by municipality, pre-
 * aggregates, and the fact columns that queries group, filter and sum. Pure.
 *
 * In: a release. Out: one statement per relation, most useful first. A table in memory may store codes in a narrower type than
 * text, so statements cast codes that leave a relation.
 */
import type { ResidentRelation } from '../../engine/types.ts'
import { datasetOf } from '../../model/datasets.ts'
import {
  DIMENSION_CODES,
  type DimensionCode,
  dimensionOf,
  dimensionsOfFacts,
  type FactDataset,
  isAddedUp,
} from '../../model/dimensions.ts'
import {
  type CnesFacts,
  measuredFields,
  PRE_AGGREGATE_NAMES,
  type PreAggregateName,
  preAggregateOf,
} from '../../model/pre-aggregates.ts'
import type { Table } from '../../model/required-tables.ts'
import { OUTPATIENT_TABLES } from '../../model/sia/datasets.ts'
import { ADMISSION_TABLES } from '../../model/sih/datasets.ts'
import { FACT_TABLES } from '../../release/coverage.ts'
import type { Manifest } from '../../release/manifest.ts'
import { collectedPeriods, componentManifests, type ReleaseView, storedPeriods } from '../../release/view.ts'
import {
  EMPTY,
  either,
  ident,
  integerLiteral,
  join,
  resident,
  residentMonths,
  type Sql,
  sql,
  TEXT,
  table,
  tableOfMonths,
} from '../../sql.ts'
import { anyDeclaration, unionOf } from './dialect/differences.ts'

/** Year of each population used by metrics; null when the release lacks it. */
export type PopulationYears = Readonly<
  Record<'CENSUS_POPULATION' | 'ESTIMATED_POPULATION' | 'POPULATION_BY_AGE', number | null>
>
export const NO_YEARS: PopulationYears = {
  CENSUS_POPULATION: null,
  ESTIMATED_POPULATION: null,
  POPULATION_BY_AGE: null,
}

export const POPULATION_COLUMNS = {
  CENSUS_POPULATION: 'census_population',
  ESTIMATED_POPULATION: 'estimated_population',
} as const

export const CNES_FACTS = [
  'facilities',
  'bed_capacity',
  'equipment_inventory',
  'specialized_services',
] as const satisfies readonly CnesFacts[]
export type MonthlyFacts = Table
export const isCnes = (dataset: FactDataset): dataset is CnesFacts =>
  CNES_FACTS.some((table) => table === dataset)
/** True when a service is declared as bought from others. */
export const IS_OUTSOURCED = anyDeclaration(['2', '3'])
/** Upper bound of the number of municipalities, including ignored ones. */
const MUNICIPALITIES_MAX = 6000
const columnList = (columns: readonly string[]): Sql => join(columns.map(ident), ', ')

/** @returns population by municipality: one row each, one column per type */
export const populationOf = (years: PopulationYears): Sql =>
  resident('population', populationDefinition(years))

export const populationByAgeOf = (year: number): Sql =>
  resident(`population by age ${year}`, populationByAgeDefinition(year))

/** Marks a municipality that is missing from the imported file. A municipality younger than the year has null instead. */
export const MISSING_POPULATION = -1

/** A municipality's population in one year. Release rows are null when the imported file lacks the municipality. */
const populationWhere = (condition: Sql): Sql =>
  sql`CAST(sum(coalesce(population, ${integerLiteral(MISSING_POPULATION)})) FILTER (WHERE ${condition}) AS BIGINT)`

/** @returns estimates by municipality, one row each and one column per year (see estimateColumn) */
export function estimatesOf(years: readonly number[]): Sql {
  const columns = years.map(
    (year) =>
      sql`${populationWhere(sql`reference_year = ${integerLiteral(year)}`)} AS ${ident(estimateColumn(year))}`,
  )
  return sql`(SELECT CAST(municipality_code AS INTEGER) AS municipality_ibge_code, min(uf) AS uf, ${join(columns, ', ')} FROM ${table('population')} WHERE population_type = 'ESTIMATED_POPULATION' GROUP BY 1)`
}
export const estimateColumn = (year: number): string => `estimated_population_${year}`

export const factsOf = (dataset: MonthlyFacts, period: number): Sql =>
  resident(`facts ${dataset} ${period}`, factsDefinition(dataset, table(dataset, period)))

/**
 * @param period month of the facilities; null for other members
 * @returns members of a dimension: code, name and, for short lists ordered by name, name_rank
 */
export const membersOf = (code: DimensionCode, period: number | null = null): Sql =>
  resident(membersName(code, period), membersDefinition(code, period))
const membersName = (code: DimensionCode, period: number | null = null): string =>
  period === null ? `members ${code}` : `members ${code} ${period}`

/** Facilities named by a pre-aggregate in any month, and those with beds in `bedPeriods`. */
export interface FewFacilities {
  readonly source: PreAggregateName
  readonly periods: readonly number[]
  readonly bedPeriods: readonly number[]
}

/** @returns only these facilities; name_rank orders them among themselves */
export const fewFacilityMembers = (few: FewFacilities, period: number): Sql =>
  resident(fewFacilitiesName(few, period), fewFacilitiesDefinition(few, period))
const fewFacilitiesName = ({ source }: FewFacilities, period: number): string =>
  `members facility ${period} of ${source}`

const MONTHS_OF_YEAR = 12
/** Tables of files by year, such as deaths and births. A year of them has as many rows as a month of admissions. */
const YEARLY_TABLES = FACT_TABLES.filter(
  (dataset) =>
    !isCnes(dataset) &&
    isAddedUp(dataset) &&
    ![...ADMISSION_TABLES, ...OUTPATIENT_TABLES].some((monthly) => monthly === dataset),
)

/** Larger than the number of hospitals in the country. */
const FEW_FACILITIES = 20_000

/** @returns pre-aggregates whose months all name few facilities, together with the months of beds */
export const listFewFacilities = (view: ReleaseView): FewFacilities[] =>
  PRE_AGGREGATE_NAMES.filter((name) => {
    const { dataset, keys } = preAggregateOf(name)
    return isAddedUp(dataset) && keys.includes('facility')
  }).flatMap((source) => {
    const { analytics } = view
    const periods = analytics.datasets[source]?.periods ?? []
    const areFew = periods.every((period) => (rowsOf(analytics, source, period) ?? 0) <= FEW_FACILITIES)
    const bedPeriods = storedPeriods(view, 'bed_capacity')
    return periods.length > 0 && areFew ? [{ source, periods, bedPeriods }] : []
  })

/** @returns health region and macro-region of each municipality; null when it has none */
export const healthRegionsOfMunicipalities = (): Sql =>
  resident('health regions of municipalities', HEALTH_REGIONS_OF_MUNICIPALITIES)

export const municipalitiesWithFacilities = (period: number): Sql =>
  resident(`municipalities with facilities ${period}`, withFacilitiesDefinition(period))

/**
 * Reads months of a pre-aggregate. All months of a flow form one relation, because a year is summed as often as a month.
 * DuckDB then plans a twelfth of the tables, and all months share codes.
 */
export function preAggregateRows(name: PreAggregateName, periods: readonly number[]): Sql {
  const definitions = periods.map((period) => preAggregateDefinition(name, period))
  return either(
    isAddedUp(preAggregateOf(name).dataset)
      ? residentMonths(name, periods, join(definitions, ALL_OF))
      : unionOf(definitions.map((definition, index) => resident(`${name} ${periods[index]}`, definition))),
    preAggregateOfMonths(name, periods),
  )
}
const ALL_OF = ' UNION ALL BY NAME '

export const factsOfMonths = (dataset: MonthlyFacts, periods: readonly number[]): Sql =>
  sql`(${factsDefinition(dataset, tableOfMonths(dataset, periods))})`

const preAggregateOfMonths = (name: PreAggregateName, periods: readonly number[]): Sql =>
  sql`(SELECT * FROM ${tableOfMonths(name, periods)})`

/** @returns the same rows read from the files, where facility codes are text */
export const factsAsStored = (dataset: MonthlyFacts, period: number): Sql =>
  sql`(${factsDefinition(dataset, table(dataset, period))})`

function populationDefinition(years: PopulationYears): Sql {
  const columns = (['CENSUS_POPULATION', 'ESTIMATED_POPULATION'] as const).map(
    (type) =>
      sql`${populationWhere(sql`population_type = ${TEXT(`'${type}'`)} AND reference_year = ${integerLiteral(years[type] ?? 0)}`)} AS ${ident(POPULATION_COLUMNS[type])}`,
  )
  return sql`SELECT CAST(municipality_code AS INTEGER) AS municipality_ibge_code, min(uf) AS uf, ${join(columns, ', ')} FROM ${table('population')} GROUP BY 1`
}

const populationByAgeDefinition = (year: number): Sql =>
  sql`SELECT CAST(municipality_code AS INTEGER) AS municipality_ibge_code, uf, sex, age_group, population FROM ${table('population_by_age')} WHERE reference_year = ${integerLiteral(year)}`

function factsDefinition(dataset: MonthlyFacts, months: Sql): Sql {
  const { quantities, flags } = measuredFields(dataset)
  if (!isCnes(dataset)) {
    const placeColumns = (['facility', 'municipality', 'residence_municipality'] as const).flatMap((code) =>
      dimensionsOfFacts(dataset).includes(code) ? [dimensionOf(code).column] : [],
    )
    return sql`SELECT ${columnList(['reference_period', ...placeColumns, ...codeColumns(dataset), ...quantities])} FROM ${months}`
  }
  const outsourced = dataset === 'specialized_services' ? sql`, ${IS_OUTSOURCED} AS is_outsourced` : EMPTY
  const columns = ['reference_period', 'cnes_code', ...codeColumns(dataset), 'municipality_ibge_code']
  return sql`SELECT ${columnList([...columns, ...quantities, ...flags])}${outsourced} FROM ${months} WHERE is_active`
}

/** Columns of the dimensions that have few text codes. */
const codeColumns = (dataset: MonthlyFacts): string[] =>
  DIMENSION_CODES.flatMap((code) => {
    const { column, datasets, integer, derivedFrom } = dimensionOf(code)
    const isStored = derivedFrom === undefined && datasets.includes(dataset)
    return code !== 'facility' && integer !== true && isStored ? [column] : []
  })

function fewFacilitiesDefinition({ source, periods, bedPeriods }: FewFacilities, period: number): Sql {
  const tables = [
    ...periods.map((period) => table(source, period)),
    ...bedPeriods.map((period) => table('bed_capacity', period)),
  ]
  const codes = tables.map((relation) => sql`SELECT cnes_code FROM ${relation}`)
  return sql`SELECT *, CASE WHEN name IS NOT NULL THEN dense_rank() OVER (ORDER BY name COLLATE pt) END AS name_rank FROM (${membersDefinition('facility', period)}) AS named WHERE code IN (${join(codes, ' UNION ALL ')})`
}

function membersDefinition(code: DimensionCode, period: number | null = null): Sql {
  const { member, order } = dimensionOf(code)
  if (member === null) throw new TypeError(`${code} has a fixed list`)
  const extraColumns = code === 'municipality' ? TEXT(', uf, territorial_type') : EMPTY
  // Names that sort equally in Portuguese share a rank, so the code decides. Members without a name have no rank.
  const rank =
    order === 'name' && member.dataset !== 'facilities'
      ? TEXT(
          `, CASE WHEN ${member.name} IS NOT NULL THEN dense_rank() OVER (ORDER BY ${member.name} COLLATE pt) END AS name_rank`,
        )
      : EMPTY
  return sql`SELECT ${ident(member.key)} AS code, ${TEXT(member.name)} AS name${extraColumns}${rank} FROM ${table(member.dataset, period)}`
}

const HEALTH_REGIONS_OF_MUNICIPALITIES = sql`SELECT ibge_code AS code, health_region_code, health_macroregion_code FROM ${table('municipalities')}`

const withFacilitiesDefinition = (period: number): Sql =>
  sql`SELECT DISTINCT municipality_ibge_code FROM ${table('facilities', period)} WHERE is_active`

const preAggregateDefinition = (name: PreAggregateName, period: number): Sql =>
  sql`SELECT * FROM ${table(name, period)}`

/** @returns relations worth keeping in memory, most useful first: small ones, then months from the newest on */
export function residentRelations(view: ReleaseView): ResidentRelation[] {
  const { cnes, demography } = view.components
  const relations: ResidentRelation[] = []
  const add = (
    name: string,
    rows: number | null | undefined,
    definition: Sql,
    codes: readonly string[] = [],
    numberColumn: string | null = null,
  ): void => {
    if (rows !== null && rows !== undefined)
      relations.push({ name, rows, definition, codes, number: numberColumn })
  }
  for (const code of DIMENSION_CODES) {
    const { member } = dimensionOf(code)
    if (member === null || member.dataset === 'facilities') continue
    const rowCounts = componentManifests(view).flatMap(({ datasets }) => datasets[member.dataset]?.rows ?? [])
    add(membersName(code), rowCounts.length === 0 ? null : Math.max(...rowCounts), membersDefinition(code))
  }
  if (demography?.datasets.health_regions !== undefined)
    add(
      'health regions of municipalities',
      demography.datasets.municipalities?.rows,
      HEALTH_REGIONS_OF_MUNICIPALITIES,
    )
  add('population', demography?.datasets.population?.rows, populationDefinition(populationYears(view)))
  const years = populationYears(view)
  if (years.POPULATION_BY_AGE !== null)
    add(
      `population by age ${years.POPULATION_BY_AGE}`,
      demography?.datasets.population_by_age?.rows,
      populationByAgeDefinition(years.POPULATION_BY_AGE),
      ['uf', 'sex', 'age_group'],
    )
  const collected = new Set(CNES_FACTS.flatMap((dataset) => collectedPeriods(view, dataset)))
  const [stocks, flows] = [false, true].map((isFlow) =>
    PRE_AGGREGATE_NAMES.filter((name) => isAddedUp(preAggregateOf(name).dataset) === isFlow),
  )
  const addMonths = (name: PreAggregateName): void => {
    const months = (view.analytics.datasets[name]?.periods ?? []).toReversed().map((period) => ({
      period,
      rows: rowsOf(view.analytics, name, period) ?? 0,
      definition: preAggregateDefinition(name, period),
    }))
    const definition = join(
      months.map((month) => month.definition),
      ALL_OF,
    )
    const rows = months.reduce((sum, month) => sum + month.rows, 0)
    if (months.length > 0)
      relations.push({ name, rows, definition, codes: codeKeys(name), number: null, months })
  }
  const addSmall = (period: number): void => {
    if (collectedPeriods(view, 'facilities').includes(period))
      add(`municipalities with facilities ${period}`, MUNICIPALITIES_MAX, withFacilitiesDefinition(period))
    for (const name of stocks ?? [])
      add(
        `${name} ${period}`,
        rowsOf(view.analytics, name, period),
        preAggregateDefinition(name, period),
        codeKeys(name),
      )
  }
  const addFacts = (period: number): void => {
    for (const dataset of CNES_FACTS) {
      const rows = collectedPeriods(view, dataset).includes(period) ? rowsOf(cnes, dataset, period) : null
      const definition = factsDefinition(dataset, table(dataset, period))
      add(`facts ${dataset} ${period}`, rows, definition, codeColumns(dataset), 'cnes_code')
    }
  }
  // Most queries use the newest month. Small tables of older months come first.
  const [newest, ...older] = [...collected].sort((left, right) => right - left)
  if (newest !== undefined) {
    addSmall(newest)
    addFacts(newest)
    const facilities = rowsOf(cnes, 'facilities', newest)
    add(membersName('facility', newest), facilities, membersDefinition('facility', newest))
  }
  const addFlows = (dataset: MonthlyFacts, from: number, to?: number): void => {
    for (const period of collectedPeriods(view, dataset).toReversed().slice(from, to))
      add(
        `facts ${dataset} ${period}`,
        rowsOf(view.components[datasetOf(dataset).area], dataset, period),
        factsDefinition(dataset, table(dataset, period)),
        codeColumns(dataset),
        dimensionsOfFacts(dataset).includes('facility') ? 'cnes_code' : null,
      )
  }
  const sizeOf = (name: PreAggregateName): number => view.analytics.datasets[name]?.rows ?? 0
  if (newest !== undefined)
    for (const few of listFewFacilities(view))
      add(fewFacilitiesName(few, newest), FEW_FACILITIES, fewFacilitiesDefinition(few, newest))
  for (const name of (flows ?? []).toSorted((left, right) => sizeOf(left) - sizeOf(right))) addMonths(name)
  for (const dataset of ADMISSION_TABLES) addFlows(dataset, 0, 1)
  // Other facts are small: transfers have a few thousand rows a year.
  for (const dataset of FACT_TABLES) if (!isCnes(dataset) && !isAddedUp(dataset)) addFlows(dataset, 0)
  for (const period of older) addSmall(period)
  for (const dataset of YEARLY_TABLES) addFlows(dataset, 0, MONTHS_OF_YEAR)
  for (const period of older) addFacts(period)
  for (const dataset of ADMISSION_TABLES) addFlows(dataset, 1)
  for (const dataset of YEARLY_TABLES) addFlows(dataset, MONTHS_OF_YEAR)
  // A month of production has more rows than a year of all others.
  for (const dataset of OUTPATIENT_TABLES) addFlows(dataset, 0)
  return relations
}

const codeKeys = (name: PreAggregateName): string[] =>
  preAggregateOf(name).keys.flatMap((code) =>
    dimensionOf(code).integer === true ? [] : [dimensionOf(code).column],
  )

/** @returns rows of a month of a dataset; null when it was not collected */
export const rowsOf = (manifest: Manifest | null, dataset: string, period: number): number | null =>
  manifest?.files.find(({ path }) => path.startsWith(`${dataset}/reference_period=${period}/`))?.rows ?? null

export function populationYears(view: ReleaseView): PopulationYears {
  const { demography } = view.components
  return {
    CENSUS_POPULATION: demography?.census_year ?? null,
    ESTIMATED_POPULATION: demography === null ? null : Math.floor(demography.month / 100),
    POPULATION_BY_AGE: demography?.counts.population_by_age_year ?? null,
  }
}
