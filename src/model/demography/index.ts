/** Population of municipalities: censuses and yearly estimates. Its dimensions are the places of territory/. */
export { DATASETS } from './datasets.ts'
export { FIELDS } from './fields.ts'
export { FACTS, METRICS } from './metrics.ts'
