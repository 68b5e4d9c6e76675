/** Dimensions by which deaths are pre-aggregated. See model/pre-aggregates.ts. Values only. */
import type { DimensionCode } from '../dimensions.ts'
import type { DeathTable } from './datasets.ts'

const RESIDENCE = ['residence_state', 'residence_municipality'] as const

export const PRE_AGGREGATES = {
  deaths_by_municipality: { dataset: 'deaths', keys: [...RESIDENCE, 'cause_chapter'] },
  deaths_by_municipality_and_age: {
    dataset: 'deaths',
    keys: [...RESIDENCE, 'age_group', 'infant_age', 'sex'],
  },
  deaths_by_municipality_and_infant_age: { dataset: 'deaths', keys: [...RESIDENCE, 'infant_age', 'sex'] },
  deaths_by_place_of_occurrence: {
    dataset: 'deaths_by_occurrence',
    keys: ['state', 'municipality', 'cause_chapter', 'place_of_death'],
  },
  fetal_deaths_by_municipality: { dataset: 'fetal_deaths', keys: [...RESIDENCE, 'gestation'] },
  deaths_by_person: {
    dataset: 'deaths',
    keys: ['residence_state', 'cause_chapter', 'age_group', 'infant_age', 'sex', 'race', 'place_of_death'],
  },
  deaths_by_cause: {
    dataset: 'deaths',
    keys: ['residence_state', 'cause_chapter', 'cause_group', 'cause_category', 'age_group', 'sex'],
  },
} as const satisfies Record<string, { readonly dataset: DeathTable; readonly keys: readonly DimensionCode[] }>
