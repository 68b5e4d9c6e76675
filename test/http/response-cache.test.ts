/** Cached responses are the answers: same bytes but for the id, never for another key, language, release or body; bounded. */

import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { AppError, both } from '../../src/errors.ts'
import { beginGzip, endGzip, takesGzip } from '../../src/http/compression.ts'
import { fillEnvelope, makeEnvelope } from '../../src/http/envelope.ts'
import { type CachedResponse, createResponseCache } from '../../src/http/response-cache.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { openClient } from '../fixtures/client.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const response = (text: string): CachedResponse => ({
  envelope: { before: text, after: '', rows: 1 },
  view: { id: 'a release' } as ReleaseView,
  releaseId: 'a release',
  gzip: null,
})
const textOf = ({ envelope }: CachedResponse): string => String(envelope.before)

t.test('one question at once is made once; what failed is made again', async (t) => {
  const cache = createResponseCache(10_000)
  let made = 0
  const slow = async (): Promise<CachedResponse> => {
    made += 1
    await new Promise((resolve) => setTimeout(resolve, 20))
    return response(String(made))
  }
  const all = await Promise.all(Array.from({ length: 8 }, () => cache.get('q', slow)))
  t.equal(made, 1)
  t.ok(all.every((found) => textOf(found) === '1'))
  t.equal(textOf(await cache.get('q', slow)), '1')
  const fail = async (): Promise<CachedResponse> => {
    made += 1
    throw new AppError('invalid_request')
  }
  await t.rejects(Promise.all([cache.get('bad', fail), cache.get('bad', fail)]), { code: 'invalid_request' })
  t.equal(made, 2)
  await t.rejects(cache.get('bad', fail), { code: 'invalid_request' })
  t.equal(made, 3, 'errors are not cached')
})

t.test('a request that waits for one whose client left is answered by itself', async (t) => {
  const cache = createResponseCache(10_000)
  const left = cache.get('q', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    throw new AppError('query_timeout', { detail: both('O cliente saiu.', 'The client has left.') })
  })
  const waits = cache.get('q', async () => response('own'))
  await t.rejects(left, { code: 'query_timeout' })
  t.equal(textOf(await waits), 'own')
})

t.test('memory is bounded', async (t) => {
  const cache = createResponseCache(100_000)
  for (let index = 0; index < 1000; index += 1)
    await cache.get(`q${index}`, async () => response('x'.repeat(1000)))
  t.ok(cache.bytes() <= 100_000)
  t.ok(cache.bytes() > 50_000)
  await cache.get('big', async () => response('x'.repeat(20_000)))
  let again = 0
  await cache.get('big', async () => {
    again += 1
    return response('')
  })
  t.equal(again, 1, 'one response is no more than an eighth')
  const none = createResponseCache(0)
  await none.get('q', async () => response('1'))
  t.equal(textOf(await none.get('q', async () => response('2'))), '2')
  t.equal(none.bytes(), 0)
})

t.test('the envelope', async (t) => {
  const whole = makeEnvelope({ data: ['é'], pagination: { limit: 1 }, rows: 1 }, { release_id: 'r' })
  t.equal(whole.rows, 1)
  t.same(JSON.parse(Buffer.from(fillEnvelope(whole, 'id-1').join(''), 'latin1').toString()), {
    data: ['é'],
    pagination: { limit: 1 },
    meta: { version: '0.1.0', request_id: 'id-1', release_id: 'r' },
  })
  t.equal(
    fillEnvelope(makeEnvelope({ json: '[1]', rows: 1 }, {}), 'id').join(''),
    '{"data":[1],"meta":{"version":"0.1.0","request_id":"id"}}',
    'data that is JSON already is taken as it is',
  )
})

