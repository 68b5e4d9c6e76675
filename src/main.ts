/**
 * The server: settings → keys → engine → store → app → listen. `serve` runs this; tests call it with port 0. `mcp` opens the same
 * without listening.
 *
 * A promote (or SIGHUP) moves the store to the new release; SIGTERM and SIGINT end it once running answers are out.
 */
import { randomBytes } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import type { DestinationStream, Logger } from 'pino'
import { buildApp } from './app.ts'
import { createEngine } from './engine/duckdb/engine.ts'
import { engineWith } from './engine/trino/connect.ts'
import { createLogger } from './http/log.ts'
import { mcpHosts } from './http/mcp.ts'
import { createMetrics, type Metrics } from './http/metrics.ts'
import { askBoxes } from './http/records/coordinates.ts'
import { createResponseCache } from './http/request/response-cache.ts'
import { warmUp } from './http/warm-up.ts'
import { sharedCursorSecret } from './keys/cursor-secret.ts'
import { type KeyStore, openKeyStore } from './keys/keys.ts'
import { createRateLimiter } from './keys/rate-limit.ts'
import { createTrust } from './keys/trust.ts'
import { surviveUncaught } from './last-resort.ts'
import { lowerOtherThreads } from './machine.ts'
import { TRINO_DIALECT } from './query/analytics/dialect/trino.ts'
import { residentRelations } from './query/analytics/resident-relations.ts'
import { createLookups } from './query/lists/lookup-batches.ts'
import { createFileGuard } from './release/guard.ts'
import { readPointer } from './release/pointer.ts'
import { createStore, type ReleaseStore } from './release/store.ts'
import type { ReleaseView } from './release/view.ts'
import { createReportPool } from './report/pool.ts'
import { createRowStore } from './rows/row-store.ts'
import type { Settings } from './settings.ts'
import { trinoOf } from './trino-settings.ts'
import { watchLog } from './trust/log-watch.ts'
import { checkTrust } from './trust/release-notes.ts'
import { checkReleaseInChild } from './workers/check-release.ts'

/** Of SUS_CACHE_BYTES, one part in four is for sets of rows, the others for answers. */
const SETS_SHARE = 4
/** A release that comes into service gets its resident tables this long after, or once aggregations ask for them. */
const WARM_AFTER_MS = 10_000
/** So long after it listens a server begins to open releases that nobody has asked for yet, and so often it looks for new ones. */
const AHEAD_AFTER_MS = 1000
const AHEAD_EVERY_MS = 3000
/** Connections that may wait to be accepted (the system may hold fewer): past it, clients try again after a second. */
const LISTEN_BACKLOG = 4096
/** The log writes its lines every tenth of a second; it gets this long for the last one. */
const LAST_LINE_MS = 500
/** JavaScript memory of the report worker: rows pass through it in batches, so it does not grow with them. */
export const REPORT_HEAP_MB = 512

export interface RunningServer {
  /** Where it listens, e.g. http://127.0.0.1:8080. */
  readonly address: string
  readonly logger: Logger
  readonly metrics: Metrics
  /** What `close` is waiting for; null before it is called and after it is done. */
  closing(): string | null
  close(): Promise<void>
}

/** All of a server but its listening: what other programs of this machine ask in-process. */
export interface Service {
  readonly app: FastifyInstance
  readonly logger: Logger
  readonly metrics: Metrics
  readonly releases: ReleaseStore
  /**
   * Holds the release in service, and those that come after it, in memory for aggregations; opens other releases before they are
   * asked for, and holds the newest of them, too.
   */
  warm(): void
  /** What `close` is waiting for; null before it is called and after it is done. */
  closing(): string | null
  close(): Promise<void>
}

/**
 * @param others instead of the file of keys, and of the log on standard output
 * @throws when DuckDB cannot start
 */
