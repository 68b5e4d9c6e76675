/** Kept answers are the answers: same bytes but for the id, never for another key, language, release or body; bounded. */
import t from 'tap'
import { AppError } from '../../src/errors.ts'
import { createAnswerCache, type KeptAnswer, keepAnswer, writeKept } from '../../src/http/answer-cache.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const answer = (text: string): KeptAnswer => ({
  data: Buffer.from(text),
  behind: Buffer.alloc(0),
  tail: Buffer.alloc(0),
  rows: 1,
})
const textOf = ({ data }: KeptAnswer): string => data.toString()

t.test('one question at once is asked once; what failed is asked again', async (t) => {
  const cache = createAnswerCache(10_000)
  let asked = 0
  const slow = async (): Promise<KeptAnswer> => {
    asked += 1
    await new Promise((resolve) => setTimeout(resolve, 20))
    return answer(String(asked))
  }
  const all = await Promise.all(Array.from({ length: 8 }, () => cache.get('q', slow)))
  t.equal(asked, 1)
  t.ok(all.every((found) => textOf(found) === '1'))
  t.equal(textOf(await cache.get('q', slow)), '1')
  const fail = async (): Promise<KeptAnswer> => {
    asked += 1
    throw new AppError('invalid_request')
  }
  await t.rejects(Promise.all([cache.get('bad', fail), cache.get('bad', fail)]), { code: 'invalid_request' })
  t.equal(asked, 2)
  await t.rejects(cache.get('bad', fail), { code: 'invalid_request' })
  t.equal(asked, 3, 'errors are not kept')
})

t.test('who waits for a client that left asks for itself', async (t) => {
  const cache = createAnswerCache(10_000)
  const left = cache.get('q', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    throw new AppError('query_timeout', { detail: 'The client has left.' })
  })
  const waits = cache.get('q', async () => answer('own'))
  await t.rejects(left, { code: 'query_timeout' })
  t.equal(textOf(await waits), 'own')
})

t.test('memory is bounded', async (t) => {
  const cache = createAnswerCache(100_000)
  for (let index = 0; index < 1000; index += 1)
    await cache.get(`q${index}`, async () => answer('x'.repeat(1000)))
  t.ok(cache.bytes() <= 100_000)
  t.ok(cache.bytes() > 50_000)
  await cache.get('big', async () => answer('x'.repeat(20_000)))
  let again = 0
  await cache.get('big', async () => {
    again += 1
    return answer('')
  })
  t.equal(again, 1, 'one answer is no more than an eighth')
  const none = createAnswerCache(0)
  await none.get('q', async () => answer('1'))
  t.equal(textOf(await none.get('q', async () => answer('2'))), '2')
  t.equal(none.bytes(), 0)
})

t.test('the envelope', async (t) => {
  const whole = keepAnswer({ data: ['é'], pagination: { limit: 1 }, rows: 1 }, { release_id: 'r' }, '0.1.0')
  t.equal(whole.rows, 1)
  t.same(JSON.parse(writeKept(whole, 'id-1').toString()), {
    data: ['é'],
    pagination: { limit: 1 },
    meta: { version: '0.1.0', request_id: 'id-1', release_id: 'r' },
  })
  const written = keepAnswer({ json: Buffer.from('[1]'), rows: 1 }, {}, '0.1.0')
  t.equal(
    writeKept(written, 'id').toString(),
    '{"data":[1],"meta":{"version":"0.1.0","request_id":"id"}}',
    'data that is JSON already is taken as it is',
  )
})

t.test('answers with and without a cache are the same', async (t) => {
  const small = await makeSmallRelease()
  const plain = await openClient(small.releasesDir)
  const kept = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000 })
  t.teardown(async () => {
    await plain.close()
    await kept.close()
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
      { authorization: `Bearer ${kept.keyWithout('bed_capacity.read')}` },
    ]) {
      const theirs = {
        ...headers,
        ...('authorization' in headers
          ? { authorization: `Bearer ${plain.keyWithout('bed_capacity.read')}` }
          : {}),
      }
      const expected = await plain.get(url, theirs)
      for (let turn = 0; turn < 2; turn += 1) {
        const found = await kept.get(url, headers)
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
      const [expected, found] = [await plain.query(body), await kept.query(body)]
      t.equal(strip(found.text), strip(expected.text))
      const csv = await kept.query(body, { accept: 'text/csv' })
      if (csv.status === 200)
        t.match(csv.headers['content-type'], /^text\/csv/, 'a kept answer is not given for another type')
    }
  const lacking = await kept.query(
    { metrics: ['bed_capacity_existing'] },
    { authorization: `Bearer ${kept.keyWithout('bed_capacity.read')}` },
  )
  t.equal(lacking.status, 403, 'nor to a key that may not read it')
})
