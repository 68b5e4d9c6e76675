/** Monthly deaths. The specification has no capability for them, so analytics.query.read applies. */
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
]
