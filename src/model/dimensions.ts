/** The dimensions of all areas, 15 of them core, and the fact datasets that metrics sum or count. Values only. */
import { DIMENSIONS as DECLARED, FACTS } from './areas.ts'
import type { Capability } from './capabilities.ts'
import { OUTPATIENT_TABLES } from './sia/datasets.ts'
import { ADMISSION_TABLES } from './sih/datasets.ts'
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
/** Population facts: they have a territory and a year, but no month and no facility. */
const POPULATION_FACTS = ['population', 'population_by_age'] as const
export type PopulationFacts = (typeof POPULATION_FACTS)[number]
export const isPopulation = (dataset: FactDataset): dataset is PopulationFacts =>
  POPULATION_FACTS.some((name) => name === dataset)
/**
 * Datasets that hold the same records by other dimensions, so that totals over both are equal. hospital_admissions has the
 * hospital; hospital_admissions_by_residence has the patient's residence.
 */
const TWINS: Readonly<Partial<Record<FactDataset, FactDataset>>> = {
  hospital_admissions: 'hospital_admissions_by_residence',
}
export const twinOf = (dataset: FactDataset): FactDataset | null => TWINS[dataset] ?? null
/** Tables whose rows are aggregates of one published file each: admissions and outpatient production. */
export const ADDED_UP_TABLES = [...ADMISSION_TABLES, ...OUTPATIENT_TABLES] as const
export type AddedUpTable = (typeof ADDED_UP_TABLES)[number]
export const isAddedUp = (dataset: FactDataset): dataset is AddedUpTable =>
  ADDED_UP_TABLES.some((table) => table === dataset)
/** @returns whether a dataset holds flows, which are summed over months; all other monthly datasets are stocks */
export const isFlow = (dataset: FactDataset): boolean =>
  isAddedUp(dataset) || dataset === 'federal_health_transfers'
/**
 * @returns whether a dataset has rows without an amount, for territories that the published file does not mention. A sum over
 * such a row is null, as it is for a territory without any row.
 */
export const hasUnknowns = (dataset: FactDataset): boolean => dataset === 'federal_health_transfers'

const FACT_DATASETS = Object.keys(FACTS) as FactDataset[]
const factOf = (dataset: FactDataset): Fact => FACTS[dataset]

export const dimensionsOfFacts = (dataset: FactDataset): readonly DimensionCode[] =>
  factOf(dataset).dimensions

export const capabilityOf = (dataset: FactDataset): Capability => factOf(dataset).capability

const DIMENSIONS = Object.fromEntries(
  DIMENSION_CODES.map((code): [string, Dimension] => {
    const datasets = FACT_DATASETS.filter((dataset) => factOf(dataset).dimensions.includes(code))
    return [code, { ...declaredOf(code), tier: tierOf(code), datasets }]
  }),
) as Record<DimensionCode, Dimension>

export const dimensionOf = (code: DimensionCode): Dimension => DIMENSIONS[code]

export const PLACE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([
  'state',
  'municipality',
  'region',
  'health_region',
  'health_macroregion',
])
/** Residents' territories. Their facts come from hospitals anywhere. */
export const RESIDENCE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([
  'residence_state',
  'residence_municipality',
  'residence_health_region',
])
export const isMunicipality = (code: DimensionCode): boolean =>
  code === 'municipality' || code === 'residence_municipality'
/** @returns whether the codes are territories, of facilities or of residents */
export const isPlace = (code: DimensionCode): boolean =>
  PLACE_DIMENSIONS.has(code) || RESIDENCE_DIMENSIONS.has(code)
/** Dimensions whose members exist without facts: a territory without facts still gets a row with 0. */
export const SPINE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([...PLACE_DIMENSIONS, 'reference_period'])
/** @returns whether all groups are residence territories or months; then territories without facts get rows, too */
export const isByResidence = (groups: readonly DimensionCode[]): boolean =>
  groups.some((code) => RESIDENCE_DIMENSIONS.has(code)) &&
  groups.every((code) => RESIDENCE_DIMENSIONS.has(code) || code === 'reference_period')
/** Dimensions that no fact stores, because they follow from its state or municipality. */
export const DERIVED_DIMENSIONS: ReadonlySet<DimensionCode> = new Set(
  DIMENSION_CODES.filter((code) => DIMENSIONS[code].derivedFrom !== undefined),
)

export const OPERATORS = ['EQ', 'IN', 'NEQ', 'NOT_IN', 'GT', 'GTE', 'LT', 'LTE', 'BETWEEN'] as const
export type Operator = (typeof OPERATORS)[number]
export const operatorsOf = (code: DimensionCode): readonly Operator[] =>
  code === 'reference_period' ? OPERATORS : OPERATORS.slice(0, 4)
