/**
 * Pre-aggregates: the facts of active facilities, admissions and outpatient production, added up by some of their dimensions, stored in the analytics release beside
 * what it joins. Values and pure functions only; the importer makes them, the planner chooses among them.
 *
 * Sums and counts of a group are sums of these. A number of facilities is one too where no facility is in two of the
 * added rows: over what a facility has one of (place, type, management, legal nature), never over what it has several of.
 */
import { type CnesFacts, PRE_AGGREGATES as OF_CNES } from './cnes/pre-aggregates.ts'
import { type AddedUpTable, type DimensionCode, dimensionOf, type FactDataset, twinOf } from './dimensions.ts'
import { type Condition, METRIC_CODES, type Measure, measuresOf } from './metrics.ts'
import { PRE_AGGREGATES as OF_SIA } from './sia/pre-aggregates.ts'
import { PRE_AGGREGATES as OF_SIH } from './sih/pre-aggregates.ts'

export type { CnesFacts } from './cnes/pre-aggregates.ts'

export interface PreAggregate {
  readonly dataset: CnesFacts | AddedUpTable
  readonly keys: readonly DimensionCode[]
}

const PRE_AGGREGATES = { ...OF_CNES, ...OF_SIH, ...OF_SIA }
export type PreAggregateName = keyof typeof PRE_AGGREGATES
export const PRE_AGGREGATE_NAMES = Object.keys(PRE_AGGREGATES) as PreAggregateName[]
export const preAggregateOf = (name: PreAggregateName): PreAggregate => PRE_AGGREGATES[name]

/** Dimensions of which a facility has one in a month. */
const OF_THE_FACILITY: ReadonlySet<DimensionCode> = new Set([
  'state',
  'municipality',
  'region',
  'health_region',
  'health_macroregion',
  'facility_type',
  'management_type',
  'legal_nature',
])
export const isOfTheFacility = (code: DimensionCode): boolean => OF_THE_FACILITY.has(code)
/** The dimension that, with the facility, is the whole key of a record. */
const OF_THE_RECORD: Readonly<Partial<Record<FactDataset, DimensionCode>>> = {
  bed_capacity: 'bed_type',
  equipment_inventory: 'equipment_type',
  specialized_services: 'specialized_service_classification',
}

/** Has a facility at most one fact of each key in a month? A key of records holds; facilities are their own records. */
export function hasFacilityOnce({
  dataset,
  keys,
}: {
  readonly dataset: FactDataset
  readonly keys: readonly DimensionCode[]
}): boolean {
  const record = OF_THE_RECORD[dataset]
  return dataset === 'facilities' || (record !== undefined && keys.includes(record))
}

/** A column of a pre-aggregate: what is added up in it. */
export interface StoredMeasure {
  readonly column: string
  readonly kind: 'sum' | 'count' | 'distinct'
  readonly field: string | null
  readonly where: readonly Condition[]
}

/** How a measure comes from a pre-aggregate. */
export interface StoredSource {
  /** Added up. Of a distinct count of a key: above 0 where the key counts. */
  readonly stored: StoredMeasure
  readonly minus: StoredMeasure | null
  /** Conditions on keys, applied by the query. */
  readonly where: readonly Condition[]
  /** Key whose values are counted once; null: `stored` is added up. */
  readonly distinctKey: string | null
  /** Facilities: exact only where `isExact` says so. */
  readonly countsFacilities: boolean
}

