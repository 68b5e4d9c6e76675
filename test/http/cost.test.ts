/** The cost of an answer follows its number of rows, and long answers leave the thread to others while they are made. */
import t from 'tap'
import { createRateLimiter } from '../../src/keys/rate-limit.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const RATE = 600
const client = await openClient(small.releasesDir, 1, { perMinute: RATE, cacheBytes: 2 ** 26 })
t.teardown(() => client.close())

const LONG = {
  metrics: ['equipment_existing', 'equipment_in_use'],
  group_by: ['facility', 'equipment_type'],
  totals: true,
  limit: 1,
}
/** Requests that are left of the rate. */
const leftOf = ({ headers }: { readonly headers: Record<string, unknown> }): number =>
  Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1])
const rowsOf = (body: { data: unknown[]; totals?: { data: unknown[] }[] }): number =>
  body.data.length + (body.totals ?? []).reduce((sum, { data }) => sum + data.length, 0)

t.test('a query costs 5, or one for each 250 rows of its answer and totals', async (t) => {
  const short = { metrics: ['facilities_count'], group_by: ['state'] }
  for (const [name, body] of [
    ['short', short],
    ['long', { ...LONG, limit: 10_000 }],
    ['long and cached', { ...LONG, limit: 10_000 }],
  ] as const) {
    const before = leftOf(await client.get('/v1/states'))
    const began = performance.now()
    const answer = await client.query(body)
    const taken = before - leftOf(answer)
    const filled = Math.ceil(((performance.now() - began) * RATE) / 60_000) + 1
    const rows = rowsOf(answer.body)
    const cost = Math.max(5, Math.ceil(rows / 250))
    if (name !== 'short') t.ok(cost > 20, `${rows} rows`)
    t.ok(
      taken <= cost + 1 && taken >= cost - filled,
      `${name}: ${taken} of ${cost}, ${filled} filled meanwhile`,
    )
  }
})

t.test('what is charged takes an empty bucket no further', (t) => {
  const limiter = createRateLimiter({ perMinute: 60, now: () => 0 })
  t.match(limiter.charge('k', 50), { allowed: true, remaining: 10 })
  t.match(limiter.charge('k', 50), { allowed: true, remaining: 0, resetSeconds: 60, retryAfterSeconds: 0 })
  t.match(limiter.take('k'), { allowed: false, retryAfterSeconds: 1 })
  t.end()
})

t.test('rows in pieces are the bytes of the same values', async (t) => {
  const { text, body } = await client.query(LONG)
  t.equal(text, JSON.stringify(body), 'no piece is lost, doubled or cut inside a character')
  t.same(Object.keys(body), ['data', 'totals', 'pagination', 'meta'])
  const plain = await client.query({ ...LONG, totals: undefined, limit: 1000 })
  t.equal(plain.text, JSON.stringify(plain.body))
  t.equal(plain.body.data.length, 1000)
  t.same(body.data, plain.body.data.slice(0, 1))
})
