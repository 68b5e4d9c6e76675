/**
 * A server that ends under load: what was sent is answered, the last answer of a connection says that it is, and no connection
 * is reset. With the second ring, 20 servers in processes of their own hand over to others.
 */
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { openClient } from '../fixtures/client.ts'
import { countOf } from '../fixtures/rings.ts'
import { type ServerProcess, startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const CONNECTIONS = 32
const HAND_OVERS = countOf(12, 1)
const small = await makeSmallRelease()
const PATHS = [
  '/v1/facilities?limit=50',
  '/v1/states',
  '/health',
  '/v1/municipalities?state=RR',
  '/v1/releases',
]

interface Counts {
  answered: number
  /** Answers that are none: another status, or a connection that ends within one. */
  readonly wrong: string[]
  /** Connections that ended without an answer that said so. */
  unannounced: number
}

/** One client: a connection after another, `batch` requests at once, until told to stop. */
async function askOn(
  portNow: () => number | null,
  key: string,
  batch: number,
  counts: Counts,
): Promise<void> {
  while (portNow() !== null) await converse(portNow, key, batch, counts)
}

/** One connection, until an answer says that it is the last. */
function converse(portNow: () => number | null, key: string, batch: number, counts: Counts): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(portNow() ?? 0, '127.0.0.1')
    let text = ''
    let open = 0
    let turn = 0
    let isLast = false
    const ask = (): void => {
      open = batch
      socket.write(
        Array.from({ length: batch }, () => {
          turn += 1
          return `GET ${PATHS[turn % PATHS.length]} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`
        }).join(''),
      )
    }
    socket.setEncoding('latin1')
    socket.on('connect', ask)
    socket.on('error', (error) => counts.wrong.push(String(error)))
    socket.on('end', () => socket.end())
    socket.on('close', () => {
      if (open > 0) counts.wrong.push(`${open} of ${batch} requests have no answer`)
      if (!isLast && portNow() !== null) counts.unannounced += 1
      resolve()
    })
    socket.on('data', (chunk: string) => {
      text += chunk
      for (;;) {
        const end = text.indexOf('\r\n\r\n')
        if (end === -1) return
        const head = text.slice(0, end).toLowerCase()
        const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
        if (text.length < end + 4 + length) return
        text = text.slice(end + 4 + length)
        if (!head.startsWith('http/1.1 200')) counts.wrong.push(head.slice(0, 200))
        if (isLast) counts.wrong.push('an answer behind the last one')
        isLast = head.includes('connection: close')
        open -= 1
        counts.answered += 1
        if (open > 0) continue
        if (portNow() === null) socket.end()
        else if (!isLast) ask()
      }
    })
  })
}

t.test('a server ends under load', async (t) => {
  const client = await openClient(small.releasesDir, 1, { rows: true })
  const { port } = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))
  const counts: Counts = { answered: 0, wrong: [], unannounced: 0 }
  let goesOn = true
  const key = client.keyWithout()
  // One connection each: the server is gone when it ends.
  const clients = Array.from({ length: CONNECTIONS }, (_, index) =>
    converse(() => (goesOn ? Number(port) : null), key, index % 4 === 0 ? 20 : 1, counts),
  )
  // The load counts as one when each connection has had more than an answer; a slow machine takes longer for it.
  while (counts.answered <= CONNECTIONS && counts.wrong.length === 0) await wait(50)
  await wait(500)
  const closed = client.close()
  await Promise.all(clients)
  goesOn = false
  await closed
  t.same(counts.wrong.slice(0, 5), [], 'no request without its answer, no reset')
  t.equal(counts.unannounced, 0, 'the last answer of each connection said so')
})

t.test(
  'an ending server says so to who asks whether it is ready, and still answers new connections',
  async (t) => {
    const client = await openClient(small.releasesDir, 1)
    const base = await client.app.listen({ host: '127.0.0.1', port: 0 })
    const idle = connect(Number(new URL(base).port), '127.0.0.1')
    await new Promise((resolve) => idle.once('connect', resolve))
    await wait(50)
    const closed = client.close()
    await wait(50)
    const ready = await fetch(`${base}/ready`)
    t.equal(ready.status, 503)
    t.equal(ready.headers.get('retry-after'), '1')
    t.equal(ready.headers.get('connection'), 'close')
    t.match(await ready.json(), { code: 'not_ready', detail: 'Esta instância está encerrando.' })
    t.equal((await fetch(`${base}/health`)).status, 200)
    let ended: string | null = null
    idle.on('end', () => {
      ended = 'end'
    })
    idle.on('error', (error) => {
      ended = String(error)
    })
    idle.resume()
    await closed
    t.equal(ended, 'end', 'a connection without a request ends without a reset')
  },
)

