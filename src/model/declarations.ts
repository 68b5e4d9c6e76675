/**
 * Joins the declarations of every folder of model/ into one catalog, by kind. The order of the folders is the order of facts,
 * dimensions and metrics in the catalog that the API returns. fields.ts, datasets.ts, dimensions.ts and metrics.ts derive the
 * rest.
 */
import * as classifications from './classifications/index.ts'
import * as cnes from './cnes/index.ts'
import * as demography from './demography/index.ts'
import * as financing from './financing/index.ts'
import * as outlines from './outlines/index.ts'
import { DIMENSIONS as PERIODS } from './periods.ts'
import * as sia from './sia/index.ts'
import * as sih from './sih/index.ts'
import * as sim from './sim/index.ts'
import * as sinasc from './sinasc/index.ts'
import * as territory from './territory/index.ts'

export const FIELDS = {
  ...territory.FIELDS,
  ...cnes.FIELDS,
  ...demography.FIELDS,
  ...outlines.FIELDS,
  ...classifications.FIELDS,
  ...sih.FIELDS,
  ...sia.FIELDS,
  ...sim.FIELDS,
  ...sinasc.FIELDS,
  ...financing.FIELDS,
}
export const DATASETS = {
  ...territory.DATASETS,
  ...cnes.DATASETS,
  ...demography.DATASETS,
  ...outlines.DATASETS,
  ...sih.DATASETS,
  ...sia.DATASETS,
  ...sim.DATASETS,
  ...sinasc.DATASETS,
  ...financing.DATASETS,
}
export const DIMENSIONS = {
  ...territory.DIMENSIONS,
  ...cnes.DIMENSIONS,
  ...demography.DIMENSIONS,
  ...classifications.DIMENSIONS,
  ...sih.DIMENSIONS,
  ...sia.DIMENSIONS,
  ...sim.DIMENSIONS,
  ...sinasc.DIMENSIONS,
  ...PERIODS,
}
export const FACTS = {
  ...cnes.FACTS,
  ...demography.FACTS,
  ...sih.FACTS,
  ...sia.FACTS,
  ...sim.FACTS,
  ...sinasc.FACTS,
  ...financing.FACTS,
}
export const METRICS = {
  ...cnes.METRICS,
  ...demography.METRICS,
  ...sih.METRICS,
  ...sia.METRICS,
  ...sim.METRICS,
  ...sinasc.METRICS,
  ...financing.METRICS,
}
/** Indicators of profiles: population first, then the areas in the order of the catalog. */
export const PROFILE = [
  ...demography.PROFILE,
  ...cnes.PROFILE,
  ...sih.PROFILE,
  ...sia.PROFILE,
  ...sim.PROFILE,
  ...sinasc.PROFILE,
  ...financing.PROFILE,
]
