/** Scenarios of analytics: uncached against PostgreSQL and raw DuckDB, cached against a bare web app, one month of many. */
import { isDeepStrictEqual } from 'node:util'
import {
  BIGINT,
  BOOLEAN,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api'
import type { Server } from './children.ts'
import { type Bench, checkEqual, describeRuns, duel, inMs, median, rateOf, type Scenario } from './context.ts'
import { ask, type Request } from './load.ts'
import { QUERIES } from './rival-analytics.ts'

const QUERY = '/v1/analytics/query'
const MIX: readonly Request[] = QUERIES.map(({ body }) => ({
  method: 'POST',
  path: QUERY,
  body: JSON.stringify(body),
}))
export const STATIC: readonly Request[] = [{ path: '/static' }]

/** Sends the requests once, one after another. @returns milliseconds of each */
async function timeEach(server: Server, requests: readonly Request[]): Promise<number[]> {
  const times: number[] = []
  for (const request of requests) {
    const startedAt = performance.now()
    await ask(server, request)
    times.push(performance.now() - startedAt)
  }
  return times
}

const sum = (times: readonly number[]): number => times.reduce((total, time) => total + time, 0)
const timeMix = async (server: Server, requests: readonly Request[]): Promise<number> =>
  sum(await timeEach(server, requests))

type Parameter = string | number | boolean | null | readonly (string | number)[]

const boundValue = (value: Parameter): DuckDBValue =>
  Array.isArray(value) ? listValue([...value]) : (value as DuckDBValue)
function boundType(value: Parameter): DuckDBType {
  if (typeof value === 'boolean') return BOOLEAN
  if (typeof value === 'number') return Math.abs(value) < 2 ** 31 ? INTEGER : BIGINT
  if (Array.isArray(value)) return LIST(typeof value[0] === 'number' ? INTEGER : VARCHAR)
  return VARCHAR
}

/** Gets the statements that the server would run, to run them with DuckDB alone. */
async function explainMix(server: Server): Promise<{ sql: string; parameters: Parameter[] }[]> {
  const statements: { sql: string; parameters: Parameter[] }[] = []
  for (const request of MIX) {
    const { data } = await ask(server, { ...request, path: '/v1/analytics/explain' })
    statements.push(data as { sql: string; parameters: Parameter[] })
  }
  return statements
}

/** The grouped queries of the mix for one month, without the population, which has no months. */
const ofMonth = (month: string): Request[] =>
  QUERIES.filter(({ body }) => body.filters === undefined && body.group_by !== undefined).map(({ body }) => ({
    method: 'POST',
    path: QUERY,
    body: JSON.stringify({
      ...body,
      metrics: body.metrics.filter((code) => code !== 'population_census'),
      filters: [{ dimension: 'reference_period', operator: 'EQ', value: month }],
    }),
  }))

export const ANALYTICS: readonly Scenario[] = [
  {
    name: 'analytics-cold',
    what: '20 queries over all datasets, nothing cached, beside hand-written SQL on PostgreSQL.',
    async run(bench) {
      const [uncached, rival] = [await bench.uncached(), await bench.rival()]
      const ours = { server: uncached, requests: MIX }
      const goal = '≥ 15'
      if (rival === null) {
        const oursMs = await timeMix(uncached, MIX)
        bench.row(
          {
            scenario: 'analytics-cold',
            ours: `${inMs(oursMs / MIX.length)} a query`,
            against: 'skipped: PostgreSQL is not installed',
            ratio: null,
            goal,
            met: null,
          },
          { ours: oursMs },
        )
        return
      }
      // Both are warm: checkEqual runs every query once before timing.
      await checkEqual(ours, { server: rival, requests: MIX }, MIX.length)
      // Run complete mixes, so that both sides get the same requests equally often, whatever their speed.
      const times: [number[][], number[][]] = [[], []]
      for (let run = 0; run < bench.runs; run += 1) {
        times[0].push(await timeEach(uncached, MIX))
        times[1].push(await timeEach(rival, MIX))
      }
      const [oursMs, rivalMs] = [median(times[0].map(sum)), median(times[1].map(sum))]
      bench.row(
        {
          scenario: 'analytics-cold',
          ours: `${inMs(oursMs / MIX.length)} a query`,
          against: `PostgreSQL ${inMs(rivalMs / MIX.length)} a query`,
          ratio: rivalMs / oursMs,
          goal,
          met: rivalMs / oursMs >= 15,
        },
        { queries: QUERIES.map(({ body }) => body), ours: times[0], rival: times[1] },
      )
    },
  },
  {
    name: 'analytics-warm',
    what: 'The same 20 queries, answers cached, beside a bare Fastify app.',
    async run(bench) {
      await besideBare(bench, 'analytics-warm', 0.45, MIX, 200)
      const server = await bench.ours()
      const same: Request[] = []
      for (const request of MIX) {
        const answer = await fetch(`${server.address}${QUERY}`, {
          method: 'POST',
          headers: { ...server.headers, 'content-type': 'application/json' },
          body: request.body ?? '',
        })
        const { byteLength } = await answer.arrayBuffer()
        same.push({ ...request, path: `/bytes/${byteLength}` })
      }
      // Shows the share of reading a body and sending that many bytes.
      await besideBare(bench, 'analytics-warm, both of as many bytes', null, MIX, 200, same)
    },
  },
  {
    name: 'not-modified',
    what: 'Records the client has already (304), beside a bare Fastify app.',
    async run(bench) {
      const codes = await bench.direct.texts(
        `SELECT cnes_code FROM facilities ORDER BY hash(cnes_code || 'bench'), cnes_code LIMIT 500`,
      )
      const server = await bench.ours()
      const requests: Request[] = []
      for (const code of codes) {
        const path = `/v1/facilities/${code}`
        const response = await fetch(`${server.address}${path}`, { headers: server.headers })
        await response.arrayBuffer()
        requests.push({ path, headers: { 'if-none-match': response.headers.get('etag') ?? '' } })
      }
      await besideBare(bench, 'not-modified', 0.55, requests, 304)
    },
  },
  {
    name: 'raw-duckdb',
    what: 'The same 20 queries over HTTP, beside the SQL of /explain run by DuckDB alone; one connection.',
    async run(bench) {
      const server = await bench.uncached()
      const statements = await explainMix(server)
      const { connection } = bench.direct
      const timeRaw = async (): Promise<number> => {
        const startedAt = performance.now()
        for (const { sql, parameters } of statements) {
          const reader = await connection.runAndReadAll(
            sql,
            parameters.map(boundValue),
            parameters.map(boundType),
          )
          reader.getRows()
        }
        return performance.now() - startedAt
      }
      await timeRaw()
      await timeMix(server, MIX)
      const times: [number[], number[]] = [[], []]
      for (let run = 0; run < Math.max(bench.runs, 3); run += 1) {
        times[0].push(await timeMix(server, MIX))
        times[1].push(await timeRaw())
      }
      const [oursMs, raw] = [median(times[0]), median(times[1])]
      bench.row(
        {
          scenario: 'raw-duckdb (time)',
          ours: `${inMs(oursMs / MIX.length)} a query`,
          against: `raw DuckDB ${inMs(raw / MIX.length)}`,
          ratio: oursMs / raw,
          goal: '≤ 1.3',
          met: oursMs / raw <= 1.3,
        },
        { ours: times[0], raw: times[1] },
      )
    },
  },
  {
    name: 'totals',
    what: 'Queries with all their totals, beside the same without them; nothing cached.',
    async run(bench) {
      const server = await bench.uncached()
      const plain = QUERIES.filter(({ body }) => (body.group_by ?? []).length > 0)
      const requests = (totals: boolean): Request[] =>
        plain.map(({ body }) => ({
          method: 'POST',
          path: QUERY,
          // A level that leaves out the months combines them to one value.
          body: JSON.stringify({ ...body, ...(totals ? { totals: true, over_period: 'last' } : {}) }),
        }))
      const [withTotals, without] = [requests(true), requests(false)]
      await timeMix(server, withTotals)
      await timeMix(server, without)
      const times: [number[], number[]] = [[], []]
      for (let run = 0; run < Math.max(bench.runs, 5); run += 1) {
        times[0].push(await timeMix(server, withTotals))
        times[1].push(await timeMix(server, without))
      }
      const [all, rows] = [median(times[0]), median(times[1])]
      bench.row(
        {
          scenario: 'totals (time)',
          ours: `${inMs(all / plain.length)} a query with totals`,
          against: `${inMs(rows / plain.length)} without`,
          ratio: all / rows,
          goal: '≤ 1.5',
          met: all / rows <= 1.5,
        },
        { with: times[0], without: times[1] },
      )
    },
  },
  {
    name: 'months',
    what: 'One month asked of a release of 24 and of a release of 1; small demonstration, nothing cached.',
    async run(bench) {
      const env = { SUS_CACHE_BYTES: '0' }
      const [many, one] = [
        await bench.start('24 months', env, await bench.fixtureOf('small', 24)),
        await bench.start('1 month', env, await bench.fixtureOf('small', 1)),
      ]
      const requests = ofMonth('2026-05')
      const [left, right] = [
        await ask(many, requests[0] ?? { path: '' }),
        await ask(one, requests[0] ?? { path: '' }),
      ]
      if (!isDeepStrictEqual(left.meta.reference_period, right.meta.reference_period))
        throw new Error('the two releases answer for different months')
      await timeMix(many, requests)
      await timeMix(one, requests)
      const times: [number[], number[]] = [[], []]
      for (let run = 0; run < bench.runs * 3; run += 1) {
        times[0].push(await timeMix(many, requests))
        times[1].push(await timeMix(one, requests))
      }
      await Promise.all([many.stop(), one.stop()])
      const [among, alone] = [median(times[0]), median(times[1])]
      bench.row(
        {
          scenario: 'months (time)',
          ours: `${inMs(among / requests.length)} a query, 24 months`,
          against: `${inMs(alone / requests.length)}, 1 month`,
          ratio: among / alone,
          goal: '≤ 1.3',
          met: among / alone <= 1.3,
        },
        { many: times[0], one: times[1] },
      )
    },
  },
]

async function besideBare(
  bench: Bench,
  name: string,
  goal: number | null,
  requests: readonly Request[],
  status: number,
  bareRequests: readonly Request[] = STATIC,
): Promise<void> {
  const [server, bare] = [await bench.ours(), await bench.bare()]
  if (status === 200) await timeMix(server, requests)
  const [oursRuns, bareRuns] = await duel(bench, [
    { server, requests, status },
    { server: bare, requests: bareRequests },
  ])
  const ratio = rateOf(oursRuns) / rateOf(bareRuns)
  bench.row(
    {
      scenario: name,
      ours: describeRuns(oursRuns),
      against: `bare Fastify ${describeRuns(bareRuns)}`,
      ratio,
      goal: goal === null ? '–' : `≥ ${goal}`,
      met: goal === null ? null : ratio >= goal,
    },
    { ours: oursRuns, bare: bareRuns },
  )
}
