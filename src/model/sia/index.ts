/** Outpatient production of SUS (SIA): presented and approved quantities, by month of processing and of care. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS, FACTS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
export { METRICS } from './metrics.ts'
export { PROFILE } from './profile.ts'
