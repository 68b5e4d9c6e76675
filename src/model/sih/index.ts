/** Hospital admissions of SUS (SIH): what was approved, by month of processing. */
export { DATASETS } from './datasets.ts'
export { FIELDS } from './fields.ts'
