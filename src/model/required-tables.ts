/**
 * Derives which tables and dimensions must have been collected for a number to be complete. Values and pure functions only. A
 * facility's flags (has_equipment, offers_any_sus …) are computed from the tables of its beds, equipment and services. So a
 * number of facilities with equipment needs the equipment table; a number of all facilities needs the registry. A dimension
 * is a separate need, because files of some months have no column for it or no code in any row.
 */
import {
  type DimensionCode,
  dimensionOf,
  dimensionsOfFacts,
  type FactDataset,
  groupedDimension,
  isAddedUp,
  isPlace,
  isPopulation,
  type PopulationFacts,
} from './dimensions.ts'
import { type Measure, type MetricCode, measuresOf } from './metrics.ts'
import { isTime } from './periods.ts'

/** Tables that are collected by state and month: the registry, hospital admissions, outpatient production. */
export type Table = Exclude<FactDataset, PopulationFacts>
/** A dimension of a table. Files of a state and month may or may not carry it. */
export type DimensionNeed = `${Table}/${DimensionCode}`
const PRICE_INDEX = 'price_index'
/** The price index of a table's month, for values in constant prices. */
export type PriceNeed = `${Table}/${typeof PRICE_INDEX}`
/** 'sus_link': the facility's link to SUS as the registry states it. */
export type Need = Table | DimensionNeed | PriceNeed | 'sus_link'

export const isPriceNeed = (need: Need): need is PriceNeed => need.endsWith(`/${PRICE_INDEX}`)
/** @returns the further needs of a metric in constant prices */
export const priceNeedsOf = (needs: readonly Need[]): PriceNeed[] =>
  tablesAmong(needs).map((table): PriceNeed => `${table}/${PRICE_INDEX}`)

export const tableOfNeed = (need: Need): Table =>
  need === 'sus_link' ? 'facilities' : (need.split('/')[0] as Table)
export const dimensionOfNeed = (need: Need): DimensionCode | null =>
  isPriceNeed(need) ? null : ((need.split('/')[1] as DimensionCode | undefined) ?? null)
/** @returns the distinct tables among the needs, without dimensions and the link to SUS */
export const tablesAmong = (needs: readonly Need[]): Table[] => [
  ...new Set(needs.filter((need): need is Table => tableOfNeed(need) === need)),
]

/** From this month (YYYYMM) on, files by state always say provider 1 (own), so they do not cover third parties. */
export const PROVIDERS_BY_STATE_UNTIL = 201001
/** Dimensions that describe the provider of a service. */
const OF_PROVIDERS: readonly DimensionCode[] = ['provider_kind', 'service_characteristic']
/** @returns whether files by state fill a dimension's column of that month with a constant, which carries no information */
export const isFiller = (dimension: DimensionCode, period: number): boolean =>
  OF_PROVIDERS.includes(dimension) && period >= PROVIDERS_BY_STATE_UNTIL

/** Flag of a facility → the tables it is computed from. */
export const NEEDS_OF_FLAG: Readonly<Record<string, readonly Need[]>> = {
  has_beds: ['bed_capacity'],
  has_equipment: ['equipment_inventory'],
  has_services: ['specialized_services'],
  offers_any_sus: ['bed_capacity', 'equipment_inventory', 'specialized_services'],
  is_linked_sus: ['facilities', 'sus_link'],
}

/** @returns dimensions that a table's files may lack: all but territories, which follow from the file, periods, and those of few rows */
export const codedDimensionsOf = (table: Table): readonly DimensionCode[] =>
  dimensionsOfFacts(table).filter(
    (code) => !isPlace(code) && !isTime(code) && dimensionOf(code).isOfFewRows !== true,
  )

/** Number of digits of a SIGTAP code. Codes of earlier tables are shorter and identify no SIGTAP procedure. */
const SIGTAP_DIGITS = 10
/** @returns a code with the prefix, padded enough to tell which procedure table it belongs to */
export const codesOfPrefix = (digits: string): string =>
  /^\d{7,8}$/.test(digits) ? digits : digits.padEnd(SIGTAP_DIGITS, '0')
const isOldProcedure = (code: DimensionCode, value: string | number): boolean =>
  code === 'procedure' && String(value).length !== SIGTAP_DIGITS
/** @returns whether a value stands for a missing code, or belongs to an older code table */
export const isWithoutCode = (code: DimensionCode, value: string | number): boolean =>
  isOldProcedure(code, value) || dimensionOf(code).unknown === value
/** @returns how to recognize values, besides null, that are not codes of the dimension */
export const codelessOf = (
  code: DimensionCode,
): { readonly unknown?: string | undefined; readonly digits?: number } =>
  code === 'procedure' ? { digits: SIGTAP_DIGITS } : { unknown: dimensionOf(code).unknown }

/** The parts of a filter that decide whether files must carry its dimension. */
export interface CodeFilter {
  readonly dimension: DimensionCode
  readonly operator: string
  readonly values: readonly (string | number)[]
}
/** @returns false for a filter on missing codes or on codes of an older table, which needs no file to carry the dimension */
function needsCodes({ dimension, operator, values }: CodeFilter): boolean {
  if (values.every((value) => isOldProcedure(dimension, value))) return false
  const isInside = operator === 'EQ' || operator === 'IN'
  return !(isInside && values.every((value) => isWithoutCode(dimension, value)))
}

