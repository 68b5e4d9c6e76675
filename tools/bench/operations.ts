/** Scenarios of operation: reports, crawl, heavy neighbours, memory. */
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Server } from './children.ts'
import { type Bench, inMs, median, perSecond, report, residentMb, type Scenario } from './context.ts'
import { chooseKinds, mixKinds } from './kinds.ts'
import { type Group, type GroupResult, groupOf, type Request } from './load.ts'
import { QUERIES } from './rival-analytics.ts'
import { recordRequests } from './routes.ts'

export const REPORT: Request = {
  method: 'POST',
  path: '/v1/analytics/exports/xlsx',
  body: JSON.stringify({
    metrics: [
      'bed_capacity_existing',
      'equipment_existing',
      'service_offerings',
      'facilities_count',
      'population_census',
    ],
    group_by: ['municipality'],
  }),
}

/** Requests a report and reads it completely. @returns milliseconds and rows */
async function timeReport(server: Server): Promise<{ readonly ms: number; readonly rows: number }> {
  const startedAt = performance.now()
  const response = await fetch(`${server.address}${REPORT.path}`, {
    method: 'POST',
    headers: { ...server.headers, 'content-type': 'application/json' },
    body: REPORT.body ?? '',
  })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`the report is ${response.status}`)
  return { ms: performance.now() - startedAt, rows: Number(response.headers.get('x-report-row-count')) }
}

/** The heaviest allowed queries, all distinct, so that no response is cached or shared. */
export const heavyRequests = (count: number): Request[] =>
  Array.from({ length: count }, (_, index) => ({
    method: 'POST',
    path: '/v1/analytics/query',
    body: JSON.stringify({
      metrics: [
        'equipment_existing',
        'equipment_in_use',
        'equipment_sus',
        'equipment_facilities',
        'equipment_sus_facilities',
        'equipment_types_present',
      ],
      group_by: ['municipality', 'equipment_type'],
      order_by: [{ field: 'equipment_existing', direction: 'desc' }],
      limit: 1000,
      offset: index,
    }),
  }))

export const sumStatuses = (results: readonly GroupResult[], isWanted: (status: number) => boolean): number =>
  results
    .flatMap(({ statuses }) => Object.entries(statuses))
    .reduce((sum, [status, count]) => sum + (isWanted(Number(status)) ? count : 0), 0)

/** Slope by least squares. @param points (seconds, MB) @returns MB per hour */
export function slopeOf(points: readonly (readonly [number, number])[]): number {
  const count = points.length
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  return spread === 0 ? 0 : (covariance / spread) * 3600
}

/** Simultaneous load of a busy server: look-ups, cached and new analytics, reports, health checks. */
async function mixedGroups(bench: Bench, server: Server): Promise<Group[]> {
  const kinds = await chooseKinds(bench.direct, await bench.walk(), null)
  const analytics: Request[] = QUERIES.map(({ body }) => ({
    method: 'POST',
    path: '/v1/analytics/query',
    body: JSON.stringify(body),
  }))
  return [
    groupOf(server, mixKinds(kinds, 400_000), 12),
    groupOf(server, [...analytics, ...heavyRequests(500)], 2),
    groupOf(server, [REPORT], 1, { perSecond: 0.2 }),
    groupOf(server, [{ path: '/health' }], 1, { perSecond: 10 }),
  ]
}

