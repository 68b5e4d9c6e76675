/** What an operator sees and a browser is told: security headers, other origins, metrics, timing, traces. */
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir)
const open = await openClient(small.releasesDir, 1, { corsOrigins: ['https://example.org'] })
t.teardown(async () => {
  await client.close()
  await open.close()
})

t.test('every answer keeps a browser from doing more than reading it', async (t) => {
  for (const url of ['/health', '/v1/states', '/v1/states?x=1', '/nothing', '/openapi.json', '/docs']) {
    const { headers } = await client.get(url)
    t.equal(headers['x-content-type-options'], 'nosniff', url)
    t.equal(headers['x-frame-options'], 'SAMEORIGIN')
    t.equal(headers['referrer-policy'], 'no-referrer')
    t.match(headers['strict-transport-security'], /max-age=31536000/)
    t.match(headers['content-security-policy'], /default-src 'none'/)
    t.match(headers['content-security-policy'], /frame-ancestors 'none'/)
    t.equal(headers['cross-origin-resource-policy'], 'same-origin')
    t.notOk(headers['x-powered-by'])
    t.match(headers['server-timing'], /^app;dur=\d+(\.\d)?$/)
  }
})

t.test('other origins are closed out, but for those the operator names', async (t) => {
  const origin = 'https://example.org'
  const closed = await client.get('/v1/states', { origin })
  t.notOk(closed.headers['access-control-allow-origin'])
  const preflight = (of: typeof client, from: string) =>
    of.send({
      method: 'OPTIONS',
      url: '/v1/analytics/query',
      headers: {
        origin: from,
        authorization: '',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
  const refused = await preflight(client, origin)
  t.ok(refused.status >= 400)
  t.notOk(refused.headers['access-control-allow-origin'])
  const named = await open.get('/v1/states', { origin })
  t.equal(named.headers['access-control-allow-origin'], origin)
  t.match(named.headers['access-control-expose-headers'], /x-data-release-id/)
  t.match(String(named.headers.vary), /Origin/i)
  const asked = await preflight(open, origin)
  t.equal(asked.status, 204)
  t.match(asked.headers['access-control-allow-headers'], /authorization/)
  t.match(asked.headers['access-control-allow-headers'], /mcp-protocol-version.*mcp-method.*mcp-name/)
  t.notOk((await preflight(open, 'https://elsewhere.org')).headers['access-control-allow-origin'])
})

t.test('answers sent at once carry the headers that others carry', async (t) => {
  const other = [
    'x-request-id',
    'server-timing',
    'ratelimit',
    'date',
    'content-length',
    'transfer-encoding',
    'connection',
  ]
  const origin = 'https://example.org'
  for (const of of [client, open])
    for (const url of [
      '/v1/facilities?limit=50',
      '/v1/states',
      '/v1/analytics/catalog',
      '/v1/demography/population',
    ]) {
      const plain = await of.get(url, { origin })
      t.equal(plain.status, 200, url)
      t.equal(plain.headers['content-encoding'], undefined)
      t.equal(Number(plain.headers['content-length']), plain.bytes.length)
      // What is compressed goes Fastify's way.
      const packed = await of.get(url, { origin, 'accept-encoding': 'gzip' })
      t.equal(packed.headers['content-encoding'], 'gzip')
      const shown = ({ headers }: typeof plain): object =>
        Object.fromEntries(
          Object.entries(headers)
            .filter(([name]) => !other.includes(name) && name !== 'content-encoding')
            .map(([name, value]) => [
              name,
              name === 'vary' ? new Set(String(value).toLowerCase().split(/, */)) : value,
            ])
            .map(([name, value]) => [name, name === 'etag' ? String(value).replace('-gzip"', '"') : value]),
        )
      t.same(shown(plain), shown(packed), url)
      const again = await of.get(url, { origin, 'if-none-match': String(plain.headers.etag) })
      t.equal(again.status, 304)
      t.equal(again.text, '')
      for (const name of ['etag', 'cache-control', 'vary', 'x-request-id', 'access-control-allow-origin'])
        if (name !== 'x-request-id') t.same(again.headers[name], plain.headers[name], name)
        else t.ok(again.headers[name])
    }
})

t.test('metrics, for this machine alone', async (t) => {
  await client.get('/v1/states')
  await client.get('/v1/states/99')
  await client.query({ metrics: ['bed_capacity_existing'] })
  const { status, headers, text } = await client.get('/metrics', { authorization: '' })
  t.equal(status, 200)
  t.match(headers['content-type'], /^text\/plain; version=0\.0\.4/)
  t.match(text, /sus_http_requests_total\{method="GET",route="\/v1\/states",status="200"\} \d+/)
  t.match(text, /sus_http_requests_total\{method="GET",route="\/v1\/states\/:ibge_code",status="404"\} 1/)
  t.match(
    text,
    /sus_http_request_duration_seconds_bucket\{le="0.1",method="POST",route="\/v1\/analytics\/query"\} \d+/,
  )
  t.match(text, new RegExp(`sus_release_info\\{release_id="${small.result.analytics}"\\} 1`))
  t.match(text, /sus_ready 1/)
  t.match(text, /sus_queries_running 0/)
  t.match(text, /sus_queries_waiting 0/)
  t.match(text, /sus_releases_open 1/)
  t.notMatch(text, /sus_rate_limit_store_up/, 'no store, no word of it')
  t.ok(Number(/^sus_duckdb_memory_bytes (\S+)$/m.exec(text)?.[1]) >= 0)
  t.ok(Number(/^sus_data_age_seconds (\S+)$/m.exec(text)?.[1]) > 0)
  t.notMatch(text, /sus_[a-z0-9]{8}_[a-z0-9]{20}/, 'no key')
  for (const passed of [{ 'x-forwarded-for': '203.0.113.7' }, { forwarded: 'for=203.0.113.7' }])
    t.equal((await client.get('/metrics', passed)).status, 404, 'what a proxy passes on is not this machine')
  const far = await client.app.inject({ method: 'GET', url: '/metrics', remoteAddress: '203.0.113.7' })
  t.equal(far.statusCode, 404)
})
