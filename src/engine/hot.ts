/**
 * Relations of the release in service, held in memory as narrow tables. In: relations as statements, a bound in bytes. Out:
 * where each stands, once it is loaded; statements printed before run on the Parquet files.
 *
 * Codes become ENUMs of the codes there are and facilities numbers, so that a grouped sum reads a byte or two a row. What
 * does not fit the bound is left out; a relation that cannot be loaded is left out too, for answers do not need it.
 */
import type { DuckDBConnection } from '@duckdb/node-api'

export interface HotRelation {
  readonly name: string
  readonly rows: number
  /** The relation as a SELECT over the views of its schema. */
  readonly select: string
  readonly codes: readonly string[]
  readonly number: string | null
}

export interface HotTables {
  /** @returns the table, as quoted SQL, or null where it is not loaded */
  find(name: string): string | null
  /** Loads one relation after another into a schema; ends early when `stop` was called. */
  load(relations: readonly HotRelation[]): Promise<void>
  /** A statement that found tables begins; @returns what ends it */
  enter(): () => void
  /** From now on nothing is found; ends when loading has. */
  stop(): Promise<void>
  /** Stops, and drops the tables once no statement reads them. @param before is told how their names begin */
  drop(before: (names: string) => void): Promise<void>
  /** Estimate of what is held. */
  bytes(): number
}

/** Column types of fixed width; a text is taken to have so many bytes. */
const WIDTHS: Readonly<Record<string, number>> = { BOOLEAN: 1, INTEGER: 4, BIGINT: 8 }
const ENUM_BYTES = 2
const TEXT_BYTES = 48
/** A table has at least one block for each column. */
const COLUMN_BYTES_MIN = 16_384

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

export interface HotOptions {
  readonly schema: string
  /** How the tables' names begin. */
  readonly prefix: string
  /** What is held at most, as estimated before it is loaded. */
  readonly bytesMax: number
}

/** @param loader a connection of its own: loading holds up no statement */
export function createHotTables(
  loader: DuckDBConnection,
  { schema, prefix, bytesMax }: HotOptions,
): HotTables {
  const named = (rest: string): string => `${quote(schema)}.${quote(`${prefix}${rest}`)}`
  const tables = new Map<string, string>()
  const types: string[] = []
  let held = 0
  let loaded = 0
  let isStopped = false
  let loading: Promise<void> = Promise.resolve()
  let users = 0
  let onIdle: (() => void) | null = null

  const rowsOf = async (text: string) => (await loader.runAndReadAll(text)).getRows()

  const loadOne = async ({ name, rows, select, codes, number }: HotRelation): Promise<void> => {
    const described = await rowsOf(`DESCRIBE ${select}`)
    const columns = described.map(([column, type]) => ({ column: String(column), type: String(type) }))
    const estimate = columns.reduce((sum, { column, type }) => {
      const width = codes.includes(column) ? ENUM_BYTES : column === number ? 4 : (WIDTHS[type] ?? TEXT_BYTES)
      return sum + Math.max(COLUMN_BYTES_MIN, width * rows)
    }, 0)
    if (held + estimate > bytesMax) return
    held += estimate
    loaded += 1
    const table = named(String(loaded))
    const casts: string[] = []
    for (const { column, type } of columns) {
      const source = quote(column)
      if (column === number && type === 'VARCHAR' && (await isNumber(select, source)))
        casts.push(`CAST(${source} AS INTEGER) AS ${source}`)
      else if (codes.includes(column) && type === 'VARCHAR') {
        const [[count] = [0n]] = await rowsOf(`SELECT count(DISTINCT ${source}) FROM (${select})`)
        if (Number(count) === 0) {
          casts.push(source)
          continue
        }
        const codeType = named(`${loaded}_${column}`)
        types.push(codeType)
        await loader.run(
          `CREATE TYPE ${codeType} AS ENUM (SELECT DISTINCT ${source} FROM (${select}) WHERE ${source} IS NOT NULL ORDER BY 1)`,
        )
        casts.push(`CAST(${source} AS ${codeType}) AS ${source}`)
      } else casts.push(source)
    }
    await loader.run(`CREATE TABLE ${table} AS SELECT ${casts.join(', ')} FROM (${select})`)
    if (!isStopped) tables.set(name, table)
  }
  /** Seven digits each: then numbers are equal where codes are. */
  const isNumber = async (select: string, source: string): Promise<boolean> => {
    const [[others] = [1n]] = await rowsOf(
      `SELECT count(*) FROM (${select}) WHERE NOT regexp_full_match(${source}, '[0-9]{7}')`,
    )
    return Number(others) === 0
  }
  const stop = (): Promise<void> => {
    isStopped = true
    tables.clear()
    return loading
  }
  return {
    find: (name) => tables.get(name) ?? null,
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
          try {
            await loadOne(relation)
          } catch {
            // Memory is short or a file is broken: the statement that reads the file says so.
          }
        }
      })
      return loading
    },
    stop,
    async drop(before) {
      await stop()
      if (users > 0)
        await new Promise<void>((resolve) => {
          onIdle = resolve
        })
      before(`${quote(schema)}."${prefix}`)
      for (let index = 1; index <= loaded; index += 1)
        await loader.run(`DROP TABLE IF EXISTS ${named(String(index))}`)
      for (const type of types) await loader.run(`DROP TYPE IF EXISTS ${type}`)
      held = 0
    },
    bytes: () => held,
  }
}
