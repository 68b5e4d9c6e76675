/**
 * Streams the records of a dBase table, compressed (.dbc) or not, so memory does not grow with the file. A visitor receives each
 * record. The result is the size and SHA-256 of the published bytes and the row counts. The checks and error messages equal those
 * of dbc.ts and dbf.ts, which read complete files.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32 } from 'node:zlib'
import { explode, stream } from 'node-pkware'
import { ImportError } from '../import-error.ts'
import { isDbc } from './dbc.ts'
import { type DbfColumn, hasDbaseMark, readDbfColumns, refuseUncounted } from './dbf.ts'
import { refuseUnpacked } from './unpack-limits.ts'

export interface DbfHeader {
  readonly columns: readonly DbfColumn[]
  readonly records: number
}

/** @param bytes buffer that contains the record; @param start offset of its deletion mark; @param record 0-based number */
export type RecordVisitor = (bytes: Buffer, start: number, record: number) => void

export interface SetAside {
  readonly row: number
  readonly reason: string
}

export interface ReadFile {
  readonly bytes: number
  readonly sha256: string
  /** Number of records without a deletion mark. */
  readonly rows: number
  /** Names of the columns. */
  readonly columns: readonly string[]
  /** Records with a deletion mark; the header is row 1. */
  readonly deleted: readonly SetAside[]
}

const READ_BYTES = 1 << 18
/** Input chunk size of the decompression library, whose time grows with the square of this size. */
const PACKED_BYTES = 4096
const DELETED = 0x2a
const END_OF_FILE = 0x1a
const REMEDY = 'Fetch the file again'
const REMEDY_PACKED = 'Fetch the file again; a .dbc that was cut or changed on the way does not open'

/**
 * @param file name for messages
 * @param open receives the header and returns the visitor of records that are not deleted
 * @throws ImportError if the file is not a table, is truncated, or has a wrong CRC-32; also any error of `open`
 */
export async function readDbfRecords(
  path: string,
  file: string,
  open: (header: DbfHeader) => RecordVisitor,
): Promise<ReadFile> {
  const hash = createHash('sha256')
  let size = 0
  const published = (async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of createReadStream(path, {
      highWaterMark: READ_BYTES,
    }) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      size += chunk.length
      yield chunk
    }
  })()
  const headBytes = await takeHead(published)
  const { length, recordLength, records, columns } = readHeader(headBytes, file)
  const splitter = createRecordSplitter(recordLength, records, open({ columns, records }))
  const header = headBytes.subarray(0, length)
  if (isDbc(headBytes)) {
    refuseUnpacked(file, (await stat(path)).size, records * recordLength)
    let checksum = crc32(header)
    // The CRC covers the records as they were compressed, which may or may not include the final 0x1A.
    let checksumWithoutEnd = checksum
    const expected = headBytes.readUInt32LE(length)
    const body = records * recordLength
    let unpackedBytes = 0
    await unpack(prepend(headBytes.subarray(length + 4), published), file, (chunk) => {
      const previousChecksum = checksum
      checksum = crc32(chunk, checksum)
      unpackedBytes += chunk.length
      if (unpackedBytes <= body) checksumWithoutEnd = checksum
      else if (unpackedBytes === body + 1) checksumWithoutEnd = crc32(chunk.subarray(0, -1), previousChecksum)
      if (unpackedBytes > body + 1 || (unpackedBytes === body + 1 && chunk.at(-1) !== END_OF_FILE))
        throw new ImportError(file, 'unpacks to more bytes than its header says', REMEDY_PACKED)
      splitter.take(chunk)
    })
    if (unpackedBytes < body)
      throw new ImportError(
        file,
        `is cut: it unpacks to ${unpackedBytes} bytes where its header says ${body}`,
        REMEDY_PACKED,
      )
    if (checksum !== expected && checksumWithoutEnd !== expected)
      throw new ImportError(file, 'does not have the CRC-32 its header states', REMEDY_PACKED)
  } else {
    for await (const chunk of prepend(headBytes.subarray(length), published)) splitter.take(chunk)
    if (splitter.seen() < records)
      throw new ImportError(file, `is cut: ${records} records do not fit its ${size} bytes`, REMEDY)
    refuseUncounted(file, records, splitter.next(), (size - length - records * recordLength) / recordLength)
  }
  return {
    bytes: size,
    sha256: hash.digest('hex'),
    rows: splitter.visited(),
    columns: columns.map((column) => column.name),
    deleted: splitter.deleted().map((row) => ({ row, reason: 'deleted' })),
  }
}

