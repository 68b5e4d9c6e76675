/**
 * DATASUS .dbc container → dBase bytes: a plain header, a CRC-32, the records as a PKWARE DCL "implode" stream.
 *
 * In: the file's bytes. Out: header and records, checked against the CRC the file carries. node-pkware unpacks; its
 * streaming interface with 4 KiB chunks is used because the one-call interface takes time that grows with the square.
 */
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { explode, stream } from 'node-pkware'
import { ImportError } from '../import-error.ts'
import { refuseLargeTable, refuseUnpacked } from './unpack-limits.ts'

const CHUNK_BYTES = 4096
const REMEDY = 'Fetch the file again; a .dbc that was cut or changed on the way does not open'

/**
 * Is it a packed table, whatever its name says? After the header and the CRC-32 an implode stream says how it is packed, in two
 * bytes that no record of text holds. @param head first bytes, the header's end included where they are to tell
 */
export function isDbc(head: Buffer): boolean {
  if (head.length < 40 || head[0] !== 0x03) return false
  const stream = head.readUInt16LE(8) + 4
  const [literals = 0xff, dictionary = 0xff] = head.subarray(stream, stream + 2)
  return literals <= 1 && dictionary >= 4 && dictionary <= 6
}

/**
 * @returns dBase bytes: header then records, without the final 0x1A
 * @throws ImportError when the bytes are no .dbc, are cut, or do not have the CRC-32 of the header
 */
export async function decodeDbc(bytes: Buffer, file: string): Promise<Buffer> {
  if (bytes.length < 40 || bytes[0] !== 0x03) throw new ImportError(file, 'is not a .dbc file', REMEDY)
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
  // The CRC covers the records as they were packed, the final 0x1A included where there is one.
  const checks = [body, body.subarray(0, bodyLength)].map((part) => crc32(part, crc32(header)))
  if (!checks.includes(expected))
    throw new ImportError(file, 'does not have the CRC-32 its header states', REMEDY)
  return table.subarray(0, headerLength + bodyLength)
}

/** @returns bytes unpacked */
async function explodeInto(body: Buffer, packed: Buffer, file: string): Promise<number> {
  let length = 0
  const output = new PassThrough()
  output.on('data', (chunk: Buffer) => {
    // A stream that never ends must not fill the memory.
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
