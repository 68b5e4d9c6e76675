/**
 * A full queue: each refusal is a line of the log without a stack, and is counted; repeated ones are answered a second later. Clients that
 * leave the queue are no errors of the log either.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createRefusalPace } from '../../src/http/request/refusal-pace.ts'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { openClient } from '../fixtures/client.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()

t.test('a refusal by a full queue is counted, and is no error of the log', async (t) => {
  const lines: string[] = []
  const client = await openClient(small.releasesDir, 1, { log: { write: (line) => void lines.push(line) } })
  t.teardown(() => client.close())
  // One is made and sixteen wait; what they say is wrong, so that each takes no time.
  const startedAt = performance.now()
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const answer = await client.post('/v1/analytics/export', { metrics: [] })
      return { ...answer, ms: performance.now() - startedAt }
    }),
  )
  const refused = answers.filter(({ status }) => status === 503)
  t.equal(refused.length, 3)
  t.equal(refused.filter(({ ms }) => ms >= 990).length >= 2, true, 'all but the first wait for a second')
  t.match(refused[0], { body: { code: 'overloaded' }, headers: { 'retry-after': '5' } })
  await new Promise((resolve) => setImmediate(resolve))
  const logged = lines.flatMap((text) => text.trim().split('\n')).filter((line) => /overloaded/.test(line))
  t.equal(logged.length, 3)
  for (const line of logged) {
    t.match(JSON.parse(line), { level: 'warn', code: 'overloaded', msg: 'refused' })
    t.notMatch(line, /stack/)
  }
  t.match((await client.get('/metrics')).text, /^sus_overloaded_total\{route="\/v1\/analytics\/export"\} 3$/m)
})

/** A server in a process of its own, whose log has lines `info`. */
async function startLogging(t: Test) {
  const { secret } = createKey(join(small.releasesDir, 'keys.json'), {
    name: 'leaving',
    capabilities: CAPABILITIES,
    rate: 1e6,
  })
  const { child, port, log } = await startServerProcess(small.releasesDir, { env: { SUS_LOG_LEVEL: 'info' } })
  t.teardown(() => child.kill('SIGKILL'))
  const linesWith = async (text: string, looks = 100): Promise<string[]> => {
    const found = (): string[] =>
      log()
        .split('\n')
        .filter((line) => line.includes(text))
    for (let look = 0; look < looks && found().length === 0; look += 1) await wait(50)
    return found()
  }
  return { secret, child, port, linesWith }
}

t.test('a client that leaves before its report is made is no error of the log', async (t) => {
  const { secret, child, port, linesWith } = await startLogging(t)
  const leaving = new AbortController()
  const reports = Array.from({ length: 8 }, () =>
    fetch(`http://127.0.0.1:${port}/v1/analytics/export?format=csv`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ metrics: ['bed_capacity_existing'], group_by: ['municipality'] }),
    }),
  )
  await wait(50)
  leaving.abort()
  await Promise.allSettled(reports)
  const found = await linesWith('query_timeout')
  t.not(found.length, 0)
  for (const line of found)
    t.match(JSON.parse(line), { level: 'info', code: 'query_timeout', msg: 'the client has left' })
  const counted = await linesWith('"status":499')
  t.equal(counted.length, found.length, 'none counts as an error of the server')
  t.same(await linesWith('"status":504', 1), [])
  child.kill('SIGTERM')
})

t.test('a client that leaves a download is no error of the log', async (t) => {
  const { secret, child, port, linesWith } = await startLogging(t)
  const leaving = new AbortController()
  const answer = await fetch(`http://127.0.0.1:${port}/v1/demography/population-by-age`, {
    signal: leaving.signal,
    headers: { authorization: `Bearer ${secret}`, accept: 'text/csv' },
  })
  t.equal(answer.status, 200)
  leaving.abort()
  const found = await linesWith('ERR_STREAM_PREMATURE_CLOSE')
  t.match(
    found.map((line) => JSON.parse(line)),
    [{ level: 'info', msg: 'the client has left' }],
  )
  child.kill('SIGTERM')
})

t.test('a refusal waits when its key was refused less than a second before', async (t) => {
  let now = 5000
  const delayOf = createRefusalPace(() => now)
  t.equal(delayOf('a'), 0, 'a client that obeys Retry-After does not wait')
  t.equal(delayOf('b'), 0, 'keys do not affect each other')
  now += 400
  t.equal(delayOf('a'), 1000)
  now += 999
  t.equal(delayOf('a'), 1000)
  now += 1000
  t.equal(delayOf('a'), 0)
})
