/**
 * The table of limits in docs/api.md: a request at each bound is answered, and one past it is refused. Times are in
 * sockets.exhaustive.test.ts, rows of a report in test/report, queues in test/turns.test.ts.
 */
import t from 'tap'
import { METRIC_CODES } from '../../src/model/metrics.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'
import { listen } from '../fixtures/socket.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir, 1, { rows: true })
t.teardown(() => client.close())
const { send } = await listen(client.app)
const authorization = `Bearer ${client.keyWithout()}`
const query = (body: object): Promise<Reply> =>
  client.query({ metrics: ['bed_capacity_existing'], limit: 1, ...body })
/** Metrics that one query can have together. */
const METRICS = METRIC_CODES.filter((code) => /^(beds|bed|equipment|facilities)_/.test(code))
const DIMENSIONS = [
  'state',
  'municipality',
  'region',
  'facility',
  'bed_type',
  'reference_period',
  'bed_category',
]
const codes = (count: number): string[] => Array.from({ length: count }, (_, at) => String(1_000_000 + at))
const notIn = (dimension: string, count: number): object => ({
  dimension,
  operator: 'NOT_IN',
  value: codes(count),
})
const text = (length: number): string => 'a'.repeat(length)
/** A body of exactly so many bytes. */
const bodyOf = (bytes: number): string => {
  const body = JSON.stringify({ metrics: ['bed_capacity_existing'] })
  return body + ' '.repeat(bytes - body.length)
}
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
const post = (payload: string): Promise<Reply> =>
  client.send({
    method: 'POST',
    url: '/v1/analytics/query',
    headers: { 'content-type': 'application/json' },
    payload,
  })
const linked = (characters: number): string => {
  const q = JSON.stringify({ metrics: ['bed_capacity_existing'] })
  return `/v1/analytics/query?q=${encodeURIComponent(q)}${'+'.repeat(characters - q.length)}`
}
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000 - 60_000).toISOString()

const CAPS: readonly (readonly [
  name: string,
  at: number,
  ask: (count: number) => Promise<Reply>,
  refused: string,
])[] = [
  ['metrics', 20, (count) => query({ metrics: METRICS.slice(0, count) }), 'invalid_request'],
  ['dimensions', 6, (count) => query({ group_by: DIMENSIONS.slice(0, count) }), 'invalid_request'],
  ['filters', 50, (count) => query({ filters: Array(count).fill(notIn('facility', 1)) }), 'invalid_request'],
  ['values of a list', 6000, (count) => query({ filters: [notIn('facility', count)] }), 'invalid_request'],
  [
    'values of all filters',
    12_000,
    (count) =>
      query({
        filters: [notIn('facility', 6000), notIn('municipality', 5999), notIn('facility', count - 11_999)],
      }),
    'invalid_request',
  ],
  ['rows of a query', 10_000, (limit) => query({ group_by: ['state'], limit }), 'invalid_request'],
  ['offset', 1_000_000, (offset) => query({ group_by: ['state'], offset }), 'invalid_request'],
  ['records of a page', 100, (limit) => client.get(`/v1/bed-capacity?limit=${limit}`), 'invalid_request'],
  [
    'a text that is searched with',
    100,
    (count) => client.get(`/v1/facilities?search=${text(count)}`),
    'invalid_request',
  ],
  ['a link to a query', 16_000, (count) => client.get(linked(count)), 'invalid_request'],
  ['bytes of a body', 2 ** 20, (count) => post(bodyOf(count)), 'payload_too_large'],
  [
    'days of a link',
    366,
    (days) => client.post('/v1/links', { address: '/v1/states', expires: inDays(days) }),
    'invalid_request',
  ],
]

for (const [name, at, ask, code] of CAPS)
  t.test(`${name}: ${at}`, async (t) => {
    const [kept, refused] = [await ask(at), await ask(at + 1)]
    t.equal(kept.status, 200, kept.text.slice(0, 300))
    t.match(refused.body, { code }, refused.text.slice(0, 300))
  })

t.test('levels of a body: 16', async (t) => {
  // Neither is a query: only the deeper one is refused for its depth.
  const [kept, refused] = [await post(nested(16)), await post(nested(17))]
  t.same([kept.status, refused.status], [400, 400])
  t.not(kept.body.detail, refused.body.detail)
})

t.test('bytes of an address and headers together: 16 KiB', async (t) => {
  const sizes = async (bytes: number): Promise<number> =>
    (await send({ url: '/v1/states', headers: { authorization, 'x-a': text(bytes) } })).status
  t.equal(await sizes(15 * 1024), 200)
  t.equal(await sizes(16 * 1024), 431)
})
