/** Indicators that the population gives to the profile of a place, in the order in which profiles show them. Values only. */
export const PROFILE = [
  { metric: 'population_estimated', block: 'population' },
  { metric: 'population_census', block: 'population' },
  { metric: 'population_growth_since_census', block: 'population' },
] as const
