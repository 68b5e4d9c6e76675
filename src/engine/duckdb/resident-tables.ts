/**
 * Resident tables: relations of a release, loaded into memory as narrow tables. In: relations as statements, a bound in
 * bytes. Out: the name of each table once it is loaded; statements printed before read the Parquet files.
 *
 * Codes become ENUMs and facility codes integers, so that a grouped sum reads a byte or two a row. DuckDB compresses the tables
 * in memory: 41 MB instead of 326 MB for a national month, equally fast. It compresses a database only while no statement
 * reads it, so each table has a database of its own and is found once it is whole. A
 * relation that does not fit the bound, or cannot be loaded, is left out: answers do not depend on it. A keyed relation has an index, by
 * which records are found where there is no row store: a tenth of the processor time that reading its file takes. Not here: which
 * relations are worth it (query/resident-relations.ts).
 */
import { type DuckDBConnection, DuckDBListValue } from '@duckdb/node-api'

export interface PrintedRelation {
  readonly name: string
  readonly rows: number
  /** The relation as a SELECT over the views of its schema. */
  readonly select: string
  readonly codes: readonly string[]
  readonly number: string | null
  readonly key?: string
  /** The newest first; the SELECT of the relation is of all of them. */
  readonly months?: readonly { readonly period: number; readonly rows: number; readonly select: string }[]
}

/** Runs what reads files; it throws where they are not what they were verified as, all the while. */
export type Unchanged = <Value>(fill: () => Promise<Value>) => Promise<Value>

export interface ResidentTables {
  /**
   * @param periods months that are wanted of a relation that is of several
   * @returns the table, or those rows of it, as quoted SQL; null where it is not loaded, or one of them is not
   */
  find(name: string, periods?: readonly number[]): string | null
  /** Loads one relation after another into a schema; ends early when `stop` was called. */
  load(relations: readonly PrintedRelation[], unchanged?: Unchanged): Promise<void>
  /** Marks the begin of a statement that reads tables found; @returns a function that marks its end */
  enter(): () => void
  /** From now on nothing is found; ends when loading has. */
  stop(): Promise<void>
  /** Stops, and drops the tables once no statement reads them. */
  drop(): Promise<void>
  /** Memory of the tables that are loaded. */
  bytes(): number
}

/** Column types of fixed width; a text is taken to have so many bytes. */
const WIDTHS: Readonly<Record<string, number>> = { BOOLEAN: 1, INTEGER: 4, BIGINT: 8 }
const ENUM_BYTES = 2
const TEXT_BYTES = 48
/** DuckDB's tables grow in blocks, one at least for each column and group of rows, and one for which values are null. */
const BLOCK_BYTES = 262_144
const GROUP_ROWS = 122_880
/** Tables below so many rows have smaller blocks; below the second number, none of their own for nulls. */
const SMALL_ROWS = 2048
const SMALL_BYTES = 24_576
const FEW_ROWS = 16_384
/** Rows that tell whether the texts of a column differ from row to row. */
const SAMPLE_ROWS = 10_000

/** @param widths bytes of each column @returns what a table takes in memory, rather too much than too little */
export function estimateBytes(rows: number, widths: readonly number[]): number {
  if (rows <= SMALL_ROWS) return widths.length * SMALL_BYTES
  const groups = Math.ceil(rows / GROUP_ROWS)
  const blocks = widths.map(
    (width) => Math.ceil((width * Math.min(rows, GROUP_ROWS)) / BLOCK_BYTES) + (rows > FEW_ROWS ? 1 : 0),
  )
  return groups * BLOCK_BYTES * blocks.reduce((sum, count) => sum + count, 0)
}

const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

export interface ResidentTablesOptions {
  /** What the names of the databases that will hold them begin with. */
  readonly prefix: string
  /** Memory they may take; a table is estimated before it is loaded, and measured afterwards. */
  readonly bytesMax: number
  /** Memory that the tables of all releases may take. */
  readonly totalBytesMax: number
}

interface LoadedTable {
  readonly table: string
  readonly months: ReadonlySet<number>
  readonly bytes: number
}

