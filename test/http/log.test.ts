/** No key reaches a log, whatever is logged. */
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createAccessLog, createLogger, redactSecrets } from '../../src/http/log.ts'
import { makeKeyText } from '../../src/keys/key-text.ts'

const collect = (): { lines: string[]; write(line: string): void } => {
  const lines: string[] = []
  return { lines, write: (line) => void lines.push(line) }
}

t.test('keys and bearer tokens are taken out of any line', async (t) => {
  const { id, secret } = makeKeyText()
  const stream = collect()
  const log = createLogger('info', stream)
  log.info(`a key ${secret} in a message`)
  log.info(
    { headers: { authorization: `Bearer ${secret}` }, deep: { er: { authorization: 'Bearer abc.def' } } },
    'x',
  )
  log.info({ note: 'Authorization: Bearer abc.def', cut: secret.slice(0, 30) }, 'y')
  log.error({ err: new Error('outer', { cause: new Error(`inner ${secret}`) }) }, 'z')
  log.debug('not at this level')
  t.equal(stream.lines.length, 4)
  const text = stream.lines.join('')
  t.notOk(text.includes(secret.slice(13, 25)), 'no part of the secret')
  t.notOk(text.includes('abc.def'))
  t.ok(text.includes(`sus_${id}_[redacted]`), 'the id stays, to find the key by')
  for (const line of stream.lines) t.ok(typeof JSON.parse(line).time === 'string', 'still JSON')
  t.equal(redactSecrets('beds_sus_per_100k and has_sus_capacity'), 'beds_sus_per_100k and has_sus_capacity')
})

t.test('the line of a request says what was answered, and holds no key even as an id', async (t) => {
  const { id, secret } = makeKeyText()
  const stream = collect()
  const logger = createLogger('info', stream)
  const log = createAccessLog(logger)
  const line = {
    id: 'r-1',
    trace: { trace_id: '0af7651916cd43dd8448eb211c80319c', parent_id: 'b7ad6b7169203331' },
    method: 'GET',
    route: '/v1/facilities/:cnes_code',
    status: 200,
    key: id,
    releaseId: 'demo-cnes',
    rows: 1,
    ms: 1.26,
  }
  log(line)
  await turn()
  t.match(JSON.parse(stream.lines[0] ?? ''), {
    level: 'info',
    request_id: 'r-1',
    ...line.trace,
    method: 'GET',
    route: line.route,
    status: 200,
    key: id,
    release_id: 'demo-cnes',
    rows: 1,
    ms: 1.3,
    msg: 'request',
  })
  log({ ...line, id: secret.slice(0, 64), trace: null, route: null, key: null, releaseId: null, rows: null })
  await turn()
  t.notOk(stream.lines.join('').includes(secret.slice(13, 25)))
  t.match(JSON.parse(stream.lines[1] ?? ''), { route: null, key: null, release_id: null, rows: null })
  createAccessLog(createLogger('warn', stream))(line)
  await turn()
  t.equal(stream.lines.length, 2, 'not at this level')
})
