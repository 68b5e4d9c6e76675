/** Offerings of specialised services and their catalogs (capability specialized_services.read). */
import { DATASETS } from '../../model/datasets.ts'
import type { Route } from '../route.ts'

export const SPECIALIZED_SERVICES: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/specialized-service-offerings',
    summary: 'Offerings, one row per facility, service and classification.',
    capability: 'specialized_services.read',
    dataset: DATASETS.specialized_services,
    filters: Object.keys(DATASETS.specialized_services.filters),
    includes: 'facility',
    defaults: { status: 'active' },
    limit: { default: 50, max: 200 },
    response: 'SpecializedServiceOfferingsListResponse',
  },
  {
    kind: 'scoped',
    path: '/v1/facilities/{cnes_code}/specialized-services',
    summary: 'All offerings of one facility.',
    capability: 'specialized_services.read',
    dataset: DATASETS.specialized_services,
    totals: { offerings: 'rows' },
    response: 'FacilitySpecializedServicesResponse',
  },
  {
    kind: 'all',
    path: '/v1/specialized-service-types',
    summary: 'Specialised services.',
    capability: 'specialized_services.read',
    dataset: DATASETS.specialized_service_types,
    response: 'SpecializedServiceTypeListResponse',
  },
  {
    kind: 'all',
    path: '/v1/specialized-service-classifications',
    summary: 'Classifications of services.',
    capability: 'specialized_services.read',
    dataset: DATASETS.specialized_service_classifications,
    response: 'SpecializedServiceClassificationListResponse',
  },
  {
    kind: 'record',
    path: '/v1/specialized-service-types/{service_code}/classifications/{classification_code}',
    summary: 'One classification.',
    capability: 'specialized_services.read',
    dataset: DATASETS.specialized_service_classifications,
    key: { service_code: 3, classification_code: 3 },
    response: 'SpecializedServiceClassificationDetailResponse',
  },
  {
    kind: 'provenance',
    path: '/v1/facilities/{cnes_code}/specialized-services/{service_code}/{classification_code}/provenance',
    summary: 'Every declaration of an offering back to file, row and column.',
    capability: 'specialized_services.read',
    dataset: DATASETS.specialized_services,
    key: { cnes_code: 7, service_code: 3, classification_code: 3 },
    response: 'SpecializedServiceProvenanceResponse',
  },
]
