/** Facilities of the registry (capability facilities.read). */
import { DATASETS } from '../../model/datasets.ts'
import type { Route } from '../route.ts'

export const FACILITIES: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/facilities',
    operation: 'listFacilities',
    summary: 'Facilities, open ones unless status asks for others.',
    capability: 'facilities.read',
    dataset: DATASETS.facilities,
    filters: Object.keys(DATASETS.facilities.filters),
    defaults: { status: 'active' },
    limit: { default: 50, max: 250 },
    features: { default: 1000, max: 10_000 },
    response: 'FacilityListResponse',
  },
  {
    kind: 'record',
    path: '/v1/facilities/{cnes_code}',
    operation: 'getFacility',
    marksCoordinates: true,
    summary: 'One facility, open or closed, with every projected attribute.',
    capability: 'facilities.read',
    dataset: DATASETS.facilities,
    key: { cnes_code: 7 },
    response: 'FacilityDetailResponse',
  },
  {
    kind: 'provenance',
    path: '/v1/facilities/{cnes_code}/provenance',
    operation: 'getFacilityProvenance',
    summary: 'Every attribute of a facility back to file, row and column.',
    capability: 'facilities.read',
    dataset: DATASETS.facilities,
    key: { cnes_code: 7 },
    response: 'FacilityProvenanceResponse',
  },
]
