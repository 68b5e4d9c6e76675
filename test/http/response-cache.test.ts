/** Cached responses are the answers: same bytes, never for another key, language, release or body; bounded. */

import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { AppError, both } from '../../src/errors.ts'
import { compress, takesGzip } from '../../src/http/connection/compression.ts'
import { makeEnvelope } from '../../src/http/request/envelope.ts'
import { type CachedResponse, createResponseCache } from '../../src/http/request/response-cache.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { openClient } from '../fixtures/client.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const response = (text: string): CachedResponse => ({
  envelope: { body: text, rows: 1 },
  view: { id: 'a release' } as ReleaseView,
  releaseId: 'a release',
  gzip: null,
})
const textOf = ({ envelope }: CachedResponse): string => String(envelope.body)

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
  t.same(JSON.parse(Buffer.from(String(whole.body), 'latin1').toString()), {
    data: ['é'],
    pagination: { limit: 1 },
    meta: { version: '0.1.0', release_id: 'r' },
  })
  t.equal(
    makeEnvelope({ json: '[1]', rows: 1 }, {}).body,
    '{"data":[1],"meta":{"version":"0.1.0"}}',
    'data that is JSON already is taken as it is',
  )
})

t.test('a body of any length is one gzip stream', async (t) => {
  for (const length of [0, 1, 255, 4096, 65_535, 65_536, 131_071, 131_072, 2 ** 20]) {
    const body = Buffer.from(JSON.stringify('São Luís, '.repeat(length / 8 + 1)))
      .toString('latin1')
      .slice(0, length)
    const made = compress(body)
    t.equal(made instanceof Promise, length >= 131_072, 'a long one is compressed beside the main thread')
    t.equal(gunzipSync(await made).toString('latin1'), body)
  }
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
  const gzip = cache.gzipOf(made)
  t.equal(cache.gzipOf(made), gzip)
  const isStored = async (): Promise<never> => {
    throw new Error('the response is in the cache')
  }
  t.equal((await cache.get('q', isStored)).gzip, gzip)
  t.equal(cache.bytes(), plain + (gzip as Buffer).length)
  const long = await createResponseCache(10_000_000).get('q', async () => response('x'.repeat(200_000)))
  const other = createResponseCache(10_000_000)
  const held = await other.get('long', async () => long)
  const before = other.bytes()
  const bytes = await other.gzipOf(held)
  t.equal((await other.get('long', isStored)).gzip, bytes)
  t.equal(other.bytes(), before + bytes.length)
})

t.test('answers with and without a cache are the same', secondRing, async (t) => {
  const small = await makeSmallRelease()
  const plain = await openClient(small.releasesDir)
  const cached = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000 })
  t.teardown(async () => {
    await plain.close()
    await cached.close()
  })
  /** Problems name the request. */
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
        t.not(found.headers['x-request-id'], expected.headers['x-request-id'])
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
