/** States and municipalities (capability geo.read). */
import { DATASETS } from '../../model/datasets.ts'
import type { Route } from '../route.ts'

export const GEOGRAPHY: readonly Route[] = [
  {
    kind: 'all',
    path: '/v1/states',
    summary: 'The 27 federative units.',
    capability: 'geo.read',
    dataset: DATASETS.states,
    response: 'StateListResponse',
  },
  {
    kind: 'record',
    path: '/v1/states/{ibge_code}',
    summary: 'One state.',
    capability: 'geo.read',
    dataset: DATASETS.states,
    key: { ibge_code: 2 },
    response: 'StateDetailResponse',
  },
  {
    kind: 'list',
    path: '/v1/states/{uf}/municipalities',
    summary: 'Municipalities of a state.',
    capability: 'geo.read',
    dataset: DATASETS.municipalities,
    filters: [],
    defaults: { territorial_type: 'MUNICIPALITY' },
    pathFilter: { parameter: 'uf', filter: 'state' },
    limit: { default: 50, max: 250 },
    response: 'MunicipalityListResponse',
  },
  {
    kind: 'list',
    path: '/v1/municipalities',
    summary: 'Municipalities, by state, name or code.',
    capability: 'geo.read',
    dataset: DATASETS.municipalities,
    filters: Object.keys(DATASETS.municipalities.filters),
    defaults: { territorial_type: 'MUNICIPALITY' },
    limit: { default: 50, max: 250 },
    response: 'MunicipalityListResponse',
  },
  {
    kind: 'record',
    path: '/v1/municipalities/{ibge_code}',
    summary: 'One municipality.',
    capability: 'geo.read',
    dataset: DATASETS.municipalities,
    key: { ibge_code: 7 },
    response: 'MunicipalityDetailResponse',
  },
]
