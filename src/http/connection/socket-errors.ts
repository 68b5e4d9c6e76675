/**
 * What goes wrong before a request is one: bytes that are no HTTP, headers too large, a client that sends too slowly.
 *
 * Node reports these at the socket, past every hook, so the answer is written by hand: the same problem document as
 * everywhere, and the connection ends. Absent on purpose: any word of what was sent.
 */
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, both, type ErrorCode } from '../../errors.ts'
import { describeProblem } from '../request/problem.ts'

/** A request must be in within this, its head and all of it. Node swaps the two where the first is longer. */
export const HEADERS_TIMEOUT_MS = 10_000
export const REQUEST_TIMEOUT_MS = 30_000
/** A connection without a request stays open longer than the proxies in front of it keep theirs: a minute, mostly. */
export const KEEP_ALIVE_MS = 72_000
/** How often Node looks for connections past those. */
export const CONNECTIONS_CHECK_MS = 5_000
/** An answer of which the client takes nothing for this long is given up. */
export const STALL_MS = 60_000

/** Code of the error that Node.js reports for a request that has not arrived in time. */
export const REQUEST_TIMEOUT_CODE = 'ERR_HTTP_REQUEST_TIMEOUT'
const CODES: Readonly<Record<string, ErrorCode>> = {
  [REQUEST_TIMEOUT_CODE]: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
}

/** For Fastify's `clientErrorHandler`. */
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

/** Answers CONNECT: Node.js closes the connection without an answer unless somebody listens for it. */
export function refuseTunnel(socket: Socket): void {
  // Node.js takes its listeners from the socket of a tunnel, so a reset by the client would be an uncaught error.
  socket.on('error', () => socket.destroy())
  const detail = both('Este servidor não abre túneis (CONNECT).', 'This server opens no tunnels (CONNECT).')
  if (socket.writable) endWithProblem(socket, new AppError('not_implemented', { detail }))
  else socket.destroy()
}

/** Writes the problem as the last answer of a connection. */
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
