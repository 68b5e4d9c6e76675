/** Opens everything that answers requests: settings → engine → keys → store → app. It does not listen. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import type { DestinationStream, Logger } from 'pino'
import { buildApp } from './app.ts'
import { createEngine } from './engine/duckdb/engine.ts'
import { createEngineWith } from './engine/trino/connect.ts'
import { createLogger } from './http/log.ts'
import { mcpHosts } from './http/mcp.ts'
import { createMetrics, type Metrics } from './http/metrics.ts'
import { createResponseCache } from './http/request/response-cache.ts'
import { sharedCursorSecret } from './keys/cursor-secret.ts'
import { type KeyStore, openKeyStore } from './keys/keys.ts'
import { recordLink } from './keys/link-record.ts'
import { createRateLimiter } from './keys/rate-limit.ts'
import { createTrust } from './keys/trust.ts'
import { lowerOtherThreads } from './machine.ts'
import { startReplica } from './places/replica.ts'
import { createPreloader } from './preload.ts'
import { TRINO_DIALECT } from './query/analytics/dialect/trino.ts'
import { residentRelations } from './query/analytics/resident-relations.ts'
import { loadRecordRelease } from './records/release.ts'
import { createFileGuard } from './release/guard.ts'
import { readPointer } from './release/pointer.ts'
import { createStore, type ReleaseStore } from './release/store.ts'
import { createReportPool } from './report/pool.ts'
import { makeRows } from './rows/make.ts'
import { createRowStore } from './rows/row-store.ts'
import type { Settings } from './settings.ts'
import { trinoOf } from './trino-settings.ts'
import { watchLog } from './trust/log-watch.ts'
import { checkTrust } from './trust/release-notes.ts'
import { checkReleaseInChild } from './workers/check-release.ts'

/** A quarter of SUS_CACHE_BYTES holds row sets; the rest holds answers. */
const ROW_SETS_DIVISOR = 4
/** JavaScript heap of the report worker. Rows pass through in batches, so it does not grow with the report. */
const REPORT_HEAP_MB = 512

/** A server that does not listen. Other programs on this machine call it in-process. */
export interface Service {
  readonly app: FastifyInstance
  readonly logger: Logger
  readonly metrics: Metrics
  readonly releases: ReleaseStore
  /** Loads the current and later releases into memory for aggregations, and preloads other releases. */
  warm(): void
  closing(): string | null
  close(): Promise<void>
}

