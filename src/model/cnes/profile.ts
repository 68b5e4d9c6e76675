/** Indicators that the registry gives to the profile of a place, in the order in which profiles show them. Values only. */
export const PROFILE = [
  { metric: 'facilities_count', block: 'capacity' },
  { metric: 'facilities_per_100k', block: 'capacity' },
  { metric: 'bed_capacity_existing', block: 'capacity' },
  { metric: 'beds_existing_per_100k', block: 'capacity' },
  { metric: 'beds_sus_per_100k', block: 'capacity' },
  { metric: 'beds_sus_share', block: 'capacity' },
  { metric: 'icu_beds_existing_per_100k', block: 'capacity' },
  { metric: 'icu_beds_sus_per_100k', block: 'capacity' },
  { metric: 'equipment_in_use_per_100k', block: 'capacity' },
  { metric: 'service_offerings_per_100k', block: 'capacity' },
] as const
