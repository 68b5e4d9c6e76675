/** The eight capabilities of specification 5: the data that a key can be allowed to read. Values only. */
export const CAPABILITIES = [
  'geo.read',
  'facilities.read',
  'bed_capacity.read',
  'equipment_inventory.read',
  'specialized_services.read',
  'demography.read',
  'analytics.catalog.read',
  'analytics.query.read',
] as const

export type Capability = (typeof CAPABILITIES)[number]
