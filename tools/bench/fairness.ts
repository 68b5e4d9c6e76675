/**
 * Scenario of fairness: one key with 199 clients of the heaviest queries, then of reports, and another key with one client of
 * the same requests, plus health checks. Then light queries and /ready beside 60 clients of the heaviest queries.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import type { Server } from './children.ts'
import { type Bench, inMs, median, perSecond, report, type Scenario } from './context.ts'
import { groupOf, type Request } from './load.ts'
import { sumStatuses } from './operations.ts'

const CLIENTS = 199
/** Smallest share of its solo rate that a key must get. */
const SHARE_MIN = 1 / 3
const HEALTH_MAX_MS = 100
const HEAVY_CLIENTS = 60
const READY_MAX_MS = 50

/** The heaviest allowed queries, with all totals. @param from first offset, so that every query is distinct */
const queries = (from: number, count: number): Request[] =>
  Array.from({ length: count }, (_, index) => ({
    method: 'POST',
    path: '/v1/analytics/query',
    body: JSON.stringify({
      metrics: ['equipment_existing', 'equipment_in_use', 'equipment_sus', 'equipment_facilities'],
      group_by: ['municipality', 'equipment_type'],
      order_by: [{ field: 'equipment_existing', direction: 'desc' }],
      totals: true,
      limit: 1,
      offset: from + index,
    }),
  }))

/** Distinct reports of similar queries. */
const reports = (from: number, count: number): Request[] =>
  Array.from({ length: count }, (_, index) => ({
    method: 'POST',
    path: '/v1/analytics/export',
    body: JSON.stringify({
      format: 'csv',
      title: `fairness ${from + index}`,
      metrics: ['equipment_existing', 'equipment_in_use'],
      group_by: ['municipality', 'equipment_type'],
    }),
  }))

/** Distinct queries that read one pre-aggregate of 27 states. */
const lightQueries = (count: number): Request[] =>
  Array.from({ length: count }, (_, index) => ({
    method: 'POST',
    path: '/v1/analytics/query',
    body: JSON.stringify({
      metrics: ['beds_existing_per_100k', 'facilities_count'],
      group_by: ['state'],
      limit: 5,
      offset: index,
    }),
  }))

async function measureFairness(
  bench: Bench,
  server: Server,
  other: Server,
  kind: string,
  requestsOf: (from: number, count: number) => Request[],
): Promise<void> {
  const seconds = bench.seconds * 4
  const count = 2000
  const runs = []
  for (let run = 0; run < bench.runs; run += 1) {
    const from = run * 3 * count
    const [alone] = await bench.load.run({ groups: [groupOf(other, requestsOf(from, count), 1)], seconds })
    const [flood, beside, health] = await bench.load.run({
      groups: [
        groupOf(server, requestsOf(from + count, count), CLIENTS),
        groupOf(other, requestsOf(from + 2 * count, count), 1),
        groupOf(server, [{ path: '/health' }], 2, { perSecond: 50 }),
      ],
      seconds,
    })
    if (alone === undefined || beside === undefined || flood === undefined || health === undefined) return
    runs.push({ alone, beside, flood, health })
  }
  const share = median(runs.map(({ alone, beside }) => beside.perSecond / alone.perSecond))
  const refused = sumStatuses(
    runs.map(({ beside }) => beside),
    (status) => status !== 200,
  )
  const rateText = (rates: readonly number[]): string => perSecond(median(rates))
  bench.row(
    {
      scenario: `fairness: ${kind}, one client beside ${CLIENTS} of another key`,
      ours: `${rateText(runs.map(({ beside }) => beside.perSecond))}, p50 ${inMs(median(runs.map(({ beside }) => beside.p50)))}, ${refused} refused`,
      against: `alone ${rateText(runs.map(({ alone }) => alone.perSecond))}; the others ${rateText(runs.map(({ flood }) => flood.perSecond))}, refusals included`,
      ratio: share,
      goal: '≥ 1/3, none refused',
      met: share >= SHARE_MIN && refused === 0,
    },
    runs,
  )
  const p99 = median(runs.map(({ health }) => health.p99))
  bench.row(
    {
      scenario: `fairness: /health meanwhile (${kind}), p99`,
      ours: inMs(p99),
      against: `longest ${inMs(Math.max(...runs.map(({ health }) => health.max)))}`,
      ratio: null,
      goal: `≤ ${HEALTH_MAX_MS} ms`,
      met: p99 <= HEALTH_MAX_MS,
    },
    runs.map(({ health }) => health),
  )
}

async function measureLight(bench: Bench, server: Server, other: Server): Promise<void> {
  const [, light, ready] = await bench.load.run({
    groups: [
      groupOf(server, queries(100_000, 2000), HEAVY_CLIENTS),
      groupOf(other, lightQueries(20_000), 1, { perSecond: 20 }),
      groupOf(server, [{ path: '/ready' }], 1, { perSecond: 50 }),
    ],
    seconds: bench.seconds * 4,
  })
  if (light === undefined || ready === undefined) return
  const refused = sumStatuses([light, ready], (status) => status !== 200)
  report(
    bench,
    {
      scenario: `fairness: light queries of another key beside ${HEAVY_CLIENTS} clients of the heaviest`,
      ours: `p50 ${inMs(light.p50)}, p99 ${inMs(light.p99)}, ${refused} refused`,
      against: `longest ${inMs(light.max)}`,
    },
    {},
    light,
  )
  report(
    bench,
    {
      scenario: 'fairness: /ready meanwhile, p99',
      ours: inMs(ready.p99),
      against: `longest ${inMs(ready.max)}`,
      value: ready.p99,
    },
    { atMost: READY_MAX_MS, unit: ' ms' },
    ready,
  )
}

export const FAIRNESS: readonly Scenario[] = [
  {
    name: 'fairness',
    what: 'One key with 199 clients of the heaviest queries with totals, then of reports; another key with one; light queries beside 60 clients.',
    isExtra: true,
    async run(bench) {
      const server = await bench.ours()
      const { secret } = createKey(bench.keysFile, {
        name: 'other',
        capabilities: CAPABILITIES,
        rate: 100_000_000,
      })
      const other = { ...server, headers: { ...server.headers, authorization: `Bearer ${secret}` } }
      // Servers reread the key file within two seconds.
      for (let isAccepted = false; !isAccepted; await pause(100))
        isAccepted = (await fetch(`${server.address}/v1/states`, { headers: other.headers })).ok
      await measureFairness(bench, server, other, 'queries', queries)
      await measureLight(bench, server, other)
      await measureFairness(bench, server, other, 'reports', reports)
    },
  },
]
