/** Scenarios of first-time analytics: many small queries at once, and one over all municipalities. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { awaitPreparation, type Server } from './children.ts'
import { type Bench, describeRuns, inMs, measure, median, rateOf, report, type Scenario } from './context.ts'
import { linkReleases } from './fixture.ts'
import type { GroupResult, Request } from './load.ts'

const QUERY = '/v1/analytics/query'
const STATES = 'RO AC AM RR PA AP TO MA PI CE RN PB PE AL SE BA MG ES RJ SP PR SC RS MS MT GO DF'.split(' ')
const SHAPES = [
  { metrics: ['bed_capacity_existing', 'beds_existing_per_100k'], group_by: ['municipality'] },
  { metrics: ['bed_capacity_existing', 'bed_capacity_sus'], group_by: ['state', 'bed_type'] },
  { metrics: ['equipment_existing', 'equipment_in_use'], group_by: ['equipment_type'] },
  { metrics: ['service_offerings'], group_by: ['specialized_service'] },
  { metrics: ['facilities_count'], group_by: ['state', 'facility_type'] },
  {
    metrics: ['equipment_existing', 'bed_capacity_existing', 'facilities_count'],
    group_by: ['municipality'],
  },
  { metrics: ['beds_sus_per_100k'], group_by: ['state', 'bed_category'] },
  { metrics: ['equipment_sus', 'service_offerings', 'population_census'], group_by: ['state'] },
]

/** Every pair of states with every shape: 2,808 distinct queries. @param pin release that they name, or null */
const pairQueries = (pin: string | null): Request[] =>
  SHAPES.flatMap((shape, offset) =>
    STATES.flatMap((first, index) =>
      STATES.slice(index + 1).map((second, position) => ({
        first,
        second,
        shape: SHAPES[(position + index + offset) % SHAPES.length] ?? shape,
      })),
    ),
  ).map(({ first, second, shape }) => ({
    method: 'POST',
    path: QUERY,
    body: JSON.stringify({
      ...shape,
      filters: [{ dimension: 'state', operator: 'IN', value: [first, second] }],
      ...(pin === null ? {} : { expected_release_id: pin }),
    }),
  }))

/** Goal without another checkout: twice the 104/s measured before row files existed. */
const PAIRS_PER_SECOND = 208

async function statePairs(bench: Bench): Promise<void> {
  const pair = await bench.pair()
  const linked = await linkReleases(pair, join(bench.folder, 'state-pairs'), false)
  const current: GroupResult[] = []
  const pinned: GroupResult[] = []
  const others: GroupResult[] = []
  const take = async (server: Server, pin: string | null, results: GroupResult[]): Promise<void> => {
    results.push(await measure(bench, { server, requests: pairQueries(pin) }, bench.seconds))
  }
  for (let run = 0; run < Math.min(3, bench.runs); run += 1) {
    // Start a new server each time and wait until it has loaded the tables of both releases.
    const server = await bench.start('state pairs', {}, pair)
    await awaitPreparation(server, bench.logOf('state pairs'), 2)
    await take(server, null, current)
    await take(server, pair.other, pinned)
    await server.stop()
    const other = await bench.startOther('state pairs, the other checkout', linked)
    if (other !== null) {
      await take(other, null, others)
      await other.stop()
    }
  }
  for (const [name, results] of [
    ['in service', current],
    ['pinned', pinned],
  ] as const) {
    const hasOther = others.length > 0
    report(
      bench,
      {
        scenario: `state-pairs: new queries, ${name}`,
        ours: describeRuns(results),
        against: hasOther
          ? `the other checkout ${describeRuns(others)}`
          : 'name another checkout with --against',
        ratio: hasOther ? rateOf(results) / rateOf(others) : null,
        ...(hasOther ? {} : { value: rateOf(results) }),
      },
      hasOther ? { atLeast: 2 } : { atLeast: PAIRS_PER_SECOND, unit: '/s' },
      { results, others },
    )
  }
}

const SUMS = [
  'bed_capacity_existing',
  'bed_capacity_sus',
  'equipment_existing',
  'equipment_in_use',
  'equipment_sus',
  'service_offerings',
  'facilities_count',
]
const MUNICIPALITY_QUERIES = SUMS.flatMap((first, index) =>
  SUMS.slice(index + 1).map((second) =>
    JSON.stringify({ metrics: [first, second], group_by: ['municipality'], limit: 10_000 }),
  ),
)

/** Runs the queries one after another, each for the first time. @returns milliseconds of each, and rows */
async function timeMunicipalities(
  server: Server,
  encoding: string,
): Promise<{ readonly times: number[]; readonly rows: number }> {
  const times: number[] = []
  let rows = 0
  for (const body of MUNICIPALITY_QUERIES) {
    const startedAt = performance.now()
    const response = await fetch(`${server.address}${QUERY}`, {
      method: 'POST',
      headers: { ...server.headers, 'content-type': 'application/json', 'accept-encoding': encoding },
      body,
    })
    const text = await response.text()
    times.push(performance.now() - startedAt)
    if (response.status !== 200) throw new Error(`the query is ${response.status}: ${text.slice(0, 300)}`)
    rows = Math.max(rows, text.split('"label":').length - 1)
  }
  return { times, rows }
}

async function allMunicipalities(bench: Bench): Promise<void> {
  for (const [encoding, goal] of [
    ['identity', 35],
    ['gzip', 45],
  ] as const) {
    // This new server has only run queries of another kind.
    const server = await bench.start(`municipalities, ${encoding}`, {}, bench.fixture)
    // Wait until its tables are in memory, because loading uses both cores.
    await pause(bench.quick ? 500 : 25_000)
    await measure(bench, { server, requests: pairQueries(null) }, 1, { connections: 1 })
    const { times, rows } = await timeMunicipalities(server, encoding)
    await server.stop()
    report(
      bench,
      {
        scenario: `all-municipalities: ${rows} rows, new queries, ${encoding === 'gzip' ? 'gzip' : 'plain'}`,
        ours: inMs(median(times)),
        against: `slowest ${inMs(Math.max(...times))}`,
        value: median(times),
      },
      { atMost: goal, unit: ' ms' },
      times,
    )
  }
}

export const NEW_QUERIES: readonly Scenario[] = [
  {
    name: 'state-pairs',
    what: 'Queries of pairs of states that were not run before, in service and pinned, beside the checkout of --against.',
    run: statePairs,
  },
  {
    name: 'all-municipalities',
    what: 'Queries of every municipality that were not run before, one client, plain and compressed.',
    run: allMunicipalities,
  },
]
