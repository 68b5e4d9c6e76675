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
import type { JsonValue, Row, RunOptions } from '../types.ts'

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

/** @returns the number nearest to a DECIMAL. Both sides of the division are exact, so that it rounds once, as reading the text would. */
function decimalNumber({ value, scale }: DuckDBDecimalValue): number {
  const unscaled = Number(value)
  return Number.isSafeInteger(unscaled) ? unscaled / 10 ** scale : Number(decimalText(value, scale))
}

/** Decodes column by column, so that values become JSON directly and omitted values are never read. */
export function decodeChunk(
  names: readonly string[],
  chunk: DuckDBDataChunk,
  { once, decimals = 'texts' }: Pick<RunOptions, 'once' | 'decimals'> = {},
  isFirst = true,
): Row[] {
  const count = chunk.rowCount
  const rows: Record<string, JsonValue>[] = Array.from({ length: count }, () => ({}))
  names.forEach((name, column) => {
    const vector = chunk.getColumnVector(column)
    const period = isTime(name) ? name : null
    // The double nearest to the two decimals is written in JSON with two decimals.
    const areNumbers = decimals === 'numbers' || name === 'percentage'
    const end = once?.has(name) === true ? Math.min(count, isFirst ? 1 : 0) : count
    for (let index = 0; index < end; index += 1) {
      const value = vector.getItem(index)
      const row = rows[index] as Record<string, JsonValue>
      row[name] =
        period !== null && typeof value === 'number'
          ? showPeriod(period, value)
          : areNumbers && value instanceof DuckDBDecimalValue
            ? decimalNumber(value)
            : decodeValue(value)
    }
  })
  return rows
}
