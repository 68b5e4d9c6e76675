/**
 * Generates load in a separate process: closed loops over kept-alive connections, or requests at a fixed rate.
 *
 * In: a `Job` by message. Out: one `GroupResult` per group. Requests are prepared as bytes and responses only counted, to use
 * little CPU. Each connection takes the next request of its group's list, so that no two send the same one. The time of a
 * paced request counts from its due time.
 */
import { connect, type Socket } from 'node:net'
import type { Group, GroupResult, Job } from './load.ts'

const END_OF_HEAD = Buffer.from('\r\n\r\n')

class Recorder {
  private times = new Float64Array(1 << 16)
  count = 0
  bytes = 0
  errors = 0
  readonly statuses = new Map<number, number>()
  readonly timeline: number[] = []

  add(ms: number, status: number, second: number): void {
    if (this.count === this.times.length) {
      const larger = new Float64Array(this.times.length * 2)
      larger.set(this.times)
      this.times = larger
    }
    this.times[this.count] = ms
    this.count += 1
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    while (this.timeline.length <= second) this.timeline.push(0)
    this.timeline[second] = (this.timeline[second] ?? 0) + 1
  }

  quantiles(wanted: readonly number[]): number[] {
    const sorted = this.times.subarray(0, this.count).sort()
    return wanted.map((quantile) => sorted[Math.min(this.count - 1, Math.floor(this.count * quantile))] ?? 0)
  }
}

/** One connection, which sends one request at a time and reads the response completely. */
class Connection {
  private socket: Socket | null = null
  private pending: Buffer = Buffer.alloc(0)
  private bodyLeft = -1
  /** Bytes left of a chunk, including its end; null when the body has a length. */
  private chunkLeft: number | null = null
  private status = 0
  private done: ((status: number | null) => void) | null = null

  constructor(
    private readonly host: string,
    private readonly port: number,
    private readonly recorder: Recorder,
  ) {}

  ask(bytes: Buffer): Promise<number | null> {
    return new Promise((resolve) => {
      this.done = resolve
      this.open().write(bytes)
    })
  }

  close(): void {
    this.socket?.destroy()
  }

  private open(): Socket {
    if (this.socket !== null) return this.socket
    const socket = connect({ host: this.host, port: this.port, noDelay: true })
    const lost = (): void => {
      if (this.socket !== socket) return
      this.socket = null
      this.pending = Buffer.alloc(0)
      this.bodyLeft = -1
      this.chunkLeft = null
      this.finish(null)
    }
    socket.on('data', (chunk: Buffer) => this.read(chunk))
    socket.on('error', lost)
    socket.on('close', lost)
    this.socket = socket
    return socket
  }

  private finish(status: number | null): void {
    const { done } = this
    this.done = null
    done?.(status)
  }

  private read(chunk: Buffer): void {
    this.recorder.bytes += chunk.length
    if (this.chunkLeft !== null) {
      this.readChunks(this.chunkLeft, chunk)
      return
    }
    if (this.bodyLeft >= 0) {
      this.bodyLeft -= chunk.length
    } else {
      this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
      const headEnd = this.pending.indexOf(END_OF_HEAD)
      if (headEnd < 0) return
      const head = this.pending.toString('latin1', 0, headEnd)
      const rest = this.pending.subarray(headEnd + 4)
      this.pending = Buffer.alloc(0)
      this.status = Number(head.slice(9, 12))
      if (/\r\ntransfer-encoding: chunked/i.test(head)) {
        this.readChunks(0, rest)
        return
      }
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
      if (length === undefined && this.status !== 304 && this.status !== 204)
        throw new Error(`an answer whose end cannot be known: ${head}`)
      this.bodyLeft = (this.status === 304 ? 0 : Number(length ?? 0)) - rest.length
    }
    if (this.bodyLeft > 0) return
    this.bodyLeft = -1
    this.finish(this.status)
  }

  /** @param left bytes left of the current chunk */
  private readChunks(left: number, bytes: Buffer): void {
    let rest = this.pending.length === 0 ? bytes : Buffer.concat([this.pending, bytes])
    this.pending = Buffer.alloc(0)
    this.chunkLeft = left
    while (this.chunkLeft < rest.length) {
      rest = rest.subarray(this.chunkLeft)
      this.chunkLeft = 0
      const lineEnd = rest.indexOf('\r\n')
      const size = Number.parseInt(rest.toString('latin1', 0, Math.max(lineEnd, 0)), 16)
      if (lineEnd < 0 || (size === 0 && rest.length < lineEnd + 4)) {
        this.pending = rest
        return
      }
      if (size === 0) {
        this.chunkLeft = null
        this.finish(this.status)
        return
      }
      rest = rest.subarray(lineEnd + 2)
      this.chunkLeft = size + 2
    }
    this.chunkLeft -= rest.length
  }
}

function printRequests({ address, requests, headers }: Group): Buffer[] {
  const { host } = new URL(address)
  return requests.map(({ method = 'GET', path, body, headers: requestHeaders }) => {
    const lines = Object.entries({ host, ...headers, ...requestHeaders }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    )
    const content =
      body === undefined
        ? ''
        : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
    return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}${content}\r\n${body ?? ''}`)
  })
}

async function runGroup(group: Group, seconds: number): Promise<GroupResult> {
  const { hostname, port } = new URL(group.address)
  const requests = printRequests(group)
  const recorder = new Recorder()
  let next = group.from ?? 0
  const startedAt = performance.now()
  const until = startedAt + seconds * 1000
  const loop = async (index: number): Promise<void> => {
    const connection = new Connection(hostname, Number(port), recorder)
    const gap = group.perSecond === undefined ? 0 : (1000 * group.connections) / group.perSecond
    for (let turn = 0; ; turn += 1) {
      let from = performance.now()
      if (gap > 0) {
        const dueIn = gap * (turn + index / group.connections)
        // Timers can be slightly early, so skip requests that are due at the end.
        if (dueIn >= seconds * 1000) break
        const due = startedAt + dueIn
        if (due > from) await new Promise((resolve) => setTimeout(resolve, due - from))
        from = due
      }
      if (performance.now() >= until) break
      const bytes = requests[next % requests.length]
      next += 1
      if (bytes === undefined) break
      const status = await connection.ask(bytes)
      if (status === null) {
        recorder.errors += 1
        await new Promise((resolve) => setTimeout(resolve, 20))
      } else {
        const now = performance.now()
        recorder.add(now - from, status, Math.floor((now - startedAt) / 1000))
      }
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: group.connections }, (_, index) => loop(index)))
  const elapsed = (performance.now() - startedAt) / 1000
  const [p50 = 0, p99 = 0, max = 0] = recorder.quantiles([0.5, 0.99, 1])
  return {
    requests: recorder.count,
    perSecond: recorder.count / elapsed,
    p50,
    p99,
    max,
    bytes: recorder.bytes,
    errors: recorder.errors,
    statuses: Object.fromEntries(recorder.statuses),
    timeline: recorder.timeline,
  }
}

process.on('message', (job: Job) => {
  void Promise.all(job.groups.map((group) => runGroup(group, job.seconds))).then((results) =>
    process.send?.(results),
  )
})
process.once('disconnect', () => process.exit(0))
process.once('SIGTERM', () => process.exit(0))
