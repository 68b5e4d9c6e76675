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
  parse: ((bytes: Buffer) => void) | null
  unread: Buffer | null
  isQueued: boolean
  /** Answers malformed input and closes the connection, after all earlier requests are answered. */
  answerParseError: (() => void) | null
}

export interface ConnectionQueue {
  readonly accept: Listener
  readonly connect: (socket: Socket) => void
  /** Handles 'clientError'. Its answer waits for earlier answers of the connection. */
  readonly fail: (socket: Socket, answer: () => void) => void
  /** @returns whether requests wait behind the one being answered */
  readonly hasPipelined: (socket: Socket) => boolean
  readonly startedCount: () => number
  readonly connections: () => Iterable<Connection>
}

const isUrgent = ({ url }: IncomingMessage): boolean => url === '/health' || url === '/ready'

export function createConnectionQueue(listener: Listener): ConnectionQueue {
  const connections = new Map<Socket, Connection>()
  /** Connections that wait with a first request, and with a pipelined one. */
  const firstRequests: Connection[] = []
  const pipelined: Connection[] = []
  /** Parsed requests that wait, over all connections. */
  let waiting = 0
  let isScheduled = false
  let turnStart = 0
  let startedInTurn = 0
  let started = 0

  const start = (connection: Connection, pair: readonly [IncomingMessage, ServerResponse]): void => {
    const [request, response] = pair
    // The remaining input is not valid HTTP. Answer with the parse error.
    if (connection.answerParseError !== null && !request.complete) {
      answerError(connection)
      return
    }
    connection.current = pair
    startedInTurn += 1
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
    if (connection.waiting.length > 0 || connection.unread !== null) enqueue(pipelined, connection)
    else if (connection.answerParseError !== null) answerError(connection)
    if (pipelined.length > 0) schedule()
  }
  const answerError = (connection: Connection): void => {
    const answer = connection.answerParseError
    connection.answerParseError = null
    dropWaiting(connection)
    answer?.()
  }
  const enqueue = (waitingQueue: Connection[], connection: Connection): void => {
    if (!connection.isQueued) waitingQueue.push(connection)
    connection.isQueued = true
    schedule()
  }
  const schedule = (): void => {
    if (!isScheduled) setImmediate(runTurn)
    isScheduled = true
  }
  /** @returns whether the turn has time to start another request */
  const hasTime = (): boolean => {
    schedule()
    if (startedInTurn < TURN_REQUESTS) {
      if (startedInTurn === 0) turnStart = performance.now()
      return true
    }
    return performance.now() - turnStart < TURN_MS
  }
  const isUnreadLow = (): boolean => {
    let bytes = 0
    for (const { current, socket, unread, waiting } of connections.values())
      if (current !== null && (unread !== null || waiting.length > 0)) bytes += socket.writableLength
    return bytes < UNREAD_MAX
  }
  const runTurn = (): void => {
    isScheduled = false
    startedInTurn = 0
    if (firstRequests.length === 0 && pipelined.length === 0) return
    turnStart = performance.now()
    const runQueue = (waitingQueue: Connection[]): void => {
      while (waitingQueue.length > 0 && performance.now() - turnStart < TURN_MS)
        resume(waitingQueue.shift() as Connection)
    }
    runQueue(firstRequests)
    const mayAnswerPipelined = isUnreadLow()
    if (mayAnswerPipelined) runQueue(pipelined)
    // When too many answers are unread, the next one that is read schedules another turn.
    if (firstRequests.length > 0 || (pipelined.length > 0 && mayAnswerPipelined)) schedule()
  }
  const resume = (connection: Connection): void => {
    connection.isQueued = false
    // Nothing can be sent after an answer that closed the connection.
    if (!connection.socket.writable) {
      dropWaiting(connection)
      return
    }
    const next = connection.waiting.shift()
    if (next === undefined) parseNext(connection)
    else {
      waiting -= 1
      start(connection, next)
      // The unparsed bytes may be the request's body.
      if (connection.unread !== null) parseNext(connection)
    }
  }
  /** Drops the waiting input of a connection that has ended or is no longer valid HTTP. */
  const dropWaiting = (connection: Connection): void => {
    waiting -= connection.waiting.length
    connection.waiting.length = 0
    connection.unread = null
  }

  /** Receives the connection's bytes here instead of in Node's parser. */
  const captureInput = (connection: Connection): void => {
    const { socket } = connection
    const parser = socket.listeners('data')[0] as ((bytes: Buffer) => void) | undefined
    if (connection.parse !== null || parser === undefined) return
    connection.parse = parser
    socket.off('data', parser)
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
      const end = bytes.subarray(0, 2 * 16_384).indexOf(HEAD_END)
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
        current: null,
        waiting: [],
        parse: null,
        unread: null,
        isQueued: false,
        answerParseError: null,
      }
      connections.set(socket, connection)
      socket.once('close', () => {
        dropWaiting(connection)
        connections.delete(socket)
        if (pipelined.length > 0) schedule()
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
      if (isFirst && (isUrgent(request) || (firstRequests.length === 0 && hasTime())))
        return start(connection, [request, response])
      connection.waiting.push([request, response])
      waiting += 1
      if (isFirst) enqueue(firstRequests, connection)
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
        return answer()
      connection.unread = null
      connection.answerParseError = answer
    },
    hasPipelined(socket) {
      const connection = connections.get(socket)
      return connection !== undefined && (connection.waiting.length > 0 || connection.unread !== null)
    },
  }
}
