/** Monthly births. The specification has no capability for them, so analytics.query.read applies. */
import { DATASETS } from '../../model/datasets.ts'
import type { Route } from '../route.ts'

export const BIRTHS: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/sinasc/monthly',
    operation: 'listBirths',
    summary:
      'Live births by month of birth, municipality of residence of the mother, her age group, weight, gestation, prenatal visits, delivery, race and sex, each row with the published file that it was added up from.',
    capability: 'analytics.query.read',
    dataset: DATASETS.births,
    filters: Object.keys(DATASETS.births.filters),
    limit: { default: 25, max: 100 },
    response: 'SinascMonthlyListResponse',
  },
]