/** @param loader a connection of its own: loading holds up no statement */
export function createResidentTables(
  loader: DuckDBConnection,
  { prefix, bytesMax, totalBytesMax }: ResidentTablesOptions,
): ResidentTables {
  const tables = new Map<string, LoadedTable>()
  const databases: string[] = []
  let held = 0
  let attached = 0
  let isStopped = false
  let loading: Promise<void> = Promise.resolve()
  let users = 0
  let onIdle: (() => void) | null = null

  const rowsOf = async (text: string) => (await loader.runAndReadAll(text)).getRows()

  const tableBytes = async (): Promise<number> => {
    const [row] = await rowsOf(
      "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag IN ('IN_MEMORY_TABLE', 'ART_INDEX')",
    )
    return Number(row?.[0] ?? 0)
  }

  /** Gives a relation a database of its own, which is there only if `fill` made a table in it. */
  const loadOne = async (
    name: string,
    fill: (database: string) => Promise<LoadedTable | null>,
  ): Promise<void> => {
    attached += 1
    const database = quote(`${prefix}_${attached}`)
    await loader.run(`ATTACH ':memory:' AS ${database} (COMPRESS)`)
    let loaded: LoadedTable | null = null
    try {
      loaded = await fill(database)
    } finally {
      if (loaded === null || isStopped) await loader.run(`DETACH ${database}`)
      else {
        databases.push(database)
        tables.set(name, loaded)
        held += loaded.bytes
      }
    }
  }
  /**
   * A table of whole rows, found by an index. It is wide, so it is loaded and compressed a group of rows at a time, and given up
   * when it outgrows the bound: how well it compresses is not known before.
   */
  const loadKeyed = async (
    database: string,
    { rows, select }: PrintedRelation,
    key: string,
  ): Promise<LoadedTable | null> => {
    const before = await tableBytes()
    const table = `${database}.records`
    const columns = 'SELECT * EXCLUDE (file_row_number)'
    await loader.run(`CREATE TABLE ${table} (${await declareColumns(`${columns} FROM (${select})`)})`)
    const grown = async (): Promise<number> => Math.max(0, (await tableBytes()) - before)
    const isTooLarge = async (): Promise<boolean> => {
      const bytes = await grown()
      return held + bytes > bytesMax || before + bytes > totalBytesMax
    }
    for (let first = 0; first < rows; first += GROUP_ROWS) {
      if (isStopped) return null
      await loader.run(
        `INSERT INTO ${table} ${columns} FROM (${select}) WHERE file_row_number BETWEEN ${first} AND ${first + GROUP_ROWS - 1}`,
      )
      await loader.run(`CHECKPOINT ${database}`)
      if (await isTooLarge()) return null
    }
    await loader.run(`CREATE INDEX record_key ON ${table} (${quote(key)})`)
    return { table, months: new Set(), bytes: await grown() }
  }
  /** Texts that differ from row to row are held as they are: nearly all of a look-up went into decoding the compressed ones. */
  const declareColumns = async (records: string): Promise<string> => {
    const described = await rowsOf(`DESCRIBE ${records}`)
    const counts = described.map(([column]) => `count(DISTINCT ${quote(String(column))}) * 2 > count(*)`)
    const [isOwn = []] = await rowsOf(`SELECT ${counts.join(', ')} FROM (${records} LIMIT ${SAMPLE_ROWS})`)
    return described
      .map(([column, type], index) => {
        const isPlain = type === 'VARCHAR' && isOwn[index] === true
        return `${quote(String(column))} ${type}${isPlain ? ' USING COMPRESSION uncompressed' : ''}`
      })
      .join(', ')
  }
  /** Months go into the table one after another, and compressed, until there is no room. */
  const loadNarrow = async (
    database: string,
    { rows, select, codes, number, months }: PrintedRelation,
  ): Promise<LoadedTable | null> => {
    const described = await rowsOf(`DESCRIBE ${select}`)
    const columns = described.map(([column, type]) => ({ column: String(column), type: String(type) }))
    const widths = columns.map(({ column, type }) =>
      codes.includes(column) ? ENUM_BYTES : column === number ? 4 : (WIDTHS[type] ?? TEXT_BYTES),
    )
    const isTooLarge = (bytes: number, before: number): boolean =>
      held + taken + bytes > bytesMax || before + bytes > totalBytesMax
    let taken = 0
    let isThere = false
    const parts = months ?? [{ period: null, rows, select }]
    if (isTooLarge(estimateBytes(parts[0]?.rows ?? 0, widths), await tableBytes())) return null
    const coded = columns.filter(({ column, type }) => codes.includes(column) && type === 'VARCHAR')
    const members = await readMembers(
      select,
      coded.map(({ column }) => column),
      number,
    )
    const types = new Map<string, string>()
    if (number !== null && members.areNumbers) types.set(number, 'INTEGER')
    for (const { column } of coded) {
      const own = members.codes.get(column) ?? []
      if (own.length === 0) continue
      const type = `${database}.${quote(`code_${column}`)}`
      types.set(column, type)
      await loader.run(`CREATE TYPE ${type} AS ENUM (${own.map(quoteText).join(', ')})`)
    }
    const casts = columns.map(({ column }) => {
      const type = types.get(column)
      return type === undefined ? quote(column) : `CAST(${quote(column)} AS ${type}) AS ${quote(column)}`
    })
    const table = `${database}.relation`
    const loadedMonths = new Set<number>()
    for (const part of parts) {
      const bytes = estimateBytes(part.rows, widths)
      const before = await tableBytes()
      if (isStopped || isTooLarge(bytes, before)) break
      const into = isThere ? `INSERT INTO ${table} BY NAME` : `CREATE TABLE ${table} AS`
      try {
        await loader.run(`${into} SELECT ${casts.join(', ')} FROM (${part.select})`)
        await loader.run(`CHECKPOINT ${database}`)
      } catch (error) {
        // The months before it are found nevertheless.
        if (!isThere) throw error
        break
      }
      isThere = true
      // Measured, not estimated, unless tables of another release were dropped meanwhile.
      const grown = (await tableBytes()) - before
      taken += grown > 0 ? Math.min(grown, bytes) : 0
      if (part.period !== null) loadedMonths.add(part.period)
    }
    return isThere ? { table, months: loadedMonths, bytes: taken } : null
  }
  /** The distinct codes of each column, and whether every number has seven digits: only then are equal numbers equal texts. */
  const readMembers = async (
    select: string,
    codes: readonly string[],
    number: string | null,
  ): Promise<{ readonly codes: ReadonlyMap<string, readonly string[]>; readonly areNumbers: boolean }> => {
    if (codes.length === 0 && number === null) return { codes: new Map(), areNumbers: false }
    const wanted = [
      ...codes.map((column) => `list_sort(list(DISTINCT ${quote(column)}))`),
      number === null ? 'false' : `bool_and(regexp_full_match(${quote(number)}, '[0-9]{7}'))`,
    ]
    const [row = []] = await rowsOf(`SELECT ${wanted.join(', ')} FROM (${select})`)
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
      // Of a long list DuckDB makes a join.
      const isSpan = between.length === new Set(periods).size
      return `(SELECT * FROM ${table} WHERE reference_period ${isSpan ? `BETWEEN ${first} AND ${last}` : `IN (${periods.join(', ')})`})`
    },
    enter() {
      users += 1
      return () => {
        users -= 1
        if (users === 0) onIdle?.()
      }
    },
    load(relations, unchanged = (fill) => fill()) {
      loading = loading.then(async () => {
        for (const relation of relations) {
          if (isStopped) return
          // Those that there was no room for are tried again.
          if (tables.has(relation.name)) continue
          try {
            await loadOne(relation.name, (database) =>
              unchanged(() =>
                relation.key === undefined
                  ? loadNarrow(database, relation)
                  : loadKeyed(database, relation, relation.key),
              ),
            )
          } catch {
            // Memory is short or a file is broken: the statement that reads the file says so.
          }
        }
      })
      return loading
    },
    stop,
    async drop() {
      await stop()
      if (users > 0)
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
      for (const database of databases.splice(0)) await loader.run(`DETACH ${database}`)
      held = 0
    },
    bytes: () => held,
  }
}
