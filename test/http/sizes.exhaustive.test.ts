/**
 * Requests and answers of awkward sizes: bodies, metas, headers, addresses, notes and rows at and around powers of two, on every route, plain
 * and compressed, for the first time and again, against a server in a process of its own. Every answer is documented, the four
 * forms of it are the same, and the process lives. `SUS_TESTS_FACTOR=10` makes it 10,000 requests.
 */
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { ERRORS } from '../../src/errors.ts'
import { methodOf } from '../../src/http/route.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { createDraws } from '../fixtures/draws.ts'
import { countOf } from '../fixtures/rings.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'
import { type Sent, sendTo } from '../fixtures/socket.ts'

const REQUESTS = countOf(1000, 1000)
const SIZES = [8, 12, 14, 15, 16, 20].flatMap((power) => [-1, 0, 1].map((more) => 2 ** power + more))
/** Bodies are read up to this (docs/api.md, Limits). */
const BODY_MAX = 2 ** 20
const small = await makeSmallRelease(2)
const key = createKey(join(small.releasesDir, 'keys.json'), {
  name: 'sizes',
  capabilities: CAPABILITIES,
  rate: 10_000_000,
}).secret
const server = await startServerProcess(small.releasesDir, {
  env: { SUS_EXPLORER_KEY: key, SUS_RATE_LIMIT: '10000000' },
})
t.teardown(() => server.child.kill('SIGKILL'))
const send = sendTo(server.port)
const authorization = `Bearer ${key}`
const { draw, pick } = createDraws(316)
const codes = new Set<string>(Object.keys(ERRORS))

const PATHS = ROUTES.map((route) => ({
  method: methodOf(route),
  path: route.path
    .replace('{ibge_code}', route.path.includes('states') ? '14' : '1400100')
    .replace('{dimensionCode}', 'municipality')
    .replace('{municipalityCode}', '1400100')
    .replace('{uf}', 'RR')
    .replace('{level}', 'state')
    .replace('{code}', 'RR')
    .replace('{path}', 'manifest.json')
    .replace('{release_id}', small.result.analytics)
    .replaceAll(/\{\w+\}/g, '01'),
}))
const POSTS = [
  ...PATHS.filter(({ method }) => method === 'POST').map(({ path }) => path),
  '/mcp',
  '/explorer/api/v1/analytics/query',
]
const GETS = [
  ...PATHS.filter(({ method }) => method === 'GET').map(({ path }) => path),
  '/health',
  '/ready',
  '/openapi.json',
  '/explorer',
  '/explorer/api/v1/states',
]
const QUERY = { metrics: ['bed_capacity_existing'], group_by: ['state'] }
const MCP = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const post = (url: string, body: string, headers: Record<string, string> = {}): Sent => ({
  method: 'POST',
  url,
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream;q=0.5',
    ...headers,
  },
  body,
})
const bodyOf = (path: string): object => {
  if (path === '/mcp') return MCP
  if (path.endsWith('/compare')) return { ...QUERY, old_release_id: small.result.analytics }
  return path.endsWith('/links') ? { address: '/v1/states' } : QUERY
}
/** A list of codes whose JSON has some length. */
const municipalities = (bytes: number): number[] =>
  Array.from(
    { length: Math.max(1, Math.min(12_000, Math.floor(bytes / 8))) },
    (_, index) => 1_100_000 + index,
  )
const months = (count: number): string[] =>
  Array.from(
    { length: count },
    (_, index) => `${1900 + Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}`,
  )

