/**
 * Decodes the DATASUS .dbc container to dBase bytes. A .dbc has a plain dBase header, a CRC-32, and the records as a PKWARE DCL
 * "implode" stream. node-pkware decompresses. Its streaming interface with 4 KiB chunks is used, because the time of its one-call
 * interface grows with the square of the size.
 */
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { explode, stream } from 'node-pkware'
import { ImportError } from '../import-error.ts'
import { hasDbaseMark } from './dbf.ts'
import { refuseLargeTable, refuseUnpacked } from './unpack-limits.ts'

const CHUNK_BYTES = 4096
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
  const expected = bytes.readUInt32LE(headerLength)
  const table = Buffer.allocUnsafe(headerLength + bodyLength + 1)
  header.copy(table)
  const unpacked = await explodeInto(table.subarray(headerLength), bytes.subarray(headerLength + 4), file)
  const body = table.subarray(headerLength, headerLength + unpacked)
  if (body.length !== bodyLength && !(body.length === bodyLength + 1 && body[bodyLength] === 0x1a))
    throw new ImportError(
      file,
      `${body.length < bodyLength ? 'is cut: it ' : ''}unpacks to ${body.length} bytes where its header says ${bodyLength}`,
      REMEDY,
    )
  // The CRC covers the records as they were compressed, which may or may not include the final 0x1A.
  const checks = [body, body.subarray(0, bodyLength)].map((content) => crc32(content, crc32(header)))
  if (!checks.includes(expected))
    throw new ImportError(file, 'does not have the CRC-32 its header states', REMEDY)
  return table.subarray(0, headerLength + bodyLength)
}

async function explodeInto(body: Buffer, packed: Buffer, file: string): Promise<number> {
  let length = 0
  const output = new PassThrough()
  output.on('data', (chunk: Buffer) => {
    // Stop when the stream exceeds the expected size, because it may never end.
    if (length + chunk.length > body.length) output.destroy(new Error('too long'))
    else length += chunk.copy(body, length)
  })
  try {
    await pipeline(Readable.from(slices(packed)), stream.through(explode()), output)
  } catch {
    throw new ImportError(file, 'cannot be unpacked: it is cut or was changed', REMEDY)
  }
  return length
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    yield bytes.subarray(start, start + CHUNK_BYTES)
}
