/**
 * Seeded requests, 50,000 in the second ring: methods × paths × parameters × headers × bodies × keys, most of them wrong. No answer is a 5xx
 * but a documented one, every error is a problem document, nothing leaks, and memory does not grow with them. They go
 * over sockets to an application that keeps answers and has its rows written out, as it is run; what came before comes
 * again, so that it may be known. A second application without cache and row files is asked the same: it answers the same.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { ERRORS } from '../../src/errors.ts'
import { methodOf, type Route } from '../../src/http/route.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { DIMENSION_CODES } from '../../src/model/dimensions.ts'
import { METRIC_CODES } from '../../src/model/metrics.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'
import { listen } from '../fixtures/socket.ts'

const REQUESTS = countOf(25_000, 1000)
const small = await makeSmallRelease()
const client = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000, rows: true })
const { send } = await listen(client.app)
/** The same release and keys' rights, with nothing remembered: what both answer can only be right. */
const other = await openClient(small.releasesDir, 1)
const { send: sendOther } = await listen(other.app)
const otherGood = `Bearer ${other.keyWithout()}`
const code: string = (await client.get('/v1/facilities?limit=1')).body.data[0].cnes_code
const good = `Bearer ${client.keyWithout()}`
t.teardown(() => Promise.all([client.close(), other.close()]))
const { draw, pick } = createDraws(2026)
const maybe = (share: number): boolean => draw(1000) < share * 1000

const TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  '1',
  '2',
  '14',
  '1400100',
  '140010',
  'RR',
  'rr',
  'XX',
  'true',
  'false',
  'all',
  'null',
  '1e9',
  '999999999999',
  '__proto__',
  'constructor',
  "' OR 1=1 --",
  '";',
  '../../etc/passwd',
  '%00',
  '\u0000',
  'ação',
  '💥',
  'a'.repeat(300),
  '01:02',
  '2026-05',
  '2026-13',
  '*',
  '%',
  '_',
  '\\',
  '\r\nx: y',
  '{}',
  '[]',
  '{"a":1}',
  'ESTIMATED_POPULATION',
  '05',
  'M',
  code,
  small.result.analytics,
] as const
const NAMES = [
  ...new Set([
    ...ROUTES.flatMap((route) => ('filters' in route ? [...(route.filters ?? [])] : [])),
    'limit',
    'cursor',
    'count',
    'search',
    'reference_period',
    'expected_release_id',
    'offset',
    'filters',
    'counts',
    'q',
    'format',
    'x',
    '__proto__',
    'limit[]',
  ]),
]
/** Characters that can stand in an address as they are. */
const plain = (text: string): string =>
  [...text].filter((character) => character > ' ' && character < '\u007f' && character !== '#').join('')
const encode = (text: string): string => (maybe(0.9) ? encodeURIComponent(text) : plain(text))

function drawPath(): string {
  if (maybe(0.05))
    return `/${pick(['v1', 'v2', '', '//', 'v1/%2e%2e/x', 'docs', 'metrics', 'openapi.json', '.well-known/x', 'V1/states'])}`
  const route = pick(ROUTES) as Route
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    maybe(0.5) && name === 'dimensionCode'
      ? pick(DIMENSION_CODES)
      : maybe(0.4)
        ? ({
            ibge_code: '14',
            uf: 'RR',
            cnes_code: code,
            release_id: small.result.analytics,
            path: 'manifest.json',
            municipalityCode: '1400100',
          }[name] ?? '01')
        : encode(pick(TEXTS)),
  )
}
function drawUrl(): string {
  const count = draw(4)
  const query = Array.from({ length: count }, () => `${encode(pick(NAMES))}=${encode(pick(TEXTS))}`)
  return `${drawPath()}${count === 0 ? '' : `?${query.join('&')}`}`
}
const drawValue = (depth = 0): unknown =>
  depth > 3
    ? pick(TEXTS)
    : pick<() => unknown>([
        () => pick(TEXTS),
        () => draw(10_000) - 100,
        () => null,
        () => maybe(0.5),
        () => 1.5,
        () => Array.from({ length: draw(4) }, () => drawValue(depth + 1)),
        () => ({ [pick(NAMES)]: drawValue(depth + 1) }),
      ])()
