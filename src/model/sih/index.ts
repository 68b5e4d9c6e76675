/** Hospital admissions of SUS (SIH): approved admissions, by month of processing. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS, FACTS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
export { METRICS } from './metrics.ts'
export { PROFILE } from './profile.ts'
