/**
 * Decodes the DATASUS .dbc container to dBase bytes. A .dbc has a plain dBase header, a CRC-32, and the records as a PKWARE DCL
 * "implode" stream, which node-pkware decompresses.
 */
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { explode, stream } from 'node-pkware'
import { ImportError } from '../import-error.ts'
import { hasDbaseMark } from './dbf.ts'
import { refuseLargeTable, refuseUnpacked } from './unpack-limits.ts'

/** Input chunk size of the library, whose time grows with the square of this size. */
const CHUNK_BYTES = 4096
const END_OF_FILE = 0x1a
const REMEDY = 'Fetch the file again; a .dbc that was cut or changed on the way does not open'

/**
 * Detects a compressed table by content, not by name. The implode stream after the header and CRC-32 begins with two bytes that
 * no text record contains.
 * @param head first bytes of the file, up to those two bytes
 */
export function isDbc(head: Buffer): boolean {
  if (head.length < 40 || !hasDbaseMark(head)) return false
  const stream = head.readUInt16LE(8) + 4
  const [literals = 0xff, dictionary = 0xff] = head.subarray(stream, stream + 2)
  return literals <= 1 && dictionary >= 4 && dictionary <= 6
}

/**
 * @returns dBase header and records, without the final 0x1A
 * @throws ImportError if the bytes are not a .dbc, are truncated, or have a wrong CRC-32
 */
export async function decodeDbc(bytes: Buffer, file: string): Promise<Buffer> {
  if (bytes.length < 40 || !hasDbaseMark(bytes)) throw new ImportError(file, 'is not a .dbc file', REMEDY)
  const records = bytes.readUInt32LE(4)
  const headerLength = bytes.readUInt16LE(8)
  const recordLength = bytes.readUInt16LE(10)
  const bodyLength = records * recordLength
  if (headerLength < 33 || recordLength < 2 || headerLength + 4 >= bytes.length)
    throw new ImportError(file, 'has a header that cannot be true', REMEDY)
  refuseUnpacked(file, bytes.length, bodyLength)
  refuseLargeTable(file, bodyLength)
  const header = bytes.subarray(0, headerLength)
  const table = Buffer.allocUnsafe(headerLength + bodyLength)
  let length = header.copy(table)
  const packed = { file, header, checksum: bytes.readUInt32LE(headerLength), bytes: bodyLength }
  await unpackRecords([bytes.subarray(headerLength + 4)], packed, (chunk) => {
    length += chunk.copy(table, length)
  })
  return table
}

export interface PackedRecords {
  /** Name for messages. */
  readonly file: string
  readonly header: Buffer
  /** CRC-32 of header and records, as the file states it. */
  readonly checksum: number
  /** Bytes of all records. */
  readonly bytes: number
}

/**
 * @param take receives the records in chunks, without the final 0x1A
 * @throws ImportError if they are truncated, too long, or have a wrong CRC-32; also any error of `take`
 */
export async function unpackRecords(
  packed: AsyncIterable<Buffer> | Iterable<Buffer>,
  { file, header, checksum, bytes }: PackedRecords,
  take: (chunk: Buffer) => void,
): Promise<void> {
  // The CRC covers the records as they were compressed, which may or may not include the final 0x1A.
  let withEnd = crc32(header)
  let withoutEnd = withEnd
  let unpacked = 0
  await explodeChunks(packed, file, (chunk) => {
    const before = withEnd
    withEnd = crc32(chunk, withEnd)
    unpacked += chunk.length
    const hasEnd = unpacked === bytes + 1 && chunk.at(-1) === END_OF_FILE
    if (unpacked > bytes && !hasEnd)
      throw new ImportError(file, 'unpacks to more bytes than its header says', REMEDY)
    const records = hasEnd ? chunk.subarray(0, -1) : chunk
    withoutEnd = hasEnd ? crc32(records, before) : withEnd
    take(records)
  })
  if (unpacked < bytes)
    throw new ImportError(
      file,
      `is cut: it unpacks to ${unpacked} bytes where its header says ${bytes}`,
      REMEDY,
    )
  if (checksum !== withEnd && checksum !== withoutEnd)
    throw new ImportError(file, 'does not have the CRC-32 its header states', REMEDY)
}

async function explodeChunks(
  packed: AsyncIterable<Buffer> | Iterable<Buffer>,
  file: string,
  take: (chunk: Buffer) => void,
): Promise<void> {
  let problem: unknown = null
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      try {
        take(chunk)
        done()
      } catch (error) {
        problem = error
        done(error instanceof Error ? error : new Error(String(error)))
      }
    },
  })
  try {
    await pipeline(Readable.from(slices(packed)), stream.through(explode()), output)
  } catch {
    throw problem ?? new ImportError(file, 'cannot be unpacked: it is cut or was changed', REMEDY)
  }
}

async function* slices(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks)
    for (let start = 0; start < chunk.length; start += CHUNK_BYTES)
      yield chunk.subarray(start, start + CHUNK_BYTES)
}
