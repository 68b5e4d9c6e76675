/** Deaths (SIM): by month of death and municipality of residence. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS, FACTS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
export { METRICS } from './metrics.ts'
export { PROFILE } from './profile.ts'
