/** Token buckets: bursts, refill, rates of keys, bounded memory. */
import t from 'tap'
import { createRateLimiter } from '../../src/keys/rate-limit.ts'

t.test('a burst of a minute, then as fast as it fills', async (t) => {
  let now = 0
  const limiter = createRateLimiter({ perMinute: 6, now: () => now })
  for (let left = 5; left >= 0; left -= 1)
    t.match(
      [limiter.allows('a'), limiter.take('a')],
      [true, { allowed: true, limit: 6, remaining: left, retryAfterSeconds: 0 }],
    )
  t.notOk(limiter.allows('a'))
  t.same(limiter.take('a'), {
    allowed: false,
    limit: 6,
    remaining: 0,
    resetSeconds: 60,
    retryAfterSeconds: 10,
  })
  t.ok(limiter.take('b').allowed, 'each key for itself')
  now += 9_999
  t.match(limiter.take('a'), { allowed: false, retryAfterSeconds: 1 }, 'a refusal costs nothing')
  now += 1
  t.match(limiter.take('a'), { allowed: true, remaining: 0, resetSeconds: 60 })
  now += 3_600_000
  t.match(limiter.take('a'), { allowed: true, remaining: 5, resetSeconds: 10 }, 'never more than full')
})

t.test('cost', async (t) => {
  let now = 0
  const limiter = createRateLimiter({ perMinute: 60, now: () => now })
  t.match(limiter.take('a', 50), { allowed: true, remaining: 10 })
  t.match(limiter.take('a', 20), { allowed: false, remaining: 10, retryAfterSeconds: 10 })
  t.same([limiter.allows('a', 20), limiter.allows('a', 10), limiter.allows('a', 20, 90)], [false, true, true])
  t.match(limiter.take('a', 10), { allowed: true, remaining: 0 })
  now += 60_000
  t.match(limiter.take('a', 1000), { allowed: true, remaining: 0 }, 'dearer than a bucket costs a full one')
})

t.test("a key's own rate, also when it changes", async (t) => {
  const limiter = createRateLimiter({ perMinute: 60, now: () => 0 })
  t.match(limiter.take('a', 1, 2), { allowed: true, limit: 2, remaining: 1 })
  t.match(limiter.take('a', 1, 10), { limit: 10, remaining: 8 })
  t.match(limiter.take('a', 1, 1), { allowed: false, limit: 1, remaining: 0 })
  t.match(limiter.take('b'), { limit: 60 })
})

t.test('a clock that goes back gives nothing', async (t) => {
  let now = 1000
  const limiter = createRateLimiter({ perMinute: 1, now: () => now })
  limiter.take('a')
  now = 0
  t.match(limiter.take('a'), { allowed: false, remaining: 0 })
})

t.test('memory is bounded: the bucket used longest ago goes first', async (t) => {
  const limiter = createRateLimiter({ perMinute: 1, now: () => 0, maxKeys: 2 })
  limiter.take('a')
  limiter.take('b')
  t.notOk(limiter.take('a').allowed)
  limiter.take('c')
  t.notOk(limiter.take('a').allowed, 'a was used after b')
  t.ok(limiter.take('b').allowed, 'b was forgotten')
})
