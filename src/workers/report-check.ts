/** Worker process that reads reports for `verify-report`, one job at a time. Its parent limits memory and time. */
import type { ReportJob, ReportReply } from '../report/check.ts'
import { readReport } from '../report/reading/read.ts'
import { ReportUnreadable } from '../report/reading/unreadable.ts'
import { checkAlone, compareReports } from '../report/verify.ts'

process.on('disconnect', () => process.exit())

async function runJob(job: ReportJob): Promise<unknown> {
  switch (job.kind) {
    case 'head': {
      const { format, manifest } = await readReport(job.file)
      return { format, manifest }
    }
    case 'alone':
      return checkAlone(job.file, job.checked)
    case 'compare':
      return compareReports(job.file, job.made, job.checked)
  }
}

const reply = (job: ReportJob): Promise<ReportReply> =>
  runJob(job).then(
    (result) => ({ result }),
    (error: unknown) =>
      error instanceof ReportUnreadable
        ? { unreadable: error.message }
        : { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) },
  )

process.on('message', async (job: ReportJob) => process.send?.(await reply(job)))
