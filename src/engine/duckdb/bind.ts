/** Converts statement parameters to DuckDB values, with types that avoid casts of columns. */
import {
  BIGINT,
  BOOLEAN,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api'
import type { SqlValue } from '../../sql.ts'

/**
 * Binds the parameters of a statement; undefined when it has none. Such a statement runs unprepared. Its plan, with all its memory,
 * is freed in the thread that ran it, whereas a prepared statement is freed on the main thread.
 */
export const bindAll = <Bound>(
  values: readonly SqlValue[],
  bind: (value: SqlValue) => Bound,
): Bound[] | undefined => (values.length === 0 ? undefined : values.map(bind))

/** Converts a parameter. Statements carry only exact values: texts, integers, booleans and lists of them. */
export function bindValue(value: SqlValue): DuckDBValue {
  if (typeof value === 'number' && !Number.isInteger(value)) throw new TypeError('parameters are integers')
  if (Array.isArray(value)) return listValue([...(value as readonly (string | number)[])])
  return value as DuckDBValue
}

export function bindType(value: SqlValue): DuckDBType {
  if (typeof value === 'string') return VARCHAR
  if (typeof value === 'boolean') return BOOLEAN
  // Use INTEGER where the value fits: a wider parameter would cast the column and lose the row-group statistics.
  if (typeof value === 'number') return Math.abs(value) < 2 ** 31 ? INTEGER : BIGINT
  if (typeof value === 'bigint') return BIGINT
  if (value === null) return VARCHAR
  return LIST(typeof value[0] === 'number' ? INTEGER : VARCHAR)
}
