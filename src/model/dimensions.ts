/** The dimensions of all areas, 15 of them core, and the fact datasets that metrics sum or count. Values only. */

import type { Capability } from './capabilities.ts'
import { DIMENSIONS as DECLARED, FACTS } from './declarations.ts'
import { isTime, TIME_DIMENSIONS } from './periods.ts'
import type { Dimension, DimensionDeclaration, Fact } from './types.ts'

export type { Dimension } from './types.ts'

export type DimensionCode = keyof typeof DECLARED
const declaredOf = (code: DimensionCode): DimensionDeclaration => DECLARED[code]
const tierOf = (code: DimensionCode): 'core' | 'extended' => declaredOf(code).tier ?? 'core'
/** In catalog order: the core dimensions of all areas, then the extended ones. */
export const DIMENSION_CODES = (Object.keys(DECLARED) as DimensionCode[]).sort(
  (left, right) => Number(tierOf(left) !== 'core') - Number(tierOf(right) !== 'core'),
)

export type FactDataset = keyof typeof FACTS
/** Fact datasets whose declaration has a property. */
type FactWith<Property extends keyof Fact> = {
  [Name in FactDataset]: (typeof FACTS)[Name] extends { readonly [Key in Property]-?: true } ? Name : never
}[FactDataset]
/** In the order of the areas, then of their datasets. */
export const FACT_DATASETS = Object.keys(FACTS) as FactDataset[]
const factOf = (dataset: FactDataset): Fact => FACTS[dataset]

export type PopulationFacts = FactWith<'isPopulation'>
export const isPopulation = (dataset: FactDataset): dataset is PopulationFacts =>
  factOf(dataset).isPopulation === true
export const twinsOf = (dataset: FactDataset): readonly FactDataset[] =>
  (factOf(dataset).twins as readonly FactDataset[] | undefined) ?? []
export type AddedUpTable = FactWith<'isAggregated'>
export const isAddedUp = (dataset: FactDataset): dataset is AddedUpTable =>
  factOf(dataset).isAggregated === true
/** Tables whose rows aggregate rows of one published file each: admissions and outpatient production. */
export const ADDED_UP_TABLES: readonly AddedUpTable[] = FACT_DATASETS.filter(isAddedUp)
/** @returns whether a dataset holds flows, which are summed over months; all other monthly datasets are stocks */
export const isFlow = (dataset: FactDataset): boolean => factOf(dataset).isFlow === true
/** @returns whether facts of a place lie in the files of all states, and some have no place, which then form a group of their own */
export const isByOccurrence = (dataset: FactDataset): boolean => factOf(dataset).isByOccurrence === true
/** @returns whether some rows have no amount. A sum over such a row is null, as it is for a territory without any row. */
export const hasUnknowns = (dataset: FactDataset): boolean => factOf(dataset).hasUnknowns === true

export const dimensionsOfFacts = (dataset: FactDataset): readonly DimensionCode[] =>
  factOf(dataset).dimensions

export const capabilityOf = (dataset: FactDataset): Capability => factOf(dataset).capability

const DIMENSIONS = Object.fromEntries(
  DIMENSION_CODES.map((code): [string, Dimension] => {
    const datasets = FACT_DATASETS.filter((dataset) => factOf(dataset).dimensions.includes(code))
    return [code, { ...declaredOf(code), tier: tierOf(code), datasets }]
  }),
) as Record<DimensionCode, Dimension>

/** Groupings that a query can have at once. */
export const GROUPINGS_MAX = 6
const SLOTS = Array.from({ length: GROUPINGS_MAX }, (_, index) => index + 1)
/**
 * @returns the code of a query's grouping in a slot from 1 on. It is a dimension that follows from the one whose members are
 * grouped, with a column of its slot. The catalog does not list it.
 */
export const groupingCode = (dimension: DimensionCode, slot: number): DimensionCode =>
  `grouping_${slot}_of_${dimension}` as DimensionCode
const GROUPED: ReadonlyMap<DimensionCode, DimensionCode> = new Map(
  DIMENSION_CODES.filter((code) => !isTime(code)).flatMap((code) =>
    SLOTS.map((slot) => [groupingCode(code, slot), code] as const),
  ),
)
/** @returns the dimension whose members a grouping groups; null for a dimension of the catalog */
export const groupedDimension = (code: DimensionCode): DimensionCode | null => GROUPED.get(code) ?? null
/** @returns the dimension itself, or the one that a grouping groups */
export const baseDimension = (code: DimensionCode): DimensionCode => GROUPED.get(code) ?? code
const GROUPING_DIMENSIONS = new Map(
  [...GROUPED].map(([code, grouped]): [DimensionCode, Dimension] => {
    const { label, label_en, datasets, derivedFrom = grouped } = DIMENSIONS[grouped]
    const [column = ''] = code.split('_of_')
    return [
      code,
      { label, label_en, datasets, derivedFrom, column, member: null, order: 'code', tier: 'extended' },
    ]
  }),
)

export const dimensionOf = (code: DimensionCode): Dimension =>
  DIMENSIONS[code] ?? (GROUPING_DIMENSIONS.get(code) as Dimension)

const withGroupings = (codes: readonly DimensionCode[]): ReadonlySet<DimensionCode> =>
  new Set([...codes, ...codes.flatMap((code) => SLOTS.map((slot) => groupingCode(code, slot)))])
/** Territories of facilities, and groupings of them. */
export const PLACE_DIMENSIONS = withGroupings([
  'state',
  'municipality',
  'region',
  'health_region',
  'health_macroregion',
])
/** Residents' territories, and groupings of them. Their facts come from hospitals anywhere. */
export const RESIDENCE_DIMENSIONS = withGroupings([
  'residence_state',
  'residence_municipality',
  'residence_health_region',
  'residence_region',
])
/** Dimensions whose members are the five major regions. */
export const REGION_DIMENSIONS: ReadonlySet<DimensionCode> = new Set(['region', 'residence_region'])
export const isMunicipality = (code: DimensionCode): boolean =>
  code === 'municipality' || code === 'residence_municipality'
/** @returns whether the codes are territories, of facilities or of residents */
export const isPlace = (code: DimensionCode): boolean =>
  PLACE_DIMENSIONS.has(code) || RESIDENCE_DIMENSIONS.has(code)
/** Dimensions whose members exist without facts: a territory without facts still gets a row with 0. */
export const SPINE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([...PLACE_DIMENSIONS, ...TIME_DIMENSIONS])
/** @returns whether all groups are residence territories or periods; then territories without facts get rows, too */
export const isByResidence = (groups: readonly DimensionCode[]): boolean =>
  groups.some((code) => RESIDENCE_DIMENSIONS.has(code)) &&
  groups.every((code) => RESIDENCE_DIMENSIONS.has(code) || isTime(code))
/** Dimensions that no fact stores, because they follow from its state or municipality; then all groupings, which follow from those. */
export const DERIVED_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([
  ...DIMENSION_CODES.filter((code) => DIMENSIONS[code].derivedFrom !== undefined),
  ...GROUPED.keys(),
])

export const OPERATORS = ['EQ', 'IN', 'NEQ', 'NOT_IN', 'GT', 'GTE', 'LT', 'LTE', 'BETWEEN'] as const
export type Operator = (typeof OPERATORS)[number]
export const operatorsOf = (code: DimensionCode): readonly Operator[] =>
  isTime(code) ? OPERATORS : OPERATORS.slice(0, 4)