type Drawn = readonly [kind: string, sent: Sent, isTooLong: boolean]
const KINDS: readonly ((size: number) => Drawn)[] = [
  (size) => {
    const path = pick(POSTS)
    const text = JSON.stringify(bodyOf(path))
    return ['body', post(path, text.padEnd(size)), size > BODY_MAX]
  },
  (size) => {
    const all = municipalities(size)
    const filters = [all.slice(0, 6000), all.slice(6000)].flatMap((value) =>
      value.length === 0 ? [] : [{ dimension: 'municipality', operator: 'NOT_IN', value }],
    )
    const path = pick(['/v1/analytics/query', '/explorer/api/v1/analytics/query', '/v1/analytics/explain'])
    return ['meta', post(path, JSON.stringify({ ...QUERY, filters })), false]
  },
  (size) => {
    const value = months(Math.max(1, Math.min(2400, Math.floor(size / 9))))
    const filters = [{ dimension: 'reference_period', operator: 'IN', value }]
    return [
      'note',
      post('/v1/analytics/query', JSON.stringify({ ...QUERY, filters, over_period: 'last' })),
      false,
    ]
  },
  (size) => {
    const limit = Math.max(1, Math.min(10_000, Math.floor(size / 130) + draw(3)))
    const group_by = pick([['municipality'], ['municipality', 'bed_type'], ['facility']])
    const totals = pick([undefined, true, [[]]])
    return ['rows', post('/v1/analytics/query', JSON.stringify({ ...QUERY, group_by, limit, totals })), false]
  },
  (size) => [
    'page',
    {
      url: `${pick(['/v1/facilities', '/v1/municipalities', '/v1/bed-capacity', '/explorer/api/v1/facilities'])}?limit=${Math.max(1, Math.min(pick([100, 250]), Math.floor(size / 700) + draw(3)))}`,
    },
    false,
  ],
  (size) => ['header', { url: pick(GETS), headers: { 'x-padding': 'x'.repeat(size) } }, size > 12_000],
  (size) => [
    'address',
    {
      url: `${pick(GETS)}?${pick(['search', 'cursor', 'q', 'expected_release_id', 'x'])}=${'a'.repeat(size)}`,
    },
    size > 12_000,
  ],
]

const withoutId = (text: string): string => text.replace(/"request_id":"[^"]*"/, '')
/** Their answers say the time, or what was requested before. */
const CHANGES = /^\/(ready|metrics|explorer(\?|$))|\/links$|\/lineage|^\/v1\/analytics\/exports?\//

t.test(`${REQUESTS} requests of awkward sizes`, async (t) => {
  const wrong: string[] = []
  const statuses = new Map<string, number>()
  let sent = 0
  while (sent < REQUESTS) {
    const [kind, request, isTooLong] = pick(KINDS)(pick(SIZES))
    const name = `${kind} ${request.method ?? 'GET'} ${request.url.slice(0, 80)} ${request.url.length} ${request.body?.length ?? 0}`
    const forms: string[] = []
    const isFirstPlain = draw(2) === 0
    for (const turn of [0, 1, 2, 3]) {
      const isGzip = (turn % 2 === 0) !== isFirstPlain
      sent += 1
      try {
        const { status, headers, bytes } = await send({
          ...request,
          headers: {
            authorization,
            'accept-encoding': isGzip ? 'gzip' : 'identity',
            ...request.headers,
          },
        })
        const isCompressed = headers['content-encoding'] === 'gzip'
        if (isCompressed && !isGzip) wrong.push(`compressed though nobody takes it: ${name}`)
        const text = (isCompressed && bytes.length > 0 ? gunzipSync(bytes) : bytes).toString('latin1')
        const counted = `${kind} ${status}`
        statuses.set(counted, (statuses.get(counted) ?? 0) + 1)
        if (status >= 500 && status !== 503) wrong.push(`${status} ${text.slice(0, 200)} ${name}`)
        if (status >= 400 && !request.url.startsWith('/mcp') && !request.url.startsWith('/explorer?'))
          if (!codes.has(JSON.parse(text).code)) wrong.push(`${status} without a documented code: ${name}`)
        forms.push(`${status} ${withoutId(text)}`)
      } catch (error) {
        // A server refuses a head or body that is too long and closes the connection, which a client may meet while it still writes.
        if (!isTooLong || !/ECONNRESET|EPIPE/.test(String((error as NodeJS.ErrnoException).code)))
          wrong.push(`${error} ${name}`)
        forms.push('refused')
      }
    }
    const seen = new Set(forms.filter((form) => form !== 'refused'))
    if (seen.size > 1 && !CHANGES.test(request.url))
      wrong.push(
        `differs: ${[...seen].map((form) => `${form.length}: ${form.slice(0, 120)}`).join(' | ')} ${name}`,
      )
    if (server.child.exitCode !== null) {
      t.fail(`the server ended: ${name}`)
      break
    }
  }
  t.same(wrong.slice(0, 5), [], `${wrong.length} wrong of ${sent}`)
  t.comment(Object.fromEntries([...statuses].sort()))
  t.match((await send({ url: '/health' })).status, 200, 'the process lives')
  t.notMatch(server.log(), /nobody caught/, 'and met nothing that nobody caught')
})