async function memoryAfterLoad(bench: Bench): Promise<void> {
  const temporary = join(bench.folder, 'temporary')
  mkdirSync(temporary)
  // The walk starts another server, so run it first: the load must meet this server from its first second.
  await bench.walk()
  const server = await bench.start('memory', { TMPDIR: temporary }, bench.fixture)
  const seconds = bench.quick ? 5 : 60
  const results = await bench.load.run({ groups: await mixedGroups(bench, server), seconds })
  const mb = residentMb(server)
  // Ignore empty folders while the server runs; after the stop they count as leftovers.
  const files = readdirSync(temporary, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  await server.stop()
  const left = [...files.map(({ name }) => name), ...readdirSync(temporary)]
  const failed = sumStatuses(results, (status) => status !== 200)
  report(
    bench,
    {
      scenario: `memory: all processes after ${seconds} s of mixed load (RSS)`,
      ours: `${mb} MB`,
      against: `${failed} of ${results.reduce((sum, { requests }) => sum + requests, 0)} failed`,
      value: mb,
    },
    { atMost: 1200, unit: ' MB' },
    { mb, results },
  )
  report(
    bench,
    {
      scenario: 'memory: files in the temporary folder, and what is left after the stop',
      ours: left.length === 0 ? 'none' : `${left.length}: ${left.slice(0, 3).join(', ')}`,
      value: left.length,
    },
    { atMost: 0 },
    left,
  )
}

export const OPERATIONS: readonly Scenario[] = [
  {
    name: 'xlsx',
    what: 'Every municipality × 5 metrics as a workbook, and point reads meanwhile.',
    async run(bench) {
      const server = await bench.ours()
      await timeReport(server)
      const times: number[] = []
      let rows = 0
      for (let run = 0; run < Math.max(3, bench.runs); run += 1) {
        const report = await timeReport(server)
        times.push(report.ms)
        rows = report.rows
      }
      const time = median(times)
      bench.row(
        {
          scenario: `xlsx, ${rows} rows × 5 metrics`,
          ours: inMs(time),
          against: '–',
          ratio: null,
          goal: '≤ 500 ms',
          met: time <= 500,
        },
        times,
      )
      const reads = groupOf(server, await recordRequests(bench, 5000, 'xlsx'), 4, { perSecond: 40 })
      const [before] = await bench.load.run({ groups: [reads], seconds: bench.seconds })
      const [meanwhile] = await bench.load.run({
        groups: [{ ...reads, from: 2500 }, groupOf(server, [REPORT], 1)],
        seconds: bench.seconds * 2,
      })
      if (before === undefined || meanwhile === undefined) return
      bench.row(
        {
          scenario: 'point reads while workbooks are made, p99',
          ours: inMs(meanwhile.p99),
          against: `without, ${inMs(before.p99)}`,
          ratio: meanwhile.p99 / before.p99,
          goal: '–',
          met: null,
        },
        { before, meanwhile },
      )
    },
  },
  {
    name: 'crawl',
    what: 'All facilities by cursors, 250 a page, one connection.',
    async run(bench) {
      const { seconds, pages, rows } = await bench.walk()
      bench.row(
        {
          scenario: `crawl, ${rows} rows in ${pages} pages`,
          ours: `${seconds.toFixed(1)} s, ${perSecond(rows / seconds).replace('/s', ' rows/s')}`,
          against: '–',
          ratio: null,
          goal: '–',
          met: null,
        },
        { seconds, pages, rows },
      )
    },
  },
  {
    name: 'heavy',
    what: '8 clients ask the heaviest queries; others ask /health and records.',
    async run(bench) {
      const server = await bench.ours()
      const seconds = bench.seconds * (bench.quick ? 2 : 4)
      const [heavy, health, reads] = await bench.load.run({
        groups: [
          groupOf(server, heavyRequests(10_000), 8),
          groupOf(server, [{ path: '/health' }], 2, { perSecond: 50 }),
          groupOf(server, await recordRequests(bench, 5000, 'heavy'), 4, { perSecond: 40 }),
        ],
        seconds,
      })
      if (heavy === undefined || health === undefined || reads === undefined) return
      const against = `8 clients, ${perSecond(heavy.perSecond)} heavy queries, p50 ${inMs(heavy.p50)}`
      for (const [target, result, goal] of [
        ['/health', health, 50],
        ['point reads', reads, 250],
      ] as const)
        bench.row(
          {
            scenario: `heavy: ${target}, p99`,
            ours: inMs(result.p99),
            against,
            ratio: null,
            goal: `< ${goal} ms`,
            met: result.p99 < goal && sumStatuses([result], (status) => status !== 200) === 0,
          },
          { heavy, result },
        )
    },
  },
  {
    name: 'memory',
    what: 'Memory of a server and its processes after a mixed load, and what it leaves in the temporary folder.',
    run: memoryAfterLoad,
  },
]
