/**
 * Scenario of fairness: a key with 199 clients of the heaviest queries, and of reports, beside another key with one client that asks the
 * same, and checks of the health of the server.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import type { Server } from './children.ts'
import { type Bench, inMs, median, perSecond, type Scenario } from './context.ts'
import { groupOf, type Request } from './load.ts'
import { sumStatuses } from './operations.ts'

const CLIENTS = 199
/** What a key must get beside the other one, of what it gets alone. */
const SHARE_MIN = 1 / 3
const HEALTH_MAX_MS = 100

/** Queries as heavy as they are allowed, with all totals; each another one. @param from where a list begins, so that none is asked twice */
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

/** Reports of the same; each another one. */
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

async function measureFairness(
  bench: Bench,
  server: Server,
  other: Server,
  what: string,
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
  const at = (rates: readonly number[]): string => perSecond(median(rates))
  bench.row(
    {
      scenario: `fairness: ${what}, one client beside ${CLIENTS} of another key`,
      ours: `${at(runs.map(({ beside }) => beside.perSecond))}, p50 ${inMs(median(runs.map(({ beside }) => beside.p50)))}, ${refused} refused`,
      against: `alone ${at(runs.map(({ alone }) => alone.perSecond))}; the others ${at(runs.map(({ flood }) => flood.perSecond))}, refusals included`,
      ratio: share,
      goal: '≥ 1/3, none refused',
      met: share >= SHARE_MIN && refused === 0,
    },
    runs,
  )
  const p99 = median(runs.map(({ health }) => health.p99))
  bench.row(
    {
      scenario: `fairness: /health meanwhile (${what}), p99`,
      ours: inMs(p99),
      against: `longest ${inMs(Math.max(...runs.map(({ health }) => health.max)))}`,
      ratio: null,
      goal: `≤ ${HEALTH_MAX_MS} ms`,
      met: p99 <= HEALTH_MAX_MS,
    },
    runs.map(({ health }) => health),
  )
}

export const FAIRNESS: readonly Scenario[] = [
  {
    name: 'fairness',
    what: 'One key with 199 clients of the heaviest queries with totals, then of reports; another key with one.',
    isExtra: true,
    async run(bench) {
      const server = await bench.ours()
      const { secret } = createKey(bench.keysFile, {
        name: 'other',
        capabilities: CAPABILITIES,
        rate: 100_000_000,
      })
      const other = { ...server, headers: { ...server.headers, authorization: `Bearer ${secret}` } }
      // Servers read the file of keys anew within two seconds.
      for (let isKnown = false; !isKnown; await pause(100))
        isKnown = (await fetch(`${server.address}/v1/states`, { headers: other.headers })).ok
      await measureFairness(bench, server, other, 'queries', queries)
      await measureFairness(bench, server, other, 'reports', reports)
    },
  },
]
