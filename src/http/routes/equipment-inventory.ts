/** Health equipment and its catalogs (capability equipment_inventory.read). */
import { DATASETS } from '../../model/datasets.ts'
import type { Route } from '../route.ts'

export const EQUIPMENT_INVENTORY: readonly Route[] = [
  {
    kind: 'list',
    path: '/v1/equipment-inventory',
    summary: 'Equipment, one row per facility and equipment type.',
    capability: 'equipment_inventory.read',
    dataset: DATASETS.equipment_inventory,
    filters: Object.keys(DATASETS.equipment_inventory.filters),
    includes: 'facility',
    defaults: { status: 'active' },
    limit: { default: 50, max: 200 },
    response: 'EquipmentInventoryListResponse',
  },
  {
    kind: 'scoped',
    path: '/v1/facilities/{cnes_code}/equipment-inventory',
    summary: 'All equipment of one facility and its totals.',
    capability: 'equipment_inventory.read',
    dataset: DATASETS.equipment_inventory,
    totals: {
      equipment_types: 'rows',
      quantity_existing: 'quantity_existing',
      quantity_in_use: 'quantity_in_use',
      quantity_sus: 'quantity_sus',
    },
    response: 'FacilityEquipmentInventoryResponse',
  },
  {
    kind: 'all',
    path: '/v1/equipment-categories',
    summary: 'Equipment categories.',
    capability: 'equipment_inventory.read',
    dataset: DATASETS.equipment_categories,
    response: 'EquipmentCategoryListResponse',
  },
  {
    kind: 'all',
    path: '/v1/equipment-types',
    summary: 'Equipment types.',
    capability: 'equipment_inventory.read',
    dataset: DATASETS.equipment_types,
    filters: Object.keys(DATASETS.equipment_types.filters),
    response: 'EquipmentTypeListResponse',
  },
  {
    kind: 'record',
    path: '/v1/equipment-types/{category_code}/{equipment_code}',
    summary: 'One equipment type.',
    capability: 'equipment_inventory.read',
    dataset: DATASETS.equipment_types,
    key: { category_code: 2, equipment_code: 2 },
    response: 'EquipmentTypeDetailResponse',
  },
  {
    kind: 'provenance',
    path: '/v1/facilities/{cnes_code}/equipment-inventory/{category_code}/{equipment_code}/provenance',
    summary: 'An equipment record back to file, row and column.',
    capability: 'equipment_inventory.read',
    dataset: DATASETS.equipment_inventory,
    key: { cnes_code: 7, category_code: 2, equipment_code: 2 },
    response: 'EquipmentProvenanceResponse',
  },
]
