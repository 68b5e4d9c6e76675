/**
 * gzip for answers: whether a client takes it, and an envelope compressed once whatever id its requests have.
 *
 * What stands before the request's id is deflated once and ends at a byte's edge; the id and what stands behind it follow as
 * one stored block (RFC 1951, 3.2.4), and the checksum of the whole is continued from the first part's. So the answer that a
 * cached envelope gives to the next client costs no compression. Only gzip is offered: every client that takes brotli takes
 * gzip too, and brotli has no such stored end that could be written in a few lines.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib'
import type { ByteString } from '../rows/row-store.ts'

/** Bytes from which an answer is compressed for clients that take it so. */
export const COMPRESSED_FROM = 1024
/** Level 3 takes twice the time of level 2 for JSON like ours, and makes it 2 % smaller. */
const LEVEL = 2
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
const STORED_MAX = 0xffff

/** The beginning of a gzip stream. */
export interface GzipBeginning {
  readonly bytes: Buffer
  /** Of the plain bytes so far. */
  readonly crc: number
  readonly length: number
}

export function beginGzip(plain: ByteString | Buffer): GzipBeginning {
  const bytes = typeof plain === 'string' ? Buffer.from(plain, 'latin1') : plain
  const deflated = deflateRawSync(bytes, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH })
  return { bytes: Buffer.concat([HEADER, deflated]), crc: crc32(bytes), length: bytes.length }
}

/** @param rest what follows, at most 65,535 bytes @returns the whole gzip stream */
export function endGzip({ bytes, crc, length }: GzipBeginning, rest: ByteString): Buffer {
  if (rest.length > STORED_MAX) throw new RangeError('a stored block has at most 65,535 bytes')
  const end = Buffer.allocUnsafe(5 + rest.length + 8)
  // The last block, stored as it is: its length and the complement of it.
  end.writeUInt8(1, 0)
  end.writeUInt16LE(rest.length, 1)
  end.writeUInt16LE(rest.length ^ STORED_MAX, 3)
  end.write(rest, 5, 'latin1')
  end.writeUInt32LE(crc32(end.subarray(5, 5 + rest.length), crc), 5 + rest.length)
  end.writeUInt32LE((length + rest.length) % 2 ** 32, 9 + rest.length)
  return Buffer.concat([bytes, end])
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
