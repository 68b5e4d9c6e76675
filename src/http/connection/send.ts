/**
 * Sends every response: turns a response value into bytes and adds the common headers. All compression happens here. In: Node's response,
 * the request's state, the response value. Out: a promise when the body is a stream or compressed on another thread, otherwise nothing.
 */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type ByteString, toByteString } from '../../rows/row-store.ts'
import type { Envelope } from '../request/envelope.ts'
import type { RequestState } from '../request/state.ts'
import { securityHeaders } from '../security.ts'
import { COMPRESSED_FROM, compress, gzipTag, isCompressible, takesGzip } from './compression.ts'
import { STALL_MS } from './socket-errors.ts'
import { writeTogether } from './write-together.ts'

export interface ApiResponse {
  readonly status: number
  readonly body: Body
  /** Headers of the route; they override the common ones. */
  readonly headers?: Readonly<Record<string, string>>
}

export type Body =
  /** No body, as for 304. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'envelope'
      readonly envelope: Envelope
      readonly gzip?: () => Buffer | Promise<Buffer>
    }
  | {
      readonly kind: 'content'
      readonly type: string
      readonly content: Readable | string | Buffer
      /** Never compress, because clients may request byte ranges. */
      readonly isRaw?: boolean
      /** @returns the compressed bytes, where they are kept */
      readonly gzip?: () => Buffer
    }

export interface SendContext {
  readonly id: string
  readonly method: string
  readonly acceptEncoding: string | string[] | undefined
  readonly state: RequestState
  /** Headers set elsewhere: by CORS, and by Fastify when it closes a connection. */
  readonly extraHeaders: Readonly<Record<string, unknown>>
}

export interface SenderOptions {
  readonly origins: readonly string[]
  readonly writesTogether: boolean
  readonly isLastResponse: (response: ServerResponse) => boolean
}

export type Send = (
  response: ServerResponse,
  sending: SendContext,
  answer: ApiResponse,
) => Promise<void> | void

const JSON_TYPE = 'application/json; charset=utf-8'
const VARY = 'Authorization, Accept, Accept-Encoding, Accept-Language'
const WINDOW_SECONDS = 60
/** Bodies below this many bytes fit into socket buffers, so they leave at once. */
const STALL_CHECK_MIN_BYTES = 65_536
/** Answers of this many bytes or more are written at once: their client stays awake longer than a turn anyway. */
const IMMEDIATE_WRITE_BYTES = 16_384

export function createSender({ origins, writesTogether, isLastResponse }: SenderOptions): Send {
  const scheduleWrite = (length: number, write: () => void): void =>
    writesTogether && length < IMMEDIATE_WRITE_BYTES ? writeTogether(write) : write()
  const commonHeaders = Object.entries(securityHeaders(origins)).flat()
  const vary = origins.length > 0 ? `${VARY}, Origin` : VARY

  /** @returns headers in Node's flat form: name, value, name, value… */
  const listHeaders = (
    response: ServerResponse,
    { id, state, extraHeaders }: SendContext,
    { status, headers = {} }: ApiResponse,
    isCompressed: boolean,
  ): string[] => {
    const tag = headers.etag ?? state.tag
    const list = ['x-request-id', id, 'vary', vary]
    if (state.rate !== null) {
      const { limit, remaining, resetSeconds } = state.rate
      list.push('ratelimit-policy', `"default";q=${limit};w=${WINDOW_SECONDS}`)
      list.push('ratelimit', `"default";r=${remaining};t=${resetSeconds}`)
    }
    if (state.releaseId !== null) list.push(state.releaseHeader, state.releaseId)
    if (tag !== null && tag !== undefined) list.push('etag', isCompressed ? gzipTag(tag) : tag)
    const cacheControl = headers['cache-control'] ?? state.cacheControl
    if (state.isLinked && status < 400) list.push('cache-control', 'private, no-cache')
    else if (cacheControl !== null) list.push('cache-control', cacheControl)
    const timing = `app;dur=${(performance.now() - state.startedAt).toFixed(1)}`
    list.push('server-timing', state.engine === null ? timing : `${timing}, engine;desc=${state.engine}`)
    if (isLastResponse(response)) list.push('connection', 'close')
    for (const name in headers)
      if (name !== 'etag' && name !== 'cache-control') list.push(name, headers[name] as string)
    for (const name in extraHeaders) if (name !== 'vary') list.push(name, String(extraHeaders[name]))
    // After a 304 the client keeps the remaining headers that it has.
    if (status === 304) return list
    return 'content-security-policy' in headers
      ? list.concat(commonHeaders.slice(0, policyIndex), commonHeaders.slice(policyIndex + 2))
      : list.concat(commonHeaders)
  }
  const policyIndex = commonHeaders.indexOf('content-security-policy')

  return (response, sending, answer) => {
    const { body, status } = answer
    const gzipWanted = sending.acceptEncoding !== undefined && takesGzip(sending.acceptEncoding)
    if (body.kind === 'none') {
      const headers = listHeaders(response, sending, answer, false)
      scheduleWrite(0, () => writeOrDestroy(response, () => response.writeHead(status, headers).end()))
      return undefined
    }
    const type = body.kind === 'envelope' ? JSON_TYPE : body.type
    const mayCompress =
      gzipWanted && (body.kind === 'envelope' || (body.isRaw !== true && isCompressible(type)))
    if (body.kind === 'content' && body.content instanceof Readable) {
      const { 'content-length': length, ...otherHeaders } = answer.headers ?? {}
      const headers = listHeaders(response, sending, { ...answer, headers: otherHeaders }, mayCompress)
      headers.push('content-type', type)
      if (mayCompress) headers.push('content-encoding', 'gzip')
      else if (length !== undefined) headers.push('content-length', length)
      return sendStream(response, body.content, status, headers, mayCompress, sending.method === 'HEAD')
    }
    const plain = uncompressedBody(body)
    const isCompressed = mayCompress && plain.length >= COMPRESSED_FROM
    const write = (bytes: ByteString | Buffer): void => {
      const headers = listHeaders(response, sending, answer, isCompressed)
      headers.push('content-type', type)
      if (isCompressed) headers.push('content-encoding', 'gzip')
      headers.push('content-length', String(bytes.length))
      if (sending.method !== 'HEAD') closeWhenStalled(response, bytes.length)
      scheduleWrite(bytes.length, () =>
        writeOrDestroy(response, () => {
          response.writeHead(status, headers)
          if (sending.method === 'HEAD') response.end()
          else if (typeof bytes === 'string') response.end(bytes, 'latin1')
          else response.end(bytes)
        }),
      )
    }
    const bytes = isCompressed ? (body.gzip?.() ?? compress(plain)) : plain
    if (bytes instanceof Promise) return bytes.then(write)
    write(bytes)
    return undefined
  }
}

