/**
 * Answers errors that occur before a request exists: invalid HTTP, headers too large, a client that sends too slowly.
 * Node reports these at the socket, past every hook. The answer is therefore written by hand, as the usual problem document, and the
 * connection closes. It never quotes the input.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, both, type ErrorCode } from '../../errors.ts'
import { describeProblem } from '../request/problem.ts'

/** Time limits for receiving the headers and the complete request. Node swaps the two if the first is longer. */
export const HEADERS_TIMEOUT_MS = 10_000
export const REQUEST_TIMEOUT_MS = 30_000
/** Idle time of a connection, longer than that of proxies in front, which is usually a minute. */
export const KEEP_ALIVE_MS = 72_000
export const CONNECTIONS_CHECK_MS = 5_000
/** Time without any bytes read by the client after which its answer is abandoned. */
export const STALL_MS = 60_000

export const REQUEST_TIMEOUT_CODE = 'ERR_HTTP_REQUEST_TIMEOUT'
const CODES: Readonly<Record<string, ErrorCode>> = {
  [REQUEST_TIMEOUT_CODE]: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
}

export function answerSocketError(error: { readonly code?: string | undefined }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const code = CODES[error.code ?? ''] ?? 'invalid_request'
  const detail =
    code === 'invalid_request'
      ? both('O que foi enviado não é um pedido HTTP/1.1.', 'What was sent is not an HTTP/1.1 request.')
      : undefined
  endWithProblem(socket, new AppError(code, detail === undefined ? {} : { detail }))
}

/**
 * Ends the reading of a body that is late, so that its request is answered, logged and counted as any other.
 * @returns false when nothing reads the body yet
 */
export function refuseSlowBody(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.listenerCount('error') === 0) return false
  // Node.js would keep the connection for the rest of the body.
  response.shouldKeepAlive = false
  request.emit('error', new AppError('request_timeout'))
  return true
}

/** Answers CONNECT. Without a listener, Node.js closes the connection without an answer. */
export function refuseTunnel(socket: Socket): void {
  // Node.js removes its listeners from a tunnel's socket, so a client's reset would be an uncaught error.
  socket.on('error', () => socket.destroy())
  const detail = both('Este servidor não abre túneis (CONNECT).', 'This server opens no tunnels (CONNECT).')
  if (socket.writable) endWithProblem(socket, new AppError('not_implemented', { detail }))
  else socket.destroy()
}

function endWithProblem(socket: Socket, error: AppError): void {
  const id = randomUUID()
  const { status, body } = describeProblem(error, id, 'pt')
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    `x-request-id: ${id}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
}
