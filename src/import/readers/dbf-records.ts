/**
 * Streams the records of a dBase table, compressed (.dbc) or not, so memory does not grow with the file. A visitor receives each
 * record. The result is the size and SHA-256 of the published bytes and the row counts.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { ImportError } from '../import-error.ts'
import { isDbc, unpackRecords } from './dbc.ts'
import { type DbfColumn, readDbfHeader, refuseUncounted } from './dbf.ts'
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
const DELETED = 0x2a
const REMEDY = 'Fetch the file again'

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
  const { headerLength: length, recordLength, records, columns } = readDbfHeader(headBytes, file)
  const splitter = createRecordSplitter(recordLength, records, open({ columns, records }))
  const header = headBytes.subarray(0, length)
  if (isDbc(headBytes)) {
    refuseUnpacked(file, (await stat(path)).size, records * recordLength)
    await unpackRecords(
      prepend(headBytes.subarray(length + 4), published),
      { file, header, checksum: headBytes.readUInt32LE(length), bytes: records * recordLength },
      splitter.take,
    )
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

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first
  yield* rest
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
