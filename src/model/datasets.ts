/** The datasets of all areas, by name. Values only. */
import { DATASETS } from './areas.ts'
import type { FieldName } from './fields.ts'
import type { Area, Dataset } from './types.ts'

export type { Area, Dataset, Filter, FilterValues } from './types.ts'

/** Areas that releases are of, each after those that it is made with. */
export const AREA_NAMES: readonly Area[] = ['demography', 'cnes', 'sih', 'sia', 'financing']

export { DATASETS }
export type DatasetName = keyof typeof DATASETS

/** @returns the declaration with its optional members visible to the type checker */
export const datasetOf = (datasetName: DatasetName): Dataset => DATASETS[datasetName]

/** Every stored column of a dataset, in the order of its files (reference_period lives in the folder name). */
export function storedColumns(dataset: Dataset): FieldName[] {
  return [...dataset.fields, ...(dataset.detail ?? []), ...(dataset.internal ?? [])].filter(
    (field) => field !== 'reference_period',
  )
}
