/** Token buckets that limiters share in a real Redis: the same decisions, one bucket, and what happens without it. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createRateLimiter } from '../../src/keys/rate-limit.ts'
import {
  createSharedRateLimiter,
  RETRY_MS,
  type SharedRateLimiter,
  TIMEOUT_MS,
} from '../../src/keys/shared-rate-limit.ts'
import { freePort } from '../../tools/free-port.ts'
import { makeRedis, type RedisServer, withoutRedis } from '../fixtures/redis.ts'

const UNITS = 60_000_000
/** More than a request should ever wait; what is measured runs on machines that do other things too. */
const SLACK_MS = 400

interface SharedLimiter {
  readonly events: string[]
  readonly limiter: SharedRateLimiter
}

/** @param timeoutMs so long that a machine that does other things too makes no outage */
async function open(t: Test, url: string, perMinute: number, timeoutMs = 5000): Promise<SharedLimiter> {
  const events: string[] = []
  const limiter = createSharedRateLimiter({
    url,
    perMinute,
    timeoutMs,
    onDown: (address, reason) => events.push(`down ${address} ${reason}`),
    onUp: (address) => events.push(`up ${address}`),
  })
  t.teardown(() => limiter.close())
  await limiter.tried
  return { events, limiter }
}

async function redis(t: Test, ...options: readonly string[]): Promise<RedisServer> {
  const server = await makeRedis(...options)
  t.teardown(() => server.kill())
  await server.start()
  return server
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 400; turn += 1) {
    if (await isSo()) return
    await sleep(25)
  }
  throw new Error('waited in vain')
}

const bucketOf = async (server: RedisServer, id: string): Promise<readonly number[]> =>
  (await server.ask('GET', `sus-data:rate:${id}`)).split(' ').map(Number)

t.test('limiters share one bucket', { skip: withoutRedis }, async (t) => {
  const server = await redis(t)
  const limiters = [
    (await open(t, server.url, 20)).limiter,
    (await open(t, `${server.url}/0`, 20)).limiter,
    (await open(t, `${server.url}/1`, 20)).limiter,
  ] as const
  t.same(
    limiters.map(({ isUp }) => isUp()),
    [true, true, true],
  )
  const [one, two, elsewhere] = limiters
  const taken = await Promise.all(
    Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? one : two).take('a')),
  )
  t.equal(taken.filter(({ allowed }) => allowed).length, 20)
  t.same(new Set(taken.map(({ remaining }) => remaining)).size, 20, 'every number of 19 to 0 was told')
  for (const { allowed, retryAfterSeconds } of taken)
    if (!allowed) t.ok(retryAfterSeconds >= 1 && retryAfterSeconds <= 3)
  t.ok((await elsewhere.take('a')).allowed, 'another database is another store')
  t.ok((await two.take('b')).allowed, 'each key for itself')
})

t.test('what a bucket is, and what it costs', { skip: withoutRedis }, async (t) => {
  const server = await redis(t)
  const { limiter, events } = await open(t, server.url, 6)
  for (let left = 5; left >= 0; left -= 1)
    t.match(await limiter.take('a'), { allowed: true, limit: 6, remaining: left, retryAfterSeconds: 0 })
  t.same(await limiter.take('a'), {
    allowed: false,
    limit: 6,
    remaining: 0,
    resetSeconds: 60,
    retryAfterSeconds: 10,
  })
  const [spent = 0] = await bucketOf(server, 'a')
  t.ok(spent <= 6 * UNITS && spent > 5.5 * UNITS, 'whole units')
  const lifetime = Number((await server.ask('PTTL', 'sus-data:rate:a')).slice(1))
  t.ok(lifetime > 50_000 && lifetime <= 60_000, 'it is forgotten when it would be full')
  t.match(await limiter.take('b', 1000), { allowed: true, remaining: 0 }, 'dearer than a bucket: a full one')

  // A key's own rate, also when it changes: what was spent stays spent.
  t.match(await limiter.take('c', 1, 2), { allowed: true, limit: 2, remaining: 1 })
  t.match(await limiter.take('c', 1, 10), { limit: 10, remaining: 8 })
  t.match(await limiter.take('c', 1, 1), { allowed: false, limit: 1, remaining: 0 })

  // The largest rate there is: every number still whole.
  const largest = 100_000_000
  t.match(await limiter.take('d', largest, largest), { allowed: true, remaining: 0, resetSeconds: 60 })
  const [all = 0] = await bucketOf(server, 'd')
  t.equal(all, largest * UNITS)
  t.ok(Number.isSafeInteger(all))

  // Times to come, and what is no bucket.
  const soon = Date.now() * 1000 + 1e9
  await server.ask('SET', 'sus-data:rate:e', `${6 * UNITS} ${soon}`)
  t.match(await limiter.take('e'), { allowed: false, remaining: 0 }, 'a clock that goes back gives nothing')
  await server.ask('SET', 'sus-data:rate:f', 'nonsense')
  t.match(await limiter.take('f'), { allowed: true, remaining: 5 })
  await server.ask('SCRIPT', 'FLUSH')
  t.match(
    await limiter.take('f'),
    { allowed: true, remaining: 4 },
    'a script that was forgotten is sent again',
  )
  t.same(events, [])
})

