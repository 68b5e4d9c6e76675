/**
 * Converts Windows-1252 to UTF-8 on disk while the published bytes are hashed, and tells whether they were UTF-8 already. The
 * UTF-8 byte order mark (EF BB BF) is removed. Text after it is kept if it is valid UTF-8, and converted otherwise. DuckDB only
 * gets UTF-8: as ISO-8859-1 it would reject a file for one of the dashes or quotes of Windows-1252 (0x80–0x9F) in real exports.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { decodeWindows1252 } from './windows-1252.ts'

/** Maximum number of bytes of a UTF-8 character that may be missing at either end of a chunk. */
const MAX_PARTIAL_BYTES = 3

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

export interface Transcoder {
  readonly stream: Transform
  /** Valid after the end of the stream: true if all non-ASCII chunks were valid UTF-8 without a byte order mark. */
  wasUtf8(): boolean
}

export function createTranscoder(): Transcoder {
  let nonAsciiChunks = 0
  let validChunks = 0
  let hasBegun = false
  let hasMark = false
  /** Encoding of text with a byte order mark, decided by its first non-ASCII chunk. */
  let markedEncoding: 'utf8' | 'latin1' | null = null
  const stream = new Transform({
    transform(published: Buffer, _encoding, done) {
      let chunk = published
      if (!hasBegun) {
        hasBegun = true
        hasMark = chunk.subarray(0, 3).equals(BYTE_ORDER_MARK)
        if (hasMark) chunk = chunk.subarray(3)
      }
      if (isAscii(chunk)) return done(null, chunk)
      const isValid = isUtf8(trimPartialCharacters(chunk))
      nonAsciiChunks += 1
      if (isValid) validChunks += 1
      if (hasMark) markedEncoding ??= isValid ? 'utf8' : 'latin1'
      if (markedEncoding === 'utf8') return done(null, chunk)
      done(null, Buffer.from(decodeWindows1252(chunk), 'utf8'))
    },
  })
  return { stream, wasUtf8: () => !hasMark && nonAsciiChunks > 0 && nonAsciiChunks === validChunks }
}

function trimPartialCharacters(chunk: Buffer): Buffer {
  let start = 0
  while (start < MAX_PARTIAL_BYTES && ((chunk[start] ?? 0) & 0xc0) === 0x80) start += 1
  for (let back = 1; back <= MAX_PARTIAL_BYTES && back <= chunk.length; back += 1) {
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