export async function openService(
  settings: Settings,
  others: { readonly keys?: KeyStore; readonly log?: DestinationStream } = {},
): Promise<Service> {
  const logger = createLogger(settings.logLevel, others.log)
  const checks = new Map<string, Promise<void>>()
  const beginCheck = (id: string): void => {
    const check = checkReleaseInChild(settings.releasesDir, id)
    check.catch(() => undefined)
    checks.set(id, check)
  }
  // It takes longest of all that a start waits for: the rest is done meanwhile.
  let begun = await readPointer(settings.releasesDir)
  if (begun !== null) beginCheck(begun)
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
  const engine = engineWith(local, trino, TRINO_DIALECT, settings.queryTimeoutMs)
  const keys =
    others.keys ??
    openKeyStore(settings.keysFile, {
      notesUse: true,
      onProblem: (problem) => logger.error({ problem }, 'keys file'),
    })
  const rows = createRowStore({
    releasesDir: settings.releasesDir,
    setBytes: Math.floor(settings.cacheBytes / SETS_SHARE),
    onProblem: (release_id, { dataset, reason }) =>
      logger.warn({ release_id, dataset, reason }, 'no row file: the engine answers'),
    onMended: (release_id, dataset) => logger.info({ release_id, dataset }, 'row file is there again'),
  })
  /**
   * Loads what aggregations read of the release in service, in the background: until it is there, statements read the files.
   * Not at once, because loading takes both cores for some seconds, and the first requests come now.
   */
  let warming: NodeJS.Timeout | undefined
  let isWarmedUp = false
  let closing: string | null = null
  const hold = async (view: ReleaseView, beside: ReleaseView | null): Promise<void> => {
    if (closing !== null) return
    try {
      await engine.warm(view, beside)
    } catch (error) {
      return logger.warn({ release_id: view.id, err: error }, 'release not held in memory')
    }
    if (closing !== null) return
    if (!isWarmedUp) {
      isWarmedUp = true
      // A release without beds or population refuses the question; then the first clients are the warm-up.
      await warmUp(local, view).catch(() => undefined)
    }
    logger.info({ release_id: view.id }, 'release held in memory')
  }
  const warm = (view: ReleaseView): void => {
    clearTimeout(warming)
    warming = setTimeout(() => void hold(view, null), WARM_AFTER_MS).unref()
  }
  let isWarm = false
  const releases = createStore({
    releasesDir: settings.releasesDir,
    guard,
    checkTrust: (id) => checkTrust(settings.releasesDir, id, settings.trustedKeys),
    // Beside the verification: what the check reports counts only once the digests are right.
    onOpening: (id) => {
      if (id === begun) begun = null
      else beginCheck(id)
    },
    prepare: async (view) => {
      await checks.get(view.id)
      checks.delete(view.id)
      await engine.open(view)
      await Promise.all([rows.open(view), askBoxes(view, engine)])
    },
    keepOpen: settings.releasesOpen,
    onClosed: async (id) => {
      await rows.release(id)
      await engine.release(id)
    },
    onProblem: (release_id, reason) => logger.error({ release_id, reason }, 'release refused'),
    onCurrent: (view) => {
      logger.info({ release_id: view.id }, 'release in service')
      if (isWarm) warm(view)
    },
  })
  /** What is opened ahead is there when it is promoted, or pinned for the first time. */
  let aheadTimer: NodeJS.Timeout | undefined
  let holdingAhead: NodeJS.Timeout | undefined
  let opening: Promise<void> = Promise.resolve()
  const openAhead = async (): Promise<void> => {
    const newest = await releases.openNext()
    if (newest === null) return
    let view: ReleaseView | null = newest
    for (; view !== null; view = await releases.openNext())
      logger.info({ release_id: view.id }, 'release opened ahead')
    clearTimeout(holdingAhead)
    holdingAhead = setTimeout(() => {
      // It may have been closed since, for others that were requested.
      if (releases.findOpen(newest.id) === newest) void hold(newest, releases.current())
    }, WARM_AFTER_MS).unref()
  }
  const lookAhead = (afterMs: number): void => {
    aheadTimer = setTimeout(() => {
      opening = openAhead()
        .catch((error: unknown) => logger.warn({ err: error }, 'no release opened ahead'))
        .then(() => (aheadTimer === undefined ? undefined : lookAhead(AHEAD_EVERY_MS)))
    }, afterMs).unref()
  }
  const looked = releases.refresh()
  const reports = createReportPool({
    guard,
    worker: {
      releasesDir: settings.releasesDir,
      memory: settings.reportMemory,
      // Half of the threads: a report is never what others wait for.
      threads: Math.max(1, Math.floor(settings.duckdbThreads / 2)),
      timeoutMs: settings.reportTimeoutMs,
      signingKeyFile: settings.signingKeyFile,
      signingName: settings.signingName,
      trino,
    },
    queue: settings.reportQueue,
    heapMb: REPORT_HEAP_MB,
  })
  const cache = createResponseCache(settings.cacheBytes - Math.floor(settings.cacheBytes / SETS_SHARE))
  const perMinute = settings.rateLimitPerMinute
  const shared =
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
  await shared?.tried
  const metrics = createMetrics({
    engine,
    releases,
    cache,
    rows,
    isRateStoreUp: shared?.isUp ?? null,
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
    known: trust.known,
    onProblem: (problem) => logger.error(problem, 'log of releases damaged'),
    onMended: () => logger.info('log of releases whole again'),
  })
  const app = await buildApp({
    engine,
    // As many as would run or wait, were each a statement of its own.
    lookups: createLookups(engine, { waitingMax: settings.queryConcurrency + settings.queryQueue }),
    releases,
    reports,
    rows,
    trust,
    fileProblems: { keys: keys.problem, log: logWatch.problems },
    keys,
    cache,
    metrics,
    servesMetrics: settings.metricsPort === 'local',
    corsOrigins: settings.corsOrigins,
    mcpHosts: mcpHosts(settings.host, settings.allowedHosts),
    writesTogether: settings.writeTogether,
    explorerKey: settings.explorerKey,
    limiter: shared ?? createRateLimiter({ perMinute }),
    cursorSecret: cursorSecret ?? randomBytes(32),
    logger,
  })
  await Promise.all([looked, logWatch.look()])
  return {
    app,
    logger,
    metrics,
    releases,
    warm() {
      isWarm = true
      const current = releases.current()
      if (current !== null) warm(current)
      lookAhead(AHEAD_AFTER_MS)
    },
    closing: () => closing,
    async close() {
      closing = 'releases opened ahead'
      for (const timer of [aheadTimer, warming, holdingAhead]) clearTimeout(timer)
      aheadTimer = undefined
      const steps: readonly (readonly [name: string, close: () => unknown])[] = [
        [closing, () => opening],
        ['requests', () => app.close()],
        ['rate limits', () => shared?.close()],
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

/** @returns once the server listens; @throws when the address is taken or DuckDB cannot start */
export async function startServer(settings: Settings): Promise<RunningServer> {
  const service = await openService(settings)
  const { app, logger, metrics, releases } = service
  const metricsApp = typeof settings.metricsPort === 'number' ? Fastify({ logger: false }) : null
  if (metricsApp !== null && typeof settings.metricsPort === 'number') {
    metricsApp.get('/metrics', async (_request, reply) => {
      const { type, text } = await metrics.render()
      return reply.type(type).header('cache-control', 'no-store').send(text)
    })
    const at = await metricsApp.listen({ host: settings.host, port: settings.metricsPort })
    logger.info({ address: at }, 'metrics')
  }
  const address = await app.listen({ host: settings.host, port: settings.port, backlog: LISTEN_BACKLOG })
  logger.info({ address }, 'listening')
  logger.flush()
  // Only now: the first requests do not wait for it.
  service.warm()
  const refresh = (): void => void releases.refresh()
  process.on('SIGHUP', refresh)
  return {
    address,
    logger,
    metrics,
    closing: service.closing,
    async close() {
      process.off('SIGHUP', refresh)
      await metricsApp?.close()
      await service.close()
    },
  }
}

/**
 * Waits for SIGTERM or SIGINT, then stops the server gracefully. It listens for them before it starts, because the first process
 * of a container ignores a signal without a listener. A server that has not stopped in time is killed, with a line in the log.
 */
export async function serveUntilStopped(
  settings: Settings,
  onListening: (address: string) => void = () => undefined,
): Promise<void> {
  let server: RunningServer | null = null
  const stopped = new Promise<void>((resolve) => {
    const stop = (): void => {
      // Unreferenced, and never cleared: a thread that never ends holds the process even after everything is closed.
      setTimeout(() => endNow(server, settings.stopTimeoutMs), settings.stopTimeoutMs).unref()
      resolve()
    }
    process.once('SIGTERM', stop)
    process.once('SIGINT', stop)
  })
  server = await startServer(settings)
  const { logger, metrics, address } = server
  surviveUncaught(logger, () => metrics.countUncaught())
  onListening(address)
  await stopped
  await server.close()
}

/** Kills this process: exit() waits for threads, and one of them may be what never ends. @param server null while it starts */
function endNow(server: RunningServer | null, afterMs: number): void {
  const found = {
    after_ms: afterMs,
    closing: server === null ? 'start' : server.closing(),
    waits_for: process.getActiveResourcesInfo(),
  }
  const message = 'the server did not stop in time and is killed'
  if (server === null) process.stderr.write(`${JSON.stringify({ ...found, msg: message })}\n`)
  else server.logger.error(found, message)
  server?.logger.flush()
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_LINE_MS)
}
