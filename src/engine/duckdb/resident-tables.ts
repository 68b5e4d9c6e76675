/**
 * Resident tables: relations of a release, loaded into memory as narrow tables. In: relations as statements, a bound in
 * bytes. Out: the name of each table once it is loaded; statements printed before read the Parquet files.
 *
 * Codes become ENUMs and facility codes integers, so that a grouped sum reads a byte or two a row. The tables of a release are
 * a database of its own, which DuckDB compresses in memory: 41 MB instead of 326 MB for a national month, equally fast. A
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

export interface ResidentTables {
  /**
   * @param periods months that are wanted of a relation that is of several
   * @returns the table, or those rows of it, as quoted SQL; null where it is not loaded, or one of them is not
   */
  find(name: string, periods?: readonly number[]): string | null
  /** Loads one relation after another into a schema; ends early when `stop` was called. */
  load(relations: readonly PrintedRelation[]): Promise<void>
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
  /** Name of the database that will hold them. */
  readonly database: string
  /** Memory they may take; a table is estimated before it is loaded, and measured afterwards. */
  readonly bytesMax: number
  /** Memory that the tables of all releases may take. */
  readonly totalBytesMax: number
}

/** @param loader a connection of its own: loading holds up no statement */
export function createResidentTables(
  loader: DuckDBConnection,
  { database, bytesMax, totalBytesMax }: ResidentTablesOptions,
): ResidentTables {
  const named = (name: string): string => `${quote(database)}.${quote(name)}`
  const tables = new Map<string, { readonly table: string; readonly months: ReadonlySet<number> }>()
  const types = new Map<string, string>()
  let held = 0
  let loaded = 0
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

  const nameTable = async (): Promise<string> => {
    if (loaded === 0) await loader.run(`ATTACH ':memory:' AS ${quote(database)} (COMPRESS)`)
    loaded += 1
    return named(`table_${loaded}`)
  }
  /**
   * A table of whole rows, found by an index. It is wide, so it is loaded and compressed a group of rows at a time, and given up
   * when it outgrows the bound: how well it compresses is not known before.
   */
  const loadKeyed = async ({ name, rows, select }: PrintedRelation, key: string): Promise<void> => {
    const before = await tableBytes()
    const table = await nameTable()
    const columns = 'SELECT * EXCLUDE (file_row_number)'
    await loader.run(`CREATE TABLE ${table} (${await declareColumns(`${columns} FROM (${select})`)})`)
    const grown = async (): Promise<number> => Math.max(0, (await tableBytes()) - before)
    const isTooLarge = async (): Promise<boolean> => {
      const bytes = await grown()
      return held + bytes > bytesMax || before + bytes > totalBytesMax
    }
    try {
      for (let first = 0; first < rows; first += GROUP_ROWS) {
        if (isStopped) return
        await loader.run(
          `INSERT INTO ${table} ${columns} FROM (${select}) WHERE file_row_number BETWEEN ${first} AND ${first + GROUP_ROWS - 1}`,
        )
        await loader.run(`CHECKPOINT ${quote(database)}`)
        if (await isTooLarge()) return
      }
      await loader.run(`CREATE INDEX index_${loaded} ON ${table} (${quote(key)})`)
      held += await grown()
      if (!isStopped) tables.set(name, { table, months: new Set() })
    } finally {
      // What is not whole takes no memory.
      if (!tables.has(name)) await loader.run(`DROP TABLE ${table}`)
    }
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
  const loadOne = async ({ name, rows, select, codes, number, months }: PrintedRelation): Promise<void> => {
    const described = await rowsOf(`DESCRIBE ${select}`)
    const columns = described.map(([column, type]) => ({ column: String(column), type: String(type) }))
    const widths = columns.map(({ column, type }) =>
      codes.includes(column) ? ENUM_BYTES : column === number ? 4 : (WIDTHS[type] ?? TEXT_BYTES),
    )
    const isTooLarge = (bytes: number, before: number): boolean =>
      held + bytes > bytesMax || before + bytes > totalBytesMax
    const parts = months ?? [{ period: null, rows, select }]
    if (isTooLarge(estimateBytes(parts[0]?.rows ?? 0, widths), await tableBytes())) return
    const table = await nameTable()
    const coded = columns.filter(({ column, type }) => codes.includes(column) && type === 'VARCHAR')
    const members = await readMembers(
      select,
      coded.map(({ column }) => column),
      number,
    )
    for (const { column } of coded) {
      const own = members.codes.get(column) ?? []
      if (own.length === 0) continue
      const type = named(`code_${loaded}_${column}`)
      types.set(`${loaded} ${column}`, type)
      await loader.run(`CREATE TYPE ${type} AS ENUM (${own.map(quoteText).join(', ')})`)
    }
    const casts = columns.map(({ column }) => {
      const type = column === number && members.areNumbers ? 'INTEGER' : types.get(`${loaded} ${column}`)
      return type === undefined ? quote(column) : `CAST(${quote(column)} AS ${type}) AS ${quote(column)}`
    })
    const loadedMonths = new Set<number>()
    for (const part of parts) {
      const bytes = estimateBytes(part.rows, widths)
      const before = await tableBytes()
      if (isStopped || isTooLarge(bytes, before)) return
      const into = part === parts[0] ? `CREATE TABLE ${table} AS` : `INSERT INTO ${table} BY NAME`
      await loader.run(`${into} SELECT ${casts.join(', ')} FROM (${part.select})`)
      // It compresses what is new; statements go on reading meanwhile.
      await loader.run(`CHECKPOINT ${quote(database)}`)
      // Measured, not estimated, unless tables of another release were dropped meanwhile.
      const grown = (await tableBytes()) - before
      held += grown > 0 ? Math.min(grown, bytes) : 0
      if (part.period !== null) loadedMonths.add(part.period)
      if (!isStopped) tables.set(name, { table, months: loadedMonths })
    }
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
      // Of a long list DuckDB makes a join. Months that are loaded meanwhile are older than all that are there.
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
    load(relations) {
      loading = loading.then(async () => {
        for (const relation of relations) {
          if (isStopped) return
          // Those that there was no room for are tried again.
          if (tables.has(relation.name)) continue
          try {
            await (relation.key === undefined ? loadOne(relation) : loadKeyed(relation, relation.key))
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
      if (loaded > 0) await loader.run(`DETACH ${quote(database)}`)
      loaded = 0
      held = 0
    },
    bytes: () => held,
  }
}
