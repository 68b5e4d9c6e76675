/** Health financing: transfers of the Union, and accounts that governments declared. */
export { DATASETS } from './datasets.ts'
export { FIELDS } from './fields.ts'
export { FACTS, METRICS } from './metrics.ts'
export { PROFILE } from './profile.ts'
