/** Dimensions by which births are pre-aggregated. See model/pre-aggregates.ts. Values only. */
import type { DimensionCode } from '../dimensions.ts'
import type { BirthTable } from './datasets.ts'

export const PRE_AGGREGATES = {
  births_by_municipality: { dataset: 'births', keys: ['residence_state', 'residence_municipality'] },
  births_by_municipality_and_delivery: {
    dataset: 'births',
    keys: ['residence_state', 'residence_municipality', 'delivery', 'sex'],
  },
  births_by_mother: { dataset: 'births', keys: ['residence_state', 'mother_age_group', 'race', 'sex'] },
  births_by_characteristics: {
    dataset: 'births',
    keys: [
      'residence_state',
      'mother_age_group',
      'birth_weight',
      'gestation',
      'prenatal_visits',
      'delivery',
      'race',
      'sex',
    ],
  },
} as const satisfies Record<string, { readonly dataset: BirthTable; readonly keys: readonly DimensionCode[] }>
