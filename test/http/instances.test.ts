/**
 * Two servers, each a process, one folder of releases and one Redis: keys are limited together; the Redis is killed, comes
 * back and is frozen under requests, none of which fails; a third server starts without it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { TIMEOUT_MS } from '../../src/keys/shared-rate-limit.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { freePort } from '../../tools/free-port.ts'
import { makeRedis, withoutRedis } from '../fixtures/redis.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const PASSWORD = 'pass-word'

interface Line {
  readonly level: string
  readonly msg: string
  readonly store?: string
  readonly reason?: string
}

interface Instance {
  readonly base: string
  readonly process: ChildProcess
  /** What it logged of its store. */
  lines(): Line[]
  output(): string
}

const instances: Instance[] = []

async function serve(releasesDir: string, redisUrl: string): Promise<Instance> {
  const port = await freePort()
  const child = spawn(process.execPath, [bin, 'serve'], {
    env: {
      PATH: process.env.PATH,
      SUS_RELEASES_DIR: releasesDir,
      PORT: String(port),
      SUS_REDIS_URL: redisUrl,
      SUS_DUCKDB_THREADS: '1',
      SUS_METRICS_PORT: 'local',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const base = `http://127.0.0.1:${port}`
  const instance = {
    base,
    process: child,
    output: () => output,
    lines: () =>
      output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Line)
        .filter(({ store }) => store !== undefined),
  }
  instances.push(instance)
  for (let turn = 0; turn < 400; turn += 1) {
    const isReady = await fetch(`${base}/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return instance
    await sleep(50)
  }
  throw new Error(`the server does not start: ${output}`)
}

const metricOf = async ({ base }: Instance): Promise<string | undefined> =>
  /^sus_rate_limit_store_up (\d)$/m.exec(await (await fetch(`${base}/metrics`)).text())?.[1]

async function untilMetric(value: string, of: readonly Instance[]): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) {
    const values = await Promise.all(of.map(metricOf))
    if (values.every((shown) => shown === value)) return
    await sleep(50)
  }
  throw new Error(`sus_rate_limit_store_up does not become ${value}`)
}

const skip = secondRing.skip || withoutRedis
t.test('instances limit together, and alone while they must', { skip }, async (t) => {
  const { releasesDir } = await makeSmallRelease()
  const keyOf = (name: string, rate: number): string =>
    createKey(join(releasesDir, 'keys.json'), { name, capabilities: CAPABILITIES, rate }).secret
  // A token comes back after 12 s: later than any count below ends.
  const [before, during, frozen, after] = ['before', 'during', 'frozen', 'after'].map((name) =>
    keyOf(name, 5),
  ) as [string, string, string, string]
  const busy = keyOf('busy', 10_000_000)

  const redis = await makeRedis('--requirepass', PASSWORD)
  t.teardown(async () => {
    for (const { process: child } of instances) child.kill('SIGKILL')
    redis.thaw()
    await redis.kill()
  })
  await redis.start()
  const address = redis.url
  const url = address.replace('//', `//:${PASSWORD}@`)
  const both = await Promise.all([serve(releasesDir, url), serve(releasesDir, url)])

  const statusOf = async ({ base }: Instance, key: string): Promise<number> => {
    const answer = await fetch(`${base}/v1/states/14`, { headers: { authorization: `Bearer ${key}` } })
    await answer.arrayBuffer()
    if (answer.status === 429 && !(Number(answer.headers.get('retry-after')) > 0)) return 0
    return answer.headers.get('ratelimit') === null ? 0 : answer.status
  }
  /** @returns how many of eight requests to each instance were answered and how many refused */
  const count = async (key: string): Promise<readonly [passed: number, refused: number]> => {
    const asked = both.flatMap((instance) => Array.from({ length: 8 }, () => statusOf(instance, key)))
    const statuses = await Promise.all(asked)
    const number = (status: number): number => statuses.filter((other) => other === status).length
    return [number(200), number(429)]
  }

  t.same(await Promise.all(both.map(metricOf)), ['1', '1'])
  t.same(await count(before), [5, 11], 'one bucket')

  // From here on, requests without a pause, through all that happens to the store.
  let isOver = false
  let waits: number[] = []
  let answered = 0
  const failures: string[] = []
  const load = Promise.all(
    both.map(async (instance) => {
      while (!isOver) {
        const began = performance.now()
        const status = await statusOf(instance, busy).catch(String)
        waits.push(performance.now() - began)
        answered += 1
        if (status !== 200) failures.push(String(status))
        await sleep(2)
      }
    }),
  )

  await redis.kill()
  await untilMetric('0', both)
  t.same(await count(during), [10, 6], 'each instance limits alone')
  for (const { base } of both) t.equal((await fetch(`${base}/ready`)).status, 200, 'ready all the same')
  await redis.start()
  await untilMetric('1', both)
  t.same(await count(after), [5, 11], 'one bucket again')

  waits = []
  redis.freeze()
  await untilMetric('0', both)
  const slowest = Math.max(...waits)
  t.ok(slowest < 2000, `nobody waited longer than ${Math.round(slowest)} ms`)
  await sleep(100)
  waits = []
  t.same(await count(frozen), [10, 6])
  await sleep(1500)
  const median = waits.sort((left, right) => left - right)[waits.length >> 1] ?? Number.NaN
  t.ok(median < TIMEOUT_MS / 2, `and then ${median.toFixed(1)} ms`)
  redis.thaw()
  await untilMetric('1', both)
  isOver = true
  await load
  t.same(failures, [], `none of ${answered} requests failed`)
  t.ok(answered > 100)

  // Lines go out within a tenth of a second.
  await new Promise((resolve) => setTimeout(resolve, 500))
  for (const { lines, output } of both) {
    const logged = lines()
    t.ok(logged.length >= 4 && logged.length % 2 === 0, `${logged.length} lines`)
    logged.forEach(({ level, store, msg }, index) => {
      const begins = index % 2 === 0
      t.same([level, store, /again/.test(msg)], begins ? ['warn', address, false] : ['info', address, true])
    })
    t.equal(logged.at(-2)?.reason, 'no answer in time')
    t.notMatch(output(), PASSWORD)
  }

  for (const { process: child } of both) {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    t.same(await ended, [0, null], 'and servers end in good order')
  }
})

t.test('a server starts without its store', { skip: withoutRedis || secondRing.skip }, async (t) => {
  const { releasesDir } = await makeSmallRelease()
  const key = createKey(join(releasesDir, 'keys.json'), {
    name: 'k',
    capabilities: CAPABILITIES,
    rate: 3,
  }).secret
  const port = await freePort()
  const instance = await serve(releasesDir, `redis://someone:${PASSWORD}@127.0.0.1:${port}/2`)
  t.teardown(() => instance.process.kill('SIGKILL'))
  const statuses: number[] = []
  for (let turn = 0; turn < 4; turn += 1)
    statuses.push(
      (await fetch(`${instance.base}/v1/states/14`, { headers: { authorization: `Bearer ${key}` } })).status,
    )
  t.same(statuses, [200, 200, 200, 429])
  t.equal(await metricOf(instance), '0')
  await sleep(2500)
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.match(instance.lines(), [{ level: 'warn', store: `redis://127.0.0.1:${port}/2`, reason: 'ECONNREFUSED' }])
  t.equal(instance.lines().length, 1)
  t.notMatch(instance.output(), PASSWORD)
  const ended = once(instance.process, 'exit')
  instance.process.kill('SIGTERM')
  t.same(await ended, [0, null])
})
