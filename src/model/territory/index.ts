/** States, municipalities and health regions, which every other area refers to. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
