/** A full queue: each refusal is a line of the log without a stack, and is counted; repeated ones are answered a second later. */
import t from 'tap'
import { createRefusalPace } from '../../src/http/request/refusal-pace.ts'
import { openClient } from '../fixtures/client.ts'
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
