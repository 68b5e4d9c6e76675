/** Chooses who answers questions about records: a row file of the release, or else the engine. */
import type { Engine, Row } from '../engine/types.ts'
import { type DatasetName, datasetOf } from '../model/datasets.ts'
import type { FieldName } from '../model/fields.ts'
import type { PeriodChoice } from '../query/lists/list.ts'
import type { ByteString, KeyValue, PageQuery, RowPage, RowStore, RowTable } from '../rows/row-store.ts'
import { createEngineSource } from './engine-source.ts'
import type { RecordRelease } from './release.ts'

/** The records of one dataset and period. Every source answers every question, with equal bytes. */
export interface RecordSource {
  /** JSON of the record with a complete key; null when there is none. */
  record(key: readonly KeyValue[]): Promise<ByteString | null>
  /**
   * Records whose key begins with one of the values, such as all beds of a facility. Those of each value are in key order.
   * @param fields fields that the caller reads; all by default
   */
  recordsOf(values: readonly KeyValue[], fields?: readonly FieldName[]): Promise<readonly Row[]>
  /** One page of the records that meet the filters. */
  page(query: PageQuery): Promise<RowPage>
}

/** Services that read the records of a release, for one request. */
export interface Records {
  readonly release: RecordRelease
  /** Null without row files. */
  readonly rows: RowStore | null
  readonly engine: Engine
  /** @returns a signal that aborts when the client leaves */
  readonly signal: () => AbortSignal
}

/**
 * Chooses the source of a dataset and period: its row file where there is one, otherwise the engine. Call it when the records are needed:
 * a row file may be closed or replaced while a request waits for something else.
 */
export function sourceOf(records: Records, dataset: DatasetName, period: PeriodChoice): RecordSource {
  const { view } = records.release
  const stored = view.components[datasetOf(dataset).area]?.datasets[dataset]
  if (stored === undefined || (typeof period === 'number' && !stored.periods.includes(period)))
    return NO_RECORDS
  const table = records.rows?.find(view, dataset, period) ?? null
  return table === null
    ? createEngineSource(records, dataset, period)
    : createRowSource(table, () => createEngineSource(records, dataset, period))
}

/** Reads a row file. @param engine source of what the file cannot answer: a damaged block, a sort without an index */
const createRowSource = (table: RowTable, engine: () => RecordSource): RecordSource => ({
  async record(key) {
    const position = table.find(key)
    if (position === null) return null
    return (position === undefined ? null : table.record(position)) ?? engine().record(key)
  },
  async recordsOf(values, fields) {
    const found = values.map((value) => table.recordsOf(value))
    return found.every((rows) => rows !== null) ? found.flat() : engine().recordsOf(values, fields)
  },
  page: async (query) => table.page(query) ?? engine().page(query),
})

/** The source of a dataset or month that the release does not have. */
const NO_RECORDS: RecordSource = {
  record: async () => null,
  recordsOf: async () => [],
  page: async ({ counts }) => ({ json: '[]', items: [], count: 0, next: null, total: counts ? 0 : null }),
}
