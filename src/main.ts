/**
 * Starts the server: opens the service (service.ts), then listens. `serve` runs this, and tests call it with port 0.
 * A promotion or SIGHUP switches the store to the new release. SIGTERM and SIGINT stop the server after running requests are answered.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import Fastify from 'fastify'
import type { Logger } from 'pino'
import type { Metrics } from './http/metrics.ts'
import { surviveUncaught } from './last-resort.ts'
import { openService } from './service.ts'
import { type Settings, SettingsError } from './settings.ts'

/** Pending connections before accept (the system may hold fewer). Beyond it, clients retry after a second. */
const LISTEN_BACKLOG = 4096
/** Time for the last log line before the process is killed. The log flushes every tenth of a second. */
const LAST_LINE_MS = 500

export interface RunningServer {
  /** For example http://127.0.0.1:8080. */
  readonly address: string
  readonly logger: Logger
  readonly metrics: Metrics
  /** Name of the step that `close` is waiting for; null before and after closing. */
  closing(): string | null
  close(): Promise<void>
}

/** Listens on a free port of the host and stops, before releases are opened. @throws SettingsError */
async function checkHost(host: string): Promise<void> {
  const probe = createServer()
  try {
    await once(probe.listen({ host, port: 0 }), 'listening')
  } catch {
    throw new SettingsError(
      'HOST',
      host,
      'an IP address of this machine, or a host name that resolves to one',
    )
  }
  probe.close()
}

/** @returns when the server listens @throws when the address is taken or DuckDB cannot start; SettingsError for the host */
export async function startServer(settings: Settings): Promise<RunningServer> {
  await checkHost(settings.host)
  const service = await openService(settings)
  const { app, logger, metrics, releases } = service
  const metricsApp = typeof settings.metricsPort === 'number' ? Fastify({ logger: false }) : null
  if (metricsApp !== null && typeof settings.metricsPort === 'number') {
    metricsApp.get('/metrics', async (_request, reply) => {
      const { type, text } = await metrics.render()
      return reply.type(type).header('cache-control', 'no-store').send(text)
    })
    const metricsAddress = await metricsApp.listen({ host: settings.host, port: settings.metricsPort })
    logger.info({ address: metricsAddress }, 'metrics')
  }
  const address = await app.listen({ host: settings.host, port: settings.port, backlog: LISTEN_BACKLOG })
  logger.info({ address }, 'listening')
  logger.flush()
  // Preload after listening, so that the first requests do not wait.
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
 * Runs the server until SIGTERM or SIGINT, then stops it gracefully. Signals are handled before the start, because PID 1 of a container
 * ignores a signal without a listener. A server that does not stop in time is killed, with a log line.
 */
export async function serveUntilStopped(
  settings: Settings,
  onListening: (address: string) => void = () => undefined,
): Promise<void> {
  let server: RunningServer | null = null
  const stopped = new Promise<void>((resolve) => {
    const stop = (): void => {
      // Never clear this timer: a thread that never ends keeps the process alive even after everything is closed.
      setTimeout(() => killProcess(server, settings.stopTimeoutMs), settings.stopTimeoutMs).unref()
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

/** Kills this process, because exit() waits for threads and one of them may never end. @param server null during startup */
function killProcess(server: RunningServer | null, afterMs: number): void {
  const details = {
    after_ms: afterMs,
    closing: server === null ? 'start' : server.closing(),
    waits_for: process.getActiveResourcesInfo(),
  }
  const message = 'the server did not stop in time and is killed'
  if (server === null) process.stderr.write(`${JSON.stringify({ ...details, msg: message })}\n`)
  else server.logger.error(details, message)
  server?.logger.flush()
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_LINE_MS)
}
