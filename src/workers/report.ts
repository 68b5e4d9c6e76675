/** The process that makes reports: a DuckDB of its own, locked to the releases like the server's; one job at a time. */
import { join } from 'node:path'
import { createEngine } from '../engine/duckdb/engine.ts'
import { createEngineWith } from '../engine/trino/connect.ts'
import { AppError } from '../errors.ts'
import { loadNoteSigner, loadSigner } from '../keys/signing.ts'
import { TRINO_DIALECT } from '../query/analytics/dialect/trino.ts'
import { buildReport } from '../report/build.ts'
import type { FromWorker, ToWorker, WorkerSettings } from '../report/pool.ts'
import { checkStoredProof } from '../trust/log-proofs.ts'
import { NoteError } from '../trust/note.ts'
import { PROOF_FILE, readOrNull } from '../trust/release-notes.ts'

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings
// Who stops the server may signal all of its processes: the report it still makes is finished. Without it there is none.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', () => process.exit())
const local = await createEngine({
  releasesDir: settings.releasesDir,
  memory: settings.memory,
  threads: settings.threads,
  timeoutMs: settings.timeoutMs,
  concurrency: 2,
  queue: 8,
})
const engine = createEngineWith(local, settings.trino ?? null, TRINO_DIALECT, settings.timeoutMs)
const running = new Map<number, AbortController>()
const answer = (message: FromWorker): void => void process.send?.(message)

/** A proof that is damaged, or of another release, would make a report that does not verify: it goes without. */
function readProof(releaseId: string): string | null {
  const signer = loadNoteSigner(settings.signingKeyFile, settings.signingName ?? null)
  const text = readOrNull(join(settings.releasesDir, releaseId, PROOF_FILE))
  if (text === null) return null
  try {
    checkStoredProof({ releaseId, text }, signer === null ? [] : [signer.verifier])
    return text
  } catch (error) {
    if (error instanceof NoteError) return null
    throw error
  }
}

process.on('message', async (message: ToWorker) => {
  if (message.kind === 'cancel') {
    running.get(message.id)?.abort()
    return
  }
  const { id, file, job } = message
  const controller = new AbortController()
  running.set(id, controller)
  try {
    const report = await buildReport(job.body, job.format, file, {
      engine,
      view: job.view,
      capabilities: job.capabilities,
      language: job.language,
      sign: loadSigner(settings.signingKeyFile),
      logProof: readProof(job.view.id),
      signal: controller.signal,
    })
    answer({ kind: 'built', id, report })
  } catch (thrown) {
    const error = thrown instanceof AppError ? thrown : new AppError('internal', { cause: thrown })
    const { code, detail, errors, extra, headers } = error
    const cause = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : ''
    answer({ kind: 'failed', id, code, options: { detail, errors, extra, headers }, cause })
  } finally {
    running.delete(id)
  }
})
