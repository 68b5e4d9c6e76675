/**
 * Reads Parquet columns as numbers of their distinct values, and merges two such columns. Input: a connection and SQL expressions.
 * Output: the distinct values and, for every row, the number of its value.
 */
import type { DuckDBConnection, DuckDBDataChunk, DuckDBValue } from '@duckdb/node-api'
import { decodeValue } from '../engine/duckdb/decode.ts'
import type { JsonValue } from '../engine/types.ts'

export interface CodedColumn {
  /** Index into `values` for each row. */
  readonly codes: Uint32Array
  readonly values: readonly JsonValue[]
}

/**
 * How a column is read. `text`: DuckDB numbers distinct texts; `nested`: DuckDB numbers distinct lists; `plain`: this module
 * numbers numbers and booleans.
 */
export interface ColumnRequest {
  readonly expression: string
  readonly kind: 'text' | 'nested' | 'plain'
}

export interface RowFileSource {
  readonly connection: DuckDBConnection
  /** SQL of the table, including its column file_row_number. */
  readonly from: string
  readonly rows: number
}

/** Largest number of pairs for which an array is used instead of a map. */
const PAIR_TABLE_MAX = 1 << 24
/**
 * Texts with more distinct values are numbered by a join. Building an ENUM of 255,294 values and looking up 1.4 million rows takes
 * five times as long.
 */
const ENUM_MAX = 10_000

/** Reads columns of all rows. @throws RangeError when the row count differs from the manifest */
export async function readCoded(
  { connection, from, rows }: RowFileSource,
  requests: readonly ColumnRequest[],
): Promise<CodedColumn[]> {
  const joins: string[] = []
  const selected: string[] = []
  const columns: { codes: Uint32Array; values: JsonValue[]; numbers: Map<DuckDBValue, number> }[] = []
  for (const [index, { expression, kind }] of requests.entries()) {
    let values: JsonValue[] = []
    if (kind === 'plain') selected.push(expression)
    else {
      const order = kind === 'text' ? 'ORDER BY v' : ''
      await connection.run(
        `CREATE OR REPLACE TEMP TABLE distinct_${index} AS SELECT CAST(row_number() OVER (${order}) - 1 AS INTEGER) AS code, v
         FROM (SELECT DISTINCT ${expression} AS v FROM ${from} WHERE ${expression} IS NOT NULL)`,
      )
      const value = kind === 'text' ? 'v' : 'CAST(to_json(v) AS VARCHAR)'
      values = await readValues(connection, `SELECT ${value} FROM distinct_${index} ORDER BY code`)
      if (kind === 'nested') values = values.map((text) => JSON.parse(String(text)) as JsonValue)
      if (kind === 'text' && values.length <= ENUM_MAX) {
        await connection.run(`DROP TYPE IF EXISTS value_${index}`)
        await connection.run(
          `CREATE TYPE value_${index} AS ENUM (SELECT v FROM distinct_${index} ORDER BY code)`,
        )
        selected.push(`CAST(enum_code(CAST(${expression} AS value_${index})) AS INTEGER)`)
      } else {
        joins.push(` LEFT JOIN distinct_${index} ON ${expression} = distinct_${index}.v`)
        selected.push(`distinct_${index}.code`)
      }
    }
    columns.push({ codes: new Uint32Array(rows), values, numbers: new Map() })
  }
  /** Joins return rows in any order, so `file_row_number` says where each belongs. */
  const isRead = new Uint8Array(rows)
  let rowsRead = 0
  const statement = `SELECT CAST(file_row_number AS INTEGER), ${selected.join(', ')} FROM ${from}${joins.join('')}`
  for await (const chunk of readChunks(connection, statement)) {
    const rowNumbers = chunk.getColumnValues(0) as number[]
    for (const rowNumber of rowNumbers) {
      if (rowNumber >= rows || isRead[rowNumber] === 1)
        throw new RangeError('more rows than the manifest says')
      isRead[rowNumber] = 1
    }
    for (const [index, { codes, values, numbers }] of columns.entries()) {
      const isPlain = requests[index]?.kind === 'plain'
      const found = chunk.getColumnValues(index + 1)
      for (let at = 0; at < found.length; at += 1) {
        const value = found[at] ?? null
        const rowNumber = rowNumbers[at] ?? 0
        if (!isPlain && value !== null) {
          codes[rowNumber] = value as number
          continue
        }
        let number = numbers.get(value)
        if (number === undefined) {
          number = values.length
          numbers.set(value, number)
          values.push(decodeValue(value))
        }
        codes[rowNumber] = number
      }
    }
    rowsRead += rowNumbers.length
  }
  if (rowsRead !== rows) throw new RangeError(`${rowsRead} rows, the manifest says ${rows}`)
  return columns.map(({ codes, values }) => ({ codes, values }))
}

export async function* readChunks(
  connection: DuckDBConnection,
  statement: string,
): AsyncGenerator<DuckDBDataChunk> {
  const result = await connection.stream(statement)
  let chunk = await result.fetchChunk()
  for (; chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) yield chunk
}

async function readValues(connection: DuckDBConnection, statement: string): Promise<JsonValue[]> {
  const values: JsonValue[] = []
  for await (const chunk of readChunks(connection, statement))
    for (const value of chunk.getColumnValues(0)) values.push(decodeValue(value))
  return values
}

/** Merges two columns into one, numbered by first appearance. @returns null when it has more than `max` distinct pairs */
export function mergeColumns(
  left: CodedColumn,
  right: CodedColumn,
  max: number,
  join: (left: JsonValue, right: JsonValue) => JsonValue,
): CodedColumn | null {
  const width = right.values.length
  const pairs = left.values.length * width
  const table = pairs <= PAIR_TABLE_MAX ? new Int32Array(pairs).fill(-1) : null
  const map = new Map<number, number>()
  const codes = new Uint32Array(left.codes.length)
  const values: JsonValue[] = []
  for (let row = 0; row < codes.length; row += 1) {
    const [first, second] = [left.codes[row] ?? 0, right.codes[row] ?? 0]
    const pair = first * width + second
    let number = table === null ? (map.get(pair) ?? -1) : (table[pair] ?? -1)
    if (number < 0) {
      number = values.length
      if (number >= max) return null
      if (table === null) map.set(pair, number)
      else table[pair] = number
      values.push(join(left.values[first] ?? null, right.values[second] ?? null))
    }
    codes[row] = number
  }
  return { codes, values }
}
