/** What is no request yet: bytes at the socket. Every answer is a problem document, nobody else notices, nothing crashes. */
import { connect } from 'node:net'
import t from 'tap'
import { HEADERS_TIMEOUT_MS } from '../../src/http/connection/socket-errors.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const address = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))

/** @param endAfterMs when the client ends its half; null leaves that to the server @returns all the server sent */
const exchange = (bytes: string | Buffer, endAfterMs: number | null = 20): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(Number(address.port), address.hostname)
    let received = ''
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      received += text
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(received))
    socket.write(bytes)
    if (endAfterMs !== null) setTimeout(() => socket.end(), endAfterMs)
  })

interface Parsed {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** The last answer of a connection. */
function parse(text: string): Parsed {
  const last = text.slice([...text.matchAll(/HTTP\/1\.1 \d{3} /g)].at(-1)?.index ?? 0)
  const [head = '', body = ''] = last.split('\r\n\r\n')
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]), head, body }
}

const CASES: readonly (readonly [name: string, bytes: string, status: number, code: string])[] = [
  ['no HTTP at all', 'hello\r\n\r\n', 400, 'invalid_request'],
  ['a method that is none', 'FETCH /health HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'invalid_request'],
  ['no Host', 'GET /health HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
  [
    'headers too large',
    `GET /health HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  [
    'an address too large',
    `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    431,
    'headers_too_large',
  ],
  [
    'two lengths',
    'POST /v1/analytics/query HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    400,
    'invalid_request',
  ],
  [
    'a length and chunks',
    'POST /v1/analytics/query HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
    'invalid_request',
  ],
  ['a header folded', 'GET /health HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n', 400, 'invalid_request'],
  ['a tunnel', 'CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n', 501, 'not_implemented'],
  [
    'a transfer coding before chunked',
    'POST /v1/analytics/query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    501,
    'not_implemented',
  ],
  [
    'a transfer coding without chunked',
    'POST /v1/analytics/query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n',
    400,
    'invalid_request',
  ],
  [
    'an unknown expectation',
    'GET /health HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n',
    417,
    'expectation_failed',
  ],
]

t.test('bytes that are no request have the one error shape', async (t) => {
  for (const [name, bytes, status, code] of CASES) {
    const answer = parse(await exchange(Buffer.from(bytes, 'latin1')))
    t.equal(answer.status, status, name)
    t.match(answer.head, /content-type: application\/problem\+json; charset=utf-8/i)
    const id = /x-request-id: (\S+)/i.exec(answer.head)?.[1]
    t.match(JSON.parse(answer.body), { code, status, request_id: id, type: `/problems/${code}` })
  }
  t.equal((await fetch(new URL('/health', address))).status, 200)
})

t.test('an upgrade nobody offers is not made', async (t) => {
  const answer = parse(
    await exchange(
      'GET /health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      100,
    ),
  )
  t.equal(answer.status, 200)
  const health = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'
  const texts = await exchange(`${health}CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n`, null)
  t.match(texts, /^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 501 /, 'and no tunnel, after the answers before it')
})

t.test('seeded noise: nothing but problem documents, and the server goes on', async (t) => {
  const chance = createChance(23)
  const whole = Buffer.from(
    'POST /v1/analytics/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  )
  const wrong: string[] = []
  const one = async (index: number): Promise<void> => {
    const bytes = Buffer.from(whole)
    const changes = 1 + Math.floor(chance(index, 0) * 4)
    for (let change = 0; change < changes; change += 1)
      bytes[Math.floor(chance(index, 10 * change + 1) * bytes.length)] = Math.floor(
        chance(index, 10 * change + 2) * 256,
      )
    const text = await exchange(bytes.subarray(0, 1 + Math.floor(chance(index, 9) * bytes.length)))
    if (text === '') return
    const { status, head, body } = parse(text)
    if (status === 200) return
    const isProblem = /content-type: application\/problem\+json/i.test(head)
    const isAlone = /^HEAD/.test(bytes.toString('latin1'))
    if (status >= 500 || !isProblem || (!isAlone && JSON.parse(body).status !== status))
      wrong.push(`${index}: ${text.slice(0, 200)}`)
  }
  const BATCH = 50
  for (let start = 0; start < 2000; start += BATCH)
    await Promise.all(Array.from({ length: BATCH }, (_, index) => one(start + index)))
  t.same(wrong, [])
  t.equal((await fetch(new URL('/health', address))).status, 200)
})

t.test('a client that sends too slowly is answered and left; others are not kept waiting', async (t) => {
  const startedAt = performance.now()
  const slow = exchange('GET /health HTTP/1.1\r\nHost: x\r\nX-A: a', null)
  const others = Array.from({ length: 200 }, () => exchange('GET /hea', null))
  t.equal((await fetch(new URL('/health', address))).status, 200, 'while 201 connections hang')
  const answer = parse(await slow)
  t.equal(answer.status, 408)
  t.equal(JSON.parse(answer.body).code, 'request_timeout')
  t.ok(performance.now() - startedAt >= HEADERS_TIMEOUT_MS - 100)
  t.ok((await Promise.all(others)).every((text) => parse(text).status === 408))
})
