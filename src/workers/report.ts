/** Worker process that makes reports, one at a time, with a separate DuckDB that may read only the releases, like the server's. */
import { join } from 'node:path'
import { createEngine } from '../engine/duckdb/engine.ts'
import { createEngineWith } from '../engine/trino/connect.ts'
import { AppError } from '../errors.ts'
import { loadNoteSigner, loadSigner } from '../keys/signing.ts'
import { TRINO_DIALECT } from '../query/analytics/dialect/trino.ts'
import { buildReport } from '../report/build.ts'
import type { FromWorker, ToWorker, WorkerSettings } from '../report/pool.ts'
import { checkStoredProof } from '../trust/checkpoint.ts'
import { NoteError } from '../trust/note.ts'
import { PROOF_FILE, readOrNull } from '../trust/release-notes.ts'

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings
// Ignore signals, because stopping the server may signal all its processes and the current report must be finished.
// The process exits when the server disconnects.
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
const send = (message: FromWorker): void => void process.send?.(message)

/** Returns the stored proof, or null if it is damaged or for another release, because a report with it would not verify. */
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
    send({ kind: 'built', id, report })
  } catch (thrown) {
    const error = thrown instanceof AppError ? thrown : new AppError('internal', { cause: thrown })
    const { code, detail, errors, extra, headers } = error
    const cause = error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : ''
    send({ kind: 'failed', id, code, options: { detail, errors, extra, headers }, cause })
  } finally {
    running.delete(id)
  }
})
