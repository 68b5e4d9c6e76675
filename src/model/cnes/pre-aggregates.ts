/** Dimensions by which facts of active facilities are pre-aggregated. See model/pre-aggregates.ts. Values only. */
import type { DimensionCode } from '../dimensions.ts'
import type { FACTS } from './dimensions.ts'

export type CnesFacts = keyof typeof FACTS

const MUNICIPALITY = ['state', 'municipality'] as const
const ATTRIBUTES = ['state', 'facility_type', 'management_type', 'legal_nature'] as const

export const PRE_AGGREGATES = {
  facilities_by_municipality: { dataset: 'facilities', keys: MUNICIPALITY },
  facilities_by_attributes: { dataset: 'facilities', keys: ATTRIBUTES },
  beds_by_municipality: { dataset: 'bed_capacity', keys: MUNICIPALITY },
  beds_by_attributes: { dataset: 'bed_capacity', keys: ATTRIBUTES },
  beds_by_category: { dataset: 'bed_capacity', keys: ['state', 'bed_category'] },
  beds_by_type: { dataset: 'bed_capacity', keys: ['state', 'bed_category', 'bed_type'] },
  beds_by_municipality_and_category: { dataset: 'bed_capacity', keys: [...MUNICIPALITY, 'bed_category'] },
  equipment_by_municipality: { dataset: 'equipment_inventory', keys: MUNICIPALITY },
  equipment_by_attributes: { dataset: 'equipment_inventory', keys: ATTRIBUTES },
  equipment_by_category: { dataset: 'equipment_inventory', keys: ['state', 'equipment_category'] },
  equipment_by_type: {
    dataset: 'equipment_inventory',
    keys: ['state', 'equipment_category', 'equipment_type'],
  },
  equipment_by_municipality_and_category: {
    dataset: 'equipment_inventory',
    keys: [...MUNICIPALITY, 'equipment_category'],
  },
  equipment_by_attributes_and_category: {
    dataset: 'equipment_inventory',
    keys: [...ATTRIBUTES, 'equipment_category'],
  },
  services_by_municipality: { dataset: 'specialized_services', keys: MUNICIPALITY },
  services_by_attributes: { dataset: 'specialized_services', keys: ATTRIBUTES },
  services_by_service: { dataset: 'specialized_services', keys: ['state', 'specialized_service'] },
  services_by_classification: {
    dataset: 'specialized_services',
    keys: ['state', 'specialized_service', 'specialized_service_classification'],
  },
  services_by_provider: {
    dataset: 'specialized_services',
    keys: ['state', 'service_characteristic', 'provider_kind'],
  },
  services_by_municipality_and_service: {
    dataset: 'specialized_services',
    keys: [...MUNICIPALITY, 'specialized_service'],
  },
  services_by_attributes_and_service: {
    dataset: 'specialized_services',
    keys: [...ATTRIBUTES, 'specialized_service'],
  },
} as const satisfies Record<string, { readonly dataset: CnesFacts; readonly keys: readonly DimensionCode[] }>
