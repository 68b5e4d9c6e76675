/**
 * Queues requests: those of one connection start one at a time and in order, and all connections share each event-loop turn.
 * Clients may pipeline requests. The next request of a connection starts only after the previous answer was handed to the operating system,
 * so a connection holds a single answer in memory.
 * While few requests wait, Node.js reads connections itself, which is fastest. Once `WAITING_MAX` requests wait over all connections, raw
 * bytes are kept and parsed one request at a time. A waiting request then costs its bytes instead of parsed objects.
 * A turn starts requests for `TURN_MS`; the others wait for later turns. First requests go before pipelined ones, and health checks never
 * wait. While unread answers exceed `UNREAD_MAX`, pipelining clients wait until some are read. What a request means is decided elsewhere;
 * closing.ts closes connections.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Parsed requests that may wait over all connections before raw bytes are kept instead; about 2 MB. */
const WAITING_MAX = 500
/** Time per event-loop turn for starting requests, so that other events are handled soon. */
const TURN_MS = 4
/** Requests started per turn before the clock is checked. */
const TURN_REQUESTS = 8
/** Largest total, in bytes, of answers that pipelining clients have not read. */
const UNREAD_MAX = 8 * 2 ** 20
/** Bytes passed to the parser at a time when they contain no end of headers, as in bodies. */
const SLICE_BYTES = 1024
const HEAD_END = '\r\n\r\n'

export interface Connection {
  readonly socket: Socket
  current: readonly [request: IncomingMessage, response: ServerResponse] | null
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[]
  /** Passes bytes to Node's parser; null while Node.js reads the connection itself. */
  feed: ((bytes: Buffer) => void) | null
  unread: Buffer | null
  isQueued: boolean
  /** Answers malformed input and closes the connection, after all earlier requests are answered. */
  answerMalformed: (() => void) | null
}

export interface Order {
  readonly enter: Listener
  readonly connect: (socket: Socket) => void
  /** Handles 'clientError'. Its answer waits for earlier answers of the connection. */
  readonly fail: (socket: Socket, answer: () => void) => void
  /** @returns whether requests wait behind the one being answered */
  readonly hasMore: (socket: Socket) => boolean
  readonly begun: () => number
  readonly connections: () => Iterable<Connection>
}

const isUrgent = ({ url }: IncomingMessage): boolean => url === '/health' || url === '/ready'

