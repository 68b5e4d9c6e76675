/** The HTTP server under Fastify: time limits, one request of a connection at a time (connection-queue.ts), and a close that loses no answer. */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { UNKNOWN_EXPECTATION } from '../request/authorise.ts'
import { drain, installGracefulClose } from './closing.ts'
import { type ConnectionQueue, createConnectionQueue } from './connection-queue.ts'
import {
  answerSocketError,
  CONNECTIONS_CHECK_MS,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  REQUEST_TIMEOUT_CODE,
  REQUEST_TIMEOUT_MS,
  refuseSlowBody,
  refuseTunnel,
} from './socket-errors.ts'

export interface Connections {
  /** @param listener Fastify's request listener */
  readonly createServer: (listener: RequestListener) => Server
  /** Answers input that is no HTTP request, and closes its connection. */
  readonly rejectMalformedInput: (error: { readonly code?: string | undefined }, socket: Socket) => void
  /** @returns whether the shutdown has begun */
  readonly isClosing: () => boolean
  /** @returns whether the answer is the last of its connection, because the server shuts down and the client has sent no other request */
  readonly isLastResponse: (response: ServerResponse) => boolean
  /** Begins the shutdown. @returns when clients have moved on */
  readonly close: () => Promise<void>
}

export function createConnections(): Connections {
  let queue: ConnectionQueue | null = null
  let isClosing = false
  const hasPipelined = (socket: Socket): boolean => queue?.hasPipelined(socket) === true
  const rejectMalformedInput: Connections['rejectMalformedInput'] = (error, socket) => {
    // A timeout does not apply while received bytes wait in our queue: the client has already sent them.
    if (error.code === REQUEST_TIMEOUT_CODE && hasPipelined(socket)) return
    queue?.fail(socket, (current) => {
      const isLateBody = error.code === REQUEST_TIMEOUT_CODE && current !== null
      if (!isLateBody || !refuseSlowBody(...current)) answerSocketError(error, socket)
    })
  }
  return {
    createServer(listener) {
      const connectionQueue = createConnectionQueue(listener)
      queue = connectionQueue
      const server = createServer(
        {
          requestTimeout: REQUEST_TIMEOUT_MS,
          headersTimeout: HEADERS_TIMEOUT_MS,
          keepAliveTimeout: KEEP_ALIVE_MS,
          connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
          // Node's rejection has no body; `checkHead` rejects the request with a problem document.
          requireHostHeader: false,
        },
        connectionQueue.accept,
      )
      server.on('connection', (socket: Socket) => {
        connectionQueue.connect(socket)
        installGracefulClose(socket)
      })
      // Without a listener, Node.js answers an unknown Expect header itself, without a body.
      server.on('checkExpectation', (request, response) => {
        request.headers.expect = UNKNOWN_EXPECTATION
        server.emit('request', request, response)
      })
      server.on('connect', (_request, socket) =>
        connectionQueue.fail(socket as Socket, () => refuseTunnel(socket as Socket)),
      )
      return server
    },
    rejectMalformedInput,
    isClosing: () => isClosing,
    isLastResponse: ({ req }) => isClosing && !hasPipelined(req.socket),
    async close() {
      isClosing = true
      if (queue !== null)
        await drain(queue, (socket) => rejectMalformedInput({ code: REQUEST_TIMEOUT_CODE }, socket))
    },
  }
}
