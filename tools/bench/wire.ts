/** Scenarios of the wire: records under wrk against another checkout, compressed responses against plain ones. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run, type Server } from './children.ts'
import {
  type Bench,
  CONNECTIONS,
  describeRuns,
  duel,
  inMs,
  median,
  perSecond,
  rateOf,
  report,
  type Scenario,
} from './context.ts'
import { linkReleases } from './fixture.ts'
import { chooseKinds, type Kind } from './kinds.ts'
import type { Request } from './load.ts'
import { QUERIES } from './rival-analytics.ts'
import { recordRequests } from './routes.ts'

const WRK = ['/usr/bin/wrk', '/usr/local/bin/wrk'].find((path) => existsSync(path))

const writeScript = (file: string, server: Server, requests: readonly Request[]): void =>
  writeFileSync(
    file,
    [
      `local paths = {${requests.map(({ path }) => `"${path}"`).join(',')}}`,
      'local at = 0',
      `wrk.headers["authorization"] = "${server.headers.authorization}"`,
      'request = function() at = at % #paths + 1 return wrk.format("GET", paths[at]) end',
    ].join('\n'),
  )

interface WrkRun {
  readonly perSecond: number
  readonly p99: number
}

async function runWrk(bench: Bench, server: Server, requests: readonly Request[]): Promise<WrkRun> {
  const script = join(bench.folder, 'wrk.lua')
  writeScript(script, server, requests)
  const text = await run(WRK ?? '', [
    '-t1',
    `-c${CONNECTIONS}`,
    `-d${bench.seconds}s`,
    '--latency',
    '-s',
    script,
    server.address,
  ])
  if (/Non-2xx|Socket errors/.test(text)) throw new Error(`${server.name}: ${text}`)
  const [, p99 = '', unit = 'ms'] = /99%\s+([\d.]+)(us|ms|s)/.exec(text) ?? []
  const scale = unit === 'us' ? 0.001 : unit === 's' ? 1000 : 1
  return { perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]), p99: Number(p99) * scale }
}

async function underWrk(bench: Bench): Promise<void> {
  const scenario = `wrk -t1 -c${CONNECTIONS}: records`
  if (WRK === undefined) {
    report(bench, { scenario, ours: 'skipped: wrk is not installed', value: Number.NaN }, {}, null)
    return
  }
  const fixture = await linkReleases(bench.fixture, join(bench.folder, 'wrk'), false)
  const [ours, other] = [await bench.ours(), await bench.startOther('the other checkout', fixture)]
  const requests = await recordRequests(bench, 20_000, 'wrk')
  // Measures the gain of writing all responses of one event-loop turn together.
  const apart = await bench.start('written one by one', { SUS_WRITE_TOGETHER: 'false' }, bench.fixture)
  const sides = other === null ? [ours, apart] : [ours, apart, other]
  const runs: WrkRun[][] = sides.map(() => [])
  for (const server of sides) await runWrk(bench, server, requests)
  for (let turn = 0; turn < bench.runs * sides.length; turn += 1) {
    const index = (turn + Math.floor(turn / sides.length)) % sides.length
    const server = sides[index]
    if (server !== undefined) runs[index]?.push(await runWrk(bench, server, requests))
  }
  await other?.stop()
  await apart.stop()
  const rates = runs.map((list) => median(list.map((wrkRun) => wrkRun.perSecond)))
  const describe = (index: number): string =>
    `${perSecond(rates[index] ?? 0)}, p99 ${inMs(median((runs[index] ?? []).map(({ p99 }) => p99)))}`
  report(
    bench,
    {
      scenario: `${scenario}, answers of one turn written together`,
      ours: describe(0),
      against: `one by one ${describe(1)}`,
      ratio: (rates[0] ?? 0) / (rates[1] ?? 1),
    },
    { atLeast: 1.1 },
    runs,
  )
  report(
    bench,
    {
      scenario,
      ours: describe(0),
      against: other === null ? 'name another checkout with --against' : `the other checkout ${describe(2)}`,
      ratio: other === null ? null : (rates[0] ?? 0) / (rates[2] ?? 1),
    },
    { atLeast: 0.55 },
    runs,
  )
}

const GZIP = { 'accept-encoding': 'gzip' }
const compressed = (requests: readonly Request[]): Request[] =>
  requests.map((request) => ({ ...request, headers: { ...request.headers, ...GZIP } }))

/** Sends every request twice, because compressed responses are cached from the second use on. */
async function askTwice(server: Server, requests: readonly Request[]): Promise<void> {
  for (const { path, body, method = 'GET', headers } of [...requests, ...requests]) {
    const response = await fetch(`${server.address}${path}`, {
      method,
      headers: {
        ...server.headers,
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    })
    await response.arrayBuffer()
  }
}

async function besideGzip(
  bench: Bench,
  name: string,
  server: Server,
  requests: readonly Request[],
  goal: number,
): Promise<void> {
  const [plain = [], gzip = []] = await duel(bench, [
    { server, requests },
    { server, requests: compressed(requests) },
  ])
  const size = (runs: typeof plain): string =>
    `${(median(runs.map(({ bytes, requests: count }) => bytes / count)) / 1024).toFixed(1)} KB each`
  report(
    bench,
    {
      scenario: `gzip: ${name}`,
      ours: `${describeRuns(gzip)}, ${size(gzip)}`,
      against: `without ${describeRuns(plain)}, ${size(plain)}`,
      ratio: rateOf(gzip) / rateOf(plain),
    },
    { atLeast: goal },
    { gzip, plain },
  )
}

async function withGzip(bench: Bench): Promise<void> {
  const kinds = await chooseKinds(bench.direct, await bench.walk(), null)
  const requestsOf = (name: Kind['name'], count: number): readonly Request[] =>
    (kinds.find((kind) => kind.name === name)?.requests ?? []).slice(0, count)
  const server = await bench.ours()
  const queries = QUERIES.map(
    ({ body }): Request => ({ method: 'POST', path: '/v1/analytics/query', body: JSON.stringify(body) }),
  )
  const sets: readonly (readonly [string, readonly Request[]])[] = [
    ['records', requestsOf('records', 500)],
    ['pages', requestsOf('pages', 500)],
    ['filtered pages', requestsOf('filtered pages', 500)],
    ['searches', requestsOf('searches', 500)],
    ['analytics', queries],
  ]
  for (const [name, requests] of sets) {
    await askTwice(server, requests)
    await askTwice(server, compressed(requests))
    await besideGzip(bench, `${name}, asked before`, server, requests, 0.8)
  }
  await besideGzip(bench, 'pages, nothing cached', await bench.uncached(), requestsOf('pages', 100_000), 0.5)
}

export const WIRE: readonly Scenario[] = [
  {
    name: 'wrk',
    what: 'Records under wrk with 32 connections, beside the checkout of --against.',
    run: underWrk,
  },
  {
    name: 'gzip',
    what: 'Requests that accept gzip beside the same that do not.',
    run: withGzip,
  },
]
