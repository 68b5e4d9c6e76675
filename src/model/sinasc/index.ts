/** Births of Brazil (SINASC), by month of birth and residence of the mother. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS, FACTS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
export { METRICS } from './metrics.ts'
export { PROFILE } from './profile.ts'
