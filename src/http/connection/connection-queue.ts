/**
 * Requests of one connection enter the application one at a time, in the order in which they came, and those of all connections
 * share each turn of the event loop.
 *
 * A client may send many requests without reading an answer (pipelining). The next request of a connection is not looked at
 * until the answer before it has been handed to the operating system, so a connection holds one answer, however much is sent
 * over it. While few requests wait, Node.js reads connections itself, which is fastest. Past `WAITING_MAX` of them, over all
 * connections, bytes are kept as they came and given to the parser one request at a time: a request that waits then costs
 * its bytes, not the objects that a parsed one is. A turn of the event loop begins requests for `TURN_MS` only; the others
 * wait for the next turns, first requests before further ones, health checks not at all. Where answers that nobody reads
 * exceed `UNREAD_MAX`, clients that pipeline are answered no further until some of those are taken.
 * Not responsible for: anything a request means; how connections end (closing.ts).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Parsed requests of all connections that may wait before bytes are kept instead: about 2 MB. */
const WAITING_MAX = 500
/** Requests are begun for this long in one turn of the event loop, so that what else has come is seen soon. */
const TURN_MS = 4
/** So many requests of a turn are begun without a look at the clock. */
const TURN_REQUESTS = 8
/** Bytes of answers to clients that pipeline and do not read. */
const UNREAD_MAX = 8 * 2 ** 20
/** Bytes that are given to the parser at once where no request ends among them: of a body, mostly. */
const SLICE_BYTES = 1024
const HEAD_END = '\r\n\r\n'

export interface Connection {
  readonly socket: Socket
  /** The request that is being answered. */
  current: readonly [request: IncomingMessage, response: ServerResponse] | null
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[]
  /** Gives bytes to the parser of Node.js; null while Node.js reads the connection itself. */
  feed: ((bytes: Buffer) => void) | null
  /** Bytes that are not given to it yet. */
  unread: Buffer | null
  /** Stands in one of the queues. */
  isQueued: boolean
  /** Answers bytes that are no request, and ends the connection, once all requests before them are answered. */
  answerMalformed: (() => void) | null
}

export interface Order {
  /** For 'request'. */
  readonly enter: Listener
  /** For 'connection', behind the listener of Node.js. */
  readonly connect: (socket: Socket) => void
  /** For 'clientError': what answers it waits for the answers before it. */
  readonly fail: (socket: Socket, answer: () => void) => void
  /** Are requests there that came over a connection behind the one being answered? */
  readonly hasMore: (socket: Socket) => boolean
  /** Requests begun so far. */
  readonly begun: () => number
  readonly connections: () => Iterable<Connection>
}

const isUrgent = ({ url }: IncomingMessage): boolean => url === '/health' || url === '/ready'

/** @param listener answers one request */
export function createOrder(listener: Listener): Order {
  const connections = new Map<Socket, Connection>()
  /** Connections with a first request, and with a further one. */
  const first: Connection[] = []
  const further: Connection[] = []
  /** Requests in `waiting` of all connections. */
  let waiting = 0
  let isScheduled = false
  let turnBegan = 0
  let begun = 0
  let total = 0

  const begin = (connection: Connection, pair: readonly [IncomingMessage, ServerResponse]): void => {
    const [request, response] = pair
    // The rest of it is no HTTP: it cannot be answered but by that.
    if (connection.answerMalformed !== null && !request.complete) {
      finish(connection)
      return
    }
    connection.current = pair
    begun += 1
    total += 1
    // 'close' comes once for every response, whether it was sent whole or its client left.
    response.on('close', onClose)
    listener(request, response)
  }
  // One function for all responses: this is on the way of every request.
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
  /** Is there time left in this turn? */
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
  /** Begins what waits, as far as the turn has time. */
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
    // Where too much is unread, the next answer that is taken schedules this again.
    if (first.length > 0 || (further.length > 0 && goesFurther)) schedule()
  }
  const goOn = (connection: Connection): void => {
    connection.isQueued = false
    // Behind an answer that ends the connection nothing can be answered.
    if (!connection.socket.writable) {
      forget(connection)
      return
    }
    const next = connection.waiting.shift()
    if (next === undefined) deliver(connection)
    else {
      waiting -= 1
      begin(connection, next)
      // Of its body, perhaps.
      if (connection.unread !== null) deliver(connection)
    }
  }
  /** Nobody waits for the answers of a connection that has ended, or that is no HTTP any more. */
  const forget = (connection: Connection): void => {
    waiting -= connection.waiting.length
    connection.waiting.length = 0
    connection.unread = null
  }

  /** From here on the connection's bytes come to us. */
  const takeOver = (connection: Connection): void => {
    const { socket } = connection
    const feed = socket.listeners('data')[0] as ((bytes: Buffer) => void) | undefined
    if (connection.feed !== null || feed === undefined) return
    connection.feed = feed
    socket.off('data', feed)
    // A listener of one's own ends Node's own reading.
    socket.on('data', (bytes: Buffer) => {
      connection.unread = connection.unread === null ? bytes : Buffer.concat([connection.unread, bytes])
      deliver(connection)
    })
  }
  /** Gives the parser bytes up to the next whole request, or all of them where a body is being read. */
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
      // Its own parser is at work right now.
      setImmediate(() => takeOver(connection))
    },
    fail(socket, answer) {
      const connection = connections.get(socket)
      const current = connection?.current
      // Of the request that is being answered, where its body is what is wrong.
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
