/**
 * Starts the requests of each connection one at a time and in order, and shares each event-loop turn among all connections.
 * A client may send requests without waiting for answers. The next one starts only after the previous answer was handed to the operating
 * system. A connection whose client does not read therefore holds one answer, and it delays no other connection.
 * Node.js reads connections itself, which is fastest, until `WAITING_MAX` requests wait over all connections. From then on bytes are kept
 * and parsed one request at a time, so that a waiting request costs its bytes instead of parsed objects.
 * A turn starts requests for `TURN_MS`. The others wait in the order of their arrival, one of each connection, and health checks never
 * wait. Other modules answer the requests; closing.ts closes connections.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Listener = (request: IncomingMessage, response: ServerResponse) => void
type Exchange = readonly [request: IncomingMessage, response: ServerResponse]

/** Parsed requests that may wait over all connections before bytes are kept instead; about 2 MB. */
const WAITING_MAX = 500
/** Time per event-loop turn for starting requests, so that other events are handled soon. */
const TURN_MS = 4
/** Bytes passed to the parser at a time when they contain no end of headers, as in bodies. */
const SLICE_BYTES = 1024
const HEADERS_MAX_BYTES = 16_384
const HEAD_END = '\r\n\r\n'

export interface Connection {
  readonly socket: Socket
  /** Passes bytes to the parser of Node.js; null while Node.js reads the connection itself. */
  parse: ((bytes: Buffer) => void) | null
  current: Exchange | null
  readonly waiting: Exchange[]
  unread: Buffer | null
  isQueued: boolean
  /** Answers malformed input and closes the connection, after all earlier requests are answered. */
  answerParseError: (() => void) | null
}

export interface ConnectionQueue {
  readonly accept: Listener
  readonly connect: (socket: Socket) => void
  /** Handles 'clientError'. Its answer waits for earlier answers of the connection; it gets the exchange whose body is wrong or late. */
  readonly fail: (socket: Socket, answer: (current: Exchange | null) => void) => void
  /** @returns whether requests wait behind the one being answered */
  readonly hasPipelined: (socket: Socket) => boolean
  readonly startedCount: () => number
  readonly connections: () => Iterable<Connection>
}

const isUrgent = ({ url }: IncomingMessage): boolean => url === '/health' || url === '/ready'

