/** Indicators that admissions give to the profile of a place, in the order in which profiles show them. Values only. */
export const PROFILE = [
  { metric: 'admissions_per_10k', block: 'use', of: 'residents' },
  { metric: 'icsap_share', block: 'use', of: 'residents' },
  { metric: 'admissions_outside_municipality_share', block: 'use', of: 'residents' },
  { metric: 'average_distance_km', block: 'use', of: 'residents' },
  { metric: 'admissions', block: 'production' },
  { metric: 'average_stay_days', block: 'production' },
  { metric: 'hospital_mortality_share', block: 'production' },
  { metric: 'bed_occupancy_share', block: 'production' },
  { metric: 'average_admission_value', block: 'money' },
] as const
