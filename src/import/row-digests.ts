/**
 * Computes the digests of the rows of Parquet files (`rows_sha256`), several files at a time. Worker processes share large work,
 * because one thread of JavaScript encodes and hashes a file.
 */
import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createJobWorker } from '../workers/entry.ts'
import { digestFileRows } from './digests/digest-file.ts'

export type DigestReply = { readonly digest: string } | { readonly failure: string }

/** Each worker takes some 200 MB; more than these would rarely find a file that is worth one. */
const LANES_MAX = 4
/** Fewest bytes of Parquet for which worker processes are worth their start. */
const WORKERS_MIN_BYTES = 8_000_000

/**
 * @param paths absolute paths
 * @param threads cores to use, at most four; all by default
 * @returns row digest of each file (64 hex digits), in the order of the paths
 */
export async function digestRows(paths: readonly string[], threads?: number): Promise<string[]> {
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  const lanes =
    bytes < WORKERS_MIN_BYTES ? 1 : Math.min(threads ?? availableParallelism(), LANES_MAX, paths.length)
  const digests: string[] = []
  const pending = [...paths.entries()]
  const runLane = async (digest: (path: string) => Promise<string>): Promise<void> => {
    try {
      for (let next = pending.shift(); next !== undefined; next = pending.shift())
        digests[next[0]] = await digest(next[1])
    } finally {
      pending.length = 0
    }
  }
  if (lanes <= 1) await runLane(digestFileRows)
  else await Promise.all(Array.from({ length: lanes }, () => runInWorker(runLane)))
  return digests
}

async function runInWorker(
  runLane: (digest: (path: string) => Promise<string>) => Promise<void>,
): Promise<void> {
  const worker = createJobWorker<string, DigestReply>('digests')
  try {
    await runLane(async (path) => {
      const reply = await worker.run(path)
      if ('failure' in reply) throw new Error(reply.failure)
      return reply.digest
    })
  } finally {
    worker.end()
  }
}
