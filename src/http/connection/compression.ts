/**
 * gzip for answers: whether a client takes it, and the bytes. Only gzip is offered: every client that takes brotli takes it too.
 */
import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import type { ByteString } from '../../rows/row-store.ts'

/** Bytes from which an answer is compressed for clients that take it so. */
export const COMPRESSED_FROM = 1024
/** From here on compression takes milliseconds, so a thread of Node.js does it and other requests go on meanwhile. */
const APART_FROM = 131_072
/** Level 3 takes twice the time of level 2 for JSON like ours, and makes it 2 % smaller. */
const OPTIONS = { level: 2 }
const gzipApart = promisify(gzip)

/** @returns the gzip stream of a body; a promise where it is long */
export function compress(body: ByteString | Buffer): Buffer | Promise<Buffer> {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
  return bytes.length < APART_FROM ? gzipSync(bytes, OPTIONS) : gzipApart(bytes, OPTIONS)
}

/** Does a client take gzip (RFC 9110, 12.5.3)? @param header its Accept-Encoding */
export function takesGzip(header: string | string[] | undefined): boolean {
  if (typeof header !== 'string' || header === '') return false
  let any = false
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';')
    const name = coding.trim()
    if (name !== 'gzip' && name !== 'x-gzip' && name !== '*') continue
    const isRefused = parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter))
    if (name !== '*') return !isRefused
    any = !isRefused
  }
  return any
}

/** Contents that gzip makes smaller. */
const COMPRESSIBLE = /^text\/|[/+](json|javascript)\b/
export const isCompressible = (contentType: string): boolean => COMPRESSIBLE.test(contentType)

/** A strong tag names bytes, and compressed bytes are others. */
export const gzipTag = (tag: string): string => tag.replace(/"$/, '-gzip"')
