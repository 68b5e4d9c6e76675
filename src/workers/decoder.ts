/**
 * Reads files of admissions or production, one after another, in a process of its own: a job is a file, the answer its rows added
 * up. Ends when who started it goes.
 */
import { type DecodeJob, decode } from '../import/aggregated/decoders.ts'

process.on('disconnect', () => process.exit())
process.on('message', async (job: DecodeJob) => process.send?.(await decode(job)))
