/**
 * Loads relations of a release into memory as narrow tables. Input: relations as statements, and a limit in bytes. Output: the name
 * of each loaded table. Statements printed before loading ends read the Parquet files. `query/analytics/resident-relations.ts`
 * chooses the relations.
 *
 * Codes become ENUMs and facility codes become integers, so that a grouped sum reads one or two bytes per row. DuckDB compresses
 * the tables in memory: 41 MB instead of 326 MB for a national month, equally fast. It compresses a database only while no
 * statement reads it. Each table therefore has its own database and becomes visible when complete.
 *
 * A relation that exceeds the limit or fails to load is skipped, because responses do not depend on it.
 */
import { type DuckDBConnection, DuckDBListValue } from '@duckdb/node-api'
import { quoteName, quoteText } from '../../sql.ts'

export interface PrintedRelation {
  readonly name: string
  readonly rows: number
  /** SELECT of the relation over the views of its schema. */
  readonly select: string
  readonly codes: readonly string[]
  readonly number: string | null
  /** Months of the relation, newest first; `select` covers all of them. */
  readonly months?: readonly { readonly period: number; readonly rows: number; readonly select: string }[]
}

/** Runs a function that reads files, and throws when those files are not in their verified state throughout. */
export type Unchanged = <Value>(fill: () => Promise<Value>) => Promise<Value>

export interface ResidentTables {
  /**
   * @param periods required months of a relation that has several
   * @returns the table, or those months of it, as quoted SQL; null when it or one of the months is not loaded
   */
  find(name: string, periods?: readonly number[]): string | null
  load(relations: readonly PrintedRelation[], runUnchanged?: Unchanged): Promise<void>
  /** Marks the start of a statement that reads found tables. @returns a function that marks its end */
  enter(): () => void
  /** Makes `find` return null from now on, and waits until loading ends. */
  stop(): Promise<void>
  /** Stops, and drops the tables when no statement reads them any more. */
  drop(): Promise<void>
  bytes(): number
}

/** Bytes per value of fixed-width types. */
const WIDTHS: Readonly<Record<string, number>> = { BOOLEAN: 1, INTEGER: 4, BIGINT: 8 }
const ENUM_BYTES = 2
const TEXT_BYTES = 48
/** DuckDB's tables grow in blocks: at least one per column and row group, and one more for its null mask. */
const BLOCK_BYTES = 262_144
const GROUP_ROWS = 122_880
/** Tables of at most SMALL_ROWS rows have smaller blocks. Tables of at most FEW_ROWS rows have no separate block for nulls. */
const SMALL_ROWS = 2048
const SMALL_BYTES = 24_576
const FEW_ROWS = 16_384

/** @param widths bytes per value of each column @returns memory of a table in bytes, rather too much than too little */
export function estimateBytes(rows: number, widths: readonly number[]): number {
  if (rows <= SMALL_ROWS) return widths.length * SMALL_BYTES
  const groups = Math.ceil(rows / GROUP_ROWS)
  const blocks = widths.map(
    (width) => Math.ceil((width * Math.min(rows, GROUP_ROWS)) / BLOCK_BYTES) + (rows > FEW_ROWS ? 1 : 0),
  )
  return groups * BLOCK_BYTES * blocks.reduce((sum, count) => sum + count, 0)
}

export interface ResidentTablesOptions {
  /** Prefix of the names of the databases that hold the tables. */
  readonly prefix: string
  /** Memory limit for this release in bytes. A table is estimated before loading and measured afterwards. */
  readonly bytesMax: number
  /** Memory limit for the tables of all releases in bytes. */
  readonly totalBytesMax: number
}

interface LoadedTable {
  readonly table: string
  readonly months: ReadonlySet<number>
  readonly bytes: number
}

