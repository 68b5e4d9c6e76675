/** Registered hospital beds and their catalogs (capability bed_capacity.read). */
import { DATASETS } from '../../model/datasets.ts'
import type { Route } from '../route.ts'

export const BED_CAPACITY: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/bed-capacity',
    operation: 'listBedCapacity',
    summary: 'Registered beds, one row per facility and bed type.',
    capability: 'bed_capacity.read',
    dataset: DATASETS.bed_capacity,
    filters: Object.keys(DATASETS.bed_capacity.filters),
    includes: 'facility',
    defaults: { status: 'active' },
    limit: { default: 25, max: 100 },
    response: 'BedCapacityListResponse',
  },
  {
    kind: 'scoped',
    path: '/v1/facilities/{cnes_code}/bed-capacity',
    operation: 'getFacilityBedCapacity',
    summary: 'All beds of one facility and their totals.',
    capability: 'bed_capacity.read',
    dataset: DATASETS.bed_capacity,
    totals: {
      bed_types: 'rows',
      beds_existing: 'beds_existing',
      beds_sus: 'beds_sus',
      beds_non_sus: 'beds_non_sus',
    },
    response: 'FacilityBedCapacityResponse',
  },
  {
    kind: 'all',
    path: '/v1/bed-types',
    operation: 'listBedTypes',
    summary: 'Bed types.',
    capability: 'bed_capacity.read',
    dataset: DATASETS.bed_types,
    response: 'BedTypeListResponse',
  },
  {
    kind: 'all',
    path: '/v1/bed-categories',
    operation: 'listBedCategories',
    summary: 'Bed categories.',
    capability: 'bed_capacity.read',
    dataset: DATASETS.bed_categories,
    response: 'BedCategoryListResponse',
  },
  {
    kind: 'provenance',
    path: '/v1/facilities/{cnes_code}/bed-capacity/{bed_type_code}/provenance',
    operation: 'getBedCapacityProvenance',
    summary: 'A bed record back to file, row and column.',
    capability: 'bed_capacity.read',
    dataset: DATASETS.bed_capacity,
    key: { cnes_code: 7, bed_type_code: 2 },
    response: 'BedCapacityProvenanceResponse',
  },
]
