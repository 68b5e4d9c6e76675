/** Finds records by a statement, where a release has no row file for them. */
import type { Row } from '../../engine/types.ts'
import { type DatasetName, datasetOf } from '../../model/datasets.ts'
import type { FieldName } from '../../model/fields.ts'
import { type PeriodChoice, planRecord } from '../../query/lists/list.ts'
import type { EngineRequest } from './lists.ts'

/** @param key values of the dataset's key, or of its beginning, such as all beds of a facility @returns records in key order */
export const findRecords = (
  { engine, view, signal }: Pick<EngineRequest, 'engine' | 'view' | 'signal'>,
  dataset: DatasetName,
  key: Readonly<Partial<Record<FieldName, string | number>>>,
  period: PeriodChoice,
): Promise<Row[]> => engine.run(planRecord(datasetOf(dataset), key, period), view, { signal })
