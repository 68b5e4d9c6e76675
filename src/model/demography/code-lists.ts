/** Closed lists of population figures (specification 2.2). */
export const POPULATION_TYPES = ['ESTIMATED_POPULATION', 'CENSUS_POPULATION'] as const
