/** Outpatient production of SUS (SIA): what was presented and approved, by month of processing and of care. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS, FACTS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
export { METRICS } from './metrics.ts'