/** @param loader separate connection, so that loading delays no statement */
export function createResidentTables(
  loader: DuckDBConnection,
  { prefix, bytesMax, totalBytesMax }: ResidentTablesOptions,
): ResidentTables {
  const tables = new Map<string, LoadedTable>()
  const databases: string[] = []
  let heldBytes = 0
  let databaseCount = 0
  let isStopped = false
  let loading: Promise<void> = Promise.resolve()
  let readers = 0
  let onIdle: (() => void) | null = null

  const fetchRows = async (text: string) => (await loader.runAndReadAll(text)).getRows()

  const measureTables = async (): Promise<number> => {
    const [row] = await fetchRows(
      "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'",
    )
    return Number(row?.[0] ?? 0)
  }

  /** Attaches a database for a relation, and keeps it only if `fill` created a table in it. */
  const loadOne = async (
    name: string,
    fill: (database: string) => Promise<LoadedTable | null>,
  ): Promise<void> => {
    databaseCount += 1
    const database = quoteName(`${prefix}_${databaseCount}`)
    await loader.run(`ATTACH ':memory:' AS ${database} (COMPRESS)`)
    let loaded: LoadedTable | null = null
    try {
      loaded = await fill(database)
    } finally {
      if (loaded === null || isStopped) await loader.run(`DETACH ${database}`)
      else {
        databases.push(database)
        tables.set(name, loaded)
        heldBytes += loaded.bytes
      }
    }
  }
  /** Loads months one after another, compressing each, until there is no room. */
  const loadMonths = async (
    database: string,
    { rows, select, codes, number, months }: PrintedRelation,
  ): Promise<LoadedTable | null> => {
    const described = await fetchRows(`DESCRIBE ${select}`)
    const columns = described.map(([column, type]) => ({ column: String(column), type: String(type) }))
    const widths = columns.map(({ column, type }) =>
      codes.includes(column) ? ENUM_BYTES : column === number ? 4 : (WIDTHS[type] ?? TEXT_BYTES),
    )
    const isTooLarge = (bytes: number, before: number): boolean =>
      heldBytes + loadedBytes + bytes > bytesMax || before + bytes > totalBytesMax
    let loadedBytes = 0
    let isCreated = false
    const batches = months ?? [{ period: null, rows, select }]
    if (isTooLarge(estimateBytes(batches[0]?.rows ?? 0, widths), await measureTables())) return null
    const coded = columns.filter(({ column, type }) => codes.includes(column) && type === 'VARCHAR')
    const members = await readMembers(
      select,
      coded.map(({ column }) => column),
      number,
    )
    const types = new Map<string, string>()
    if (number !== null && members.areNumbers) types.set(number, 'INTEGER')
    for (const { column } of coded) {
      const codesOfColumn = members.codes.get(column) ?? []
      if (codesOfColumn.length === 0) continue
      const type = `${database}.${quoteName(`code_${column}`)}`
      types.set(column, type)
      await loader.run(`CREATE TYPE ${type} AS ENUM (${codesOfColumn.map(quoteText).join(', ')})`)
    }
    const casts = columns.map(({ column }) => {
      const type = types.get(column)
      return type === undefined
        ? quoteName(column)
        : `CAST(${quoteName(column)} AS ${type}) AS ${quoteName(column)}`
    })
    const table = `${database}.relation`
    const loadedMonths = new Set<number>()
    for (const batch of batches) {
      const bytes = estimateBytes(batch.rows, widths)
      const before = await measureTables()
      if (isStopped || isTooLarge(bytes, before)) break
      const into = isCreated ? `INSERT INTO ${table} BY NAME` : `CREATE TABLE ${table} AS`
      try {
        await loader.run(`${into} SELECT ${casts.join(', ')} FROM (${batch.select})`)
        await loader.run(`CHECKPOINT ${database}`)
      } catch (error) {
        // The months loaded before remain available.
        if (!isCreated) throw error
        break
      }
      isCreated = true
      // Use the measured growth, which is only wrong when tables of another release were dropped meanwhile.
      const growth = (await measureTables()) - before
      loadedBytes += growth > 0 ? Math.min(growth, bytes) : 0
      if (batch.period !== null) loadedMonths.add(batch.period)
    }
    return isCreated ? { table, months: loadedMonths, bytes: loadedBytes } : null
  }
  /**
   * Reads the distinct codes of each column, and whether all numbers have seven digits. Only then do equal integers mean equal
   * texts.
   */
  const readMembers = async (
    select: string,
    codes: readonly string[],
    number: string | null,
  ): Promise<{ readonly codes: ReadonlyMap<string, readonly string[]>; readonly areNumbers: boolean }> => {
    if (codes.length === 0 && number === null) return { codes: new Map(), areNumbers: false }
    const aggregates = [
      ...codes.map((column) => `list_sort(list(DISTINCT ${quoteName(column)}))`),
      number === null ? 'false' : `bool_and(regexp_full_match(${quoteName(number)}, '[0-9]{7}'))`,
    ]
    const [row = []] = await fetchRows(`SELECT ${aggregates.join(', ')} FROM (${select})`)
    const found = codes.map((column, index): [string, readonly string[]] => {
      const list = row[index]
      const items = list instanceof DuckDBListValue ? list.items : []
      return [column, items.filter((item) => typeof item === 'string')]
    })
    return { codes: new Map(found), areNumbers: row.at(-1) === true }
  }
  const stop = (): Promise<void> => {
    isStopped = true
    tables.clear()
    return loading
  }
  return {
    find(name, periods) {
      const found = tables.get(name)
      if (found === undefined) return null
      const { table, months } = found
      if (periods === undefined) return table
      if (!periods.every((period) => months.has(period))) return null
      const [first, last] = [Math.min(...periods), Math.max(...periods)]
      const between = [...months].filter((month) => month >= first && month <= last)
      // DuckDB turns a long IN list into a join.
      const isSpan = between.length === new Set(periods).size
      return `(SELECT * FROM ${table} WHERE reference_period ${isSpan ? `BETWEEN ${first} AND ${last}` : `IN (${periods.join(', ')})`})`
    },
    enter() {
      readers += 1
      return () => {
        readers -= 1
        if (readers === 0) onIdle?.()
      }
    },
    load(relations, runUnchanged = (fill) => fill()) {
      loading = loading.then(async () => {
        for (const relation of relations) {
          if (isStopped) return
          // Relations that did not fit earlier are tried again.
          if (tables.has(relation.name)) continue
          try {
            await loadOne(relation.name, (database) => runUnchanged(() => loadMonths(database, relation)))
          } catch {
            // Memory is short or a file is damaged. The statement that reads the file reports it.
          }
        }
      })
      return loading
    },
    stop,
    async drop() {
      await stop()
      if (readers > 0)
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
      for (const database of databases.splice(0)) await loader.run(`DETACH ${database}`)
      heldBytes = 0
    },
    bytes: () => heldBytes,
  }
}
