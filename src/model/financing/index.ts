/** Health financing: what the Union transferred, and what governments declared of their accounts. */
export { DATASETS } from './datasets.ts'
export { FIELDS } from './fields.ts'
export { FACTS, METRICS } from './metrics.ts'
