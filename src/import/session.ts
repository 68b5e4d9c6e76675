/**
 * Opens the DuckDB instance of one import, which stages tables and writes Parquet. Its files lie in the staging folder. The
 * importer does not use the server's engine: it needs access to the file system, and the server's engine has none.
 */
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBResultReader,
  type DuckDBValue,
} from '@duckdb/node-api'
import { usableMemory } from '../machine.ts'
import { LimitReached } from './import-error.ts'

export interface Session {
  readonly connection: DuckDBConnection
  /** Appends rows to a table. The appender is closed even if `fill` throws. @throws the error of `fill` */
  append(table: string, fill: (appender: DuckDBAppender) => void): Promise<void>
  /** Folder for extracted and spilled files. No release includes it. */
  readonly scratch: string
  run(sql: string): Promise<void>
  rows(sql: string): Promise<Record<string, DuckDBValue>[]>
  /** Returns the first column of the first row as a number. */
  number(sql: string): Promise<number>
  version(): Promise<string>
  /**
   * Runs tasks in parallel lanes, started in order. Each lane has its own connection to the same tables. All tasks have ended
   * when the promise settles. @throws the error of the first task that failed
   */
  all<Result>(tasks: readonly ((session: Session) => Promise<Result>)[]): Promise<Result[]>
  close(): void
}

export interface SessionOptions {
  readonly scratch: string
  /** Cores to use, at least 1. Default: all. */
  readonly threads?: number | undefined
  /** Memory limit of DuckDB in MB. Default: half of the usable memory, at most 1,800. */
  readonly memoryMb?: number
  /** Total bytes of the imported files. Small imports get less memory and disk. */
  readonly inputBytes?: number
}

/** Maximum number of parallel statements. It leaves one of Node's four pool threads free for file access. */
const MAX_LANES = 3

/**
 * Memory and disk limits grow with the size of the files. A national month (700 MB) gets the most and spills 0.2 GB. Without
 * these limits, a small file that unpacks to very many rows would fill 1.8 GB of memory and the whole disk.
 */
const [FIRST_MEMORY_MB, MEMORY_PER_BYTE] = [200, 20]
const [FIRST_SPILL_MB, SPILL_PER_BYTE] = [512, 20]
const MAX_SPILL_MB = 64 * 1024

/** Rows per row group: small enough for cheap reads by key, large enough to compress well. */
export const ROW_GROUP_ROWS = 30_720

/**
 * Opens an in-memory DuckDB with limited memory that spills to the scratch folder. Cores are used by parallel statements, one
 * thread each, because parsing CSV and writing Parquet on two threads takes a fifth to two thirds more CPU than on one. Cores
 * beyond the lanes help any running statement.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  await mkdir(options.scratch, { recursive: true })
  const cores = options.threads ?? availableParallelism()
  const lanes = Math.min(cores, MAX_LANES)
  // With these limits a national month takes about 2.5 GB in total and spills 0.2 GB to disk. Below 900 MB it fails.
  const inputMb = (options.inputBytes ?? Number.POSITIVE_INFINITY) / 2 ** 20
  const {
    memoryMb = Math.floor(
      Math.min(1800, usableMemory() / 2 / 2 ** 20, FIRST_MEMORY_MB + inputMb * MEMORY_PER_BYTE),
    ),
  } = options
  const spillMb = Math.floor(Math.min(FIRST_SPILL_MB + inputMb * SPILL_PER_BYTE, MAX_SPILL_MB))
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${memoryMb}MB`,
    // DuckDB counts all calling threads as one.
    threads: String(cores - lanes + 1),
    temp_directory: join(options.scratch, 'spill'),
    max_temp_directory_size: `${spillMb}MB`,
    // Reuse memory between statements. Freeing and allocating the same pages took a quarter of the system time of an import.
    block_allocator_memory: `${Math.floor(memoryMb * 0.9)}MB`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  })
  const connect = async (): Promise<Session> => {
    const connection = await instance.connect()
    const read = async (sql: string): Promise<DuckDBResultReader> => {
      try {
        return await connection.runAndReadAll(sql)
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith('Out of Memory Error'))) throw error
        throw new LimitReached(
          'memory',
          `this takes more than the ${memoryMb} MB of memory and ${spillMb} MB of disk that DuckDB may use here for files of this size`,
          'Do it on a machine, or in a container, with more memory: a national month needs 2 GB',
        )
      }
    }
    return {
      connection,
      scratch: options.scratch,
      async append(table, fill) {
        const appender = await connection.createAppender(table)
        try {
          fill(appender)
        } catch (error) {
          try {
            appender.closeSync()
          } catch {
            // An incomplete row cannot be flushed. The first error says why it is incomplete.
          }
          throw error
        }
        appender.closeSync()
      },
      async run(sql) {
        await read(sql)
      },
      rows: async (sql) => (await read(sql)).getRowObjects(),
      async number(sql) {
        const [row] = (await read(sql)).getRows()
        return Number(row?.[0] ?? 0)
      },
      async version() {
        return String((await read('SELECT version()')).getRows()[0]?.[0])
      },
      all: (tasks) => runInLanes(tasks, lanes, connect),
      close: () => connection.closeSync(),
    }
  }
  const session = await connect()
  return {
    ...session,
    close() {
      session.close()
      instance.closeSync()
    },
  }
}

async function runInLanes<Result>(
  tasks: readonly ((session: Session) => Promise<Result>)[],
  lanes: number,
  connect: () => Promise<Session>,
): Promise<Result[]> {
  const results: Result[] = []
  const failures: unknown[] = []
  const pending = [...tasks.entries()]
  const runLane = async (): Promise<void> => {
    let session: Session | undefined
    try {
      session = await connect()
      for (let next = pending.shift(); next !== undefined; next = pending.shift())
        results[next[0]] = await next[1](session)
    } catch (error) {
      failures.push(error)
      // Do not start the remaining tasks.
      pending.length = 0
    } finally {
      session?.close()
    }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, tasks.length) }, runLane))
  if (failures.length > 0) throw failures[0]
  return results
}

export { quoteName, quoteText } from '../sql.ts'
