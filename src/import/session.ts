/**
 * One DuckDB for one import: staged tables in, Parquet out. Lives in the staging folder and goes with it.
 *
 * Absent on purpose: the server's engine. The importer trusts nothing it reads but needs the file system; the server is
 * locked away from it.
 */
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBResultReader,
  type DuckDBValue,
} from '@duckdb/node-api'
import { usableMemory } from '../machine.ts'
import { LimitReached } from './import-error.ts'

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
   * Pieces of work side by side, as many at once as there are lanes, begun in their order; each on a connection of its
   * own to the same tables. None is running any more when it resolves. @throws what the first of them that failed threw
   */
  all<Result>(work: readonly ((session: Session) => Promise<Result>)[]): Promise<Result[]>
  close(): void
}

export interface SessionOptions {
  readonly scratch: string
  /** Cores to use, 1 or more; all of them where absent. */
  readonly threads?: number | undefined
  /** MB DuckDB may use; half of the machine, at most 1,800, where absent. */
  readonly memoryMb?: number
  /** Bytes of the files that are imported: small ones get less memory and disk, so that none of them takes the machine. */
  readonly inputBytes?: number
}

/** Statements run on Node's pool of four threads, which also reads and writes files: one is left for that. */
const MAX_LANES = 3

/**
 * Memory and disk by the size of the files. A national month (700 MB) has the most, and spills 0.2 GB; small files that unpack to rows
 * upon rows would otherwise fill 1.8 GB of memory and all of the disk.
 */
const [FIRST_MEMORY_MB, MEMORY_PER_BYTE] = [200, 20]
const [FIRST_SPILL_MB, SPILL_PER_BYTE] = [512, 20]
const MAX_SPILL_MB = 64 * 1024

/** Row groups small enough that a record by key reads little, large enough to compress. */
export const ROW_GROUP_ROWS = 30_720

/**
 * An in-memory DuckDB with a bounded memory that spills to the scratch folder.
 *
 * Every statement runs on a thread of its own, and cores are filled by statements side by side: to parse CSV and to write
 * Parquet on two threads takes a fifth to two thirds more CPU than on one. Cores without a lane help
 * whichever statement has work for them.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  await mkdir(options.scratch, { recursive: true })
  const cores = options.threads ?? availableParallelism()
  const lanes = Math.min(cores, MAX_LANES)
  // With this a national month takes some 2.5 GB in all and spills 0.2 GB to disk; under 900 MB it fails.
  const inputMb = (options.inputBytes ?? Number.POSITIVE_INFINITY) / 2 ** 20
  const {
    memoryMb = Math.floor(
      Math.min(1800, usableMemory() / 2 / 2 ** 20, FIRST_MEMORY_MB + inputMb * MEMORY_PER_BYTE),
    ),
  } = options
  const spillMb = Math.floor(Math.min(FIRST_SPILL_MB + inputMb * SPILL_PER_BYTE, MAX_SPILL_MB))
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${memoryMb}MB`,
    // The calling threads count as one, however many statements run at once.
    threads: String(cores - lanes + 1),
    temp_directory: join(options.scratch, 'spill'),
    max_temp_directory_size: `${spillMb}MB`,
    // Memory is reused from one statement to the next: a quarter of the import's system time went into freeing and taking the same pages.
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
      all: (work) => inLanes(work, lanes, connect),
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

async function inLanes<Result>(
  work: readonly ((session: Session) => Promise<Result>)[],
  lanes: number,
  connect: () => Promise<Session>,
): Promise<Result[]> {
  const results: Result[] = []
  const failures: unknown[] = []
  const waiting = [...work.entries()]
  const runLane = async (): Promise<void> => {
    let session: Session | undefined
    try {
      session = await connect()
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        results[next[0]] = await next[1](session)
    } catch (error) {
      failures.push(error)
      // What has not begun never will.
      waiting.length = 0
    } finally {
      session?.close()
    }
  }
  await Promise.all(Array.from({ length: Math.min(lanes, work.length) }, runLane))
  if (failures.length > 0) throw failures[0]
  return results
}

export const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`
