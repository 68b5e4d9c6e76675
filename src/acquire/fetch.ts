/**
 * Fetches published files into the folder of snapshots: reads listings, plans, and transfers what is not here, over at most two
 * connections to each publisher. A failure of one file does not stop the others; a full disk stops all.
 * Out: a report with every file, gaps, warnings, and the paths to import.
 */
import { existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { isFullDisk } from '../files.ts'
import type { Settings } from '../settings.ts'
import { fetchDocument } from './documents.ts'
import { findOpenGaps, findUnlisted, type ListedPlan, readListings } from './listed.ts'
import type { Gap, ListedFile, Scope } from './plan.ts'
import { hasEqualChecksums } from './probe.ts'
import { CONNECTIONS_MAX, PUBLISHER, publicAddress } from './publishers.ts'
import { isFolder, openRemote } from './remotes/index.ts'
import { retireOthers } from './retire.ts'
import { describeError, withRetries } from './retry.ts'
import { takeRunLock } from './run-lock.ts'
import { BY_HAND_FOLDER, openSnapshots, type Snapshots } from './snapshots.ts'
import { SOURCES } from './sources.ts'
import { sizeOf, transferFile } from './transfer.ts'
import {
  type Document,
  type DocumentSource,
  type FetchArea,
  FetchError,
  type ListedSource,
  NotConnected,
  PUBLISHERS,
  type PublisherCode,
  type Remote,
} from './types.ts'

export interface FetchOptions extends Scope {
  readonly settings: Settings
  readonly into: string
  readonly areas: readonly FetchArea[]
  readonly isDry: boolean
  readonly signal: AbortSignal
  /** Current month, YYYYMM. */
  readonly now: number
  readonly onStep?: (step: string, totalBytes?: number) => void
  readonly onBytes?: (bytes: number) => void
}

export type FileStatus = 'present' | 'planned' | 'fetched' | 'replaced' | 'unchanged' | 'failed'

export interface FileReport {
  readonly source: string
  /** Path below the folder of snapshots. */
  readonly path: string
  readonly bytes: number | null
  readonly status: FileStatus
  /** Month (YYYYMM) or year (YYYY) of a file by state. */
  readonly period?: number
  /** Why it failed, or that a present file is no longer listed. */
  readonly reason?: string
}

export interface FetchReport {
  readonly files: readonly FileReport[]
  readonly missing: readonly Gap[]
  /** Listings and documents that could not be read, each a sentence. */
  readonly failures: readonly string[]
  readonly warnings: readonly string[]
  readonly by_hand: readonly { readonly source: string; readonly what: string; readonly how: string }[]
  /** Newest month (YYYYMM) or year (YYYY) by area, as far as it is made of files by state. */
  readonly newest: Readonly<Record<string, number>>
  /** Paths of all files of the scope that are here. */
  readonly paths: readonly string[]
  readonly bytes: number
}

/** Free space that a fetch leaves on the disk. */
const SPARE_BYTES = 64 * 2 ** 20

/** @throws FetchError if another fetch runs, or the disk is too small or full; the abort reason if the signal is aborted */
export async function fetchSources(options: FetchOptions): Promise<FetchReport> {
  const release = options.isDry
    ? () => undefined
    : takeRunLock(join(options.into, '.fetch.lock'), 'another fetch into this folder')
  const run = new FetchRun(options)
  const stop = (): void => run.close()
  options.signal.addEventListener('abort', stop, { once: true })
  try {
    return await run.run()
  } catch (error) {
    if (isFullDisk(error))
      throw new FetchError(
        `the disk of ${options.into} is full; free some space and run the command again: it continues`,
        true,
      )
    throw error
  } finally {
    options.signal.removeEventListener('abort', stop)
    run.close()
    release()
  }
}

interface Task {
  readonly publisher: PublisherCode
  readonly bytes: number
  run(remote: Remote, mayHandOver: () => boolean, unreachable: Unreachable): Promise<void>
}

/** Remembers that a publisher was not reached in all attempts at a file, so that others are not tried as long. */
class Unreachable {
  #error: NotConnected | null = null

  check(): void {
    if (this.#error !== null) throw this.#error
  }

  note(error: unknown): void {
    if (error instanceof NotConnected) this.#error = error
  }
}

class FetchRun {
  readonly #options: FetchOptions
  readonly #snapshots: Snapshots = openSnapshots()
  /** Connections by publisher and number, so that listings and transfers share them. */
  readonly #remotes = new Map<string, Remote>()
  readonly #files = new Map<string, FileReport>()
  readonly #failures: string[] = []
  readonly #warnings: string[] = []
  readonly #tasks: Task[] = []
  #bytes = 0

  constructor(options: FetchOptions) {
    this.#options = options
  }

  async run(): Promise<FetchReport> {
    const { areas, isDry, into, onStep } = this.#options
    const sources = SOURCES.filter((source) => source.areas.some((area) => areas.includes(area)))
    const listed = await this.#readListings(sources.filter((source) => source.kind === 'listed'))
    this.#warnings.push(...listed.notes)
    for (const { files } of listed.chosen.values()) for (const file of files) await this.#planFile(file)
    await this.#planDocuments(sources.filter((source) => source.kind === 'document'))
    if (!isDry) {
      const total = this.#tasks.reduce((sum, { bytes }) => sum + bytes, 0)
      this.#refuseSmallDisk(total)
      onStep?.('fetch', total)
      try {
        await Promise.all(PUBLISHERS.map((publisher) => this.#runTasks(publisher)))
      } finally {
        this.#snapshots.flush()
      }
    }
    this.#warnings.push(...(await retireOthers(listed.chosen, this.#snapshots, this.#options)))
    this.#snapshots.flush()
    const unlisted = findUnlisted(listed.chosen, this.#options)
    this.#addUnlisted(unlisted)
    const byHand = join(into, BY_HAND_FOLDER)
    const here = [...this.#files.values()].filter(({ path }) => existsSync(join(into, path)))
    return {
      files: [...this.#files.values()],
      missing: findOpenGaps(unlisted, listed.missing),
      failures: this.#failures,
      warnings: this.#warnings,
      by_hand: sources.flatMap((source) =>
        source.kind === 'by hand' ? [{ source: source.code, what: source.what, how: source.how }] : [],
      ),
      newest: listed.newest,
      paths: [
        ...here.filter(({ status }) => status !== 'failed' || !isDry).map(({ path }) => join(into, path)),
        ...(existsSync(byHand) ? [byHand] : []),
      ],
      bytes: this.#bytes,
    }
  }

  close(): void {
    for (const remote of this.#remotes.values()) remote.close()
  }

  #open(publisher: PublisherCode, number: number): Remote {
    const key = `${publisher} ${number}`
    const remote = this.#remotes.get(key) ?? openRemote(publisher, this.#options.settings)
    this.#remotes.set(key, remote)
    return remote
  }

  get #patience() {
    const { fetchIdleMs, fetchAttempts, fetchPauseMs } = this.#options.settings
    return { idleMs: fetchIdleMs, attempts: fetchAttempts, pauseMs: fetchPauseMs }
  }

  async #readListings(sources: readonly ListedSource[]): Promise<ListedPlan> {
    const plan = await readListings(sources, {
      ...this.#options,
      patience: this.#patience,
      open: (publisher) => this.#open(publisher, 0),
    })
    this.#failures.push(...plan.failures)
    return plan
  }

  async #planFile(file: ListedFile): Promise<void> {
    const { into, settings, signal } = this.#options
    const { source, folder, name } = file
    const { publisher } = source
    const address = `${folder}/${name}`
    const local = join(into, publisher, ...address.split('/'))
    const path = join(publisher, ...address.split('/').filter((part) => part !== ''))
    const report = (status: FileStatus, bytes: number | null, reason?: string): void => {
      this.#files.set(path, {
        source: source.code,
        path,
        bytes,
        status,
        ...(source.completeness !== 'newest' ? { period: file.period } : {}),
        ...(reason === undefined ? {} : { reason }),
      })
    }
    const [least, most] = source.bytes
    if (file.bytes !== null && (file.bytes < least || file.bytes > most))
      this.#warnings.push(
        `${name}: ${file.bytes} bytes are unusual; files of this kind have ${least} to ${most}`,
      )
    if (file.bytes !== null && (await this.#snapshots.current(local, file.bytes, file.time)) !== null) {
      report('present', file.bytes)
      return
    }
    report('planned', file.bytes)
    this.#tasks.push({
      publisher,
      bytes: file.bytes ?? 0,
      run: async (remote, mayHandOver, unreachable) => {
        try {
          unreachable.check()
          let listed = { bytes: file.bytes, time: file.time }
          if (file.bytes === null) {
            const state = await withRetries(
              this.#patience,
              signal,
              () => remote.stateOf(address),
              mayHandOver,
            )
            listed = state ?? listed
            if (state !== null && (await this.#snapshots.current(local, state.bytes, state.time)) !== null) {
              report('present', state.bytes)
              return
            }
          }
          if (listed.time !== null && (await this.#hasOnlyNewTime(remote, address, local, listed.bytes))) {
            this.#snapshots.confirm(local, listed.time)
            report('unchanged', listed.bytes)
            return
          }
          const stored = await transferFile(
            remote,
            this.#snapshots,
            {
              address,
              local,
              url: `${publicAddress(PUBLISHER[publisher].addressOf(settings))}${address}`,
              publisher: PUBLISHER[publisher].name,
              listed,
              listAgain: async () => (await remote.list(folder)).find((other) => other.name === name) ?? null,
            },
            { patience: this.#patience, signal, onBytes: this.#count, mayHandOver },
          )
          report(stored, this.#snapshots.recordOf(local)?.bytes ?? null)
        } catch (error) {
          if (error instanceof NotConnected && mayHandOver()) throw error
          if (signal.aborted || isFullDisk(error)) throw error
          unreachable.note(error)
          report('failed', file.bytes, describeError(error))
        }
      },
    })
  }

  /** Adds files that are here and no longer listed, so that an import goes on reading them. */
  #addUnlisted(unlisted: readonly ListedFile[]): void {
    const { into } = this.#options
    for (const { source, folder, name, period } of unlisted) {
      const path = join(source.publisher, ...folder.split('/'), name)
      const bytes = sizeOf(join(into, path))
      const reason = 'is no longer listed; the file that is here is kept and used'
      this.#files.set(path, { source: source.code, path, bytes, status: 'present', period, reason })
    }
  }

  /** True if the file here has the published size and the published checksums. After an error only a transfer can tell. */
  async #hasOnlyNewTime(
    remote: Remote,
    address: string,
    local: string,
    bytes: number | null,
  ): Promise<boolean> {
    const record = this.#snapshots.recordOf(local)
    if (bytes === null || record?.bytes !== bytes || sizeOf(local) !== bytes) return false
    return hasEqualChecksums(remote, address, local).catch(() => false)
  }

  readonly #count = (bytes: number): void => {
    this.#bytes += bytes
    this.#options.onBytes?.(this.#bytes)
  }

  async #planDocuments(sources: readonly DocumentSource[]): Promise<void> {
    const { settings, into, signal, isDry } = this.#options
    for (const source of sources) {
      const choices = new Map<string, Document[]>()
      for (const document of source.documents(this.#options)) {
        const key = document.anyOf ?? document.path
        choices.set(key, [...(choices.get(key) ?? []), document])
      }
      for (const [what, documents] of choices)
        this.#tasks.push({
          publisher: source.publisher,
          bytes: 0,
          run: async (remote, mayHandOver, unreachable) => {
            const report = (
              path: string,
              status: FileStatus,
              bytes: number | null,
              reason?: string,
            ): void => {
              const file = { source: source.code, path, bytes, status }
              this.#files.set(path, reason === undefined ? file : { ...file, reason })
            }
            try {
              unreachable.check()
              await fetchDocument(documents, {
                source,
                remote,
                snapshots: this.#snapshots,
                into,
                settings,
                isFolder: isFolder(source.publisher, settings),
                transfer: { patience: this.#patience, signal, onBytes: this.#count, mayHandOver },
                report,
              })
            } catch (error) {
              if (error instanceof NotConnected && mayHandOver()) throw error
              if (signal.aborted || isFullDisk(error)) throw error
              unreachable.note(error)
              const path = join(source.publisher, documents[0]?.path ?? what)
              report(path, 'failed', null, describeError(error))
            }
          },
        })
      if (isDry)
        for (const document of source.documents(this.#options)) {
          const path = join(source.publisher, document.path)
          if (document.anyOf === undefined)
            this.#files.set(path, { source: source.code, path, bytes: null, status: 'planned' })
        }
    }
  }

  #refuseSmallDisk(bytes: number): void {
    const { into } = this.#options
    let free: number
    try {
      const { bavail, bsize } = statfsSync(into)
      free = Number(bavail) * Number(bsize)
    } catch {
      return
    }
    if (bytes > 0 && bytes + SPARE_BYTES > free)
      throw new FetchError(
        `${into} has ${Math.floor(free / 1e6)} MB free, and ${Math.ceil(bytes / 1e6)} MB are to be fetched; free some space, or choose fewer states or months`,
        true,
      )
  }

  async #runTasks(publisher: PublisherCode): Promise<void> {
    const queue = this.#tasks.filter((task) => task.publisher === publisher)
    const unreachable = new Unreachable()
    let active = Math.min(CONNECTIONS_MAX, queue.length)
    const work = async (_: unknown, number: number): Promise<void> => {
      const remote = this.#open(publisher, number)
      for (let task = queue.shift(); task !== undefined; task = queue.shift())
        try {
          await task.run(remote, () => active > 1, unreachable)
        } catch (error) {
          // The server may allow one connection only. The other one does this task, too.
          if (!(error instanceof NotConnected) || this.#options.signal.aborted) {
            this.close()
            throw error
          }
          queue.unshift(task)
          active -= 1
          this.#warnings.push(`${publisher}: goes on with one connection, because ${error.message}`)
          return
        }
      active -= 1
      remote.close()
    }
    await Promise.all(Array.from({ length: active }).map(work))
  }
}