function drawBody(): string {
  if (maybe(0.1))
    return pick(['', '{', 'null', '[]', '"x"', '\u0000', '<a/>', 'NaN', '{"metrics":'.repeat(200)])
  const body: Record<string, unknown> = {
    metrics: maybe(0.8) ? Array.from({ length: 1 + draw(3) }, () => pick(METRIC_CODES)) : drawValue(),
  }
  if (maybe(0.6))
    body.group_by = maybe(0.8) ? Array.from({ length: draw(3) }, () => pick(DIMENSION_CODES)) : drawValue()
  if (maybe(0.4))
    body.filters = maybe(0.8)
      ? [
          {
            dimension: pick(DIMENSION_CODES),
            operator: pick(['EQ', 'IN', 'NEQ', 'GT', 'LIKE']),
            value: maybe(0.5) ? pick(TEXTS) : [pick(TEXTS)],
          },
        ]
      : drawValue()
  for (const name of [
    'order_by',
    'limit',
    'offset',
    'over_period',
    'expected_release_id',
    'key',
    'metric',
    'side',
    'title',
    'format',
    'old_release_id',
  ])
    if (maybe(0.08)) body[name] = drawValue()
  if (maybe(0.3)) body.limit = 5
  return JSON.stringify(body)
}
const KEYS = [
  'good',
  'good',
  'good',
  'good',
  'none',
  'Bearer sus_aaaaaaaa_x',
  'Basic eDp5',
  'Bearer',
  `Bearer ${'x'.repeat(500)}`,
] as const
function drawHeaders(hasBody: boolean): Record<string, string> {
  const key = pick(KEYS)
  return {
    authorization: key === 'good' ? good : key === 'none' ? '' : key,
    ...(hasBody
      ? {
          'content-type': pick([
            'application/json',
            'application/json',
            'application/json',
            'text/plain',
            'application/xml',
            'x',
          ]),
        }
      : {}),
    ...(maybe(0.2)
      ? { accept: pick(['*/*', 'text/csv', 'application/vnd.apache.arrow.stream', 'x/y', ';;;']) }
      : {}),
    ...(maybe(0.1) ? { 'accept-language': pick(['en', 'pt', 'xx', ';q=']) } : {}),
    ...(maybe(0.1) ? { 'accept-encoding': pick(['gzip', 'br', 'identity', 'x']) } : {}),
    ...(maybe(0.1) ? { 'if-none-match': pick(['*', '"x"', 'W/"y"', ',,,']) } : {}),
    ...(maybe(0.1) ? { range: pick(['bytes=0-3', 'bytes=-1', 'bytes=9999999-', 'x']) } : {}),
    ...(maybe(0.05)
      ? {
          'x-request-id': pick(['abc', 'a b', 'x'.repeat(200)]),
        }
      : {}),
    ...(maybe(0.05)
      ? { traceparent: pick(['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'zz']) }
      : {}),
  }
}
setFlagsFromString('--expose-gc')
/** What is still used after this is not garbage. */
const collect = runInNewContext('gc') as () => void
const DOCUMENTED = new Set<string>(Object.keys(ERRORS))
/** Words of the library that validates. */
const LIBRARY_WORDS =
  /\b(expected [a-z]+, received|Invalid (input|option|string|key|element|format)|Too (big|small):|Unrecognized key)/
/** What differs between two answers to one request: its id and its time; a cursor is signed by either with the same secret. */
const withoutId = (text: string): string => text.replace(/"request_id":"[^"]*"/, '"request_id":""')
const LEAKS =
  /node_modules|\.ts:\d+|at \w+ \(|\/tmp\/|\/home\/|Binder Error|Parser Error|Catalog Error|Conversion Error|IO Error|sus_[a-z0-9]{8}_[a-z0-9]{20}/

/** These say what is here beside the release: row files, or counts of requests. */
const DIFFER = /^\/(ready|metrics)|^\/explorer|^\/(\?|$)/
/** Servers listen at ports of their own, which descriptions of releases name. */
const plainText = (headers: Reply['headers'], bytes: Buffer): string =>
  (headers['content-encoding'] === 'gzip' && bytes.length > 0 ? gunzipSync(bytes) : bytes)
    .toString('latin1')
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):\d+/g, 'http://server')

interface Asked {
  readonly method: string
  readonly url: string
  readonly body: string | undefined
}
function drawRequest(): Asked {
  const method = maybe(0.8)
    ? methodOf(pick(ROUTES))
    : pick(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
  // Reports are made one at a time by a worker: they have tests of their own.
  const url =
    (method === 'POST' && maybe(0.8)
      ? pick([
          '/v1/analytics/query',
          '/v1/analytics/explain',
          '/v1/analytics/lineage',
          '/v1/analytics/compare',
        ])
      : drawUrl()) || '/'
  const hasBody = method === 'POST' || (method !== 'GET' && maybe(0.2))
  return { method, url, body: hasBody ? drawBody() : undefined }
}

t.test(`${REQUESTS} requests`, async (t) => {
  const wrong: string[] = []
  const statuses = new Map<number, number>()
  const answered: Asked[] = []
  let heapBefore = 0
  let compared = 0
  for (let index = 0; index < REQUESTS; index += 1) {
    if (index === REQUESTS / 4) {
      collect()
      heapBefore = process.memoryUsage().heapUsed
    }
    const { method, url, body } = answered.length > 0 && maybe(0.2) ? pick(answered) : drawRequest()
    if (url.includes('/export') && maybe(0.9)) continue
    const asked = `${method} ${url.slice(0, 200)} ${body?.slice(0, 200) ?? ''}`
    const headers = drawHeaders(body !== undefined)
    const {
      status,
      headers: received,
      text,
      bytes,
    } = await send({
      method,
      url,
      body,
      headers:
        body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    })
    const expected = await sendOther({
      method,
      url,
      body,
      headers: {
        ...headers,
        ...(headers.authorization === good ? { authorization: otherGood } : {}),
        ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
      },
    })
    const isComparable =
      !DIFFER.test(url) && ![status, expected.status].some((code) => code === 503 || code === 504)
    if (isComparable) {
      const [left, right] = [plainText(received, bytes), plainText(expected.headers, expected.bytes)]
      if (status !== expected.status || withoutId(left) !== withoutId(right))
        wrong.push(
          `differs: ${status} ${expected.status} ${left.slice(0, 150)} | ${right.slice(0, 150)} ${asked}`,
        )
      compared += 1
    }
    if (status === 200) answered.push({ method, url, body })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status >= 400 && method !== 'HEAD') {
      const isProblem = received['content-type'] === 'application/problem+json; charset=utf-8'
      if (!isProblem) {
        wrong.push(`${status} ${received['content-type']} ${asked}`)
        continue
      }
      const isPlain =
        received['content-encoding'] === undefined || received['content-encoding'] === 'identity'
      if (isPlain && !DOCUMENTED.has(JSON.parse(text).code)) wrong.push(`${text.slice(0, 100)} ${asked}`)
    }
    if (status >= 500 && status !== 503 && status !== 504)
      wrong.push(`${status} ${text.slice(0, 200)} ${asked}`)
    if (status >= 400 && LIBRARY_WORDS.test(text)) wrong.push(`quotes: ${text.slice(0, 300)} ${asked}`)
    if (status >= 400 && LEAKS.test(text)) wrong.push(`leaks: ${text.slice(0, 300)} ${asked}`)
  }
  t.same(
    wrong.slice(0, 5),
    [],
    [...statuses]
      .sort()
      .map(([status, count]) => `${status}: ${count}`)
      .join(', '),
  )
  t.ok((statuses.get(200) ?? 0) > REQUESTS / 100, 'some were right')
  t.ok(compared > REQUESTS / 2, `${compared} were answered alike`)
  collect()
  const grown = (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20
  t.ok(grown < 40, `the heap grew by ${grown.toFixed(1)} MB over ${(REQUESTS * 3) / 4} requests`)
})
