/** Worker process that reads aggregated files, such as those of admissions, one per job, and returns their aggregated rows. */
import { type DecodeJob, decode } from '../import/aggregated/decoders.ts'

process.on('disconnect', () => process.exit())
process.on('message', async (job: DecodeJob) => process.send?.(await decode(job)))
