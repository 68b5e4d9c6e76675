/** The datasets of all areas, by name. Values only. */
import { DATASETS } from './declarations.ts'
import { type FieldName, fieldOf } from './fields.ts'
import type { Dataset } from './types.ts'

export { AREA_NAMES, type Area } from './areas.ts'
export type { Dataset, Filter, FilterValues } from './types.ts'

export { DATASETS }
export type DatasetName = keyof typeof DATASETS

export const datasetOf = (datasetName: DatasetName): Dataset => DATASETS[datasetName]

/** @returns whether a field can be null in a dataset. Lists, the API document and Data Packages depend on it. */
export const isNullable = ({ nullable }: Pick<Dataset, 'nullable'>, field: FieldName): boolean =>
  fieldOf(field).nullable === true || nullable?.includes(field) === true

/** @returns every stored column in file order; reference_period is in the folder name instead */
export function storedColumns(dataset: Dataset): FieldName[] {
  return [...dataset.fields, ...(dataset.detail ?? []), ...(dataset.internal ?? [])].filter(
    (field) => field !== 'reference_period',
  )
}