/** @param overrides replacements for the keys file and for the log on standard output @throws when DuckDB cannot start */
export async function openService(
  settings: Settings,
  overrides: { readonly keys?: KeyStore; readonly log?: DestinationStream } = {},
): Promise<Service> {
  const logger = createLogger(settings.logLevel, overrides.log)
  // A replica makes the folder itself.
  if (settings.releasesUrl === null && !existsSync(settings.releasesDir))
    logger.warn({ SUS_RELEASES_DIR: settings.releasesDir }, 'the folder of releases does not exist')
  const checks = new Map<string, Promise<void>>()
  const beginCheck = (id: string): void => {
    const check = checkReleaseInChild(settings.releasesDir, id)
    check.catch(() => undefined)
    checks.set(id, check)
  }
  // The check is the longest part of startup, so start it before everything else.
  let earlyCheckedId = await readPointer(settings.releasesDir)
  if (earlyCheckedId !== null) beginCheck(earlyCheckedId)
  const guard = createFileGuard({
    onDamaged: ({ file, reason }) => logger.error({ file, reason }, 'release damaged'),
    onMended: (file) => logger.info({ file }, 'release whole again'),
  })
  const local = await createEngine({
    guard,
    releasesDir: settings.releasesDir,
    memory: settings.duckdbMemory,
    threads: settings.duckdbThreads,
    timeoutMs: settings.queryTimeoutMs,
    concurrency: settings.queryConcurrency,
    queue: settings.queryQueue,
    resident: { bytes: settings.residentBytes, relations: residentRelations },
  })
  lowerOtherThreads(settings.queryNice)
  const trino = trinoOf(settings)
  const engine = createEngineWith(local, trino, TRINO_DIALECT, settings.queryTimeoutMs)
  const keys =
    overrides.keys ??
    openKeyStore(settings.keysFile, {
      notesUse: true,
      onProblem: (problem) => logger.error({ problem }, 'keys file'),
    })
  const rows = createRowStore({
    releasesDir: settings.releasesDir,
    setBytes: Math.floor(settings.cacheBytes / ROW_SETS_DIVISOR),
    onProblem: (release_id, { dataset, reason }) =>
      logger.warn({ release_id, dataset, reason }, 'no row file: the engine answers'),
    onMended: (release_id, dataset) => logger.info({ release_id, dataset }, 'row file is there again'),
  })
  let closing: string | null = null
  const preloader = createPreloader(() => releases, engine, logger)
  const store = createStore({
    releasesDir: settings.releasesDir,
    guard,
    checkTrust: (id) => checkTrust(settings.releasesDir, id, settings.trustedKeys),
    // The check runs in parallel with verification. Its result counts only after the digests are verified.
    onOpening: (id) => {
      if (id === earlyCheckedId) earlyCheckedId = null
      else beginCheck(id)
    },
    prepare: async (view) => {
      await checks.get(view.id)
      checks.delete(view.id)
      await engine.open(view)
      await Promise.all([rows.open(view), loadRecordRelease(view, engine)])
    },
    keepOpen: settings.releasesOpen,
    onClosed: async (id) => {
      await rows.release(id)
      await engine.release(id)
    },
    onProblem: (release_id, reason) => logger.error({ release_id, reason }, 'release refused'),
    onCurrent: (view) => {
      logger.info({ release_id: view.id }, 'release in service')
      preloader.onCurrent(view)
    },
  })
  const replica = startReplica(settings, store, {
    onArrived: (id) => {
      // The engine answers until the row files are there.
      makeRows(settings.releasesDir, id).catch((error: unknown) =>
        logger.warn({ release_id: id, err: error }, 'no row files made'),
      )
    },
    onProblem: (problem) => logger.error({ problem }, 'source of releases'),
    onMended: () => logger.info('source of releases is well again'),
  })
  const releases = replica?.releases ?? store
  const firstRefresh = store.refresh()
  const reports = createReportPool({
    guard,
    worker: {
      releasesDir: settings.releasesDir,
      memory: settings.reportMemory,
      // Half of the threads, so that requests do not wait for reports.
      threads: Math.max(1, Math.floor(settings.duckdbThreads / 2)),
      timeoutMs: settings.reportTimeoutMs,
      signingKeyFile: settings.signingKeyFile,
      signingName: settings.signingName,
      trino,
    },
    queue: settings.reportQueue,
    heapMb: REPORT_HEAP_MB,
  })
  const cache = createResponseCache(settings.cacheBytes - Math.floor(settings.cacheBytes / ROW_SETS_DIVISOR))
  const perMinute = settings.rateLimitPerMinute
  const sharedLimiter =
    settings.redisUrl === null
      ? null
      : // Loaded where it is wanted: its client takes a quarter of a second to start with.
        (await import('./keys/shared-rate-limit.ts')).createSharedRateLimiter({
          perMinute,
          url: settings.redisUrl,
          onDown: (address, reason) =>
            logger.warn({ store: address, reason }, 'rate limits are not shared: this instance limits alone'),
          onUp: (address) => logger.info({ store: address }, 'rate limits are shared again'),
        })
  await sharedLimiter?.tried
  const metrics = createMetrics({
    engine,
    releases,
    cache,
    rows,
    isRateStoreUp: sharedLimiter?.isUp ?? null,
    isSourceUp: replica === null ? null : () => replica.state().up,
  })
  const cursorSecret = sharedCursorSecret(settings.keysFile)
  if (cursorSecret === null)
    logger.warn(
      { file: `${settings.keysFile}.cursor` },
      'no secret for cursors can be read or made: cursors end with this process and no other instance takes them',
    )
  const trust = createTrust(settings)
  const logWatch = watchLog({
    releasesDir: settings.releasesDir,
    verifiers: trust.verifiers,
    operatorKey: trust.operatorKey,
    onProblem: (problem) => logger.error(problem, 'log of releases damaged'),
    onMended: () => logger.info('log of releases whole again'),
  })
  const app = await buildApp({
    engine,
    releases,
    reports,
    rows,
    trust,
    fileProblems: {
      keys: keys.problem,
      log: logWatch.problems,
      ...(replica === null ? {} : { source: replica.state }),
    },
    log: logWatch,
    keys,
    cache,
    metrics,
    servesMetrics: settings.metricsPort === 'local',
    corsOrigins: settings.corsOrigins,
    mcpHosts: mcpHosts(settings.host, settings.allowedHosts),
    writesTogether: settings.writeTogether,
    explorerKey: settings.explorerKey,
    embedOrigins: settings.embedOrigins,
    limiter: sharedLimiter ?? createRateLimiter({ perMinute }),
    cursorSecret: cursorSecret ?? randomBytes(32),
    recordLink: (link) => {
      try {
        recordLink(settings.keysFile, link)
      } catch (error) {
        logger.warn({ err: error }, 'a link is not recorded: sus-data prune does not know of its release')
      }
    },
    logger,
  })
  await Promise.all([firstRefresh, logWatch.look()])
  return {
    app,
    logger,
    metrics,
    releases,
    warm: preloader.start,
    closing: () => closing,
    async close() {
      const steps: readonly (readonly [name: string, close: () => unknown])[] = [
        ['releases opened ahead', () => preloader.close()],
        ['requests', () => app.close()],
        ['rate limits', () => sharedLimiter?.close()],
        ['source of releases', () => replica?.close()],
        ['releases', () => releases.close()],
        ['log of releases', () => logWatch.close()],
        ['keys', () => keys.close()],
        ['reports', () => reports.close()],
        ['row files', () => rows.close()],
        ['engine', () => engine.close()],
      ]
      for (const [name, close] of steps) {
        closing = name
        await close()
      }
      closing = null
    },
  }
}
