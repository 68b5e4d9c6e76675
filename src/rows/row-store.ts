import type { Row } from '../engine/types.ts'
import type { DatasetName } from '../model/datasets.ts'
import type { PeriodChoice } from '../query/list.ts'
import type { ReleaseView } from '../release/view.ts'

/** UTF-8 bytes as a string whose code units are bytes (WebIDL ByteString). */
export type ByteString = string
export interface PageQuery {
  readonly filters: Readonly<Record<string, string>>
  readonly after: readonly (string | number)[] | null
  readonly limit: number
  readonly counts: boolean
}
export interface RowPage {
  readonly json: ByteString
  readonly count: number
  readonly next: readonly (string | number)[] | null
  readonly total: number | null
}
export interface RowTable {
  readonly rows: number
  find(key: readonly (string | number)[]): number | null
  record(position: number): ByteString | null
  recordsOf(first: string | number): readonly Row[] | null
  page(query: PageQuery): RowPage | null
}
export interface RowStore {
  open(view: ReleaseView): Promise<void>
  release(id: string): Promise<void>
  find(view: ReleaseView, dataset: DatasetName, period: PeriodChoice): RowTable | null
  problems(view: ReleaseView): readonly { readonly dataset: string; readonly reason: string }[]
  stats(): { readonly memory: number; readonly disk: number }
  close(): Promise<void>
}
