/**
 * What the service tells of itself, for Prometheus: requests, latencies by route, queries that run and wait, memory, the
 * release in service and how old its data are. In: what hooks observe. Out: the text of /metrics.
 *
 * Labels are route patterns, methods and status codes, never addresses or keys.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  collectDefaultMetrics,
  Gauge,
  type Metric,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'
import type { Engine, ReleaseSource } from '../engine/types.ts'
import type { RowStore } from '../rows/rows.ts'
import type { AnswerCache } from './answer-cache.ts'

export interface MetricsParts {
  readonly engine: Engine
  readonly releases: ReleaseSource
  readonly cache: AnswerCache
  readonly rows: RowStore | null
  /** Whether all that makes answers of the release in service fast is there. */
  readonly isSettled?: () => boolean
  /** Whether the store of shared rate limits answers; null or absent where there is none. */
  readonly isRateStoreUp?: (() => boolean) | null
}

export interface Metrics {
  observe(method: string, route: string, status: number, seconds: number): void
  render(): Promise<{ readonly type: string; readonly text: string }>
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

interface Observed {
  readonly labels: { readonly method: string; readonly route: string; readonly status: number }
  count: number
  seconds: number
  /** Requests in each bucket alone, the last one beyond all bounds. */
  readonly inBucket: number[]
}

/**
 * The two metrics every request adds to. prom-client takes its labels apart at each step; here a request finds its
 * counts by one look-up, and labels, sums of buckets and text are made when somebody asks.
 */
function createRequestTimes(): { readonly observe: Metrics['observe']; readonly metrics: readonly Metric[] } {
  const observed = new Map<string, Observed>()
  const observe: Metrics['observe'] = (method, route, status, seconds) => {
    const key = `${status} ${method} ${route}`
    let entry = observed.get(key)
    if (entry === undefined) {
      entry = {
        labels: { method, route, status },
        count: 0,
        seconds: 0,
        inBucket: Array.from({ length: SECONDS.length + 1 }, () => 0),
      }
      observed.set(key, entry)
    }
    entry.count += 1
    entry.seconds += seconds
    let bucket = 0
    while (bucket < SECONDS.length && seconds > (SECONDS[bucket] ?? 0)) bucket += 1
    entry.inBucket[bucket] = (entry.inBucket[bucket] ?? 0) + 1
  }
  const name = 'sus_http_request_duration_seconds'
  /** All statuses of a method and route together. */
  const latencies = (): MetricValue<string>[] => {
    const routes = new Map<string, Observed[]>()
    for (const entry of observed.values()) {
      const key = `${entry.labels.method} ${entry.labels.route}`
      routes.set(key, [...(routes.get(key) ?? []), entry])
    }
    return [...routes.values()].flatMap((entries) => {
      const [{ labels }] = entries as [Observed]
      const shown = { method: labels.method, route: labels.route }
      const sum = (of: (entry: Observed) => number): number =>
        entries.reduce((total, entry) => total + of(entry), 0)
      let below = 0
      return [
        ...[...SECONDS.map(String), '+Inf'].map((le, bucket) => {
          below += sum(({ inBucket }) => inBucket[bucket] ?? 0)
          return { labels: { le, ...shown }, value: below, metricName: `${name}_bucket` }
        }),
        { labels: shown, value: sum(({ seconds }) => seconds), metricName: `${name}_sum` },
        { labels: shown, value: sum(({ count }) => count), metricName: `${name}_count` },
      ]
    })
  }
  const metric = (
    described: { readonly name: string; readonly help: string; readonly type: string },
    values: () => MetricValue<string>[],
  ): Metric =>
    // A collector of prom-client is what has a name and answers `get`.
    ({
      ...described,
      get: async () =>
        ({ ...described, aggregator: 'sum', values: values() }) as unknown as MetricObjectWithValues<
          MetricValue<string>
        >,
      reset: () => observed.clear(),
    }) as unknown as Metric
  return {
    observe,
    metrics: [
      metric(
        { name: 'sus_http_requests_total', help: 'Requests by method, route and status.', type: 'counter' },
        () => [...observed.values()].map(({ labels, count }) => ({ labels, value: count })),
      ),
      metric({ name, help: 'Time from a request to the end of its answer.', type: 'histogram' }, latencies),
    ],
  }
}

export function createMetrics({
  engine,
  releases,
  cache,
  rows,
  isSettled = () => true,
  isRateStoreUp = null,
}: MetricsParts): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const times = createRequestTimes()
  for (const metric of times.metrics) registry.registerMetric(metric)
  const gauge = (name: string, help: string, collect: (gauge: Gauge) => void | Promise<void>): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        return collect(this)
      },
    })
  }
  gauge('sus_queries_running', 'Queries DuckDB is working on.', (self) => self.set(engine.stats().running))
  gauge('sus_queries_waiting', 'Queries that wait for a connection.', (self) =>
    self.set(engine.stats().waiting),
  )
  gauge('sus_releases_open', 'Releases whose files DuckDB has open.', (self) => self.set(engine.stats().open))
  gauge('sus_duckdb_memory_bytes', 'Memory DuckDB holds.', async (self) =>
    self.set(await engine.memoryBytes()),
  )
  if (rows !== null) {
    gauge('sus_rows_memory_bytes', 'Memory of the index of rows written out, and of sets of rows.', (self) =>
      self.set(rows.stats().memory),
    )
    gauge('sus_rows_disk_bytes', 'Disk of the rows written out.', (self) => self.set(rows.stats().disk))
  }
  gauge(
    'sus_release_settled',
    '1 once what is kept of the release in service, in memory and written out, is there.',
    (self) => self.set(isSettled() ? 1 : 0),
  )
  gauge('sus_cache_bytes', 'Memory of the answers that are kept.', (self) => self.set(cache.bytes()))
  gauge('sus_ready', '1 while a verified release is in service.', (self) =>
    self.set(releases.current() === null ? 0 : 1),
  )
  gauge('sus_releases_refused', 'Releases that are here and do not verify.', (self) =>
    self.set(releases.problems().length),
  )
  gauge('sus_data_age_seconds', 'Time since the end of the newest reference period in service.', (self) => {
    const month = releases.current()?.components.cnes?.month
    if (month !== undefined) self.set((Date.now() - Date.UTC(Math.floor(month / 100), month % 100, 1)) / 1000)
  })
  if (isRateStoreUp !== null)
    gauge(
      'sus_rate_limit_store_up',
      '1 while rate limits are shared; 0 while the store does not answer and this instance limits alone.',
      (self) => self.set(isRateStoreUp() ? 1 : 0),
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
    observe: times.observe,
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  }
}

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/

/** A request of this machine that no proxy passed on. */
const isLocal = ({ ip, headers }: FastifyRequest): boolean =>
  LOOPBACK.test(ip) && headers['x-forwarded-for'] === undefined && headers.forwarded === undefined

/** Serves /metrics; `onlyLocal` hides it from everybody but this machine. */
export function mountMetrics(app: FastifyInstance, metrics: Metrics, onlyLocal: boolean): void {
  app.get('/metrics', async (request, reply) => {
    if (onlyLocal && !isLocal(request)) return reply.callNotFound()
    const { type, text } = await metrics.render()
    return reply.type(type).header('cache-control', 'no-store').send(text)
  })
}
