/**
 * Prometheus metrics: requests, latency by route, running and waiting queries, memory, the current release and the age of its data. In:
 * observations from hooks. Out: the text of /metrics.
 * Labels are route patterns, methods and status codes, never URLs or keys.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Distributed, Engine, ReleaseSource } from '../engine/types.ts'
import type { RowStore } from '../rows/row-store.ts'
import type { ResponseCache } from './request/response-cache.ts'

export interface MetricsSources {
  readonly engine: Engine
  readonly releases: ReleaseSource
  readonly cache: ResponseCache
  readonly rows: RowStore | null
  /** Whether the store of shared rate limits answers; null or absent when there is none. */
  readonly isRateStoreUp?: (() => boolean) | null
  /** Whether the place that releases are copied from can be read; null or absent when there is none. */
  readonly isSourceUp?: (() => boolean) | null
}

export interface Metrics {
  observe(method: string, route: string, status: number, seconds: number): void
  countUncaught(): void
  countOverloaded(route: string): void
  render(): Promise<{ readonly type: string; readonly text: string }>
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export function createMetrics({
  engine,
  releases,
  cache,
  rows,
  isRateStoreUp = null,
  isSourceUp = null,
}: MetricsSources): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const requests = new Counter({
    name: 'sus_http_requests_total',
    help: 'Requests by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const times = new Histogram({
    name: 'sus_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer.',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    registers,
  })
  const uncaught = new Counter({
    name: 'sus_uncaught_errors_total',
    help: 'Errors that nobody caught; each is a line of the log, and the server goes on.',
    registers,
  })
  const overloaded = new Counter({
    name: 'sus_overloaded_total',
    help: 'Requests that a full queue refused, by route.',
    labelNames: ['route'],
    registers,
  })
  /** Metrics by method, route and status, because prom-client looks them up by label each time. */
  const countersByRequest = new Map<string, readonly [Counter.Internal, Histogram.Internal<string>]>()
  /** @param read returns undefined when there is no value */
  const gauge = (name: string, help: string, read: () => number | undefined | Promise<number>): void => {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const value = await read()
        if (value !== undefined) this.set(value)
      },
    })
  }
  gauge('sus_queries_running', 'Queries DuckDB is working on.', () => engine.stats().running)
  gauge('sus_queries_waiting', 'Queries that wait for a connection.', () => engine.stats().waiting)
  gauge('sus_releases_open', 'Releases whose files DuckDB has open.', () => engine.stats().open)
  const { distributed } = engine
  if (distributed !== undefined) observeTrino(distributed, releases, registers, gauge)
  gauge('sus_duckdb_memory_bytes', 'Memory DuckDB holds.', () => engine.memoryBytes())
  if (rows !== null) {
    const memoryHelp = 'Memory of the indexes of row files, and of row sets.'
    gauge('sus_rows_memory_bytes', memoryHelp, () => rows.stats().memory)
    gauge('sus_rows_disk_bytes', 'Disk of the row files of open releases.', () => rows.stats().disk)
  }
  gauge('sus_cache_bytes', 'Memory of cached responses.', () => cache.bytes())
  gauge('sus_ready', '1 while a verified release is in service.', () => (releases.current() === null ? 0 : 1))
  const refusedHelp = 'Releases that are here and do not verify.'
  gauge('sus_releases_refused', refusedHelp, () => releases.problems().length)
  gauge('sus_data_age_seconds', 'Time since the end of the newest reference period in service.', () => {
    const month = releases.current()?.components.cnes?.month
    if (month === undefined) return undefined
    return (Date.now() - Date.UTC(Math.floor(month / 100), month % 100, 1)) / 1000
  })
  if (isRateStoreUp !== null)
    gauge(
      'sus_rate_limit_store_up',
      '1 while rate limits are shared; 0 while the store does not answer and this instance limits alone.',
      () => (isRateStoreUp() ? 1 : 0),
    )
  if (isSourceUp !== null)
    gauge('sus_releases_source_up', '1 while the place that releases are copied from can be read.', () =>
      isSourceUp() ? 1 : 0,
    )
  const info = new Gauge({
    name: 'sus_release_info',
    help: 'The release in service.',
    labelNames: ['release_id'],
    registers,
    collect() {
      this.reset()
      const current = releases.current()
      if (current !== null) this.set({ release_id: current.id }, 1)
    },
  })
  void info
  return {
    observe(method, route, status, seconds) {
      const name = `${status} ${method} ${route}`
      let counts = countersByRequest.get(name)
      if (counts === undefined) {
        counts = [requests.labels(method, route, String(status)), times.labels(method, route)]
        countersByRequest.set(name, counts)
      }
      counts[0].inc()
      counts[1].observe(seconds)
    },
    countUncaught: () => uncaught.inc(),
    countOverloaded: (route) => overloaded.inc({ route }),
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  }
}

function observeTrino(
  distributed: Distributed,
  releases: ReleaseSource,
  registers: Registry[],
  gauge: (name: string, help: string, read: () => number | undefined | Promise<number>) => void,
): void {
  gauge('sus_trino_up', '1 while Trino takes statements.', async () =>
    (await distributed.status(releases.current())).up ? 1 : 0,
  )
  gauge(
    'sus_trino_release_registered',
    '1 while Trino has the tables of the release in service.',
    async () => ((await distributed.status(releases.current())).registered ? 1 : 0),
  )
  gauge(
    'sus_trino_queries_running',
    'Queries Trino is working on for this instance.',
    () => distributed.stats().running,
  )
  gauge(
    'sus_trino_queries_waiting',
    'Queries that wait until they may be sent to Trino.',
    () => distributed.stats().waiting,
  )
  const counter = (name: string, help: string, read: () => number): void => {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }
  counter(
    'sus_trino_queries_total',
    'Queries whose facts Trino added up.',
    () => distributed.stats().answered,
  )
  counter('sus_trino_rows_total', 'Rows that Trino sent back.', () => distributed.stats().rows)
  new Counter({
    name: 'sus_trino_failures_total',
    help: 'Queries that Trino did not answer, by code of the error.',
    labelNames: ['code'],
    registers,
    collect() {
      this.reset()
      for (const [code, count] of Object.entries(distributed.stats().failed)) this.inc({ code }, count)
    },
  })
}

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/

/** @returns whether the request comes from this machine and not through a proxy */
export const isLocal = (ip: string, headers: IncomingHttpHeaders): boolean =>
  LOOPBACK.test(ip) && headers['x-forwarded-for'] === undefined && headers.forwarded === undefined
