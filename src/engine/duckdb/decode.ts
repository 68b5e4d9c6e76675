/**
 * DuckDB value → JSON value, exactly. In: values as the driver reads them and the type of each column. Out: JSON.
 *
 * Integers beyond 2^53−1 throw rather than round; DECIMAL stays exact decimal text; the column reference_period (YYYYMM)
 * becomes YYYY-MM. Absent on purpose: any DOUBLE but coordinates.
 */
import {
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBStructValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { AppError } from '../../errors.ts'
import { formatPeriod } from '../../release/view.ts'
import type { JsonValue, Row } from '../types.ts'

/** @throws AppError 'internal' for a value JSON cannot hold exactly */
export function decodeValue(value: DuckDBValue): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw new AppError('internal', { cause: new RangeError('a number that is not finite') })
  }
  if (typeof value === 'bigint') {
    if (value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= -BigInt(Number.MAX_SAFE_INTEGER))
      return Number(value)
    throw new AppError('internal', { cause: new RangeError('an integer beyond 2^53-1') })
  }
  if (value instanceof DuckDBDateValue || value instanceof DuckDBDecimalValue) return value.toString()
  if (value instanceof DuckDBListValue) return value.items.map(decodeValue)
  if (value instanceof DuckDBStructValue)
    return Object.fromEntries(
      Object.entries(value.entries).map(([name, entry]) => [name, decodeValue(entry)]),
    )
  throw new AppError('internal', { cause: new TypeError('a type the decoder does not know') })
}

/** @param names column names; @param rows values in the order of names */
export function decodeRows(names: readonly string[], rows: readonly (readonly DuckDBValue[])[]): Row[] {
  return rows.map((values) => {
    const row: Record<string, JsonValue> = {}
    names.forEach((name, index) => {
      const value = values[index] as DuckDBValue
      row[name] =
        name === 'reference_period' && typeof value === 'number' ? formatPeriod(value) : decodeValue(value)
    })
    return row
  })
}
