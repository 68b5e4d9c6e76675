/**
 * Converts DuckDB values to JSON exactly. Input: values as the driver reads them and the type of each column. Output: JSON.
 *
 * Integers beyond 2^53−1 throw instead of being rounded. DECIMAL stays exact decimal text. The column reference_period (YYYYMM)
 * becomes YYYY-MM. DOUBLE is only used for coordinates.
 */
import {
  type DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBStructValue,
  type DuckDBValue,
} from '@duckdb/node-api'
import { AppError } from '../../errors.ts'
import { isTime, showPeriod } from '../../model/periods.ts'
import { decimalText } from '../decimals.ts'
import type { JsonValue, Row } from '../types.ts'

const SAFE_MAX = BigInt(Number.MAX_SAFE_INTEGER)

/** @throws AppError 'internal' for a value that JSON cannot hold exactly */
export function decodeValue(value: DuckDBValue): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value
    throw new AppError('internal', { cause: new RangeError('a number that is not finite') })
  }
  if (typeof value === 'bigint') {
    if (value <= SAFE_MAX && value >= -SAFE_MAX) return Number(value)
    throw new AppError('internal', { cause: new RangeError('an integer beyond 2^53-1') })
  }
  if (value instanceof DuckDBDecimalValue) return decimalText(value.value, value.scale)
  if (value instanceof DuckDBDateValue) return value.toString()
  if (value instanceof DuckDBListValue) return value.items.map(decodeValue)
  if (value instanceof DuckDBStructValue)
    return Object.fromEntries(
      Object.entries(value.entries).map(([name, entry]) => [name, decodeValue(entry)]),
    )
  throw new AppError('internal', { cause: new TypeError('a type the decoder does not know') })
}

/** Default of `once`: no column is limited to the first row. */
const NO_COLUMNS: ReadonlySet<string> = new Set()

/**
 * Decodes column by column, so that values become JSON directly and omitted values are never read.
 * @param once columns that only the first row of the first chunk has
 */
export function decodeChunk(
  names: readonly string[],
  chunk: DuckDBDataChunk,
  once: ReadonlySet<string> = NO_COLUMNS,
  isFirst = true,
): Row[] {
  const count = chunk.rowCount
  const rows: Record<string, JsonValue>[] = Array.from({ length: count }, () => ({}))
  names.forEach((name, column) => {
    const vector = chunk.getColumnVector(column)
    const period = isTime(name) ? name : null
    // The double nearest to the two decimals is written in JSON with two decimals.
    const isPercentage = name === 'percentage'
    const end = once.has(name) ? Math.min(count, isFirst ? 1 : 0) : count
    for (let index = 0; index < end; index += 1) {
      const value = vector.getItem(index)
      const row = rows[index] as Record<string, JsonValue>
      row[name] =
        period !== null && typeof value === 'number'
          ? showPeriod(period, value)
          : isPercentage && value instanceof DuckDBDecimalValue
            ? Number(decimalText(value.value, value.scale))
            : decodeValue(value)
    }
  })
  return rows
}
