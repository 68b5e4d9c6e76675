/** Indicators that financing gives to the profile of a place, in the order in which profiles show them. Values only. */
export const PROFILE = [{ metric: 'federal_health_transfers_per_capita', block: 'money' }] as const
