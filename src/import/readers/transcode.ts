/**
 * ISO-8859-1 → UTF-8, once, while a file is read for its digest. In: a stream of published bytes. Out: UTF-8 on disk, and
 * whether the bytes were UTF-8 already.
 *
 * A text that begins with the mark of UTF-8 (EF BB BF) says what it is: the mark is taken away and the text kept, unless it is
 * not UTF-8 after all. Real exports hold a few bytes of 0x80–0x9F, which ISO-8859-1 leaves to control characters and Windows-1252 gives to
 * dashes and quotes: they are read as Windows-1252. DuckDB's own reader would refuse the whole file for one of them.
 */
import { isAscii, isUtf8, transcode } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const WINDOWS_1252 = new TextDecoder('windows-1252')
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
      done(
        null,
        hasHighControls(chunk)
          ? Buffer.from(WINDOWS_1252.decode(chunk), 'utf8')
          : transcode(chunk, 'latin1', 'utf8'),
      )
    },
  })
  return { stream, wasUtf8: () => !isMarked && accented > 0 && accented === valid }
}

/** Is there a byte of 0x80–0x9F? Four bytes are looked at together: bit 7 set, bits 6 and 5 not. */
function hasHighControls(chunk: Buffer): boolean {
  const aligned = chunk.byteOffset % 4 === 0 ? chunk : Buffer.from(chunk)
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, chunk.length >> 2)
  let found = 0
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? 0
    found |= word & ~(word << 1) & ~(word << 2) & 0x80808080
  }
  for (let index = words.length * 4; index < chunk.length; index += 1)
    found |= ((chunk[index] ?? 0) & 0xe0) === 0x80 ? 1 : 0
  return found !== 0
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
