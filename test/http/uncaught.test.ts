/**
 * What throws while an answer is sent, counted or logged, or in a timer, a listener or a promise, ends no process: it becomes a 500 or a
 * closed connection, with one line in the log.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { openClient } from '../fixtures/client.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const hook = new URL('../fixtures/throwing.js', import.meta.url).href

t.test('in a server of its own', async (t) => {
  const key = createKey(join(small.releasesDir, 'keys.json'), {
    name: 'uncaught',
    capabilities: CAPABILITIES,
    rate: 10_000_000,
  }).secret
  const { child, port, log } = await startServerProcess(small.releasesDir, {
    env: { NODE_OPTIONS: `--import=${hook}`, SUS_CACHE_BYTES: '0', SUS_METRICS_PORT: 'local' },
  })
  t.teardown(() => child.kill('SIGKILL'))
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity', ...headers },
    })
  const lines = (text: string): number =>
    log()
      .split('\n')
      .filter((line) => line.includes(text)).length
  /** The log goes out in pieces, ten times a second. */
  const sawLine = async (text: string): Promise<number> => {
    for (let look = 0; look < 50 && lines(text) === 0; look += 1) await wait(50)
    return lines(text)
  }

  t.equal((await get('/v1/states')).status, 200)
  child.kill('SIGUSR2')
  for (const place of ['a timer', 'an immediate', 'a promise', 'a listener'])
    t.equal(await sawLine(`injected: ${place}`), 1, `one line for ${place}`)
  t.equal((await get('/v1/states')).status, 200, 'the process lives')

  await t.rejects(get('/v1/states', { 'x-request-id': 'throw-head' }), 'its connection is closed')
  t.equal((await get('/v1/states')).status, 200)

  await get('/v1/states', { 'x-request-id': 'throw-next-compression' })
  const broken = await get('/v1/facilities?limit=50', { 'accept-encoding': 'gzip' })
  t.equal(broken.status, 500)
  t.equal(((await broken.json()) as { code: string }).code, 'internal')
  t.equal(await sawLine('injected: compression'), 1)
  t.equal((await get('/v1/facilities?limit=50', { 'accept-encoding': 'gzip' })).status, 200)
  const metrics = await (await get('/metrics')).text()
  t.match(metrics, /^sus_uncaught_errors_total 4$/m)
  child.kill('SIGTERM')
})

t.test('metrics and log that throw', async (t) => {
  let isBroken = false
  const seen: string[] = []
  const client = await openClient(small.releasesDir, 1, {
    log: {
      write(line) {
        if (isBroken && line.includes('"msg":"request"')) throw new Error('injected: the log')
        seen.push(line)
      },
    },
    observe: () => {
      if (isBroken) throw new Error('injected: metrics')
    },
  })
  t.teardown(() => client.close())
  isBroken = true
  t.equal((await client.get('/v1/states')).status, 200)
  t.equal(seen.filter((line) => line.includes('injected: metrics')).length, 1)
  isBroken = false
  t.equal((await client.get('/v1/states')).status, 200)
})

t.test('a query whose meta is longer than a block of gzip', async (t) => {
  const client = await openClient(small.releasesDir)
  t.teardown(() => client.close())
  const codes = (from: number, count: number): number[] =>
    Array.from({ length: count }, (_, index) => from + index)
  const filter = (value: readonly (number | string)[], dimension = 'municipality') => ({
    dimension,
    operator: 'NOT_IN',
    value,
  })
  const metrics = ['bed_capacity_existing']
  for (const headers of [{ 'accept-encoding': 'gzip' }, { 'accept-encoding': 'identity' }]) {
    const { status, bytes } = await client.query(
      {
        metrics,
        group_by: ['state'],
        filters: [filter(codes(1_100_000, 5500)), filter(codes(1_200_000, 5500))],
      },
      headers,
    )
    t.equal(status, 200)
    const text = headers['accept-encoding'] === 'gzip' ? gunzipSync(bytes).toString() : bytes.toString()
    t.ok(JSON.stringify(JSON.parse(text).meta).length > 65_535)
  }
  const most = { metrics, filters: [filter(codes(1_100_000, 6000)), filter(codes(1_200_000, 6000))] }
  t.equal((await client.query(most)).status, 200, '12,000 values')
  const more = await client.query({ ...most, filters: [...most.filters, filter([1_400_100])] })
  t.equal(more.status, 400)
  t.match(more.body.errors[0], { pointer: '/filters', message: /12000.*12001/ })
})
