/**
 * Reports of files that are whole. In: a pool of reports, and what knows whether files are as they were verified. Out: the same
 * pool, whose reports are thrown away where a file of their release changed while they were made.
 */
import { rm } from 'node:fs/promises'
import { type FileGuard, filesOfView, readUnchanged } from '../release/guard.ts'
import type { ReportPool } from './pool.ts'

/** @throws in `build` AppError 'release_damaged' besides what the pool throws */
export const reportsOfWholeFiles = (pool: ReportPool, guard: FileGuard, releasesDir: string): ReportPool => ({
  async build(job, signal) {
    const files = filesOfView(job.view, releasesDir)
    const made: string[] = []
    try {
      return await readUnchanged(
        guard,
        files,
        async () => {
          const report = await pool.build(job, signal)
          made.push(report.file)
          return report
        },
        1,
      )
    } catch (error) {
      for (const file of made) await rm(file, { force: true })
      throw error
    }
  },
  close: () => pool.close(),
})
