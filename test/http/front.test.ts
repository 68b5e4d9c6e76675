/**
 * What is answered before Fastify says what Fastify says: every request goes over a socket twice (the second time its
 * answer may be known) and past the front to an application that keeps nothing.
 */
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { openClient, type Reply } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'
import { listen, type Sent } from '../fixtures/socket.ts'

const small = await makeSmallRelease()
const plain = await openClient(small.releasesDir)
const client = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000, rows: true })
const { send: overSocket } = await listen(client.app)
t.teardown(async () => {
  await client.close()
  await plain.close()
})

/** Headers that differ from request to request, or belong to the connection. */
const OWN = [
  'x-request-id',
  'server-timing',
  'ratelimit',
  'date',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
]
const shown = ({ status, headers, bytes }: Pick<Reply, 'status' | 'headers' | 'bytes'>): object => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name))),
  text: (headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes)
    .toString()
    .replace(/"request_id":"[^"]+"/, '')
    .replace(/"instance":"[^"]+"/, ''),
})

const code = (await plain.get('/v1/facilities?limit=1')).body.data[0].cnes_code
const { etag } = (await plain.get(`/v1/facilities/${code}`)).headers
const cursor = (await plain.get('/v1/facilities?limit=2')).body.pagination.next_cursor
const bearer = (of: typeof plain, ...lacking: Parameters<typeof plain.keyWithout>): string =>
  `Bearer ${of.keyWithout(...lacking)}`

/** What Fastify alone says. */
async function pastFront({ method = 'GET', url, headers = {}, body }: Sent): Promise<object> {
  const sent = await plain.app.inject({
    method: method as 'GET',
    url,
    headers,
    ...(body === undefined ? {} : { payload: body }),
  })
  return shown({ status: sent.statusCode, headers: sent.headers, bytes: sent.rawPayload })
}

const URLS = [
  `/v1/facilities/${code}`,
  '/v1/facilities/0000000',
  '/v1/facilities/12345678',
  `/v1/facilities/${code}?reference_period=2026-05`,
  `/v1/facilities/${code}?x=1`,
  `/v1//facilities/${code}`,
  `/v1/%66acilities/${code}`,
  '/v1/facilities?limit=3&uf=RR',
  '/v1/facilities?search=saude&limit=3',
  '/v1/facilities?limit=0',
  '/v1/states',
  '/v1/states/14',
  '/v1/municipalities/1400100',
  '/v1/municipalities/9999999',
  '/v1/demography/population/1400100',
  '/v1/demography/population/1400100?reference_period=all',
  '/v1/analytics/catalog',
  '/v1/analytics/dimensions/bed_type/values?counts=true',
  `/v1/states?expected_release_id=${small.result.analytics}`,
  '/v1/states?expected_release_id=another',
  '/v1/releases',
  '/health',
  '/openapi.json',
  '/nothing',
]
const HEADERS: readonly ((of: typeof plain) => Record<string, string>)[] = [
  (of) => ({ authorization: bearer(of) }),
  (of) => ({ authorization: bearer(of), 'accept-language': 'en', accept: 'application/json' }),
  (of) => ({ authorization: bearer(of), 'accept-encoding': 'gzip' }),
  (of) => ({ authorization: bearer(of), 'accept-encoding': 'identity' }),
  (of) => ({ authorization: bearer(of), 'if-none-match': String(etag) }),
  (of) => ({ authorization: bearer(of), 'if-none-match': '*' }),
  (of) => ({ authorization: bearer(of), origin: 'https://example.org' }),
  (of) => ({ authorization: bearer(of, 'facilities.read') }),
  (of) => ({ authorization: bearer(of, 'analytics.catalog.read') }),
  () => ({ authorization: 'Bearer sus_nobody' }),
  () => ({}),
]

