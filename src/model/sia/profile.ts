/** Indicators that outpatient production gives to the profile of a place, in the order in which profiles show them. Values only. */
export const PROFILE = [
  { metric: 'outpatient_quantity_approved', block: 'production' },
  { metric: 'outpatient_value_per_capita', block: 'money' },
] as const
