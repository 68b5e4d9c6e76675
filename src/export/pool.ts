/**
 * Reports off the main thread: jobs to a worker that has a DuckDB of its own, files back.
 *
 * In: a request, a release, a format. Out: a finished file in a folder of ours, to be sent and removed. One report is
 * made at a time; a bounded number waits, then 'overloaded'. The worker starts with the first job, and again when it has
 * died (a report that exceeds its memory ends the worker, not the server).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { AppError, type AppErrorOptions, type ErrorCode } from '../errors.ts'
import type { Capability } from '../model/capabilities.ts'
import type { ReleaseView } from '../release/view.ts'
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
}

export interface ReportJob {
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
  /** @throws AppError of the query; 'overloaded' */
  build(job: ReportJob, signal: AbortSignal): Promise<BuiltReport>
  close(): Promise<void>
}

export interface PoolOptions {
  readonly worker: WorkerSettings
  /** The worker's program. */
  readonly entry: URL
  /** Jobs that may wait. */
  readonly queue: number
  /** Megabytes of JavaScript heap a report may take. */
  readonly heapMb: number
}

interface Pending {
  readonly id: number
  readonly file: string
  readonly job: ReportJob
  readonly resolve: (report: BuiltReport) => void
  readonly reject: (error: Error) => void
}

export function createReportPool(options: PoolOptions): ReportPool {
  const folder = mkdtempSync(join(tmpdir(), 'sus-data-reports-'))
  const waiting: Pending[] = []
  let worker: Worker | null = null
  let running: Pending | null = null
  let last = 0

  const start = (): Worker => {
    const started = new Worker(options.entry, {
      workerData: options.worker,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
    })
    started.unref()
    started.on('message', (message: FromWorker) => {
      if (running === null || running.id !== message.id) return
      const { resolve, reject } = running
      running = null
      if (message.kind === 'built') resolve(message.report)
      else reject(new AppError(message.code, { ...message.options, cause: new Error(message.cause) }))
      next()
    })
    const fail = (cause: unknown): void => {
      if (worker === started) worker = null
      const failed = running
      running = null
      // What it had written of the report.
      if (failed !== null) rmSync(failed.file, { force: true })
      failed?.reject(new AppError('internal', { cause }))
      next()
    }
    started.on('error', fail)
    started.on('exit', (code) => {
      if (worker === started) fail(new Error(`the report worker ended with code ${code}`))
    })
    return started
  }
  const next = (): void => {
    if (running !== null) return
    running = waiting.shift() ?? null
    if (running === null) return
    worker ??= start()
    const { id, file, job } = running
    worker.postMessage({ kind: 'build', id, file, job } satisfies ToWorker)
  }

  return {
    build(job, signal) {
      // Opening a release may take longer than a client waits.
      if (signal.aborted)
        return Promise.reject(new AppError('query_timeout', { detail: 'The client has left.' }))
      if (waiting.length >= options.queue)
        return Promise.reject(new AppError('overloaded', { headers: { 'Retry-After': '5' } }))
      last += 1
      const id = last
      return new Promise<BuiltReport>((resolve, reject) => {
        const pending: Pending = { id, file: join(folder, `${id}.${job.format}`), job, resolve, reject }
        signal.addEventListener(
          'abort',
          () => {
            const place = waiting.indexOf(pending)
            if (place >= 0) {
              waiting.splice(place, 1)
              reject(new AppError('query_timeout', { detail: 'The client has left.' }))
            } else worker?.postMessage({ kind: 'cancel', id } satisfies ToWorker)
          },
          { once: true },
        )
        waiting.push(pending)
        next()
      })
    },
    async close() {
      const ending = worker
      worker = null
      await ending?.terminate()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
