/** The 15 dimensions of all areas, and the datasets that metrics add up or count (facts). Values only. */
import { DIMENSIONS as DECLARED, FACTS } from './areas.ts'
import type { Capability } from './capabilities.ts'
import type { Dimension, Fact } from './types.ts'

export type { Dimension } from './types.ts'

export type DimensionCode = keyof typeof DECLARED
export const DIMENSION_CODES = Object.keys(DECLARED) as DimensionCode[]

export type FactDataset = keyof typeof FACTS
/** Facts of places and years, not of months: residents. */
const POPULATION_FACTS = ['population', 'population_by_age'] as const
export type PopulationFacts = (typeof POPULATION_FACTS)[number]
/** Does a dataset hold residents, whose facts no month and no facility has? */
export const isPopulation = (dataset: FactDataset): dataset is PopulationFacts =>
  POPULATION_FACTS.some((name) => name === dataset)
const FACT_DATASETS = Object.keys(FACTS) as FactDataset[]
const factOf = (dataset: FactDataset): Fact => FACTS[dataset]

/** What a key needs for the facts of a dataset. */
export const capabilityOf = (dataset: FactDataset): Capability => factOf(dataset).capability

const DIMENSIONS = Object.fromEntries(
  DIMENSION_CODES.map((code): [string, Dimension] => {
    const datasets = FACT_DATASETS.filter((dataset) => factOf(dataset).dimensions.includes(code))
    return [code, { ...DECLARED[code], datasets }]
  }),
) as Record<DimensionCode, Dimension>

export const dimensionOf = (code: DimensionCode): Dimension => DIMENSIONS[code]

/** Dimensions whose members exist without facts: a place with nothing in it is a row with 0. */
export const SPINE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set([
  'state',
  'municipality',
  'reference_period',
])
export const PLACE_DIMENSIONS: ReadonlySet<DimensionCode> = new Set(['state', 'municipality'])

export const OPERATORS = ['EQ', 'IN', 'NEQ', 'NOT_IN', 'GT', 'GTE', 'LT', 'LTE', 'BETWEEN'] as const
export type Operator = (typeof OPERATORS)[number]
export const operatorsOf = (code: DimensionCode): readonly Operator[] =>
  code === 'reference_period' ? OPERATORS : OPERATORS.slice(0, 4)
