/**
 * Records by their keys, several in one statement. Pure: keys of one kind → a statement, and its rows → the rows of each key.
 *
 * A key may be the beginning of a dataset's key (all beds of a facility). Absent on purpose: who waits for whom
 * (lookup-batches.ts).
 */
import type { JsonValue, ResidentRelation, Row } from '../../engine/types.ts'
import type { FieldName } from '../../model/fields.ts'
import type { Dataset } from '../../model/types.ts'
import type { ReleaseView } from '../../release/view.ts'
import { ident, join, type Sql, sql } from '../../sql.ts'
import { rowsOf } from '../analytics/resident-relations.ts'
import { keyedRecords, type PeriodChoice, planRecord, selectRecords } from './list.ts'

/** Column → value, as the dataset holds it. */
export type RecordKey = Readonly<Partial<Record<FieldName, string | number>>>

/** @returns text that two keys share only when they name the same records */
export const keyText = (key: RecordKey): string =>
  JSON.stringify(Object.entries(key).sort(([left], [right]) => (left < right ? -1 : 1)))

/** @returns can rows be told apart by this key, because lists and records show its columns? */
export const isSeparable = (dataset: Dataset, key: RecordKey): boolean => {
  const columns = Object.keys(key) as FieldName[]
  return columns.length > 0 && columns.every((column) => dataset.fields.includes(column))
}

/**
 * The records of several keys, in the order of planRecord.
 * @param keys different from each other, all of the same columns
 */
export function planLookup(dataset: Dataset, keys: readonly RecordKey[], period: PeriodChoice): Sql {
  const [first = {}] = keys
  if (keys.length === 1) return planRecord(dataset, first, period)
  const columns = Object.keys(first) as FieldName[]
  const wanted = columns.map((column) => {
    const values = [...new Set(keys.map((key) => key[column] ?? ''))].map((value) => sql`${value}`)
    return { name: ident(column), values: join(values, ', ') }
  })
  const conditions = wanted.map(({ name, values }) => sql`${name} IN (${values})`)
  // Of a file, IN only chooses row groups; the list is looked at before other columns are decoded, which saves a quarter. A table in
  // memory is searched by its index, from which the list would keep DuckDB.
  const ofFile = wanted.map(({ name, values }) => sql`list_contains([${values}], ${name})`)
  if (columns.length > 1) {
    const each = keys.map((key) => columns.map((column) => sql`${ident(column)} = ${key[column] ?? ''}`))
    const either = each.map((same) => sql`(${join(same, ' AND ')})`)
    conditions.push(sql`(${join(either, ' OR ')})`)
  }
  return selectRecords(dataset, conditions, period, ofFile)
}

/** @returns the records that lookups by a key read, for the engine to hold in memory; null where that would be no quicker */
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

/** @returns the rows of each key, in the order of the keys: none for a key that nothing has */
export function rowsByKey(keys: readonly RecordKey[], rows: readonly Row[]): Row[][] {
  const columns = Object.keys(keys[0] ?? {})
  const textOf = (values: Readonly<Record<string, JsonValue | undefined>>): string =>
    JSON.stringify(columns.map((column) => values[column] ?? null))
  const byKey = new Map<string, Row[]>(keys.map((key) => [textOf(key), []]))
  for (const row of rows) byKey.get(textOf(row))?.push(row)
  return keys.map((key) => byKey.get(textOf(key)) ?? [])
}