/** Reads the header and the next bytes, which tell whether the records are compressed. */
async function takeHead(published: AsyncGenerator<Buffer>): Promise<Buffer> {
  let headBytes: Buffer = Buffer.alloc(0)
  const requiredBytes = (): number => (headBytes.length < 10 ? 10 : headBytes.readUInt16LE(8) + 6)
  while (headBytes.length < requiredBytes()) {
    const { value, done } = await published.next()
    if (done === true) break
    headBytes = Buffer.concat([headBytes, value])
  }
  return headBytes
}

function readHeader(
  headBytes: Buffer,
  file: string,
): { length: number; recordLength: number; records: number; columns: readonly DbfColumn[] } {
  if (headBytes.length < 33 || !hasDbaseMark(headBytes))
    throw new ImportError(file, 'is not a dBase file', REMEDY)
  const records = headBytes.readUInt32LE(4)
  const length = headBytes.readUInt16LE(8)
  const recordLength = headBytes.readUInt16LE(10)
  if (headBytes.length < length) throw new ImportError(file, 'is cut within its header', REMEDY)
  const columns = readDbfColumns(headBytes.subarray(0, length))
  const width = columns.reduce((sum, column) => sum + column.length, 1)
  if (columns.length === 0 || width !== recordLength)
    throw new ImportError(file, 'has columns that do not fill its records', REMEDY)
  return { length, recordLength, records, columns }
}

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first
  yield* rest
}

async function* splitChunks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks)
    for (let start = 0; start < chunk.length; start += PACKED_BYTES)
      yield chunk.subarray(start, start + PACKED_BYTES)
}

async function unpack(
  packed: AsyncIterable<Buffer>,
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
    await pipeline(Readable.from(splitChunks(packed)), stream.through(explode()), output)
  } catch {
    throw problem ?? new ImportError(file, 'cannot be unpacked: it is cut or was changed', REMEDY_PACKED)
  }
}

interface RecordSplitter {
  take(chunk: Buffer): void
  seen(): number
  visited(): number
  deleted(): readonly number[]
  /** First byte after the records that the header counts. */
  next(): number | undefined
}

/** Splits chunks into records. A chunk may end within a record, so its rest is kept for the next chunk. */
function createRecordSplitter(recordLength: number, records: number, visit: RecordVisitor): RecordSplitter {
  const partialRecord = Buffer.alloc(recordLength)
  let heldBytes = 0
  let record = 0
  let visited = 0
  let next: number | undefined
  const deleted: number[] = []
  const visitOne = (bytes: Buffer, start: number): void => {
    if (bytes[start] !== DELETED) {
      visited += 1
      visit(bytes, start, record)
    } else deleted.push(record + 2)
    record += 1
  }
  return {
    take(chunk) {
      let start = 0
      if (heldBytes > 0 && record < records) {
        start = Math.min(recordLength - heldBytes, chunk.length)
        chunk.copy(partialRecord, heldBytes, 0, start)
        heldBytes += start
        if (heldBytes < recordLength) return
        heldBytes = 0
        visitOne(partialRecord, 0)
      }
      while (record < records && start + recordLength <= chunk.length) {
        visitOne(chunk, start)
        start += recordLength
      }
      if (record >= records) {
        next ??= chunk[start]
        return
      }
      heldBytes = chunk.copy(partialRecord, 0, start)
    },
    seen: () => record,
    visited: () => visited,
    deleted: () => deleted,
    next: () => next,
  }
}
