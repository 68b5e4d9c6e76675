/**
 * Worker process that reads files of admissions or production, one at a time. In: a file per job. Out: its aggregated rows.
 * It exits when its parent disconnects.
 */
import { type DecodeJob, decode } from '../import/aggregated/decoders.ts'

process.on('disconnect', () => process.exit())
process.on('message', async (job: DecodeJob) => process.send?.(await decode(job)))
