/**
 * Passes rows that another engine aggregated to a DuckDB statement. Rows are held in DuckDB chunks until a connection is free, then
 * loaded into temporary tables of that connection. Input: rows as JSON. Output: tables by relation name. The caller fetches the
 * rows and limits their number.
 */
import {
  type DuckDBConnection,
  DuckDBDataChunk,
  type DuckDBType,
  type DuckDBValue,
  HUGEINT,
  INTEGER,
  VARCHAR,
} from '@duckdb/node-api'
import type { GatheredPart, GatheredType } from '../../sql.ts'
import type { JsonValue } from '../types.ts'

const TYPES: Readonly<Record<GatheredType, DuckDBType>> = { INTEGER, HUGEINT, VARCHAR }
const CHUNK_ROWS = 2048

export interface GatheredRows {
  readonly columns: GatheredPart['columns']
  /** @param rows one value per column; HUGEINT values as decimal text */
  add(rows: readonly (readonly JsonValue[])[]): void
  readonly count: () => number
  chunks(): readonly DuckDBDataChunk[]
}

export function createGatheredRows(columns: GatheredPart['columns']): GatheredRows {
  const chunks: DuckDBDataChunk[] = []
  const types = columns.map(({ type }) => TYPES[type])
  let count = 0
  return {
    columns,
    add(rows) {
      for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
        const chunkRows = rows.slice(from, from + CHUNK_ROWS)
        const chunk = DuckDBDataChunk.create(types, chunkRows.length)
        columns.forEach(({ type }, column) => {
          chunk.setColumnValues(
            column,
            chunkRows.map((row) => toDuckDB(row[column] ?? null, type)),
          )
        })
        chunks.push(chunk)
        count += chunkRows.length
      }
    },
    count: () => count,
    chunks: () => chunks,
  }
}

/** @throws TypeError, RangeError, SyntaxError when the column cannot hold the value exactly */
function toDuckDB(value: JsonValue, type: GatheredType): DuckDBValue {
  if (value === null) return null
  if (type === 'HUGEINT') return BigInt(value as string)
  if (type === 'INTEGER') {
    if (!Number.isInteger(value)) throw new TypeError('an INTEGER is a whole number')
    return value as number
  }
  if (typeof value !== 'string') throw new TypeError('a VARCHAR is a text')
  return value
}

export type Gathered = ReadonlyMap<string, GatheredRows>

const tableName = (index: number): string => `gathered_${index}`

/** @returns the temporary table of a relation as quoted SQL; null when it was not gathered */
export function gatheredTable(gathered: Gathered | undefined, name: string): string | null {
  const index = gathered === undefined ? -1 : [...gathered.keys()].indexOf(name)
  return index < 0 ? null : `temp.main."${tableName(index)}"`
}

/** Creates the tables on a connection. @throws DuckDB's error when memory is short */
export async function loadGathered(connection: DuckDBConnection, gathered: Gathered): Promise<void> {
  for (const [index, { columns, chunks }] of [...gathered.values()].entries()) {
    const declared = columns.map(({ name, type }) => `"${name}" ${type}`).join(', ')
    await connection.run(`CREATE OR REPLACE TEMP TABLE "${tableName(index)}" (${declared})`)
    const appender = await connection.createAppender(tableName(index), 'main', 'temp')
    for (const chunk of chunks()) appender.appendDataChunk(chunk)
    appender.closeSync()
  }
}

/** Drops the tables, because the next statement of the connection must not see them. */
export async function dropGathered(connection: DuckDBConnection, gathered: Gathered): Promise<void> {
  for (let index = 0; index < gathered.size; index += 1)
    await connection.run(`DROP TABLE IF EXISTS temp.main."${tableName(index)}"`)
}