t.test('decisions are those of the limiter in memory', { skip: withoutRedis }, async (t) => {
  const server = await redis(t)
  const { limiter } = await open(t, server.url, 600)
  let now = 0
  const local = createRateLimiter({ perMinute: 600, now: () => now })
  let seed = 20_250_101
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const rates = [null, 60, 120, 600] as const
  let same = 0
  let refused = 0
  const steps = 400
  for (let step = 0; step < steps; step += 1) {
    const id = `key${random(3)}`
    const cost = 1 + random(40)
    const rate = step % 50 === 49 ? (rates[random(4)] ?? null) : (rates[Number(id.at(-1))] ?? null)
    const shared = await limiter.take(id, cost, rate)
    // The limiter in memory is told the time Redis took for the same request.
    const [, atMicroseconds = Number.NaN] = await bucketOf(server, id)
    now = atMicroseconds / 1000
    const alone = local.take(id, cost, rate)
    const text = `step ${step}: ${JSON.stringify(shared)} and ${JSON.stringify(alone)}`
    if (shared.allowed !== alone.allowed || shared.limit !== alone.limit) t.fail(text)
    for (const name of ['remaining', 'resetSeconds', 'retryAfterSeconds'] as const)
      if (!(Math.abs(shared[name] - alone[name]) <= 1)) t.fail(text)
    if (JSON.stringify(shared) === JSON.stringify(alone)) same += 1
    if (!shared.allowed) refused += 1
    if (random(4) === 0) await sleep(random(40))
  }
  t.ok(same >= steps * 0.98, `${same} of ${steps} equal to the digit`)
  t.ok(refused > 20 && refused < steps - 20, `${refused} refused`)
})

t.test('an outage: limits go on here, and are shared again after it', { skip: withoutRedis }, async (t) => {
  const server = await redis(t)
  const one = await open(t, server.url, 5)
  const two = await open(t, server.url, 5)
  t.ok((await one.limiter.take('a', 5)).allowed)
  t.notOk((await two.limiter.take('a')).allowed)

  const underWay = Promise.all(Array.from({ length: 50 }, () => one.limiter.take('b')))
  await server.kill()
  const taken = await underWay
  t.ok(taken.filter(({ allowed }) => allowed).length <= 10, 'at most the shared bucket and the own one')
  await until(() => !one.limiter.isUp() && !two.limiter.isUp())
  for (const { limiter } of [one, two]) {
    const alone = Array.from({ length: 8 }, () => limiter.take('c'))
    t.notOk(
      alone.some((decision) => decision instanceof Promise),
      'nobody waits',
    )
    t.equal((await Promise.all(alone)).filter(({ allowed }) => allowed).length, 5, 'and nobody is unlimited')
  }
  await sleep(RETRY_MS * 2.5)
  t.equal(one.events.length, 1, 'told once, however often it is tried')
  t.match(one.events[0], new RegExp(`^down redis://127.0.0.1:${server.port} \\w+`))

  await server.start()
  await until(() => one.limiter.isUp() && two.limiter.isUp())
  t.same(one.events.slice(1), [`up redis://127.0.0.1:${server.port}`])
  t.ok((await one.limiter.take('d', 5)).allowed)
  t.notOk((await two.limiter.take('d')).allowed, 'shared again')
})