export function createConnectionQueue(listener: Listener): ConnectionQueue {
  const connections = new Map<Socket, Connection>()
  const queue: Connection[] = []
  /** Parsed requests that wait, over all connections. */
  let waiting = 0
  let isScheduled = false
  let turnStart = 0
  let started = 0

  const start = (connection: Connection, exchange: Exchange): void => {
    const [request, response] = exchange
    // The remaining input is not valid HTTP. Answer with the parse error.
    if (connection.answerParseError !== null && !request.complete) {
      answerError(connection)
      return
    }
    connection.current = exchange
    started += 1
    // 'close' fires once per response, whether it was sent or its client left.
    response.on('close', onClose)
    listener(request, response)
  }
  // Share one listener among all responses, because every request passes here.
  function onClose(this: ServerResponse): void {
    const connection = connections.get(this.req.socket)
    if (connection === undefined || connection.current?.[1] !== this) return
    connection.current = null
    if (connection.waiting.length > 0 || connection.unread !== null) enqueue(connection)
    else if (connection.answerParseError !== null) answerError(connection)
  }
  const answerError = (connection: Connection): void => {
    const answer = connection.answerParseError
    connection.answerParseError = null
    dropInput(connection)
    answer?.()
  }
  const enqueue = (connection: Connection): void => {
    if (!connection.isQueued) queue.push(connection)
    connection.isQueued = true
    schedule()
  }
  const schedule = (): void => {
    if (!isScheduled) setImmediate(runTurn)
    isScheduled = true
  }
  /** @returns whether the turn has time to start another request */
  const hasTime = (): boolean => {
    if (!isScheduled) turnStart = performance.now()
    schedule()
    return performance.now() - turnStart < TURN_MS
  }
  const runTurn = (): void => {
    isScheduled = false
    if (queue.length === 0) return
    do resume(queue.shift() as Connection)
    while (queue.length > 0 && hasTime())
  }
  const resume = (connection: Connection): void => {
    connection.isQueued = false
    // Nothing can be sent after an answer that closed the connection.
    if (!connection.socket.writable) {
      dropInput(connection)
      return
    }
    const next = connection.waiting.shift()
    if (next !== undefined) {
      waiting -= 1
      start(connection, next)
    }
    // Unparsed bytes may also be the body of the request that started.
    if (connection.unread !== null) parseNext(connection)
  }
  /** Drops the waiting input of a connection that has ended or is no longer valid HTTP. */
  const dropInput = (connection: Connection): void => {
    waiting -= connection.waiting.length
    connection.waiting.length = 0
    connection.unread = null
  }
  /** Receives the connection's bytes here instead of in Node's parser. */
  const captureInput = (connection: Connection): void => {
    const { socket } = connection
    const parse = socket.listeners('data')[0] as ((bytes: Buffer) => void) | undefined
    if (connection.parse !== null || parse === undefined) return
    connection.parse = parse
    socket.off('data', parse)
    // Adding a `data` listener stops Node from reading the socket itself.
    socket.on('data', (bytes: Buffer) => {
      connection.unread = connection.unread === null ? bytes : Buffer.concat([connection.unread, bytes])
      parseNext(connection)
    })
  }
  /** Passes bytes to the parser up to the end of the next request's headers, or in slices while a body is read. */
  const parseNext = (connection: Connection): void => {
    const { socket, parse } = connection
    while (parse !== null && connection.unread !== null && !socket.destroyed) {
      const isReading = connection.current === null || !connection.current[0].complete
      if (!isReading || connection.waiting.length > 0 || connection.answerParseError !== null) break
      const bytes: Buffer = connection.unread
      const end = bytes.subarray(0, 2 * HEADERS_MAX_BYTES).indexOf(HEAD_END)
      const size = end === -1 ? SLICE_BYTES : end + HEAD_END.length
      connection.unread = size >= bytes.length ? null : bytes.subarray(size)
      parse(bytes.subarray(0, size))
    }
    if (connection.unread === null) socket.resume()
    else socket.pause()
  }

  return {
    startedCount: () => started,
    connections: () => connections.values(),
    connect(socket) {
      const connection: Connection = {
        socket,
        parse: null,
        current: null,
        waiting: [],
        unread: null,
        isQueued: false,
        answerParseError: null,
      }
      connections.set(socket, connection)
      socket.once('close', () => {
        dropInput(connection)
        connections.delete(socket)
      })
      if (waiting >= WAITING_MAX) captureInput(connection)
    },
    accept(request, response) {
      const connection = connections.get(request.socket)
      if (connection === undefined) {
        response.destroy()
        return
      }
      const isFirst = connection.current === null && connection.waiting.length === 0
      if (isFirst && (isUrgent(request) || (queue.length === 0 && hasTime()))) {
        start(connection, [request, response])
        return
      }
      connection.waiting.push([request, response])
      waiting += 1
      if (isFirst) enqueue(connection)
      if (waiting !== WAITING_MAX) return
      for (const other of connections.values()) if (other !== connection) captureInput(other)
      // This connection's parser is running right now.
      setImmediate(() => captureInput(connection))
    },
    fail(socket, answer) {
      const connection = connections.get(socket)
      const current = connection?.current
      // The error concerns the body of the request being answered.
      const concernsCurrent = current != null && !current[0].complete && !current[1].headersSent
      if (connection === undefined || concernsCurrent || (!current && connection.waiting.length === 0))
        return answer(concernsCurrent ? current : null)
      connection.unread = null
      connection.answerParseError = () => answer(null)
    },
    hasPipelined(socket) {
      const connection = connections.get(socket)
      return connection !== undefined && (connection.waiting.length > 0 || connection.unread !== null)
    },
  }
}
