/**
 * Plans look-ups of records by key, several keys in one statement, and sorts the rows by key again. Pure. A key may be the beginning of a
 * dataset's key, such as all beds of a facility. Batching is in lookup-batches.ts.
 */
import type { JsonValue, ResidentRelation, Row } from '../../engine/types.ts'
import type { FieldName } from '../../model/fields.ts'
import type { Dataset } from '../../model/types.ts'
import type { ReleaseView } from '../../release/view.ts'
import { ident, join, type Sql, sql } from '../../sql.ts'
import { rowsOf } from '../analytics/resident-relations.ts'
import { keyedRecords, type PeriodChoice, planRecord, selectRecords } from './list.ts'

export type RecordKey = Readonly<Partial<Record<FieldName, string | number>>>

/** @returns text that is equal for two keys only when they name the same records */
export const keyText = (key: RecordKey): string =>
  JSON.stringify(Object.entries(key).sort(([left], [right]) => (left < right ? -1 : 1)))

/** @returns whether rows show every column of the key, so that rows of several keys can be separated again */
export const isSeparable = (dataset: Dataset, key: RecordKey): boolean => {
  const columns = Object.keys(key) as FieldName[]
  return columns.length > 0 && columns.every((column) => dataset.fields.includes(column))
}

/** Plans the look-up of several keys. The rows have the order of planRecord. @param keys distinct, all with the same columns */
export function planLookup(dataset: Dataset, keys: readonly RecordKey[], period: PeriodChoice): Sql {
  const [first = {}] = keys
  if (keys.length === 1) return planRecord(dataset, first, period)
  const columns = Object.keys(first) as FieldName[]
  const columnValues = columns.map((column) => {
    const values = [...new Set(keys.map((key) => key[column] ?? ''))].map((value) => sql`${value}`)
    return { name: ident(column), values: join(values, ', ') }
  })
  const conditions = columnValues.map(({ name, values }) => sql`${name} IN (${values})`)
  // In a file, IN only selects row groups. list_contains filters before other columns are decoded, which saves a quarter of the time.
  // A table in memory is searched by its index, which list_contains would prevent.
  const fileConditions = columnValues.map(({ name, values }) => sql`list_contains([${values}], ${name})`)
  if (columns.length > 1) {
    const keyConditions = keys.map((key) =>
      columns.map((column) => sql`${ident(column)} = ${key[column] ?? ''}`),
    )
    const either = keyConditions.map((same) => sql`(${join(same, ' AND ')})`)
    conditions.push(sql`(${join(either, ' OR ')})`)
  }
  return selectRecords(dataset, conditions, period, fileConditions)
}

/** @returns records that the engine may hold in memory to answer look-ups by this key; null when memory would not be faster */
export function recordsWanted(
  view: ReleaseView,
  dataset: Dataset,
  columns: readonly string[],
  period: PeriodChoice,
): ResidentRelation | null {
  if (typeof period !== 'number' || !columns.includes(dataset.key[0] ?? '')) return null
  const rows = rowsOf(view.components[dataset.area], dataset.name, period)
  return rows === null ? null : keyedRecords(dataset, period, rows)
}

/** @returns the rows of each key, in the order of the keys; an empty array for a key without rows */
export function rowsByKey(keys: readonly RecordKey[], rows: readonly Row[]): Row[][] {
  const columns = Object.keys(keys[0] ?? {})
  const textOf = (values: Readonly<Record<string, JsonValue | undefined>>): string =>
    JSON.stringify(columns.map((column) => values[column] ?? null))
  const byKey = new Map<string, Row[]>(keys.map((key) => [textOf(key), []]))
  for (const row of rows) byKey.get(textOf(row))?.push(row)
  return keys.map((key) => byKey.get(textOf(key)) ?? [])
}
