/** The dimensions of all areas, 15 of them core, and the datasets that metrics add up or count (facts). Values only. */
import { DIMENSIONS as DECLARED, FACTS } from './areas.ts'
import type { Capability } from './capabilities.ts'
import { OUTPATIENT_TABLES } from './sia/datasets.ts'
import { ADMISSION_TABLES } from './sih/datasets.ts'
import type { Dimension, DimensionDeclaration, Fact } from './types.ts'

export type { Dimension } from './types.ts'

export type DimensionCode = keyof typeof DECLARED
const declaredOf = (code: DimensionCode): DimensionDeclaration => DECLARED[code]
const tierOf = (code: DimensionCode): 'core' | 'extended' => declaredOf(code).tier ?? 'core'
/** In the order of the catalog: the core dimensions of all areas, then the others. */
export const DIMENSION_CODES = (Object.keys(DECLARED) as DimensionCode[]).sort(
  (left, right) => Number(tierOf(left) !== 'core') - Number(tierOf(right) !== 'core'),
)

export type FactDataset = keyof typeof FACTS
/** Facts of places and years, not of months: residents. */
const POPULATION_FACTS = ['population', 'population_by_age'] as const
export type PopulationFacts = (typeof POPULATION_FACTS)[number]
/** Does a dataset hold residents, whose facts no month and no facility has? */
export const isPopulation = (dataset: FactDataset): dataset is PopulationFacts =>
  POPULATION_FACTS.some((name) => name === dataset)
/**
 * Facts of the same records by other dimensions: what is added up over one is the same over the other.
 * hospital_admissions knows the hospital, hospital_admissions_by_residence the patient's residence.
 */
const TWINS: Readonly<Partial<Record<FactDataset, FactDataset>>> = {
  hospital_admissions: 'hospital_admissions_by_residence',
}
export const twinOf = (dataset: FactDataset): FactDataset | null => TWINS[dataset] ?? null
/** Tables whose rows were added up, each from one published file: of admissions, and of outpatient production. */
export const ADDED_UP_TABLES = [...ADMISSION_TABLES, ...OUTPATIENT_TABLES] as const
export type AddedUpTable = (typeof ADDED_UP_TABLES)[number]
export const isAddedUp = (dataset: FactDataset): dataset is AddedUpTable =>
  ADDED_UP_TABLES.some((table) => table === dataset)
/** Does a dataset hold flows, which are added up over months? All others that have months are stocks. */
export const isFlow = (dataset: FactDataset): boolean =>
  isAddedUp(dataset) || dataset === 'federal_health_transfers'
/**
 * Facts that have rows without an amount: of places that the published file says nothing of. What they are added to is
 * unknown, and so is a place without any row.
 */
export const hasUnknowns = (dataset: FactDataset): boolean => dataset === 'federal_health_transfers'

const FACT_DATASETS = Object.keys(FACTS) as FactDataset[]
const factOf = (dataset: FactDataset): Fact => FACTS[dataset]

/** @returns dimensions that the rows of a dataset carry */
export const dimensionsOfFacts = (dataset: FactDataset): readonly DimensionCode[] =>
  factOf(dataset).dimensions

/** What a key needs for the facts of a dataset. */
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
/** Places that people live in, whose facts are those of hospitals anywhere. */
export const RESIDENCE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([
  'residence_state',
  'residence_municipality',
  'residence_health_region',
])
/** @returns are its codes those of municipalities: of facilities or of residents? */
export const isMunicipality = (code: DimensionCode): boolean =>
  code === 'municipality' || code === 'residence_municipality'
/** @returns is it a place, of facilities or of residents? */
export const isPlace = (code: DimensionCode): boolean =>
  PLACE_DIMENSIONS.has(code) || RESIDENCE_DIMENSIONS.has(code)
/** Dimensions whose members exist without facts: a place with nothing in it is a row with 0. */
export const SPINE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([...PLACE_DIMENSIONS, 'reference_period'])
/** @returns are groups places that people live in, and months, alone? Such places are rows without facts, too. */
export const isByResidence = (groups: readonly DimensionCode[]): boolean =>
  groups.some((code) => RESIDENCE_DIMENSIONS.has(code)) &&
  groups.every((code) => RESIDENCE_DIMENSIONS.has(code) || code === 'reference_period')
/** Those that no fact carries: they follow from its state or municipality. */
export const DERIVED_DIMENSIONS: ReadonlySet<DimensionCode> = new Set(
  DIMENSION_CODES.filter((code) => DIMENSIONS[code].derivedFrom !== undefined),
)

export const OPERATORS = ['EQ', 'IN', 'NEQ', 'NOT_IN', 'GT', 'GTE', 'LT', 'LTE', 'BETWEEN'] as const
export type Operator = (typeof OPERATORS)[number]
export const operatorsOf = (code: DimensionCode): readonly Operator[] =>
  code === 'reference_period' ? OPERATORS : OPERATORS.slice(0, 4)
