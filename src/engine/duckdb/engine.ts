/**
 * Runs statements in DuckDB in-process: a bounded pool of connections over the views of open releases.
 *
 * Input: statements as values and verified releases. Output: JSON rows. DuckDB has no statement time-out, so a timer interrupts
 * each run when its time is over or its client disconnects. The instance can read only the releases folder: no other file, no
 * network, no extension. Its configuration is locked before the first request.
 */
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type DuckDBConnection, DuckDBInstance, type DuckDBResult } from '@duckdb/node-api'
import { AppError, clientLeft } from '../../errors.ts'
import { type FileGuard, readUnchanged } from '../../release/guard.ts'
import type { ReleaseView } from '../../release/view.ts'
import { nextSlice } from '../../slices.ts'
import { print, type Sql } from '../../sql.ts'
import { createTurns, type Turn } from '../../turns.ts'
import type { Engine, ResidentRelation, Row, RunOptions } from '../types.ts'
import { bindAll, bindType, bindValue } from './bind.ts'
import { decodeChunk } from './decode.ts'
import { dropGathered, type Gathered, gatheredTable, loadGathered } from './gathered-rows.ts'
import { createResidentTables, type ResidentTables } from './resident-tables.ts'
import { addFilesRead, createViewStatements, viewName } from './views.ts'

export interface EngineOptions {
  readonly releasesDir: string
  /** DuckDB's memory_limit, for example '1GB'. */
  readonly memory: string
  readonly threads: number
  readonly timeoutMs: number
  /** Largest number of concurrent statements. Up to `queue` more wait; beyond that, requests fail with 'overloaded'. */
  readonly concurrency: number
  readonly queue: number
  /** Detects files that changed since verification, so that no response uses them. */
  readonly guard?: FileGuard
  /**
   * Memory limit in bytes for resident relations, and the relations of a release, most useful first. Without it, nothing is
   * resident.
   */
  readonly resident?: {
    readonly bytes: number
    readonly relations: (release: ReleaseView) => readonly ResidentRelation[]
  }
}

interface OpenRelease {
  readonly schema: Promise<string>
  /** Tables in memory; null when there are none. */
  resident: ResidentTables | null
  heavyRuns: number
  users: number
  isLeaving: boolean
}

/** Heavy statements before a release is loaded. Loading takes seconds of a core, so rarely used releases are read from their files. */
const RUNS_BEFORE_LOADING = 10
const CLOSE_POLL_MS = 10

/** Options for a statement whose relations another engine partly computed. */
export interface GatheredOptions extends RunOptions {
  readonly gathered?: Gathered
}

/** An engine that accepts rows gathered by another engine. */
export interface DuckDbEngine extends Engine {
  run(statement: Sql, release: ReleaseView, options?: GatheredOptions): Promise<Row[]>
  runInBatches(statement: Sql, release: ReleaseView, options?: GatheredOptions): AsyncIterable<Row[]>
}

/** Rejects anything but a single SELECT, because COPY could write into the releases folder. */
function rejectNonSelect(text: string): void {
  if (!/^\s*(WITH|SELECT)\b/.test(text) || text.includes(';'))
    throw new TypeError('only a single SELECT is run')
}