t.test('a server that cannot stop is killed, and its log says what it waits for', async (t) => {
  const hook = new URL('../fixtures/blocked-thread.js', import.meta.url).href
  const { child, ended, log } = await startServerProcess(small.releasesDir, {
    env: { NODE_OPTIONS: `--import=${hook}`, SUS_STOP_TIMEOUT_MS: '2500' },
  })
  child.kill('SIGTERM')
  t.equal(await Promise.race([ended, wait(20_000).then(() => 'still there')]), null)
  t.equal(child.signalCode, 'SIGKILL')
  t.match(
    log(),
    /"after_ms":2500,"closing":null,"waits_for":\[.*"msg":"the server did not stop in time and is killed"/,
  )
})

/** A request whose body does not arrive: the server that gets it is asked to stop at once. */
async function stopWithinRequest(): Promise<{
  seconds: number
  code: number | null
  text: string
  log: string
}> {
  const { child, port, ended, log } = await startServerProcess(small.releasesDir, {
    env: { SUS_LOG_LEVEL: 'info' },
  })
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  socket.on('error', () => undefined)
  const key = createKey(join(small.releasesDir, 'keys.json'), { name: 'slow', capabilities: CAPABILITIES })
  await wait(1500)
  socket.write(
    `POST /v1/analytics/query HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.secret}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  )
  await wait(200)
  const began = performance.now()
  child.kill('SIGTERM')
  const code = await ended
  return { seconds: (performance.now() - began) / 1000, code, text, log: log() }
}
// It takes the half minute that a request may take, so the hand-overs run meanwhile.
const slowRequest = stopWithinRequest()

t.test(`${HAND_OVERS} hand-overs from one process to another`, async (t) => {
  const key = createKey(join(small.releasesDir, 'keys.json'), {
    name: 'load',
    capabilities: CAPABILITIES,
    rate: 10_000_000,
  }).secret
  const servers: ServerProcess[] = []
  t.teardown(() => {
    for (const { child } of servers) child.kill('SIGKILL')
  })
  const start = async (): Promise<ServerProcess> => {
    const server = await startServerProcess(small.releasesDir)
    servers.push(server)
    return server
  }
  let running = await start()
  let port: number | null = running.port
  const counts: Counts = { answered: 0, wrong: [], unannounced: 0 }
  const clients = Array.from({ length: CONNECTIONS }, (_, index) =>
    askOn(() => port, key, index % 4 === 0 ? 10 : 1, counts),
  )
  for (let turn = 0; turn < HAND_OVERS; turn += 1) {
    const next = await start()
    const { answered } = counts
    port = next.port
    running.child.kill('SIGTERM')
    await checkEnd(t, running)
    t.ok(counts.answered > answered, 'the clients went on')
    running = next
  }
  port = null
  await Promise.all(clients)
  running.child.kill('SIGTERM')
  await checkEnd(t, running)
  t.same(counts.wrong.slice(0, 5), [], `${counts.answered} requests`)
  t.equal(counts.unannounced, 0)
})

async function checkEnd(t: Test, { ended, log }: ServerProcess): Promise<void> {
  t.equal(await Promise.race([ended, wait(30_000).then(() => 'still there')]), 0, log())
}

t.test('a request that never arrives does not hold a server that stops', async (t) => {
  const { seconds, code, text, log } = await slowRequest
  t.equal(code, 0)
  t.match(text, /^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/)
  const id = /x-request-id: (\S+)/.exec(text)?.[1] ?? ''
  const lines = log.split('\n').filter((line) => line.includes(id))
  t.match(
    lines.map((line) => JSON.parse(line)),
    [{ route: '/v1/analytics/query', status: 408 }],
    'the log knows the answer by its id',
  )
  t.ok(seconds < 50, `${seconds.toFixed(1)} s`)
})
