/**
 * The two ways out of the server, and the headers both carry.
 *
 * Most answers are values or streams, which Fastify serialises, compresses and sends: `putHeaders` completes them in a
 * hook. Answers whose bytes are known go out in one step, around serialiser, hooks and compression: on the routes asked
 * most, those cost as much as all the rest of a request. Both take their headers from `listHeaders`.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type KeptAnswer, sizeOf, writeKept } from './answer-cache.ts'
import { securityHeaders } from './security.ts'
import { STALL_MS } from './socket-errors.ts'
import { type RequestState, stateOf } from './state.ts'

/**
 * Bytes from which an answer is compressed for clients that take it so. A record is less: compressed it would arrive no
 * sooner, and cost twice.
 */
export const COMPRESSED_FROM = 2048
/** What is less than this fits into the buffers of a socket: it is out of our hands at once. */
const STALL_BYTES = 65_536
/** Head and body of less than this go out as one text: one copy costs less than a second buffer to write. */
const ONE_WRITE_BYTES = 12_288
/** Most answers are smaller than this, and written where the one before was. */
const SHEET_BYTES = 512 << 10
const JSON_TYPE = 'application/json; charset=utf-8'
const VARY = 'Authorization, Accept, Accept-Encoding, Accept-Language'
const WINDOW_SECONDS = 60
/** Where a handler has set one of these, it knows better. */
const OWN_FIRST = new Set(['content-security-policy', 'etag', 'cache-control'])

export interface Sender {
  /** Onto a reply that Fastify sends. */
  putHeaders(request: FastifyRequest, reply: FastifyReply): void
  /** JSON in UTF-8 with status 200. */
  sendKept(request: FastifyRequest, reply: FastifyReply, answer: KeptAnswer): FastifyReply
  /** 304: the client has the answer already. */
  sendNotModified(request: FastifyRequest, reply: FastifyReply): FastifyReply
  /** The same past Fastify. @param answer null: 304 @throws what reading its bytes throws, with nothing sent */
  write(response: ServerResponse, answer: KeptAnswer | null, sent: Sent): void
}

/** What the headers say of an answer. */
export interface Sent {
  readonly id: string
  readonly elapsedMs: number
  readonly state: RequestState
}

export interface SenderOptions {
  /** Origins whose pages may read answers. */
  readonly origins: readonly string[]
  /** Connections are to end with their next answer. */
  readonly isClosing: () => boolean
}

export function createSender({ origins, isClosing }: SenderOptions): Sender {
  const always = Object.entries(securityHeaders(origins)).flat()
  const vary = origins.length > 0 ? `${VARY}, Origin` : VARY

  /** Name, value, name, value…, as Node.js takes them. */
  const listHeaders = ({ id, elapsedMs, state }: Sent, status: number): string[] => {
    const list = ['x-request-id', id, 'vary', vary]
    if (state.rate !== null) {
      const { limit, remaining, resetSeconds } = state.rate
      list.push('ratelimit-policy', `"default";q=${limit};w=${WINDOW_SECONDS}`)
      list.push('ratelimit', `"default";r=${remaining};t=${resetSeconds}`)
    }
    if (state.releaseId !== null) list.push(state.releaseHeader, state.releaseId)
    if (state.tag !== null) list.push('etag', state.tag)
    if (state.cacheControl !== null) list.push('cache-control', state.cacheControl)
    list.push('server-timing', `app;dur=${elapsedMs.toFixed(1)}`)
    if (isClosing()) list.push('connection', 'close')
    // Of an answer that has not changed the client keeps the headers it has.
    return status === 304 ? list : list.concat(always)
  }
  /** Memory that answers are written into, one after another; null while one of them is still on its way. */
  let sheet: Buffer | null = null
  // A buffer of its own for each answer would keep the collector busy: only full collections free such buffers.
  const writeOnSheet = (answer: KeptAnswer, id: string): Buffer => {
    if (sizeOf(answer) + id.length > SHEET_BYTES) return writeKept(answer, id)
    sheet ??= Buffer.allocUnsafeSlow(SHEET_BYTES)
    return writeKept(answer, id, sheet)
  }
  /** @param body on the sheet, if it fits there */
  const send = (
    response: ServerResponse,
    body: Buffer | null,
    sent: Sent,
    others: readonly string[] = [],
  ): void => {
    const status = body === null ? 304 : 200
    const list = listHeaders(sent, status)
    list.push(...others)
    if (body === null) {
      response.writeHead(status, list)
      response.end()
      return
    }
    list.push('content-type', JSON_TYPE, 'content-length', String(body.length))
    closeWhenStalled(response, body.length)
    response.writeHead(status, list)
    if (body.length < ONE_WRITE_BYTES) response.end(body.toString('latin1'), 'latin1')
    else {
      response.end(body)
      // What the system has not taken yet is read from where it stands.
      if (response.writableLength > 0) sheet = null
    }
  }
  /** What other plugins have set: those of CORS. */
  const othersOf = (reply: FastifyReply): string[] =>
    origins.length === 0
      ? []
      : Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
          name === 'vary' ? [] : [name, String(value)],
        )
  const sentOf = (request: FastifyRequest, reply: FastifyReply): Sent => ({
    id: request.id,
    elapsedMs: reply.elapsedTime,
    state: stateOf(request),
  })
  const hijack = (request: FastifyRequest, reply: FastifyReply, body: Buffer | null): FastifyReply => {
    reply.hijack()
    send(reply.raw, body, sentOf(request, reply), othersOf(reply))
    return reply
  }

  return {
    putHeaders(request, reply) {
      const list = listHeaders(sentOf(request, reply), reply.statusCode)
      for (let at = 0; at < list.length; at += 2) {
        const [name, value] = [list[at] ?? '', list[at + 1] ?? '']
        if (!(OWN_FIRST.has(name) && reply.hasHeader(name))) reply.header(name, value)
      }
    },
    sendKept: (request, reply, answer) =>
      request.method === 'HEAD' || mayBeCompressed(request.headers, sizeOf(answer) + request.id.length)
        ? reply.type(JSON_TYPE).send(writeKept(answer, request.id))
        : hijack(request, reply, writeOnSheet(answer, request.id)),
    sendNotModified: (request, reply) => hijack(request, reply, null),
    write: (response, answer, sent) =>
      send(response, answer === null ? null : writeOnSheet(answer, sent.id), sent),
  }
}

/** Would Fastify's plugin look whether to compress it? @param length of the body in bytes */
export const mayBeCompressed = (headers: IncomingHttpHeaders, length: number): boolean =>
  headers['accept-encoding'] !== undefined && length >= COMPRESSED_FROM

/** A client that takes nothing for a while holds memory: its connection ends. @param length null: not known */
export function closeWhenStalled(response: ServerResponse, length: number | null): void {
  if (length === null || length >= STALL_BYTES) response.setTimeout(STALL_MS, () => response.destroy())
}
