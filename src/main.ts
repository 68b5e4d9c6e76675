/**
 * The server: settings → keys → engine → store → app → listen. `serve` runs this; tests call it with port 0.
 *
 * A promote (or SIGHUP) moves the store to the new release; SIGTERM and SIGINT end it once running answers are out.
 */
import { createHash, randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import Fastify from 'fastify'
import { buildApp } from './app.ts'
import { createEngine } from './engine/engine.ts'
import { createReportPool } from './export/pool.ts'
import { createAnswerCache } from './http/answer-cache.ts'
import { createLogger } from './http/log.ts'
import { createMetrics, mountMetrics } from './http/metrics.ts'
import { createRateLimiter } from './http/rate-limit.ts'
import { createSharedRateLimiter } from './http/shared-rate-limit.ts'
import { openKeyStore } from './keys/keys.ts'
import { readPublicKey } from './keys/signing.ts'
import { keptRelations } from './query/kept.ts'
import { openStore } from './release/store.ts'
import type { Settings } from './settings.ts'
import { tryRelease } from './trial.ts'

export const REPORT_WORKER = new URL('report-worker.js', import.meta.url)
/** JavaScript memory of the report worker: rows pass through it in batches, so it does not grow with them. */
export const REPORT_HEAP_MB = 512

export interface RunningServer {
  /** Where it listens, e.g. http://127.0.0.1:8080. */
  readonly address: string
  close(): Promise<void>
}

/** @returns once the server listens; @throws when the address is taken or DuckDB cannot start */
export async function startServer(settings: Settings): Promise<RunningServer> {
  const logger = createLogger(settings.logLevel)
  const engine = await createEngine({
    releasesDir: settings.releasesDir,
    memory: settings.duckdbMemory,
    threads: settings.duckdbThreads,
    timeoutMs: settings.queryTimeoutMs,
    concurrency: settings.queryConcurrency,
    queue: settings.queryQueue,
    hot: { bytes: settings.hotBytes, relations: keptRelations },
  })
  const keys = openKeyStore(settings.keysFile, {
    notesUse: true,
    onProblem: (problem) => logger.error({ problem }, 'keys file'),
  })
  const releases = await openStore({
    releasesDir: settings.releasesDir,
    prepare: async (view) => {
      await tryRelease(settings.releasesDir, view.id)
      await engine.open(view)
    },
    keepOpen: settings.releasesOpen,
    onClosed: (id) => engine.release(id),
    onProblem: (release_id, reason) => logger.error({ release_id, reason }, 'release refused'),
    onCurrent: (view) => {
      logger.info({ release_id: view.id }, 'release in service')
      // In the background: until it is held, statements read the files.
      engine.warm(view).then(
        () => logger.info({ release_id: view.id }, 'release held in memory'),
        (error: unknown) => logger.warn({ release_id: view.id, error }, 'release not held in memory'),
      )
    },
  })
  const reports = createReportPool({
    worker: {
      releasesDir: settings.releasesDir,
      memory: settings.reportMemory,
      // Half of the threads: a report is never what others wait for.
      threads: Math.max(1, Math.floor(settings.duckdbThreads / 2)),
      timeoutMs: settings.reportTimeoutMs,
      signingKeyFile: settings.signingKeyFile,
    },
    entry: REPORT_WORKER,
    queue: settings.reportQueue,
    heapMb: REPORT_HEAP_MB,
  })
  const cache = createAnswerCache(settings.cacheBytes)
  const perMinute = settings.rateLimitPerMinute
  const shared =
    settings.redisUrl === null
      ? null
      : createSharedRateLimiter({
          perMinute,
          url: settings.redisUrl,
          onDown: (address, reason) =>
            logger.warn({ store: address, reason }, 'rate limits are not shared: this instance limits alone'),
          onUp: (address) => logger.info({ store: address }, 'rate limits are shared again'),
        })
  await shared?.tried
  const metrics = createMetrics({ engine, releases, cache, isRateStoreUp: shared?.isUp ?? null })
  const app = await buildApp({
    engine,
    releases,
    reports,
    publicKey: () => readPublicKey(settings.signingKeyFile),
    keys,
    cache,
    metrics,
    servesMetrics: settings.metricsPort === null,
    corsOrigins: settings.corsOrigins,
    limiter: shared ?? createRateLimiter({ perMinute }),
    cursorSecret: cursorSecret(settings.keysFile),
    logger,
  })
  const metricsApp = settings.metricsPort === null ? null : Fastify({ logger: false })
  if (metricsApp !== null && settings.metricsPort !== null) {
    mountMetrics(metricsApp, metrics, false)
    const at = await metricsApp.listen({ host: settings.host, port: settings.metricsPort })
    logger.info({ address: at }, 'metrics')
  }
  const address = await app.listen({ host: settings.host, port: settings.port })
  logger.info({ address }, 'listening')
  const refresh = (): void => void releases.refresh()
  process.on('SIGHUP', refresh)
  return {
    address,
    async close() {
      process.off('SIGHUP', refresh)
      await app.close()
      await metricsApp?.close()
      await shared?.close()
      releases.close()
      keys.close()
      await reports.close()
      await engine.close()
    },
  }
}

/** Waits for SIGTERM or SIGINT, then ends the server in good order. */
export async function serveUntilStopped(
  settings: Settings,
  onListening: (address: string) => void = () => undefined,
): Promise<void> {
  const server = await startServer(settings)
  onListening(server.address)
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
  await server.close()
}

/**
 * Cursors outlive a restart and are understood by every instance that shares the keys: their secret stands beside the
 * keys file, made once. Where that folder cannot be written, cursors live as long as the process.
 */
function cursorSecret(keysFile: string): Buffer {
  const file = `${keysFile}.cursor`
  try {
    const handle = openSync(file, 'wx', 0o600)
    writeSync(handle, randomBytes(32).toString('hex'))
    closeSync(handle)
  } catch {
    // It is there already, or cannot be made.
  }
  try {
    return createHash('sha256').update(readFileSync(file)).digest()
  } catch {
    return randomBytes(32)
  }
}
