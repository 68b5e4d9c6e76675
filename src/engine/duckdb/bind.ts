/** Parameters of statements as DuckDB takes them: values, and the types that keep columns as they are. */
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
 * What is bound to a statement; undefined for one without values. That is not prepared first: its plan, and all the memory
 * it holds, is freed where it ran, while a prepared one is freed on the main thread.
 */
export const boundTo = <Bound>(
  values: readonly SqlValue[],
  bind: (value: SqlValue) => Bound,
): Bound[] | undefined => (values.length === 0 ? undefined : values.map(bind))

/** Statements carry exact values only: text, integers, flags and lists of them. */
export function bindValue(value: SqlValue): DuckDBValue {
  if (typeof value === 'number' && !Number.isInteger(value)) throw new TypeError('parameters are integers')
  if (Array.isArray(value)) return listValue([...(value as readonly (string | number)[])])
  return value as DuckDBValue
}

export function bindType(value: SqlValue): DuckDBType {
  if (typeof value === 'string') return VARCHAR
  if (typeof value === 'boolean') return BOOLEAN
  // INTEGER where it fits: a wider parameter would cast the column and lose the row-group statistics.
  if (typeof value === 'number') return Math.abs(value) < 2 ** 31 ? INTEGER : BIGINT
  if (typeof value === 'bigint') return BIGINT
  if (value === null) return VARCHAR
  return LIST(typeof value[0] === 'number' ? INTEGER : VARCHAR)
}
