/** A connection's requests are answered one at a time, in order, and only as fast as its client reads. */
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir, 1, { cacheBytes: 10_000_000 })
t.teardown(() => client.close())
const { port } = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))
const authorization = `Bearer ${client.keyWithout()}`
const REQUESTS = 600

const answered = async (): Promise<number> => {
  const text = (await client.get('/metrics')).text
  const line = /^sus_http_requests_total\{method="GET",route="\/v1\/facilities",status="200"\} (\d+)$/m.exec(
    text,
  )
  return Number(line?.[1] ?? 0)
}

t.test('a client that sends and does not read is answered no further', async (t) => {
  const socket = connect(Number(port), '127.0.0.1')
  socket.pause()
  for (let index = 0; index < REQUESTS; index += 1)
    socket.write(
      `GET /v1/facilities?limit=250 HTTP/1.1\r\nhost: x\r\nx-request-id: r-${index}\r\nauthorization: ${authorization}\r\n\r\n`,
    )
  let before = -1
  // Until the buffers of both sides of the connection are full.
  while (before !== (await answered())) {
    before = await answered()
    await wait(500)
  }
  t.ok(before < REQUESTS, `${before} of ${REQUESTS} are answered`)
  t.equal((await client.get('/health')).status, 200, 'others are')

  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  socket.resume()
  const ids = (): string[] => [...text.matchAll(/^x-request-id: (r-\d+)\r$/gm)].map(([, id]) => id ?? '')
  while (ids().length < REQUESTS) await wait(50)
  t.same(
    ids(),
    Array.from({ length: REQUESTS }, (_, index) => `r-${index}`),
    'all of them, in order, once it reads',
  )
  socket.destroy()
})

t.test('requests of a client that has left are not answered', async (t) => {
  const before = await answered()
  const socket = connect(Number(port), '127.0.0.1')
  socket.pause()
  socket.write(
    `GET /v1/facilities?limit=250&count=true HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`.repeat(
      REQUESTS,
    ),
  )
  await wait(500)
  socket.destroy()
  await wait(500)
  t.ok((await answered()) - before < REQUESTS)
})

/** What a client that writes these bytes is answered until the connection ends, or `count` answers are there. */
function answersTo(
  bytes: string,
  count: number,
): Promise<{ readonly text: string; readonly error: unknown }> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1')
    let text = ''
    let error: unknown = null
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
      if (idsOf(text).length >= count) socket.end()
    })
    socket.on('error', (thrown) => {
      error = thrown
    })
    socket.on('close', () => resolve({ text, error }))
    socket.write(bytes)
  })
}
const idsOf = (text: string): string[] =>
  [...text.matchAll(/^x-request-id: (\S+)\r$/gm)].map(([, id]) => id ?? '')
const page = (id: string, method = 'GET', body = ''): string =>
  `${method} ${method === 'GET' ? '/v1/facilities?limit=5' : '/v1/analytics/explain'} HTTP/1.1\r\nhost: x\r\nx-request-id: ${id}\r\nauthorization: ${authorization}\r\n${
    body === '' ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
  }\r\n${body}`

t.test('what is no request, behind requests, takes no answer from them and writes into none', async (t) => {
  for (const garbage of [
    'garbage\r\n\r\n',
    '\x16\x03\x01',
    'GET / HTTP/9\r\n\r\n',
    'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
  ]) {
    const ids = Array.from({ length: 20 }, (_, index) => `g-${index}`)
    const { text, error } = await answersTo(ids.map((id) => page(id)).join('') + garbage, 1000)
    t.equal(error, null, garbage)
    t.same(idsOf(text).slice(0, 20), ids, 'every request before it is answered, in order')
    const answers = text.split(/(?=HTTP\/1\.1 \d{3} )/)
    t.equal(answers.length, 21, 'and what is none, once')
    for (const [index, answer] of answers.entries()) {
      const [head = '', body = ''] = answer.split('\r\n\r\n')
      t.equal(head.slice(9, 12), index < 20 ? '200' : '400')
      JSON.parse(Buffer.from(body, 'latin1').toString())
    }
  }
})

t.test(
  'requests that wait are kept as bytes, whatever they hold, and are all answered in order',
  async (t) => {
    // Past the number of parsed requests that may wait, over all connections; bodies hold what ends a head.
    const body = JSON.stringify({ metrics: ['bed_capacity_existing'], filters: [], limit: 1 }).replace(
      '"filters"',
      '\r\n\r\n"filters"',
    )
    const ids = Array.from({ length: 60 }, (_, index) => `m-${index}`)
    const bytes = ids
      .map((id, index) =>
        index % 7 === 3
          ? page(id, 'POST', body)
          : index % 11 === 5
            ? page(id, 'GET', 'x'.repeat(3000))
            : page(id),
      )
      .join('')
    const all = await Promise.all(Array.from({ length: 40 }, () => answersTo(bytes, 60)))
    for (const { text, error } of all) {
      t.equal(error, null)
      t.same(idsOf(text), ids)
    }
    const refused = all.flatMap(({ text }) => text.match(/HTTP\/1\.1 (?!200)\d{3}/g) ?? [])
    t.same(refused.slice(0, 3), [])
  },
)

t.test('clients that read nothing keep no other client from sending ahead', async (t) => {
  const bundle = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n'
  const silent = Array.from({ length: 20 }, () => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.pause()
    socket.write(bundle.repeat(20))
    return socket
  })
  await wait(1000)
  const ids = Array.from({ length: 20 }, (_, index) => `p-${index}`)
  const answers = answersTo(ids.map((id) => page(id)).join(''), 20)
  const text = await Promise.race([answers.then((all) => all.text), wait(20_000, '')])
  t.same(idsOf(text), ids)
  for (const socket of silent) socket.destroy()
})

t.test('a health check passes those that wait', async (t) => {
  const order: string[] = []
  const flood = Array.from({ length: 30 }, (_, index) =>
    answersTo(Array.from({ length: 100 }, (_, at) => page(`f-${index}-${at}`)).join(''), 100).then(() =>
      order.push('flood'),
    ),
  )
  await wait(20)
  t.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
  order.push('health')
  await Promise.all(flood)
  t.ok(order.indexOf('health') < 15, `answered as ${order.indexOf('health') + 1}th of 31`)
})
