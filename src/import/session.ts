/**
 * One DuckDB for one import: staged tables in, Parquet out. Lives in the staging folder and goes with it.
 *
 * Absent on purpose: the server's engine. The importer trusts nothing it reads but needs the file system; the server is
 * locked away from it.
 */
import { mkdir } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'

export interface Session {
  readonly connection: DuckDBConnection
  /** Folder for extracted and spilled files; not part of any release. */
  readonly scratch: string
  run(sql: string): Promise<void>
  rows(sql: string): Promise<Record<string, DuckDBValue>[]>
  /** First column of the first row as a number. */
  number(sql: string): Promise<number>
  version(): Promise<string>
  /**
   * Two pieces of work side by side, each with a connection of its own to the same tables: a statement seldom keeps every
   * core busy to its end. Both are at rest when it resolves. @throws what the first that failed threw
   */
  both<Left, Right>(
    left: (session: Session) => Promise<Left>,
    right: (session: Session) => Promise<Right>,
  ): Promise<[Left, Right]>
  close(): void
}

export interface SessionOptions {
  readonly scratch: string
  readonly threads?: number | undefined
}

/** Row groups small enough that a record by key reads little, large enough to compress. */
export const ROW_GROUP_ROWS = 30_720

/** @returns an in-memory DuckDB with a bounded memory that spills to the scratch folder */
export async function openSession(options: SessionOptions): Promise<Session> {
  await mkdir(options.scratch, { recursive: true })
  // Half of the machine, at most 1.6 GB: the import of a national month stays under 3 GB in all.
  const memoryMb = Math.min(1600, Math.floor(totalmem() / 2 / 1024 / 1024))
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${memoryMb}MB`,
    threads: String(options.threads ?? availableParallelism()),
    temp_directory: join(options.scratch, 'spill'),
    // Kept from one statement to the next: a quarter of the import's system time was the same pages given back and taken.
    block_allocator_memory: `${Math.floor(memoryMb * 0.9)}MB`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  const on = (connection: DuckDBConnection, close: () => void): Session => ({
    connection,
    scratch: options.scratch,
    async run(sql) {
      await connection.run(sql)
    },
    rows: async (sql) => (await connection.runAndReadAll(sql)).getRowObjects(),
    async number(sql) {
      const [row] = (await connection.runAndReadAll(sql)).getRows()
      return Number(row?.[0] ?? 0)
    },
    async version() {
      return String((await connection.runAndReadAll('SELECT version()')).getRows()[0]?.[0])
    },
    async both(left, right) {
      const other = on(await instance.connect(), () => undefined)
      try {
        const [one, two] = await Promise.allSettled([left(this), right(other)])
        if (one.status === 'rejected') throw one.reason
        if (two.status === 'rejected') throw two.reason
        return [one.value, two.value]
      } finally {
        other.close()
      }
    },
    close() {
      connection.closeSync()
      close()
    },
  })
  return on(await instance.connect(), () => instance.closeSync())
}

export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