t.test('the same answer by either way, each time it is asked', async (t) => {
  for (const url of URLS)
    for (const [index, headersOf] of HEADERS.entries())
      for (const method of index === 0 ? ['GET', 'HEAD'] : ['GET']) {
        const expected = await pastFront({ method, url, headers: headersOf(plain) })
        for (const turn of ['first', 'second'])
          t.same(
            shown(await overSocket({ method, url, headers: headersOf(client) })),
            expected,
            `${method} ${url} ${index} ${turn}`,
          )
      }
})

t.test('questions in a body, whole or in parts', async (t) => {
  const json = { 'content-type': 'application/json' }
  const good = JSON.stringify({ metrics: ['bed_capacity_existing'], group_by: ['state'] })
  for (const [body, headers] of [
    [good, json],
    [good, { 'content-type': 'application/json; charset=utf-8' }],
    [good, { ...json, accept: 'text/csv' }],
    [good, { ...json, 'accept-language': 'en' }],
    [good, { 'content-type': 'text/plain' }],
    [good, { ...json, 'content-encoding': 'gzip' }],
    [` ${good}`, json],
    [`${good}}`, json],
    [JSON.stringify({ metrics: ['nothing'] }), json],
    [JSON.stringify({ metrics: ['bed_capacity_existing'], expected_release_id: 'another' }), json],
    ['', json],
  ] as const) {
    const asked = { method: 'POST', url: '/v1/analytics/query', body }
    const expected = await pastFront({ ...asked, headers: { authorization: bearer(plain), ...headers } })
    for (const isSlow of [false, false, true])
      t.same(
        shown(
          await overSocket({
            ...asked,
            headers: {
              authorization: bearer(client),
              'content-length': String(Buffer.byteLength(body)),
              ...headers,
            },
            isSlow,
          }),
        ),
        expected,
        `${body} ${JSON.stringify(headers)}`,
      )
  }
})

t.test('what is answered here is counted, logged under its route, and numbered', async (t) => {
  const url = `/v1/facilities/${code}`
  const headers = { authorization: bearer(client), 'x-request-id': 'mine-1' }
  const first = await overSocket({ url, headers })
  const second = await overSocket({ url, headers })
  t.equal(first.headers['x-request-id'], 'mine-1')
  t.match(second.text, /"request_id":"mine-1"/)
  t.equal(Number(second.headers['content-length']), second.bytes.length)
  const counted = async (): Promise<number> => {
    const { text } = await client.get('/metrics', { authorization: '' })
    return Number(
      /sus_http_requests_total\{method="GET",route="\/v1\/facilities\/:cnes_code",status="200"\} (\d+)/.exec(
        text,
      )?.[1],
    )
  }
  const before = await counted()
  await overSocket({ url, headers })
  t.equal(await counted(), before + 1)
})

t.test('each takes from its key, and what is left over goes by', async (t) => {
  const poor = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000, rows: true, perMinute: 4 })
  t.teardown(() => poor.close())
  const { port } = await listen(poor.app)
  const found = []
  for (let turn = 0; turn < 6; turn += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/facilities/${code}`, {
      headers: { authorization: bearer(poor), 'accept-encoding': 'identity' },
    })
    found.push([response.status, response.headers.get('ratelimit')?.match(/r=(\d+)/)?.[1]])
  }
  t.same(found, [
    [200, '3'],
    [200, '2'],
    [200, '1'],
    [200, '0'],
    [429, '0'],
    [429, '0'],
  ])
})

t.test('a page that is walked by cursor is not taken for another', async (t) => {
  const headers = { authorization: bearer(client) }
  const own = JSON.parse((await overSocket({ url: '/v1/facilities?limit=2', headers })).text)
  for (const url of ['/v1/facilities?limit=2', `/v1/facilities?limit=2&cursor=${own.pagination.next_cursor}`])
    for (let turn = 0; turn < 2; turn += 1) {
      const { text, status } = await overSocket({ url, headers })
      t.equal(status, 200)
      t.same(
        JSON.parse(text).data,
        (await plain.get(url.replace(own.pagination.next_cursor, cursor))).body.data,
      )
    }
})
