/** The datasets of all areas, by name. Values only. */
import { DATASETS } from './areas.ts'
import type { FieldName } from './fields.ts'
import type { Area, Dataset } from './types.ts'

export type { Area, Dataset, Filter, FilterValues } from './types.ts'

/** Areas that releases can have. Each area follows the areas that its releases are built with. */
export const AREA_NAMES: readonly Area[] = ['demography', 'cnes', 'sih', 'sia', 'financing']

export { DATASETS }
export type DatasetName = keyof typeof DATASETS

export const datasetOf = (datasetName: DatasetName): Dataset => DATASETS[datasetName]

/** @returns every stored column in file order; reference_period is in the folder name instead */
export function storedColumns(dataset: Dataset): FieldName[] {
  return [...dataset.fields, ...(dataset.detail ?? []), ...(dataset.internal ?? [])].filter(
    (field) => field !== 'reference_period',
  )
}
