/**
 * Builds reports in a separate process with its own DuckDB.
 *
 * Input: a request, a release, a format. Output: a finished file in a temporary folder, which the caller sends and removes. One
 * report is built at a time, and keys take turns (turns.ts). A bounded number of jobs waits; beyond that, requests fail with
 * 'overloaded'. The process starts with the first job. It restarts after a crash, so a report that exceeds its memory does not end
 * the server. It is a process and not a thread, because threads block each other when they allocate memory, which is most of the
 * work for a workbook.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TrinoSettings } from '../engine/types.ts'
import { AppError, type AppErrorOptions, clientLeft, type ErrorCode } from '../errors.ts'
import type { Capability } from '../model/capabilities.ts'
import { type FileGuard, filesOfView, readUnchanged } from '../release/guard.ts'
import type { ReleaseView } from '../release/view.ts'
import { createTurns } from '../turns.ts'
import { lowerPriority, type WorkerEntry, workerEntry } from '../workers/entry.ts'
import type { BuiltReport } from './build.ts'
import type { ReportFormat } from './formats.ts'
import type { Language } from './table.ts'

export interface WorkerSettings {
  readonly releasesDir: string
  readonly memory: string
  readonly threads: number
  readonly timeoutMs: number
  readonly signingKeyFile: string
  /** Name of the signing key in notes; when absent or null, it is derived from the key. */
  readonly signingName?: string | null
  /** Absent or null: the worker's DuckDB runs everything. */
  readonly trino?: TrinoSettings | null
}

export interface ReportJob {
  /** Id of the API key that requested the report. */
  readonly owner: string
  readonly body: unknown
  readonly format: ReportFormat
  readonly view: ReleaseView
  readonly capabilities: readonly Capability[]
  readonly language: Language
}

export type ToWorker =
  | { readonly kind: 'build'; readonly id: number; readonly file: string; readonly job: ReportJob }
  | { readonly kind: 'cancel'; readonly id: number }
export type FromWorker =
  | { readonly kind: 'built'; readonly id: number; readonly report: BuiltReport }
  | {
      readonly kind: 'failed'
      readonly id: number
      readonly code: ErrorCode
      readonly options: Omit<AppErrorOptions, 'cause'>
      readonly cause: string
    }

export interface ReportPool {
  /** @throws AppError of the query; 'overloaded'; 'release_damaged' when a file of the release changed while the report was built */
  build(job: ReportJob, signal: AbortSignal): Promise<BuiltReport>
  close(): Promise<void>
}

export interface PoolOptions {
  readonly worker: WorkerSettings
  /** Detects files that changed since verification; without it, reports are not checked for this. */
  readonly guard?: FileGuard
  /** The worker's module, by default the one of this repository. */
  readonly entry?: WorkerEntry
  readonly queue: number
  /** Limit of the worker's JavaScript heap in megabytes. */
  readonly heapMb: number
}

interface Pending extends Omit<Extract<ToWorker, { kind: 'build' }>, 'kind'> {
  readonly resolve: (report: BuiltReport) => void
  readonly reject: (error: Error) => void
}

export function createReportPool(options: PoolOptions): ReportPool {
  const folder = mkdtempSync(join(tmpdir(), 'sus-data-reports-'))
  const turns = createTurns(['worker'], { queue: options.queue, retryAfterSeconds: 5 })
  let worker: ChildProcess | null = null
  let running: Pending | null = null
  let lastId = 0

  const startWorker = (): ChildProcess => {
    const { file, execArgv } = options.entry ?? workerEntry('report')
    const started = fork(file, [JSON.stringify(options.worker)], {
      execArgv: [...execArgv, `--max-old-space-size=${options.heapMb}`],
      serialization: 'advanced',
    })
    lowerPriority(started)
    started.on('message', (message: FromWorker) => {
      if (running === null || running.id !== message.id) return
      const { resolve, reject } = running
      running = null
      if (message.kind === 'built') resolve(message.report)
      else reject(new AppError(message.code, { ...message.options, cause: new Error(message.cause) }))
    })
    const fail = (cause: unknown): void => {
      if (worker !== started) return
      worker = null
      const failed = running
      running = null
      if (failed !== null) rmSync(failed.file, { force: true })
      failed?.reject(new AppError('internal', { cause }))
    }
    started.on('error', fail)
    started.on('exit', (code, signal) =>
      fail(new Error(`the report worker ended with ${signal ?? `code ${code}`}`)),
    )
    return started
  }
  /** Keeps this process alive only while the worker is busy. */
  const setBusy = (child: ChildProcess, isBusy: boolean): void => {
    if (isBusy) {
      child.ref()
      child.channel?.ref()
    } else {
      child.unref()
      child.channel?.unref()
    }
  }
  // Ignore send errors: a worker that ended emits `exit`.
  const sendTo = (child: ChildProcess, message: ToWorker): void => void child.send(message, () => undefined)
  const runJob = (job: ReportJob, signal: AbortSignal): Promise<BuiltReport> =>
    new Promise((resolve, reject) => {
      lastId += 1
      const id = lastId
      worker ??= startWorker()
      const busyWorker = worker
      running = { id, file: join(folder, `${id}.${job.format}`), job, resolve, reject }
      setBusy(busyWorker, true)
      sendTo(busyWorker, { kind: 'build', id, file: running.file, job })
      signal.addEventListener('abort', () => sendTo(busyWorker, { kind: 'cancel', id }), { once: true })
    })

  /** Checks the release's files within the turn, because each check takes milliseconds of the thread that serves requests. */
  const runJobUnchanged = async (job: ReportJob, signal: AbortSignal): Promise<BuiltReport> => {
    const { guard = null, worker: settings } = options
    let builtFile: string | null = null
    try {
      return await readUnchanged(
        guard,
        filesOfView(job.view, settings.releasesDir),
        async () => {
          const report = await runJob(job, signal)
          builtFile = report.file
          return report
        },
        1,
      )
    } catch (error) {
      if (builtFile !== null) await rm(builtFile, { force: true })
      throw error
    }
  }

  return {
    async build(job, signal) {
      const turn = await turns.take(job.owner, 'light', { signal })
      try {
        // The client may have disconnected while it waited for its turn.
        if (signal.aborted) throw clientLeft()
        return await runJobUnchanged(job, signal)
      } finally {
        if (worker !== null) setBusy(worker, false)
        turn.end()
      }
    },
    async close() {
      const endingWorker = worker
      worker = null
      if (endingWorker !== null && endingWorker.exitCode === null && endingWorker.signalCode === null)
        await new Promise((resolve) => {
          endingWorker.ref()
          endingWorker.once('exit', resolve).kill('SIGKILL')
        })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
