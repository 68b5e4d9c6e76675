/** Indicators that births give to the profile of a place, in the order in which profiles show them. Values only. */
export const PROFILE = [
  { metric: 'births', block: 'births', of: 'residents' },
  { metric: 'births_per_1000', block: 'births', of: 'residents' },
  { metric: 'low_birth_weight_share', block: 'births', of: 'residents' },
  { metric: 'preterm_share', block: 'births', of: 'residents' },
  { metric: 'caesarean_share', block: 'births', of: 'residents' },
  { metric: 'prenatal_7plus_share', block: 'births', of: 'residents' },
  { metric: 'adolescent_mothers_share', block: 'births', of: 'residents' },
] as const
