/** The national registry of health facilities (CNES): facilities and their beds, equipment and specialised services. */
export { DATASETS } from './datasets.ts'
export { DIMENSIONS, FACTS } from './dimensions.ts'
export { FIELDS } from './fields.ts'
export { METRICS } from './metrics.ts'
export { PROFILE } from './profile.ts'
