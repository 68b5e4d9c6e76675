/** The comparison of recorded answers: what counts as equal, what is a note, what differs. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { compareAnswers } from '../../tools/answers/compare.ts'
import { get } from '../../tools/answers/entry.ts'
import { type Answer, exchangeAll } from '../../tools/answers/exchange.ts'

const OLD = {
  analytics: 'analytics-br-202605-aa',
  cnes: 'cnes-br-202605-aa',
  demography: 'demography-br-202501-aa',
}
const NEW = { ...OLD, analytics: 'analytics-br-202605-bb' }
const ENTRY = get('/v1/things', { lenient: '^/data/sql' })
const answerOf = (value: unknown, headers: Record<string, string> = {}): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(value)),
})

t.test('what may change between two servers is left out', async (t) => {
  const left = answerOf(
    {
      data: [1],
      pagination: { next_cursor: 'a' },
      meta: { request_id: 'x', release_id: OLD.analytics, fingerprint: 'a'.repeat(64) },
    },
    { date: 'now', etag: '"a"', 'x-request-id': 'x', vary: 'A, B' },
  )
  const right = answerOf(
    {
      data: [1],
      pagination: { next_cursor: 'b' },
      meta: { request_id: 'y', release_id: NEW.analytics, fingerprint: 'b'.repeat(64) },
    },
    { date: 'later', etag: '"b"', 'x-request-id': 'y', vary: 'B,A' },
  )
  t.same(await compareAnswers(ENTRY, { answer: left, ids: OLD }, { answer: right, ids: NEW }), {
    differences: [],
    notes: [],
  })
  const { differences } = await compareAnswers(ENTRY, { answer: left, ids: OLD }, { answer: right, ids: OLD })
  t.same(
    differences.map((text) => text.split(':')[0]),
    ['/meta/release_id', '/meta/fingerprint'],
    'of one release, ids and fingerprints are equal',
  )
})

t.test('values, their order, headers and statuses are compared; lenient places are noted', async (t) => {
  const compare = (left: Answer, right: Answer) =>
    compareAnswers(ENTRY, { answer: left, ids: OLD }, { answer: right, ids: OLD })
  t.match(await compare(answerOf({ a: 1, b: 2 }), answerOf({ b: 2, a: 1 })), {
    differences: [/another order/],
  })
  t.match(await compare(answerOf({ a: 1 }), answerOf({ a: '1' })), { differences: [/\/a: 1 and "1"/] })
  t.match(await compare(answerOf({ a: null }), answerOf({})), { differences: [/\/a: null and \(none\)/] })
  t.match(await compare(answerOf({}, { allow: 'GET' }), answerOf({})), {
    differences: [/header allow: GET and \(none\)/],
  })
  t.match(await compare(answerOf({}), { ...answerOf({}), status: 404 }), {
    differences: [/status 200 and 404/],
  })
  const sql = await compare(answerOf({ data: { sql: 'a' } }), answerOf({ data: { sql: 'b' } }))
  t.same(sql.differences, [])
  t.equal(sql.notes.length, 1)
})

t.test(
  'cursors and ETags of one answer are sent with the next request; compressed bodies are decoded',
  async (t) => {
    const seen: (string | undefined)[] = []
    const server = createServer((request, response) => {
      seen.push(`${request.url} ${request.headers['if-none-match'] ?? ''}`)
      response
        .writeHead(200, { etag: '"e"', 'content-encoding': 'gzip' })
        .end(gzipSync('{"next_cursor":"abcdefgh"}'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const target = {
      address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      keys: { all: 'a', limited: 'b' },
    }
    const entries = [
      get('/first?release={cnes}', { name: 'first' }),
      get('/next?cursor={cursor}', { from: 'first' }),
      get('/next?cursor={changed cursor}', { from: 'first', headers: { 'if-none-match': '{etag}' } }),
    ]
    const answers = await exchangeAll(target, entries, OLD, () => undefined)
    t.same(seen, [`/first?release=${OLD.cnes} `, '/next?cursor=abcdefgh ', '/next?cursor=abcAefgh "e"'])
    t.same(
      answers.map(({ body }) => `${body}`),
      Array.from({ length: 3 }, () => '{"next_cursor":"abcdefgh"}'),
    )
  },
)
