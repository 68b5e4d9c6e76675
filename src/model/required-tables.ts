/**
 * What a number needs to have been collected: the tables it is made of, and what files of a table do not always say. Values only.
 *
 * A facility's flags (has_equipment, offers_any_sus …) are made of the tables of what it has, so a number of facilities with
 * equipment needs the equipment, not the registry; all facilities there are, only the registry lists. A dimension is a need of
 * its own: files of some months have no column for it, or no code in any row.
 */
import {
  type DimensionCode,
  dimensionOf,
  dimensionsOfFacts,
  type FactDataset,
  isPlace,
  isPopulation,
  type PopulationFacts,
} from './dimensions.ts'
import { type Measure, type MetricCode, measuresOf } from './metrics.ts'

/** Tables that are collected by state and month: of the registry, of hospital admissions, of outpatient production. */
export type Table = Exclude<FactDataset, PopulationFacts>
/** A dimension of a table's rows, which files of a state and month carry or not. */
export type DimensionNeed = `${Table}/${DimensionCode}`
/** 'sus_link': the registry's own link of a facility to SUS. */
export type Need = Table | DimensionNeed | 'sus_link'

/** The table whose files say it. */
export const tableOfNeed = (need: Need): Table =>
  need === 'sus_link' ? 'facilities' : (need.split('/')[0] as Table)
/** The dimension that a need is of; null: it is of none. */
export const dimensionOfNeed = (need: Need): DimensionCode | null =>
  (need.split('/')[1] as DimensionCode | undefined) ?? null
/** @returns the tables among some needs, each once; what files of a table say is needed beside that table */
export const tablesAmong = (needs: readonly Need[]): Table[] => [
  ...new Set(needs.filter((need): need is Table => tableOfNeed(need) === need)),
]

/** The files by state say 1 (own) in every row and name no provider from this month on: they say nothing of third parties. */
export const PROVIDERS_BY_STATE_UNTIL = 201001
/** Dimensions that are about the provider of a service. */
const OF_PROVIDERS: readonly DimensionCode[] = ['provider_kind', 'service_characteristic']
/** @returns do files by state of a month say nothing of a dimension, whatever stands in its column? */
export const isFiller = (dimension: DimensionCode, period: number): boolean =>
  OF_PROVIDERS.includes(dimension) && period >= PROVIDERS_BY_STATE_UNTIL

/** Flag of a facility → the tables it is made of. */
export const NEEDS_OF_FLAG: Readonly<Record<string, readonly Need[]>> = {
  has_beds: ['bed_capacity'],
  has_equipment: ['equipment_inventory'],
  has_services: ['specialized_services'],
  offers_any_sus: ['bed_capacity', 'equipment_inventory', 'specialized_services'],
  is_linked_sus: ['facilities', 'sus_link'],
}

/** @returns dimensions of a table that its files may lack: all but places, which follow from the file, and the month */
export const codedDimensionsOf = (table: Table): readonly DimensionCode[] =>
  dimensionsOfFacts(table).filter((code) => !isPlace(code) && code !== 'reference_period')

/** Codes of SIGTAP have 10 digits. Those of the tables before it are shorter: they say nothing of a procedure of SIGTAP. */
const SIGTAP_DIGITS = 10
/** @returns the codes that begin with some digits, as far as it matters which table they are of */
export const codesOfPrefix = (digits: string): string =>
  /^\d{7,8}$/.test(digits) ? digits : digits.padEnd(SIGTAP_DIGITS, '0')
const isOldProcedure = (code: DimensionCode, value: string | number): boolean =>
  code === 'procedure' && String(value).length !== SIGTAP_DIGITS
/** @returns does a code stand where the published file says none, or is it one of another table of codes? */
export const isWithoutCode = (code: DimensionCode, value: string | number): boolean =>
  isOldProcedure(code, value) || dimensionOf(code).unknown === value
/** How codes that are no codes of a dimension are told from the others, beside null. */
export const codelessOf = (
  code: DimensionCode,
): { readonly unknown?: string | undefined; readonly digits?: number } =>
  code === 'procedure' ? { digits: SIGTAP_DIGITS } : { unknown: dimensionOf(code).unknown }

/** A filter, as far as it says whether files must carry its dimension. */
export interface CodeFilter {
  readonly dimension: DimensionCode
  readonly operator: string
  readonly values: readonly (string | number)[]
}
/** A filter on the member without a code, or on codes of an older table, can be answered without the dimension. */
function needsCodes({ dimension, operator, values }: CodeFilter): boolean {
  if (values.every((value) => isOldProcedure(dimension, value))) return false
  const isInside = operator === 'EQ' || operator === 'IN'
  return !(isInside && values.every((value) => isWithoutCode(dimension, value)))
}

/** @returns what filters on a table's rows need beside the table, each once */
export const needsOfFilters = (table: Table, filters: readonly CodeFilter[]): readonly DimensionNeed[] =>
  needsOfDimensions(
    table,
    filters.filter(needsCodes).map(({ dimension }) => dimension),
  )

/** @returns what dimensions need of a table, each once; nothing for places and the month */
export const needsOfDimensions = (
  table: Table,
  dimensions: readonly DimensionCode[],
): readonly DimensionNeed[] =>
  codedDimensionsOf(table)
    .filter((code) => dimensions.includes(code))
    .map((code): DimensionNeed => `${table}/${code}`)

function needsOfMeasure({ dataset, where = [] }: Measure): readonly Need[] {
  if (isPopulation(dataset)) return []
  if (dataset !== 'facilities')
    return where.some((condition) => 'outsourced' in condition)
      ? [dataset, `${dataset}/service_characteristic`]
      : [dataset]
  const flags = where.flatMap((condition) => ('flag' in condition ? [condition.flag] : []))
  return flags.length === 0 ? [dataset] : flags.flatMap((flag) => NEEDS_OF_FLAG[flag] ?? [dataset])
}

const sidesOf = (code: MetricCode, dimensions: readonly DimensionCode[]): readonly Measure[] =>
  Object.values(measuresOf(code, dimensions)).filter((measure) => measure !== null)
/** Tables whose rows a metric filters and groups. */
const tablesOfMetric = (code: MetricCode, dimensions: readonly DimensionCode[]): readonly Table[] => [
  ...new Set(
    sidesOf(code, dimensions).flatMap(({ dataset }) => (isPopulation(dataset) ? [] : [dataset as Table])),
  ),
]

/**
 * @param filters of the query
 * @param grouped dimensions it is grouped by
 * @returns what all sides of a metric need, each once; of the population, nothing
 */
export function needsOf(
  code: MetricCode,
  filters: readonly CodeFilter[] = [],
  grouped: readonly DimensionCode[] = [],
): readonly Need[] {
  const dimensions = [...filters.map(({ dimension }) => dimension), ...grouped]
  const ofFilters = tablesOfMetric(code, dimensions).flatMap((table) => needsOfFilters(table, filters))
  return [...new Set([...sidesOf(code, dimensions).flatMap(needsOfMeasure), ...ofFilters])]
}

/** @returns what a group with a code of each dimension needs more than the group without one */
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