t.test('a gzip stream that is begun once ends with any id', async (t) => {
  const before = Buffer.from(`{"data":${JSON.stringify('São Luís, '.repeat(5000))}`).toString('latin1')
  const begun = beginGzip(before)
  for (const rest of ['', 'x', '"id-1"}', 'é'.repeat(1000)])
    t.equal(gunzipSync(endGzip(begun, rest)).toString('latin1'), before + rest)
  t.equal(gunzipSync(endGzip(beginGzip(''), '')).length, 0)
  t.throws(() => endGzip(begun, 'x'.repeat(65_536)), RangeError)
  t.ok(begun.bytes.length * 5 < before.length)
})

t.test('gzip is taken where a client says so', async (t) => {
  for (const header of ['gzip', 'GZIP', 'br, gzip', 'gzip;q=0.5', '*', 'deflate, *;q=0.1', 'x-gzip'])
    t.ok(takesGzip(header), header)
  for (const header of ['', 'br', 'gzip;q=0', 'gzip; q=0.0, *', 'identity', '*;q=0', undefined])
    t.notOk(takesGzip(header), String(header))
})

t.test('what is compressed is cached compressed', async (t) => {
  const cache = createResponseCache(100_000)
  const made = await cache.get('q', async () => response('x'.repeat(5000)))
  const plain = cache.bytes()
  const begun = cache.gzipOf(made)
  t.equal(cache.gzipOf(made), begun)
  t.equal(cache.find('q')?.gzip, begun)
  t.equal(cache.bytes(), plain + begun.bytes.length)
})

t.test('answers with and without a cache are the same', secondRing, async (t) => {
  const small = await makeSmallRelease()
  const plain = await openClient(small.releasesDir)
  const cached = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000 })
  t.teardown(async () => {
    await plain.close()
    await cached.close()
  })
  const strip = (text: string): string => text.replace(/"request_id":"[^"]+"/, '')
  const URLS = [
    '/v1/states',
    '/v1/facilities?limit=3',
    '/v1/facilities?limit=3&uf=RR',
    '/v1/facilities?uf=RR&limit=3',
    '/v1/analytics/catalog',
    '/v1/analytics/dimensions/bed_type/values?counts=true',
    '/v1/demography/population/1400100',
    '/v1/states/99',
    '/v1/states?x=1',
  ]
  for (const url of URLS)
    for (const headers of [
      {},
      { 'accept-language': 'en' },
      { authorization: `Bearer ${cached.keyWithout('bed_capacity.read')}` },
    ]) {
      const theirs = {
        ...headers,
        ...('authorization' in headers
          ? { authorization: `Bearer ${plain.keyWithout('bed_capacity.read')}` }
          : {}),
      }
      const expected = await plain.get(url, theirs)
      for (let turn = 0; turn < 3; turn += 1) {
        const found = await cached.get(url, headers)
        t.equal(found.status, expected.status, url)
        t.equal(strip(found.text), strip(expected.text))
        t.equal(found.headers['content-type'], expected.headers['content-type'])
        if (found.status === 200) t.not(found.body.meta.request_id, expected.body.meta.request_id)
      }
    }
  for (const body of [
    { metrics: ['bed_capacity_existing'] },
    { metrics: ['bed_capacity_existing'], group_by: ['state'] },
    { metrics: ['bed_capacity_existing'], group_by: ['state'], limit: 2 },
    { metrics: ['beds'] },
  ])
    for (let turn = 0; turn < 2; turn += 1) {
      const [expected, found] = [await plain.query(body), await cached.query(body)]
      t.equal(strip(found.text), strip(expected.text))
      const csv = await cached.query(body, { accept: 'text/csv' })
      if (csv.status === 200)
        t.match(csv.headers['content-type'], /^text\/csv/, 'a cached response is not given for another type')
    }
  const lacking = await cached.query(
    { metrics: ['bed_capacity_existing'] },
    { authorization: `Bearer ${cached.keyWithout('bed_capacity.read')}` },
  )
  t.equal(lacking.status, 403, 'nor to a key that may not read it')
})
