/** Metrics of the population alone. Rates per inhabitant are declared beside what they count. */
import type { DatasetName } from '../datasets.ts'
import { counted, metricsOf, ratio, sum } from '../declare.ts'
import type { Fact } from '../types.ts'

export const FACTS = {
  population: { capability: 'demography.read', dimensions: ['state', 'municipality'] },
} as const satisfies Partial<Record<DatasetName, Fact>>

export const METRICS = {
  ...metricsOf('core', {
    population_census: counted(
      sum('population', 'population', [{ populationType: 'CENSUS_POPULATION' }]),
      'inhabitants',
      'População do censo',
      'Census population',
      'Population of the newest census of the release.',
    ),
    population_estimated: counted(
      sum('population', 'population', [{ populationType: 'ESTIMATED_POPULATION' }]),
      'inhabitants',
      'População estimada',
      'Estimated population',
      'Population of the newest estimate of the release.',
    ),
  }),
  ...metricsOf('extended', {
    population_growth_since_census: ratio(
      'population_estimated',
      'population_census',
      100,
      '%',
      'Crescimento da população desde o censo',
      'Population growth since the census',
      'population_census',
    ),
  }),
}
