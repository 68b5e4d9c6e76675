/** Monthly deaths, by residence and by occurrence, and fetal deaths. The specification has no capability for them, so analytics.query.read applies. */
import { DATASETS } from '../../model/datasets.ts'
import type { Route } from '../route.ts'

export const DEATHS: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/sim/monthly',
    operation: 'listDeaths',
    summary:
      'Deaths by month, municipality of residence, underlying cause, age, sex, race and place of death, each row with the published file that it was added up from.',
    capability: 'analytics.query.read',
    dataset: DATASETS.deaths,
    filters: Object.keys(DATASETS.deaths.filters),
    limit: { default: 25, max: 100 },
    response: 'SimMonthlyListResponse',
  },
  {
    kind: 'list',
    path: '/v1/sim/occurrence',
    operation: 'listDeathsByOccurrence',
    summary:
      'Deaths by month, municipality where they happened, underlying cause, age, sex, race and place of death, each row with the published file that it was added up from.',
    capability: 'analytics.query.read',
    dataset: DATASETS.deaths_by_occurrence,
    filters: Object.keys(DATASETS.deaths_by_occurrence.filters),
    limit: { default: 25, max: 100 },
    response: 'SimOccurrenceListResponse',
  },
  {
    kind: 'list',
    path: '/v1/sim/fetal',
    operation: 'listFetalDeaths',
    summary:
      'Fetal deaths by month, municipality of residence of the mother, cause, length of gestation, sex, race and place of death, each row with the published file that it was added up from.',
    capability: 'analytics.query.read',
    dataset: DATASETS.fetal_deaths,
    filters: Object.keys(DATASETS.fetal_deaths.filters),
    limit: { default: 25, max: 100 },
    response: 'SimFetalListResponse',
  },
]
