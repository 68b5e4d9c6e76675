/**
 * Computes the digest of the rows of Parquet files (`rows_sha256`). Equal rows give equal digests with any writer and file
 * layout. docs/content-digests.md describes the encoding and docs/decisions/0020-content-digests.md the reasons. The rows of a
 * file must be in key order. Each column is encoded as the text of its values, each followed by a zero byte, and hashed with
 * SHA-256. The file digest covers these column digests by name.
 */
import { createHash, type Hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import {
  type DuckDBBlobValue,
  type DuckDBConnection,
  DuckDBDecimalType,
  DuckDBInstance,
  DuckDBListType,
  DuckDBStructType,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api'
import { usableMemory } from '../machine.ts'
import { digestJson } from '../release/digest.ts'
import { quoteName, quoteText } from './session.ts'

const ROWS_FORMAT = 'sus-data-rows-1'
/** Rows per statement. It limits memory, because DuckDB joins their values into one text per column. */
const STEP_ROWS = 61_440
/** Maximum number of parallel statements. It leaves one of Node's four pool threads free for reading files. */
const MAX_LANES = 3
const KINDS: Readonly<Record<string, string>> = {
  VARCHAR: 'text',
  TINYINT: 'integer',
  SMALLINT: 'integer',
  INTEGER: 'integer',
  BIGINT: 'integer',
  BOOLEAN: 'boolean',
  DATE: 'date',
  DOUBLE: 'double',
}

interface Leaf {
  readonly path: string
  readonly kind: string
  readonly sql: string
}
/** Source of columns: the rows of the file, or the elements of a list column. */
interface Level {
  readonly leaves: Leaf[]
  /** List column whose elements are the rows; null for the rows of the file. */
  readonly list: { readonly sql: string; readonly level: Level } | null
}

/**
 * @param paths absolute paths
 * @param threads cores to use; all by default
 * @returns row digest of each file (64 hex digits), in the order of the paths
 */
export async function digestRows(paths: readonly string[], threads?: number): Promise<string[]> {
  const lanes = Math.min(threads ?? availableParallelism(), MAX_LANES, paths.length)
  if (lanes === 0) return []
  const instance = await DuckDBInstance.create(':memory:', {
    // Use one thread, so that a statement joins values in file order.
    threads: '1',
    memory_limit: `${Math.min(1200, Math.floor(usableMemory() / 3 / 1024 / 1024))}MB`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  try {
    const digests: string[] = []
    const pending = [...paths.entries()]
    const runLane = async (): Promise<void> => {
      const connection = await instance.connect()
      try {
        for (let next = pending.shift(); next !== undefined; next = pending.shift())
          digests[next[0]] = await digestFileRows(connection, next[1])
      } finally {
        pending.length = 0
        connection.closeSync()
      }
    }
    await Promise.all(Array.from({ length: lanes }, runLane))
    return digests
  } finally {
    instance.closeSync()
  }
}

async function digestFileRows(connection: DuckDBConnection, path: string): Promise<string> {
  const source = `read_parquet(${quoteText(path)}, hive_partitioning = false, file_row_number = true)`
  const schema = await connection.runAndReadAll(`SELECT * EXCLUDE (file_row_number) FROM ${source} LIMIT 0`)
  const types = schema.columnTypes()
  const levels: Level[] = [{ leaves: [], list: null }]
  for (const [index, name] of schema.columnNames().entries())
    addColumn(levels, levels[0] as Level, name, quoteName(name), types[index] as DuckDBType)
  const countStatement = `SELECT sum(num_rows) FROM parquet_file_metadata(${quoteText(path)})`
  const rows = Number((await firstRow(connection, countStatement))[0] ?? 0)
  const hashes = new Map<string, Hash>()
  for (const { leaves } of levels)
    for (const { path: column } of leaves) {
      if (hashes.has(column)) throw new Error(`${path}: two columns are called ${column}`)
      hashes.set(column, createHash('sha256'))
    }
  for (let first = 0; first < rows; first += STEP_ROWS) {
    const range = `(FROM ${source} WHERE file_row_number BETWEEN ${first} AND ${first + STEP_ROWS - 1})`
    for (const level of levels) await hashRange(connection, level, levelSource(level, range), hashes)
  }
  const columns = levels
    .flatMap(({ leaves }) => leaves)
    .map(({ path: column, kind }) => [column, { kind, sha256: hashes.get(column)?.digest('hex') ?? '' }])
  return digestJson({ format: ROWS_FORMAT, rows, columns: Object.fromEntries(columns) })
}

function addColumn(levels: Level[], level: Level, path: string, sql: string, type: DuckDBType): void {
  if (type instanceof DuckDBStructType) {
    level.leaves.push({ path, kind: 'struct', sql: `CASE WHEN ${sql} IS NOT NULL THEN '' END` })
    for (const [index, name] of type.entryNames.entries())
      addColumn(
        levels,
        level,
        `${path}.${name}`,
        `struct_extract(${sql}, ${quoteText(name)})`,
        type.entryTypes[index] as DuckDBType,
      )
    return
  }
  if (type instanceof DuckDBListType) {
    level.leaves.push({ path, kind: 'list', sql: `CAST(len(${sql}) AS VARCHAR)` })
    const elements: Level = { leaves: [], list: { sql, level } }
    levels.push(elements)
    addColumn(levels, elements, `${path}[]`, 'element', type.valueType)
    return
  }
  const kind = type instanceof DuckDBDecimalType ? `decimal(${type.scale})` : KINDS[type.toString()]
  if (kind === undefined) throw new Error(`rows with a column of the type ${type} have no digest`)
  level.leaves.push({ path, kind, sql: kind === 'text' ? sql : `CAST(${sql} AS VARCHAR)` })
}

/** @returns SQL of the rows of a level; list elements keep their order */
const levelSource = ({ list }: Level, range: string): string =>
  list === null ? range : `(SELECT unnest(${list.sql}) AS element FROM ${levelSource(list.level, range)})`

/** Lets DuckDB join the values, at 20 ns each. Passing texts over 12 bytes to JavaScript takes ten times as long. */
async function hashRange(
  connection: DuckDBConnection,
  { leaves }: Level,
  source: string,
  hashes: ReadonlyMap<string, Hash>,
): Promise<void> {
  const joined = leaves.flatMap(({ sql, kind }) => [
    `encode(string_agg(coalesce(${sql}, chr(1)), chr(0)))`,
    kind === 'text'
      ? `coalesce(bool_or(contains(${sql}, chr(0)) OR contains(${sql}, chr(1))), false)`
      : 'false',
  ])
  const row = await firstRow(connection, `SELECT count(*), ${joined.join(', ')} FROM ${source}`)
  if (Number(row[0]) === 0) return
  for (const [index, { path, sql }] of leaves.entries()) {
    let value = row[1 + 2 * index]
    if (row[2 + 2 * index] === true) {
      const escaped = `replace(replace(${sql}, chr(1), chr(1) || '1'), chr(0), chr(1) || '0')`
      const escapedStatement = `SELECT encode(string_agg(coalesce(${escaped}, chr(1)), chr(0))) FROM ${source}`
      ;[value] = await firstRow(connection, escapedStatement)
    }
    hashes
      .get(path)
      ?.update((value as DuckDBBlobValue).bytes)
      .update('\0')
  }
}

async function firstRow(connection: DuckDBConnection, sql: string): Promise<DuckDBValue[]> {
  const chunk = await (await connection.stream(sql)).fetchChunk()
  return chunk?.getRows()[0] ?? []
}
