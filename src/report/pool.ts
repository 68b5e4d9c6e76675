/**
 * Reports beside the server: jobs to a process that has a DuckDB of its own, files back.
 *
 * In: a request, a release, a format. Out: a finished file in a folder of ours, to be sent and removed. One report is
 * made at a time, and keys take turns (turns.ts); a bounded number waits, then 'overloaded'. The process starts with the first job, and again when it has
 * died (a report that exceeds its memory ends it, not the server). A process, not a thread: threads wait for each other
 * wherever memory is taken and given back, and a workbook does little else.
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

/** What the worker is started with. */
export interface WorkerSettings {
  readonly releasesDir: string
  readonly memory: string
  readonly threads: number
  readonly timeoutMs: number
  readonly signingKeyFile: string
  /** Name of the signing key in notes; absent, null: one is made of the key. */
  readonly signingName?: string | null
  /** Absent, null: the worker's DuckDB has all to itself. */
  readonly trino?: TrinoSettings | null
}

export interface ReportJob {
  /** Id of the key that the report is made for. */
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
  /** @throws AppError of the query; 'overloaded'; 'release_damaged' where a file of the release changed while the report was made */
  build(job: ReportJob, signal: AbortSignal): Promise<BuiltReport>
  close(): Promise<void>
}

export interface PoolOptions {
  readonly worker: WorkerSettings
  /** Knows whether files are as they were verified; without it, reports are not checked against it. */
  readonly guard?: FileGuard
  /** The worker's module, the one of this repository by default. */
  readonly entry?: WorkerEntry
  /** Jobs that may wait. */
  readonly queue: number
  /** Megabytes of JavaScript heap a report may take. */
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
  let last = 0

  const start = (): ChildProcess => {
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
      // What it had written of the report.
      if (failed !== null) rmSync(failed.file, { force: true })
      failed?.reject(new AppError('internal', { cause }))
    }
    started.on('error', fail)
    started.on('exit', (code, signal) =>
      fail(new Error(`the report worker ended with ${signal ?? `code ${code}`}`)),
    )
    return started
  }
  /** Only a process with something to do keeps this one alive. */
  const hold = (on: ChildProcess, isBusy: boolean): void => {
    if (isBusy) {
      on.ref()
      on.channel?.ref()
    } else {
      on.unref()
      on.channel?.unref()
    }
  }
  // One that has ended says so itself.
  const tell = (to: ChildProcess, message: ToWorker): void => void to.send(message, () => undefined)
  const make = (job: ReportJob, signal: AbortSignal): Promise<BuiltReport> =>
    new Promise((resolve, reject) => {
      last += 1
      const id = last
      worker ??= start()
      const busy = worker
      running = { id, file: join(folder, `${id}.${job.format}`), job, resolve, reject }
      hold(busy, true)
      tell(busy, { kind: 'build', id, file: running.file, job })
      signal.addEventListener('abort', () => tell(busy, { kind: 'cancel', id }), { once: true })
    })

  /** The files of the release are looked at within the turn: a look at each of them takes the thread that answers requests milliseconds. */
  const makeUnchanged = async (job: ReportJob, signal: AbortSignal): Promise<BuiltReport> => {
    const { guard = null, worker: settings } = options
    let made: string | null = null
    try {
      return await readUnchanged(
        guard,
        filesOfView(job.view, settings.releasesDir),
        async () => {
          const report = await make(job, signal)
          made = report.file
          return report
        },
        1,
      )
    } catch (error) {
      if (made !== null) await rm(made, { force: true })
      throw error
    }
  }

  return {
    async build(job, signal) {
      const turn = await turns.take(job.owner, 'light', { signal })
      try {
        // Opening a release may take longer than a client waits.
        if (signal.aborted) throw clientLeft()
        return await makeUnchanged(job, signal)
      } finally {
        if (worker !== null) hold(worker, false)
        turn.end()
      }
    },
    async close() {
      const ending = worker
      worker = null
      if (ending !== null && ending.exitCode === null && ending.signalCode === null)
        await new Promise((resolve) => {
          ending.ref()
          ending.once('exit', resolve).kill('SIGKILL')
        })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
