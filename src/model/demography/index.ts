/** Population of municipalities (censuses, yearly estimates, estimates by sex and age) and the price index. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
export { FACTS, METRICS } from './metrics.ts'
export { PROFILE } from './profile.ts'