/** @returns null where the pre-aggregate lacks what the measure needs */
export function sourceOf(measure: Measure, { keys }: PreAggregate): StoredSource | null {
  // Bed-days are made of the beds of each month: of the facts.
  if (measure.timesDays === true) return null
  if (measure.standardizedBy !== undefined && !keys.includes('age_group')) return null
  const columns = keys.map((code) => dimensionOf(code).column)
  const isOfKey = (condition: Condition): boolean =>
    ('equals' in condition || 'oneOf' in condition) && columns.includes(condition.field)
  const conditions = measure.where ?? []
  const baked = conditions.filter((condition) => !isOfKey(condition))
  const where = conditions.filter(isOfKey)
  const suffix = baked.map(nameCondition).join('')
  const sum = (field: string): StoredMeasure => ({
    column: `sum_${field}${suffix}`,
    kind: 'sum',
    field,
    where: baked,
  })
  const rows: StoredMeasure = { column: `records${suffix}`, kind: 'count', field: null, where: baked }
  const source = { minus: null, where, distinctKey: null, countsFacilities: false }
  const { field = '' } = measure
  if (measure.kind === 'count') return { ...source, stored: rows }
  if (measure.kind === 'sum')
    return { ...source, stored: sum(field), minus: measure.minus === undefined ? null : sum(measure.minus) }
  if (columns.includes(field)) return { ...source, stored: rows, distinctKey: field }
  if (field !== 'cnes_code') return null
  const facilities: StoredMeasure = {
    column: `facilities${suffix}`,
    kind: 'distinct',
    field,
    where: baked,
  }
  return { ...source, stored: facilities, countsFacilities: true }
}

/** @param fixed dimensions of which each group has one value: is a sum of numbers of facilities their number? */
export function countsFacilitiesOnce(
  { dataset, keys }: PreAggregate,
  fixed: ReadonlySet<DimensionCode>,
): boolean {
  const record = OF_THE_RECORD[dataset]
  if (record !== undefined && fixed.has(record)) return true
  return keys.every((code) => OF_THE_FACILITY.has(code) || fixed.has(code))
}

/** @returns every column that a metric of the catalog needs, by name */
export function storedMeasures(preAggregate: PreAggregate): StoredMeasure[] {
  const found = new Map<string, StoredMeasure>()
  for (const code of METRIC_CODES)
    for (const measure of Object.values(measuresOf(code))) {
      if (measure === null) continue
      // What is added up of a dataset is added up of its twin, too.
      if (![measure.dataset, twinOf(measure.dataset)].includes(preAggregate.dataset)) continue
      const source = sourceOf(measure, preAggregate)
      for (const stored of [source?.stored, source?.minus])
        if (stored !== undefined && stored !== null) found.set(stored.column, stored)
    }
  return [...found.values()].sort((left, right) => (left.column < right.column ? -1 : 1))
}

/** Columns that tell rows apart, in the order of the file. */
export const keyColumns = ({ keys }: PreAggregate): string[] => keys.map((code) => dimensionOf(code).column)

/** Those a facility can have several of in a month. */
export const factColumns = ({ keys }: PreAggregate): string[] =>
  keys.filter((code) => !OF_THE_FACILITY.has(code)).map((code) => dimensionOf(code).column)

/** @returns a name for a condition, part of column names */
export function nameCondition(condition: Condition): string {
  if ('above' in condition) return `_with_${condition.field}${condition.above === 0 ? '' : condition.above}`
  if ('equals' in condition) return `_of_${condition.field}_${condition.equals}`
  if ('oneOf' in condition) return `_of_${condition.field}_${condition.oneOf.join('_')}`
  if ('flag' in condition) return `_${condition.flag}`
  if ('anyFlag' in condition) return `_${condition.anyFlag.join('_or_')}`
  if ('outsourced' in condition) return '_outsourced'
  throw new TypeError('population is in no pre-aggregate')
}

/** Fields that measures of a dataset read, beside its dimensions: quantities, and flags that conditions name. */
export function measuredFields(dataset: FactDataset): {
  readonly quantities: readonly string[]
  readonly flags: readonly string[]
} {
  const quantities = new Set<string>()
  const flags = new Set<string>()
  for (const code of METRIC_CODES)
    for (const measure of Object.values(measuresOf(code))) {
      if (measure === null) continue
      if (measure.dataset !== dataset && twinOf(measure.dataset) !== dataset) continue
      if (measure.kind === 'sum' && measure.field !== undefined) quantities.add(measure.field)
      if (measure.minus !== undefined) quantities.add(measure.minus)
      for (const condition of measure.where ?? []) {
        if ('above' in condition) quantities.add(condition.field)
        if ('flag' in condition) flags.add(condition.flag)
        if ('anyFlag' in condition) for (const flag of condition.anyFlag) flags.add(flag)
      }
    }
  return { quantities: [...quantities].sort(), flags: [...flags].sort() }
}