/** @returns an engine without open releases @throws when DuckDB cannot start */
export async function createEngine(options: EngineOptions): Promise<DuckDbEngine> {
  const releasesDir = resolve(options.releasesDir)
  const guard = options.guard ?? null
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: options.memory,
    threads: String(options.threads),
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // This cache keeps parts of files, even damaged ones, as long as the modification time in seconds is unchanged.
    enable_external_file_cache: 'false',
    temp_directory: '',
  })
  const setup = await instance.connect()
  await setup.run(`SET allowed_directories = ['${releasesDir.replaceAll("'", "''")}/']`)
  await setup.run('SET enable_external_access = false')
  await setup.run('SET lock_configuration = true')

  const connections: DuckDBConnection[] = []
  for (let index = 0; index < options.concurrency; index += 1) connections.push(await instance.connect())
  const turns = createTurns(connections, { queue: options.queue, retryAfterSeconds: 1 })
  const loader = options.resident === undefined ? null : await instance.connect()
  const schemas = new Map<string, OpenRelease>()
  // Each release gets half of the limit, so that the current release and a pinned one both fit.
  const releaseBytesMax = Math.floor((options.resident?.bytes ?? 0) / 2)
  let schemaCount = 0

  const dropSchema = (schema: string) => setup.run(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  const openSchema = async (release: ReleaseView): Promise<string> => {
    schemaCount += 1
    const schema = `r${schemaCount}`
    // DDL runs sequentially on the setup connection, so schemas never race each other.
    for (const { sql, reads } of createViewStatements(schema, release, releasesDir))
      try {
        await setup.run(sql)
      } catch (error) {
        await dropSchema(schema)
        throw new Error(`${reads}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        })
      }
    return schema
  }
  const findOrOpen = (release: ReleaseView): OpenRelease => {
    let open = schemas.get(release.id)
    if (open === undefined) {
      open = {
        schema: openSchema(release),
        resident: null,
        heavyRuns: 0,
        users: 0,
        isLeaving: false,
      }
      schemas.set(release.id, open)
      open.schema.catch(() => schemas.delete(release.id))
    }
    return open
  }
  /** Drops a schema after its release closed and its last statement ended. */
  const dropUnused = async (open: OpenRelease): Promise<void> => {
    if (!open.isLeaving || open.users > 0) return
    const schema = await open.schema
    // Loading must end before its tables are dropped.
    await unload(open)
    await dropSchema(schema)
  }
  const unload = async (open: OpenRelease): Promise<void> => {
    const { resident } = open
    open.resident = null
    // Further use loads the tables again when there is room.
    open.heavyRuns = 0
    await resident?.drop()
  }
  let residentCount = 0
  let loading: Promise<void> = Promise.resolve()
  /** Loads relations of a release one after another. Relations beyond the memory limit are skipped. */
  const load = async (release: ReleaseView, relations: readonly ResidentRelation[]): Promise<void> => {
    const { resident } = options
    const open = findOrOpen(release)
    const schema = await open.schema
    if (resident === undefined || loader === null || resident.bytes === 0 || open.isLeaving) return
    if (open.resident === null) residentCount += 1
    open.resident ??= createResidentTables(loader, {
      prefix: `resident_${residentCount}`,
      bytesMax: releaseBytesMax,
      totalBytesMax: resident.bytes,
    })
    const tables = open.resident
    const reads = new Set<string>()
    const selectOf = (definition: Sql): string =>
      print(definition, (dataset, period) => {
        addFilesRead(reads, release, releasesDir, dataset, period)
        return viewName(schema, dataset, period)
      }).text
    const printed = relations.map(({ months, ...relation }) => ({
      ...relation,
      select: selectOf(relation.definition),
      ...(months && { months: months.map((month) => ({ ...month, select: selectOf(month.definition) })) }),
    }))
    loading = loading.then(() => tables.load(printed, (fill) => readUnchanged(guard, [...reads], fill, 1)))
    await loading
  }
  /** Loads a release, and unloads others when there is not enough room. @param keep release whose tables stay in memory */
  const warm = async (release: ReleaseView, keep: ReleaseView | null = null): Promise<void> => {
    const others = [...schemas].filter(([id]) => id !== release.id)
    const othersBytes = others.reduce((sum, [, { resident }]) => sum + (resident?.bytes() ?? 0), 0)
    if (othersBytes > releaseBytesMax)
      await Promise.all(others.map(([id, other]) => (id === keep?.id ? undefined : unload(other))))
    await loadResident(release)
  }
  const loadResident = (release: ReleaseView): Promise<void> =>
    load(release, options.resident?.relations(release) ?? [])
  /** Loads the resident relations of a frequently used release in the background. */
  const countRun = (release: ReleaseView, runOptions: RunOptions): void => {
    if (runOptions.weight === undefined) return
    const open = findOrOpen(release)
    open.heavyRuns += 1
    if (open.heavyRuns === RUNS_BEFORE_LOADING) loadResident(release).catch(() => undefined)
  }
  /** Counts a statement as user of its schemas, which are dropped only when no statement waits or runs on them. */
  const withSchemas = async <Value>(
    releases: readonly ReleaseView[],
    use: (names: readonly string[], resident: ResidentTables | null) => Promise<Value>,
  ): Promise<Value> => {
    const openReleases = releases.map(findOrOpen)
    for (const open of openReleases) open.users += 1
    try {
      const names = await Promise.all(openReleases.map(({ schema }) => schema))
      return await use(names, openReleases[0]?.resident ?? null)
    } finally {
      for (const open of openReleases) {
        open.users -= 1
        await dropUnused(open)
      }
    }
  }

  /** Drops gathered rows and returns the connection to the pool. */
  const endTurn = async (
    { place, end }: Turn<DuckDBConnection>,
    gathered: Gathered | undefined,
  ): Promise<void> => {
    try {
      if (gathered !== undefined) await dropGathered(place, gathered)
    } finally {
      end()
    }
  }
  /**
   * Runs one statement and interrupts it when its time is over or its client disconnects.
   * @param isExclusive no other heavy statement may run at the same time
   * @returns the result, which DuckDB holds, and the turn, which the caller must end
   */
  const runOnce = async (
    statement: Sql,
    view: ReleaseView,
    { signal, other, owner = '', weight = 'light', gathered }: GatheredOptions,
    isExclusive: boolean,
  ): Promise<{ readonly result: DuckDBResult; readonly turn: Turn<DuckDBConnection> }> =>
    withSchemas(
      other === undefined ? [view] : [view, other],
      async ([schema = '', otherSchema], resident) => {
        const reads = new Set<string>()
        const { text, values } = print(
          statement,
          (dataset, period, isOther) => {
            if (isOther && otherSchema === undefined)
              throw new TypeError('the statement needs another release')
            addFilesRead(reads, (isOther ? other : null) ?? view, releasesDir, dataset, period)
            return viewName(isOther ? (otherSchema ?? '') : schema, dataset, period)
          },
          (name, periods) => resident?.find(name, periods) ?? null,
          (name) => gatheredTable(gathered, name),
        )
        rejectNonSelect(text)
        const endReading = resident?.enter()
        try {
          const turn = await turns.take(owner, weight, { signal, isAlone: isExclusive })
          const connection = turn.place
          let isTimedOut = false
          const interrupt = (): void => connection.interrupt()
          const timer = setTimeout(() => {
            isTimedOut = true
            interrupt()
          }, options.timeoutMs)
          signal?.addEventListener('abort', interrupt, { once: true })
          try {
            if (signal?.aborted === true) throw clientLeft()
            if (gathered !== undefined) await loadGathered(connection, gathered)
            const result = await readUnchanged(guard, [...reads], () => {
              // A read that was interrupted is not repeated.
              if (isTimedOut || signal?.aborted === true) throw clientLeft()
              return connection.run(text, bindAll(values, bindValue), bindAll(values, bindType))
            })
            return { result, turn }
          } catch (error) {
            const failure = isTimedOut
              ? new AppError('query_timeout', { cause: error })
              : signal?.aborted === true
                ? clientLeft(error)
                : toAppError(error)
            // A statement that ran concurrently may fit into memory alone, so the caller retries it.
            const mayFitAlone = failure.code === 'query_too_large' && turn.hadCompany()
            await endTurn(turn, gathered)
            throw mayFitAlone ? new OutOfMemoryConcurrently(failure) : failure
          } finally {
            clearTimeout(timer)
            signal?.removeEventListener('abort', interrupt)
          }
        } finally {
          endReading?.()
        }
      },
    )

  async function* runInBatches(
    statement: Sql,
    view: ReleaseView,
    runOptions: GatheredOptions = {},
  ): AsyncGenerator<Row[], void, void> {
    countRun(view, runOptions)
    const { result, turn } = await runOnce(statement, view, runOptions, false).catch((error: unknown) => {
      if (error instanceof OutOfMemoryConcurrently) return runOnce(statement, view, runOptions, true)
      throw error
    })
    try {
      const names = result.deduplicatedColumnNames()
      for (let isFirst = true; ; isFirst = false) {
        const chunk = await result.fetchChunk().catch((error: unknown) => {
          throw toAppError(error)
        })
        if (chunk === null || chunk.rowCount === 0) return
        if (runOptions.signal?.aborted === true) throw clientLeft()
        if (!isFirst) await nextSlice()
        yield decodeChunk(names, chunk, runOptions, isFirst)
      }
    } finally {
      await endTurn(turn, runOptions.gathered)
    }
  }
  const run = async (statement: Sql, view: ReleaseView, runOptions: GatheredOptions = {}): Promise<Row[]> => {
    const rows: Row[] = []
    for await (const batch of runInBatches(statement, view, runOptions))
      for (const row of batch) rows.push(row)
    return rows
  }

  return {
    run,
    runInBatches,
    open: async (release) => void (await findOrOpen(release).schema),
    warm,
    async release(id) {
      const open = schemas.get(id)
      if (open === undefined) return
      schemas.delete(id)
      open.isLeaving = true
      void open.resident?.stop()
      await dropUnused(open)
    },
    stats: () => ({ running: turns.running(), waiting: turns.waiting(), open: schemas.size }),
    async memoryBytes() {
      const reader = await setup.runAndReadAll('SELECT sum(memory_usage_bytes) FROM duckdb_memory()')
      return Number(reader.getRows()[0]?.[0] ?? 0)
    },
    async close() {
      for (const { schema, resident } of schemas.values())
        await Promise.allSettled([resident?.stop(), schema])
      await loading.catch(() => undefined)
      // If a connection closes under its statement, DuckDB frees it in that statement's thread, which deadlocks.
      for (; turns.running() > 0; await wait(CLOSE_POLL_MS))
        for (const connection of connections) connection.interrupt()
      loader?.closeSync()
      for (const connection of [...connections, setup]) connection.closeSync()
      instance.closeSync()
    },
  }
}

/** A heavy statement ran out of memory while others ran. */
class OutOfMemoryConcurrently extends AppError {
  constructor(cause: AppError) {
    super(cause.code, { cause: cause.cause })
  }
}

/** Maps an out-of-memory error to 'query_too_large'; other statements are not affected. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const isMemory = error instanceof Error && /\bOut of Memory Error\b/.test(error.message)
  return new AppError(isMemory ? 'query_too_large' : 'internal', { cause: error })
}
