/** Metrics of the population alone. Rates per inhabitant are declared next to their numerators. */
import type { DatasetName } from '../datasets.ts'
import { both, counted, metricsOf, ratio, sum } from '../declare.ts'
import type { Fact, Text } from '../types.ts'

const PLACES = ['state', 'municipality', 'region', 'health_region', 'health_macroregion'] as const

export const FACTS = {
  population: { capability: 'demography.read', isPopulation: true, dimensions: PLACES },
  population_by_age: {
    capability: 'demography.read',
    isPopulation: true,
    dimensions: [...PLACES, 'sex', 'age_group'],
  },
} as const satisfies Partial<Record<DatasetName, Fact>>

const population = (type: 'CENSUS' | 'ESTIMATED', label: string, label_en: string, published: Text) =>
  counted(
    sum('population', 'population', [{ populationType: `${type}_POPULATION` }]),
    'inhabitants',
    label,
    label_en,
    both(
      `População ${published.pt} desta versão dos dados.`,
      `Population of the newest ${published.en} of the release.`,
    ),
  )

export const METRICS = {
  ...metricsOf('core', {
    population_census: population(
      'CENSUS',
      'População do censo',
      'Census population',
      both('do censo mais novo', 'census'),
    ),
    population_estimated: population(
      'ESTIMATED',
      'População estimada',
      'Estimated population',
      both('da estimativa mais nova', 'estimate'),
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
    population_by_age: counted(
      sum('population_by_age', 'population'),
      'inhabitants',
      'População por sexo e idade',
      'Population by sex and age',
      both(
        'População do ano mais novo das estimativas do Ministério da Saúde por município, sexo e idade (POPSBR): outra fonte que o censo e as estimativas do IBGE.',
        'Population of the newest year of the estimates by municipality, sex and age of the Ministry of Health (POPSBR): another source than the census and the estimates of IBGE.',
      ),
    ),
  }),
}
