/** Reads reports for `verify-report`, one job after another, in a process whose memory and time are bounded by who started it. */
import type { ReportJob, ReportReply } from '../report/check.ts'
import { readReport } from '../report/reading/read.ts'
import { ReportUnreadable } from '../report/reading/unreadable.ts'
import { checkAlone, compareReports } from '../report/verify.ts'

process.on('disconnect', () => process.exit())

async function answer(job: ReportJob): Promise<unknown> {
  switch (job.kind) {
    case 'head': {
      const { format, manifest } = await readReport(job.file)
      return { format, manifest }
    }
    case 'alone':
      return checkAlone(job.file)
    case 'compare':
      return compareReports(job.file, job.made)
  }
}

const reply = (job: ReportJob): Promise<ReportReply> =>
  answer(job).then(
    (result) => ({ result }),
    (error: unknown) =>
      error instanceof ReportUnreadable
        ? { unreadable: error.message }
        : { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) },
  )

process.on('message', async (job: ReportJob) => process.send?.(await reply(job)))