/** Closes only this connection when Node.js rejects a header. Nothing would catch the exception of a delayed write. */
function writeOrDestroy(response: ServerResponse, write: () => void): void {
  try {
    write()
  } catch {
    response.destroy()
  }
}

/** @returns the uncompressed bytes of a body that is not a stream */
function uncompressedBody(body: Exclude<Body, { kind: 'none' }>): ByteString | Buffer {
  if (body.kind === 'envelope') return body.envelope.body
  const { content } = body
  return typeof content === 'string' ? toByteString(content) : (content as Buffer)
}

/** @throws errors of the stream before its first bytes; nothing has been sent then */
async function sendStream(
  response: ServerResponse,
  stream: Readable,
  status: number,
  headers: string[],
  compresses: boolean,
  isHead: boolean,
): Promise<void> {
  if (isHead) stream.destroy()
  else if (stream.readableLength === 0) await Promise.race([once(stream, 'readable'), once(stream, 'end')])
  closeWhenStalled(response, isHead ? 0 : null)
  response.writeHead(status, headers)
  if (isHead) response.end()
  else if (compresses) await pipeline(stream, createGzip(), response)
  else await pipeline(stream, response)
}

/** Checks per stall period for whether the client has read anything. */
const CHECKS_PER_STALL = 60

/**
 * Closes the connection of a client that reads nothing for a while, because it holds memory. Node's socket timeout would take twice as
 * long: it compares pending bytes with those at the time of the write.
 * @param length body size in bytes; null when unknown
 */
export function closeWhenStalled(response: ServerResponse, length: number | null, stallMs = STALL_MS): void {
  const { socket } = response
  if (socket === null || (length !== null && length < STALL_CHECK_MIN_BYTES)) return
  // `writableLength` excludes writes handed to the system. Only the handle knows how much of them is still pending.
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly writeQueueSize?: number } }
  const countWaiting = (): number => socket.writableLength + (handle?.writeQueueSize ?? 0)
  let previous = { written: 0, waiting: 0 }
  let lastProgress = performance.now()
  const timer = setInterval(() => {
    const now = { written: socket.bytesWritten, waiting: countWaiting() }
    const hasProgress =
      now.waiting === 0 || now.waiting !== previous.waiting || now.written !== previous.written
    previous = now
    if (hasProgress) lastProgress = performance.now()
    else if (performance.now() - lastProgress >= stallMs) response.destroy()
  }, stallMs / CHECKS_PER_STALL).unref()
  for (const event of ['finish', 'close']) response.once(event, () => clearInterval(timer))
}
