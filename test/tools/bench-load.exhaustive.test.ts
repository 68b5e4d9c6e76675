/** The load generator of the benchmark: it sends its list of requests in order and counts what comes back. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { endAll } from '../../tools/bench/children.ts'
import { startLoad } from '../../tools/bench/load.ts'

t.test('closed loops and paced requests are counted by status', async (t) => {
  const seen: string[] = []
  const server = createServer((request, response) => {
    const body: Buffer[] = []
    request.on('data', (chunk: Buffer) => body.push(chunk))
    request.on('end', () => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization} ${Buffer.concat(body)}`)
      if (request.url === '/same') response.writeHead(304).end()
      else response.writeHead(200, { 'content-length': 200_000 }).end('x'.repeat(200_000))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    await endAll()
    server.close()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const headers = { authorization: 'Bearer x' }
  const [loop, paced] = await startLoad().run({
    groups: [
      {
        address,
        headers,
        connections: 3,
        requests: [{ path: '/same' }, { method: 'POST', path: '/large', body: '{"é":1}' }],
      },
      { address, headers, connections: 2, perSecond: 20, requests: [{ path: '/paced' }] },
    ],
    seconds: 1,
  })
  t.equal(loop?.errors, 0)
  const { 200: large = 0, 304: same = 0 } = loop?.statuses ?? {}
  t.ok(Math.abs(large - same) <= 1, 'the list is gone through in order')
  t.equal(loop?.requests, large + same)
  t.ok((loop?.bytes ?? 0) > large * 200_000)
  t.ok((loop?.p50 ?? 0) > 0 && (loop?.p50 ?? 0) <= (loop?.p99 ?? 0) && (loop?.p99 ?? 0) <= (loop?.max ?? 0))
  t.ok((paced?.requests ?? 0) > 10 && (paced?.requests ?? 0) <= 20, 'no more than its pace')
  t.ok(seen.includes('POST /large Bearer x {"é":1}'))
  t.equal(seen.length, (loop?.requests ?? 0) + (paced?.requests ?? 0))
})

t.test('chunked answers end where their last chunk does; answers are counted by the second', async (t) => {
  const server = createServer((request, response) => {
    // Without a length: chunks, some of them cut anywhere by the network.
    response.writeHead(200)
    response.write('a'.repeat(70_000))
    setTimeout(() => response.end(request.url === '/empty' ? '' : 'b\r\n0\r\n\r\n'), 1)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    await endAll()
    server.close()
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const requests = [{ path: '/empty' }, { path: '/full' }]
  const [result] = await startLoad().run({
    groups: [{ address, headers: {}, connections: 2, requests }],
    seconds: 1.5,
  })
  t.equal(result?.errors, 0)
  t.same(Object.keys(result?.statuses ?? {}), ['200'])
  t.ok((result?.bytes ?? 0) > (result?.requests ?? 0) * 70_000)
  t.ok((result?.timeline.length ?? 0) >= 2, 'a started second counts')
  t.equal(
    result?.timeline.reduce((sum, count) => sum + count, 0),
    result?.requests,
  )
})
