/**
 * Reads untrusted reports in a separate process with limits on memory and time. A small file that inflates to gigabytes ends that
 * process, and the file counts as unreadable. Input: paths. Output: the findings of `verify.ts`.
 */
import { createJobWorker, type JobLimits, WorkerEnded } from '../workers/entry.ts'
import type { ReportManifest } from './manifest.ts'
import type { ReportHead } from './reading/report.ts'
import { ReportUnreadable } from './reading/unreadable.ts'
import type { AloneVerdict } from './verify.ts'

export type ReportJob =
  | { readonly kind: 'head'; readonly file: string }
  | { readonly kind: 'alone'; readonly file: string; readonly checked: ReportManifest }
  | {
      readonly kind: 'compare'
      readonly file: string
      readonly made: string
      readonly checked: ReportManifest
    }

/** Reply of the worker: `unreadable` says why the file is not a report, `failure` reports any other error. */
export type ReportReply =
  | { readonly result: unknown }
  | { readonly unreadable: string }
  | { readonly failure: string }

/** Limits of reading one file; enough for the cells of some hundred thousand rows. */
const LIMITS: JobLimits = { memoryBytes: 380 * 2 ** 20, timeMs: 12_000 }

export interface ReportCheck {
  /** @throws ReportUnreadable, like the other functions */
  readHead(file: string): Promise<ReportHead>
  /** @param checked manifest whose signature and proof were checked */
  checkAlone(file: string, checked: ReportManifest): Promise<AloneVerdict>
  /** @returns the differences, the first cell first */
  compare(file: string, made: string, checked: ReportManifest): Promise<string[]>
  end(): void
}

/** @param limits for reading one file */
export function createReportCheck(limits = LIMITS): ReportCheck {
  const worker = createJobWorker<ReportJob, ReportReply>('report-check', [], limits)
  const run = async (job: ReportJob): Promise<unknown> => {
    let reply: ReportReply
    try {
      reply = await worker.run(job)
    } catch (error) {
      if (!(error instanceof WorkerEnded)) throw error
      throw new ReportUnreadable(
        `its cells cannot be read within ${limits.memoryBytes / 2 ** 20} MiB and ${limits.timeMs / 1000} s: the process that read them ${error.message.split('\n')[0]}`,
      )
    }
    if ('unreadable' in reply) throw new ReportUnreadable(reply.unreadable)
    if ('failure' in reply) throw new Error(reply.failure)
    return reply.result
  }
  return {
    readHead: async (file) => (await run({ kind: 'head', file })) as ReportHead,
    checkAlone: async (file, checked) => (await run({ kind: 'alone', file, checked })) as AloneVerdict,
    compare: async (file, made, checked) => (await run({ kind: 'compare', file, made, checked })) as string[],
    end: () => worker.end(),
  }
}
