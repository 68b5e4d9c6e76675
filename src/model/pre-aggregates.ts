/**
 * Pre-aggregates are stored sums of the facts of active facilities, admissions and outpatient production over some of their
 * dimensions. The analytics release holds them. The importer writes them, and the planner chooses among them. Values and pure
 * functions only. Sums and counts of a query's group are sums over pre-aggregated rows. A number of facilities is such a sum
 * only when no facility is in two of the summed rows. That holds for attributes that a facility has once (territory, type,
 * management, legal nature).
 */
import { type CnesFacts, PRE_AGGREGATES as OF_CNES } from './cnes/pre-aggregates.ts'
import {
  type AddedUpTable,
  type DimensionCode,
  dimensionOf,
  type FactDataset,
  twinsOf,
} from './dimensions.ts'
import { type Condition, METRIC_CODES, type Measure, measuresOf } from './metrics.ts'
import { PRE_AGGREGATES as OF_SIA } from './sia/pre-aggregates.ts'
import { PRE_AGGREGATES as OF_SIH } from './sih/pre-aggregates.ts'
import { PRE_AGGREGATES as OF_SIM } from './sim/pre-aggregates.ts'
import { PRE_AGGREGATES as OF_SINASC } from './sinasc/pre-aggregates.ts'
import type { FlowLevel } from './types.ts'

export type { CnesFacts } from './cnes/pre-aggregates.ts'

export interface PreAggregate {
  readonly dataset: CnesFacts | AddedUpTable
  readonly keys: readonly DimensionCode[]
}

const PRE_AGGREGATES = { ...OF_CNES, ...OF_SIH, ...OF_SIA, ...OF_SIM, ...OF_SINASC }
export type PreAggregateName = keyof typeof PRE_AGGREGATES
export const PRE_AGGREGATE_NAMES = Object.keys(PRE_AGGREGATES) as PreAggregateName[]
export const preAggregateOf = (name: PreAggregateName): PreAggregate => PRE_AGGREGATES[name]

/** Dimensions that have one value per facility and month. */
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
/** The dimension that identifies a record together with the facility. */
const OF_THE_RECORD: Readonly<Partial<Record<FactDataset, DimensionCode>>> = {
  bed_capacity: 'bed_type',
  equipment_inventory: 'equipment_type',
  specialized_services: 'specialized_service_classification',
}

/** @returns whether a facility has at most one fact per key and month: whether the keys identify a record */
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

export interface StoredMeasure {
  readonly column: string
  readonly kind: 'sum' | 'count' | 'distinct'
  readonly field: string | null
  readonly where: readonly Condition[]
}

export interface StoredSource {
  /** The column to sum. For a distinct count of a key, the key counts when this is above 0. */
  readonly stored: StoredMeasure
  readonly minus: StoredMeasure | null
  readonly where: readonly Condition[]
  /** Key whose distinct values are counted; null when `stored` is summed. */
  readonly distinctKey: string | null
  /** Counts facilities, which is exact only when `countsFacilitiesOnce` holds. */
  readonly countsFacilities: boolean
}

/** @returns null when the pre-aggregate lacks a column that the measure needs */
export function sourceOf(measure: Measure, { keys }: PreAggregate): StoredSource | null {
  // Bed-days need the beds of each month, so they are computed from the facts.
  if (measure.timesDays === true) return null
  if (measure.standardizedBy !== undefined && !keys.includes('age_group')) return null
  const columns = keys.map((code) => dimensionOf(code).column)
  const isOfKey = (condition: Condition): boolean =>
    'ends' in condition ||
    (('equals' in condition || 'oneOf' in condition) && columns.includes(condition.field))
  const conditions = measure.where ?? []
  // Both ends of a flow are compared at query time, because the edition of the territory may change.
  if (
    conditions.some(
      (condition) =>
        'ends' in condition && !columnsOfEnds(condition.ends).every((column) => columns.includes(column)),
    )
  )
    return null
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

/** @returns stored columns that tell the two ends of a flow apart at a level */
const columnsOfEnds = (level: FlowLevel): readonly string[] =>
  level === 'state' ? ['uf', 'residence_uf'] : ['municipality_ibge_code', 'residence_municipality_code']

/** @param fixed dimensions with one value per group @returns whether facility counts can be summed */
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
      // The twins' measures are computed from the same pre-aggregate.
      if (![measure.dataset, ...twinsOf(measure.dataset)].includes(preAggregate.dataset)) continue
      const source = sourceOf(measure, preAggregate)
      for (const stored of [source?.stored, source?.minus])
        if (stored !== undefined && stored !== null) found.set(stored.column, stored)
    }
  return [...found.values()].sort((left, right) => (left.column < right.column ? -1 : 1))
}

export const keyColumns = ({ keys }: PreAggregate): string[] => keys.map((code) => dimensionOf(code).column)

/** Key columns of which a facility can have several values in a month. */
export const factColumns = ({ keys }: PreAggregate): string[] =>
  keys.filter((code) => !OF_THE_FACILITY.has(code)).map((code) => dimensionOf(code).column)

export function nameCondition(condition: Condition): string {
  if ('above' in condition) return `_with_${condition.field}${condition.above === 0 ? '' : condition.above}`
  if ('equals' in condition) return `_of_${condition.field}_${condition.equals}`
  // Codes of classes, such as 10-14 and 4000+, hold characters that names of columns cannot have.
  if ('oneOf' in condition)
    return `_of_${condition.field}_${condition.oneOf.join('_').replaceAll('-', 'to').replaceAll('+', 'up')}`
  if ('flag' in condition) return `_${condition.flag}`
  if ('anyFlag' in condition) return `_${condition.anyFlag.join('_or_')}`
  if ('outsourced' in condition) return '_outsourced'
  throw new TypeError('population is in no pre-aggregate')
}

/** @returns the fields that measures of a dataset read besides dimensions: quantities, and flags in conditions */
export function measuredFields(dataset: FactDataset): {
  readonly quantities: readonly string[]
  readonly flags: readonly string[]
} {
  const quantities = new Set<string>()
  const flags = new Set<string>()
  for (const code of METRIC_CODES)
    for (const measure of Object.values(measuresOf(code))) {
      if (measure === null) continue
      if (measure.dataset !== dataset && !twinsOf(measure.dataset).includes(dataset)) continue
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