t.test('a store that hangs costs one time-out', { skip: withoutRedis }, async (t) => {
  const server = await redis(t)
  t.teardown(() => server.thaw())
  const { limiter, events } = await open(t, server.url, 5, TIMEOUT_MS)
  t.match(await limiter.take('a'), { remaining: 4 })
  server.freeze()
  const began = performance.now()
  const taken = await Promise.all(Array.from({ length: 20 }, () => limiter.take('b')))
  const waited = performance.now() - began
  t.ok(waited >= TIMEOUT_MS * 0.9 && waited < TIMEOUT_MS + SLACK_MS, `${Math.round(waited)} ms`)
  t.equal(taken.filter(({ allowed }) => allowed).length, 5)
  t.notOk(limiter.isUp())
  // Also while it is tried again, which a frozen store neither takes nor refuses.
  for (const end = performance.now() + RETRY_MS * 3; performance.now() < end; await sleep(20))
    if (limiter.take('c') instanceof Promise) t.fail('a request waits')
  t.same(events, [`down redis://127.0.0.1:${server.port} no answer in time`])
  server.thaw()
  await until(() => limiter.isUp())
  t.equal(events.length, 2)
  t.ok((await limiter.take('d')).allowed)
  // Those of failed attempts are gone.
  await until(async () => (await server.connections()) === 1)
})

t.test('a store that is not there, or refuses', { skip: withoutRedis }, async (t) => {
  const port = await freePort()
  const absent = await open(t, `redis://someone:pass-word@127.0.0.1:${port}/2`, 2)
  t.same(absent.events, [`down redis://127.0.0.1:${port}/2 ECONNREFUSED`], 'without user and password')
  t.notOk(absent.limiter.isUp())
  t.same(await Promise.all([1, 2, 3].map(async () => (await absent.limiter.take('a')).allowed)), [
    true,
    true,
    false,
  ])

  const server = await redis(t, '--requirepass', 'pass-word')
  t.match((await open(t, server.url, 2)).events, [/ NOAUTH$/])
  t.match((await open(t, server.url.replace('//', '//:wrong@'), 2)).events, [/ WRONGPASS$/])
  const known = await open(t, server.url.replace('//', '//:pass%2Dword@'), 2)
  t.same(known.events, [])
  t.ok(known.limiter.isUp(), 'a password in the address')
})

t.test('a store that can be read only is down, once', { skip: withoutRedis }, async (t) => {
  const server = await redis(t)
  const { limiter, events } = await open(t, server.url, 2)
  await server.ask('REPLICAOF', '127.0.0.1', String(await freePort()))
  t.match(await limiter.take('a'), { allowed: true, remaining: 1 })
  t.notOk(limiter.isUp())
  await sleep(RETRY_MS * 2.5)
  t.match(events, [/ READONLY$/])
  t.equal(events.length, 1, 'a connection that cannot do the work does not count as back')
  await server.ask('REPLICAOF', 'NO', 'ONE')
  await until(() => limiter.isUp())
  t.equal(events.length, 2)
})

t.test('close ends the connection and what is tried', { skip: withoutRedis }, async (t) => {
  const server = await redis(t)
  const { limiter, events } = await open(t, server.url, 2)
  t.equal(await server.connections(), 1)
  await limiter.close()
  t.notOk(limiter.isUp())
  await until(async () => (await server.connections()) === 0)
  t.same(events, [], 'an end is no outage')
  t.ok((await limiter.take('a')).allowed, 'what still comes is limited here')
  await server.kill()
  const { limiter: alone, events: notices } = await open(t, server.url, 2)
  await alone.close()
  await server.start()
  await sleep(RETRY_MS * 1.5)
  t.notOk(alone.isUp(), 'nothing is tried after the end')
  t.equal(notices.length, 1)
})
