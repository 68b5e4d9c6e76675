/** Indicators that deaths give to the profile of a place, in the order in which profiles show them. Values only. */
export const PROFILE = [
  { metric: 'deaths', block: 'deaths', of: 'residents' },
  { metric: 'deaths_per_100k', block: 'deaths', of: 'residents' },
  { metric: 'deaths_per_100k_standardized', block: 'deaths', of: 'residents' },
  { metric: 'infant_mortality_rate', block: 'deaths', of: 'residents' },
  { metric: 'maternal_mortality_ratio', block: 'deaths', of: 'residents' },
  { metric: 'premature_ncd_deaths_per_100k', block: 'deaths', of: 'residents' },
  { metric: 'external_cause_deaths_per_100k', block: 'deaths', of: 'residents' },
  { metric: 'ill_defined_deaths_share', block: 'deaths', of: 'residents' },
] as const
