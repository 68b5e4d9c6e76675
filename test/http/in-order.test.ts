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