export const needsOfFilters = (table: Table, filters: readonly CodeFilter[]): readonly DimensionNeed[] =>
  needsOfDimensions(
    table,
    filters.filter(needsCodes).map(({ dimension }) => dimension),
  )

/** @returns the distinct needs for dimensions of a table; territories and the month need nothing */
export const needsOfDimensions = (
  table: Table,
  dimensions: readonly DimensionCode[],
): readonly DimensionNeed[] =>
  codedDimensionsOf(table)
    .filter((code) => dimensions.includes(code))
    .map((code): DimensionNeed => `${table}/${code}`)

const RESIDENT_ADMISSIONS = 'hospital_admissions_by_residence'
const ICSAP_GROUP = `${RESIDENT_ADMISSIONS}/icsap_group` as const
/**
 * Counts of admissions → what files must carry. Their diagnoses must be of CID-10. The universe leaves out deliveries by their SIGTAP
 * procedure, which files before 2008 do not have.
 */
const NEEDS_OF_ADMISSIONS: Readonly<Record<string, readonly Need[]>> = {
  icsap_admissions: [RESIDENT_ADMISSIONS, ICSAP_GROUP],
  icsap_universe_admissions: [RESIDENT_ADMISSIONS, ICSAP_GROUP, 'hospital_admissions/procedure'],
}

/** Field that is counted by its cause → the dimension that files must carry, so that CID-9 does not count as 0. */
const NEEDS_OF_FIELD: Readonly<Record<string, DimensionCode>> = {
  maternal_deaths: 'cause_chapter',
  premature_ncd_deaths: 'cause_chapter',
}

function needsOfMeasure({ dataset, field = '', where = [] }: Measure): readonly Need[] {
  if (isPopulation(dataset)) return []
  const ofAdmissions = NEEDS_OF_ADMISSIONS[field]
  if (ofAdmissions !== undefined) return ofAdmissions
  if (isAddedUp(dataset)) {
    const columns = where.flatMap((condition) =>
      'equals' in condition || 'oneOf' in condition ? [condition.field] : [],
    )
    const dimensions = codedDimensionsOf(dataset).filter(
      (code) => columns.includes(dimensionOf(code).column) || NEEDS_OF_FIELD[field] === code,
    )
    return [dataset, ...needsOfDimensions(dataset, dimensions)]
  }
  if (dataset !== 'facilities')
    return where.some((condition) => 'outsourced' in condition)
      ? [dataset, `${dataset}/service_characteristic`]
      : [dataset]
  const flags = where.flatMap((condition) => ('flag' in condition ? [condition.flag] : []))
  return flags.length === 0 ? [dataset] : flags.flatMap((flag) => NEEDS_OF_FLAG[flag] ?? [dataset])
}

const sidesOf = (code: MetricCode, dimensions: readonly DimensionCode[]): readonly Measure[] =>
  Object.values(measuresOf(code, dimensions)).filter((measure) => measure !== null)
const tablesOfMetric = (code: MetricCode, dimensions: readonly DimensionCode[]): readonly Table[] => [
  ...new Set(
    sidesOf(code, dimensions).flatMap(({ dataset }) => (isPopulation(dataset) ? [] : [dataset as Table])),
  ),
]

/**
 * @param filters of the query
 * @param grouped dimensions of the query's groups
 * @returns the distinct needs of all sides of a metric; the population adds none
 */
export function needsOf(
  code: MetricCode,
  filters: readonly CodeFilter[] = [],
  grouped: readonly DimensionCode[] = [],
): readonly Need[] {
  const dimensions = [...filters.map(({ dimension }) => dimension), ...grouped]
  const filterNeeds = tablesOfMetric(code, dimensions).flatMap((table) => needsOfFilters(table, filters))
  // Members can be grouped only where files carry their dimension, as with a filter.
  const bases = grouped.flatMap((dimension) => groupedDimension(dimension) ?? [])
  const groupingNeeds = tablesOfMetric(code, dimensions).flatMap((table) => needsOfDimensions(table, bases))
  return [
    ...new Set([...sidesOf(code, dimensions).flatMap(needsOfMeasure), ...filterNeeds, ...groupingNeeds]),
  ]
}

/** @returns the additional needs of a group that has a code in each dimension */
export function needsOfCodes(
  code: MetricCode,
  filters: readonly CodeFilter[],
  grouped: readonly DimensionCode[],
): readonly { readonly dimension: DimensionCode; readonly needs: readonly DimensionNeed[] }[] {
  const tables = tablesOfMetric(code, [...filters.map(({ dimension }) => dimension), ...grouped])
  return grouped.flatMap((dimension) => {
    const needs = tables.flatMap((table) => needsOfDimensions(table, [dimension]))
    return needs.length === 0 ? [] : [{ dimension, needs }]
  })
}
