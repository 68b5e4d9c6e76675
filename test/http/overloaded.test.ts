/** A full queue: each refusal is a line of the log without a stack, and is counted. */
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()

t.test('a refusal by a full queue is counted, and is no error of the log', async (t) => {
  const lines: string[] = []
  const client = await openClient(small.releasesDir, 1, { log: { write: (line) => void lines.push(line) } })
  t.teardown(() => client.close())
  // One is made and sixteen wait; what they say is wrong, so that each takes no time.
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => client.post('/v1/analytics/export', { metrics: [] })),
  )
  const refused = answers.filter(({ status }) => status === 503)
  t.equal(refused.length, 3)
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
