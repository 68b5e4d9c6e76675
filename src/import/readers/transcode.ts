/**
 * Windows-1252 → UTF-8, once, while a file is read for its digest. In: a stream of published bytes. Out: UTF-8 on disk, and
 * whether the bytes were UTF-8 already.
 *
 * A text that begins with the mark of UTF-8 (EF BB BF) says what it is: the mark is taken away and the text kept, unless it is
 * not UTF-8 after all. Real exports hold a few bytes of 0x80–0x9F, the dashes and quotes of Windows-1252. DuckDB's reader, which gets
 * UTF-8 alone and decodes nothing, would refuse a file of ISO-8859-1 for one of them.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { decodeWindows1252 } from './windows-1252.ts'

/** A character of UTF-8 may be cut at either end of a chunk. */
const CUT_BYTES = 3

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

export interface Transcoder {
  readonly stream: Transform
  /** After the end: every chunk with accents was valid UTF-8, and no mark at the beginning said so. */
  wasUtf8(): boolean
}

export function createTranscoder(): Transcoder {
  let accented = 0
  let valid = 0
  let begun = false
  let isMarked = false
  /** What a marked text is: its first chunk with accents decides. */
  let marked: 'utf8' | 'latin1' | null = null
  const stream = new Transform({
    transform(published: Buffer, _encoding, done) {
      let chunk = published
      if (!begun) {
        begun = true
        isMarked = chunk.subarray(0, 3).equals(BYTE_ORDER_MARK)
        if (isMarked) chunk = chunk.subarray(3)
      }
      if (isAscii(chunk)) return done(null, chunk)
      const isValid = isUtf8(trimCut(chunk))
      accented += 1
      if (isValid) valid += 1
      if (isMarked) marked ??= isValid ? 'utf8' : 'latin1'
      if (marked === 'utf8') return done(null, chunk)
      done(null, Buffer.from(decodeWindows1252(chunk), 'utf8'))
    },
  })
  return { stream, wasUtf8: () => !isMarked && accented > 0 && accented === valid }
}

/** Without the part of a character that may have been cut off at the ends. */
function trimCut(chunk: Buffer): Buffer {
  let start = 0
  while (start < CUT_BYTES && ((chunk[start] ?? 0) & 0xc0) === 0x80) start += 1
  for (let back = 1; back <= CUT_BYTES && back <= chunk.length; back += 1) {
    const byte = chunk[chunk.length - back] ?? 0
    if (byte >= 0xc0) return chunk.subarray(start, chunk.length - back)
    if (byte < 0x80) break
  }
  return chunk.subarray(start)
}

/** @returns size and SHA-256 of the published bytes; UTF-8 is written to the destination */
export async function transcodeFile(
  path: string,
  destination: string,
): Promise<{ bytes: number; sha256: string; wasUtf8: boolean }> {
  const hash = createHash('sha256')
  let bytes = 0
  const digest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      bytes += chunk.length
      done(null, chunk)
    },
  })
  const transcoder = createTranscoder()
  await pipeline(
    createReadStream(path, { highWaterMark: 1 << 20 }),
    digest,
    transcoder.stream,
    createWriteStream(destination),
  )
  return { bytes, sha256: hash.digest('hex'), wasUtf8: transcoder.wasUtf8() }
}