export function createOrder(listener: Listener): Order {
  const connections = new Map<Socket, Connection>()
  /** Connections that wait with a first request, and with a pipelined one. */
  const first: Connection[] = []
  const further: Connection[] = []
  /** Parsed requests that wait, over all connections. */
  let waiting = 0
  let isScheduled = false
  let turnBegan = 0
  let begun = 0
  let total = 0

  const begin = (connection: Connection, pair: readonly [IncomingMessage, ServerResponse]): void => {
    const [request, response] = pair
    // The remaining input is not valid HTTP. Answer with the parse error.
    if (connection.answerMalformed !== null && !request.complete) {
      finish(connection)
      return
    }
    connection.current = pair
    begun += 1
    total += 1
    // 'close' fires once per response, whether it was sent or its client left.
    response.on('close', onClose)
    listener(request, response)
  }
  // Share one listener among all responses, because every request passes here.
  function onClose(this: ServerResponse): void {
    const connection = connections.get(this.req.socket)
    if (connection === undefined || connection.current?.[1] !== this) return
    connection.current = null
    if (connection.waiting.length > 0 || connection.unread !== null) enqueue(further, connection)
    else if (connection.answerMalformed !== null) finish(connection)
    if (further.length > 0) schedule()
  }
  const finish = (connection: Connection): void => {
    const answer = connection.answerMalformed
    connection.answerMalformed = null
    forget(connection)
    answer?.()
  }
  const enqueue = (queue: Connection[], connection: Connection): void => {
    if (!connection.isQueued) queue.push(connection)
    connection.isQueued = true
    schedule()
  }
  const schedule = (): void => {
    if (!isScheduled) setImmediate(work)
    isScheduled = true
  }
  /** @returns whether the turn has time to start another request */
  const hasTime = (): boolean => {
    schedule()
    if (begun < TURN_REQUESTS) {
      if (begun === 0) turnBegan = performance.now()
      return true
    }
    return performance.now() - turnBegan < TURN_MS
  }
  const isUnreadLow = (): boolean => {
    let bytes = 0
    for (const { current, socket, unread, waiting } of connections.values())
      if (current !== null && (unread !== null || waiting.length > 0)) bytes += socket.writableLength
    return bytes < UNREAD_MAX
  }
  const work = (): void => {
    isScheduled = false
    begun = 0
    if (first.length === 0 && further.length === 0) return
    turnBegan = performance.now()
    const goThrough = (queue: Connection[]): void => {
      while (queue.length > 0 && performance.now() - turnBegan < TURN_MS) goOn(queue.shift() as Connection)
    }
    goThrough(first)
    const goesFurther = isUnreadLow()
    if (goesFurther) goThrough(further)
    // When too many answers are unread, the next one that is read schedules another turn.
    if (first.length > 0 || (further.length > 0 && goesFurther)) schedule()
  }
  const goOn = (connection: Connection): void => {
    connection.isQueued = false
    // Nothing can be sent after an answer that closed the connection.
    if (!connection.socket.writable) {
      forget(connection)
      return
    }
    const next = connection.waiting.shift()
    if (next === undefined) deliver(connection)
    else {
      waiting -= 1
      begin(connection, next)
      // The unparsed bytes may be the request's body.
      if (connection.unread !== null) deliver(connection)
    }
  }
  /** Drops the waiting input of a connection that has ended or is no longer valid HTTP. */
  const forget = (connection: Connection): void => {
    waiting -= connection.waiting.length
    connection.waiting.length = 0
    connection.unread = null
  }

  /** Receives the connection's bytes here instead of in Node's parser. */
  const takeOver = (connection: Connection): void => {
    const { socket } = connection
    const feed = socket.listeners('data')[0] as ((bytes: Buffer) => void) | undefined
    if (connection.feed !== null || feed === undefined) return
    connection.feed = feed
    socket.off('data', feed)
    // Adding a `data` listener stops Node from reading the socket itself.
    socket.on('data', (bytes: Buffer) => {
      connection.unread = connection.unread === null ? bytes : Buffer.concat([connection.unread, bytes])
      deliver(connection)
    })
  }
  /** Passes bytes to the parser up to the end of the next request's headers, or in slices while a body is read. */
  const deliver = (connection: Connection): void => {
    const { socket, feed } = connection
    while (feed !== null && connection.unread !== null && !socket.destroyed) {
      const isReading = connection.current === null || !connection.current[0].complete
      if (!isReading || connection.waiting.length > 0 || connection.answerMalformed !== null) break
      const bytes: Buffer = connection.unread
      const end = bytes.subarray(0, 2 * 16_384).indexOf(HEAD_END)
      const size = end === -1 ? SLICE_BYTES : end + HEAD_END.length
      connection.unread = size >= bytes.length ? null : bytes.subarray(size)
      feed(bytes.subarray(0, size))
    }
    if (connection.unread === null) socket.resume()
    else socket.pause()
  }

  return {
    begun: () => total,
    connections: () => connections.values(),
    connect(socket) {
      const connection: Connection = {
        socket,
        current: null,
        waiting: [],
        feed: null,
        unread: null,
        isQueued: false,
        answerMalformed: null,
      }
      connections.set(socket, connection)
      socket.once('close', () => {
        forget(connection)
        connections.delete(socket)
        if (further.length > 0) schedule()
      })
      if (waiting >= WAITING_MAX) takeOver(connection)
    },
    enter(request, response) {
      const connection = connections.get(request.socket)
      if (connection === undefined) {
        response.destroy()
        return
      }
      const isFirst = connection.current === null && connection.waiting.length === 0
      if (isFirst && (isUrgent(request) || (first.length === 0 && hasTime())))
        return begin(connection, [request, response])
      connection.waiting.push([request, response])
      waiting += 1
      if (isFirst) enqueue(first, connection)
      if (waiting !== WAITING_MAX) return
      for (const other of connections.values()) if (other !== connection) takeOver(other)
      // This connection's parser is running right now.
      setImmediate(() => takeOver(connection))
    },
    fail(socket, answer) {
      const connection = connections.get(socket)
      const current = connection?.current
      // The error concerns the body of the request being answered.
      const isOfCurrent = current != null && !current[0].complete && !current[1].headersSent
      if (connection === undefined || isOfCurrent || (!current && connection.waiting.length === 0))
        return answer()
      connection.unread = null
      connection.answerMalformed = answer
    },
    hasMore(socket) {
      const connection = connections.get(socket)
      return connection !== undefined && (connection.waiting.length > 0 || connection.unread !== null)
    },
  }
}
