/**
 * The one way out: a response value → bytes on the connection, with the headers every answer carries. Compression happens
 * here, and nowhere else. In: Node's response, what the stages found out about the request, the response value. Out:
 * a promise where the body is a stream, nothing where the bytes are known. Not responsible for: what is answered.
 */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { ByteString } from '../../rows/row-store.ts'
import { type Envelope, toByteString } from '../request/envelope.ts'
import type { RequestState } from '../request/state.ts'
import { securityHeaders } from '../security.ts'
import { COMPRESSED_FROM, compress, gzipTag, isCompressible, takesGzip } from './compression.ts'
import { STALL_MS } from './socket-errors.ts'
import { writeTogether } from './write-together.ts'

/** What goes back to the client, besides the headers every answer carries. */
export interface ApiResponse {
  readonly status: number
  readonly body: Body
  /** A route's own headers: they win over those every answer carries. */
  readonly headers?: Readonly<Record<string, string>>
}

export type Body =
  /** 304: the client has the body. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'envelope'
      readonly envelope: Envelope
      /** Its gzip stream, where the envelope is cached. */
      readonly gzip?: () => Buffer | Promise<Buffer>
    }
  | {
      readonly kind: 'content'
      readonly type: string
      readonly content: Readable | string | Buffer
      /** Never compressed: parts of it can be asked for. */
      readonly isRaw?: boolean
    }

/** The request, as far as sending depends on it. */
export interface Sending {
  readonly id: string
  readonly method: string
  readonly acceptEncoding: string | string[] | undefined
  readonly state: RequestState
  /** Headers that others have set: those of CORS, and of the framework where it closes a connection. */
  readonly others: Readonly<Record<string, unknown>>
}

export interface SenderOptions {
  /** Origins whose pages may read answers. */
  readonly origins: readonly string[]
  /** Answers of one turn of the event loop are written together. */
  readonly writesTogether: boolean
  /** Does this answer end its connection? */
  readonly isLast: (response: ServerResponse) => boolean
}

export type Send = (response: ServerResponse, sending: Sending, answer: ApiResponse) => Promise<void> | void

const JSON_TYPE = 'application/json; charset=utf-8'
const VARY = 'Authorization, Accept, Accept-Encoding, Accept-Language'
const WINDOW_SECONDS = 60
/** What is less than this fits into the buffers of a socket: it is out of our hands at once. */
const STALL_BYTES = 65_536
/** What is more than this is written at once: its client is awake for longer than a turn in any case. */
const TOGETHER_BYTES = 16_384

export function createSender({ origins, writesTogether, isLast }: SenderOptions): Send {
  /** @param length bytes of the body */
  const soon = (length: number, write: () => void): void =>
    writesTogether && length < TOGETHER_BYTES ? writeTogether(write) : write()
  const always = Object.entries(securityHeaders(origins)).flat()
  const vary = origins.length > 0 ? `${VARY}, Origin` : VARY

  /** Name, value, name, value…, as Node.js takes them. */
  const listHeaders = (
    response: ServerResponse,
    { id, state, others }: Sending,
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
    if (isLast(response)) list.push('connection', 'close')
    for (const name in headers)
      if (name !== 'etag' && name !== 'cache-control') list.push(name, headers[name] as string)
    for (const name in others) if (name !== 'vary') list.push(name, String(others[name]))
    // Of an answer that has not changed the client keeps the headers it has.
    if (status === 304) return list
    return 'content-security-policy' in headers
      ? list.concat(always.slice(0, policyAt), always.slice(policyAt + 2))
      : list.concat(always)
  }
  const policyAt = always.indexOf('content-security-policy')

  return (response, sending, answer) => {
    const { body, status } = answer
    const gzipWanted = sending.acceptEncoding !== undefined && takesGzip(sending.acceptEncoding)
    if (body.kind === 'none') {
      const headers = listHeaders(response, sending, answer, false)
      soon(0, () => writeOrEnd(response, () => response.writeHead(status, headers).end()))
      return undefined
    }
    const type = body.kind === 'envelope' ? JSON_TYPE : body.type
    const mayCompress =
      gzipWanted && (body.kind === 'envelope' || (body.isRaw !== true && isCompressible(type)))
    if (body.kind === 'content' && body.content instanceof Readable) {
      const { 'content-length': length, ...shown } = answer.headers ?? {}
      const headers = listHeaders(response, sending, { ...answer, headers: shown }, mayCompress)
      headers.push('content-type', type)
      if (mayCompress) headers.push('content-encoding', 'gzip')
      else if (length !== undefined) headers.push('content-length', length)
      return sendStream(response, body.content, status, headers, mayCompress, sending.method === 'HEAD')
    }
    const plain = plainOf(body)
    const isCompressed = mayCompress && plain.length >= COMPRESSED_FROM
    const write = (bytes: ByteString | Buffer): void => {
      const headers = listHeaders(response, sending, answer, isCompressed)
      headers.push('content-type', type)
      if (isCompressed) headers.push('content-encoding', 'gzip')
      headers.push('content-length', String(bytes.length))
      if (sending.method !== 'HEAD') closeWhenStalled(response, bytes.length)
      soon(bytes.length, () =>
        writeOrEnd(response, () => {
          response.writeHead(status, headers)
          if (sending.method === 'HEAD') response.end()
          else if (typeof bytes === 'string') response.end(bytes, 'latin1')
          else response.end(bytes)
        }),
      )
    }
    const bytes = isCompressed
      ? ((body.kind === 'envelope' ? body.gzip?.() : undefined) ?? compress(plain))
      : plain
    if (bytes instanceof Promise) return bytes.then(write)
    write(bytes)
    return undefined
  }
}

/** A header that Node.js does not write ends this connection, not the server: nobody waits for what `soon` runs. */
function writeOrEnd(response: ServerResponse, write: () => void): void {
  try {
    write()
  } catch {
    response.destroy()
  }
}

/** @returns the bytes of a body that is no stream */
function plainOf(body: Exclude<Body, { kind: 'none' }>): ByteString | Buffer {
  if (body.kind === 'envelope') return body.envelope.body
  const { content } = body
  return typeof content === 'string' ? toByteString(content) : (content as Buffer)
}

/** @throws what the stream throws before its first bytes, with nothing sent */
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

/** How often it is looked whether a client takes anything. */
const LOOKS_A_STALL = 60

/**
 * A client that takes nothing for a while holds memory: its connection ends. Node's own time-out of a socket ends it after twice the time,
 * because it compares what waits with what waited when it was written.
 * @param length bytes of the answer; null: unknown
 */
export function closeWhenStalled(response: ServerResponse, length: number | null, stallMs = STALL_MS): void {
  const { socket } = response
  if (socket === null || (length !== null && length < STALL_BYTES)) return
  // What has been handed to the system is not among the bytes that wait; only the handle knows how much of a write has been.
  const { _handle: handle } = socket as unknown as { readonly _handle?: { readonly writeQueueSize?: number } }
  const countWaiting = (): number => socket.writableLength + (handle?.writeQueueSize ?? 0)
  let before = { written: 0, waiting: 0 }
  let since = performance.now()
  const timer = setInterval(() => {
    const now = { written: socket.bytesWritten, waiting: countWaiting() }
    const isTaken = now.waiting === 0 || now.waiting !== before.waiting || now.written !== before.written
    before = now
    if (isTaken) since = performance.now()
    else if (performance.now() - since >= stallMs) response.destroy()
  }, stallMs / LOOKS_A_STALL).unref()
  for (const event of ['finish', 'close']) response.once(event, () => clearInterval(timer))
}
