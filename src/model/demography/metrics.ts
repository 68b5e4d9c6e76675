/** Metrics of the population alone. Rates per inhabitant are declared beside what they count. */
import type { DatasetName } from '../datasets.ts'
import { counted, metricsOf, ratio, sum } from '../declare.ts'
import type { Fact } from '../types.ts'

const PLACES = ['state', 'municipality', 'region', 'health_region', 'health_macroregion'] as const

export const FACTS = {
  population: { capability: 'demography.read', dimensions: PLACES },
  population_by_age: {
    capability: 'demography.read',
    dimensions: [...PLACES, 'sex', 'age_group'],
  },
} as const satisfies Partial<Record<DatasetName, Fact>>

const population = (type: 'CENSUS' | 'ESTIMATED', label: string, label_en: string, published: string) =>
  counted(
    sum('population', 'population', [{ populationType: `${type}_POPULATION` }]),
    'inhabitants',
    label,
    label_en,
    `Population of the newest ${published} of the release.`,
  )

export const METRICS = {
  ...metricsOf('core', {
    population_census: population('CENSUS', 'População do censo', 'Census population', 'census'),
    population_estimated: population('ESTIMATED', 'População estimada', 'Estimated population', 'estimate'),
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
    population_by_age: counted(
      sum('population_by_age', 'population'),
      'inhabitants',
      'População por sexo e idade',
      'Population by sex and age',
      'Population of the newest year of the estimates by municipality, sex and age of the Ministry of Health (POPSBR): another source than the census and the estimates of IBGE.',
    ),
  }),
}
