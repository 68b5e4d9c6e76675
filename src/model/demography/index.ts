/** Population of municipalities: censuses, yearly estimates, and estimates by sex and age. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
export { FACTS, METRICS } from './metrics.ts'
