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
  const connection = await instance.connect()
  const rows = async (sql: string): Promise<Record<string, DuckDBValue>[]> =>
    (await connection.runAndReadAll(sql)).getRowObjects()
  return {
    connection,
    scratch: options.scratch,
    async run(sql) {
      await connection.run(sql)
    },
    rows,
    async number(sql) {
      const [row] = (await connection.runAndReadAll(sql)).getRows()
      return Number(row?.[0] ?? 0)
    },
    async version() {
      return String((await connection.runAndReadAll('SELECT version()')).getRows()[0]?.[0])
    },
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
