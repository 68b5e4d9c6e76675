/**
 * Records of a dBase table one after another, packed (.dbc) or not, without ever holding the table: memory does not grow with
 * the file. In: a path, and what is done with each record. Out: size and SHA-256 of the published bytes, and how many records
 * there are. The same checks as the readers of whole files (dbc.ts, dbf.ts), whose errors it gives in the same words.
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
import { type DbfColumn, readDbfColumns, refuseUncounted } from './dbf.ts'
import { refuseUnpacked } from './unpack-limits.ts'

export interface DbfHeader {
  readonly columns: readonly DbfColumn[]
  readonly records: number
}

/** @param record 0-based @param bytes hold it @param start where in them it begins, with its deletion mark */
export type RecordVisitor = (bytes: Buffer, start: number, record: number) => void

export interface ReadFile {
  readonly bytes: number
  readonly sha256: string
  /** Records that carry no deletion mark. */
  readonly rows: number
  /** Rows of the file that carry one, the header counted as row 1. */
  readonly deleted: readonly number[]
}

const READ_BYTES = 1 << 18
/** Larger pieces take the library time that grows with their square. */
const PACKED_BYTES = 4096
const DELETED = 0x2a
const END_OF_FILE = 0x1a
const REMEDY = 'Fetch the file again'
const REMEDY_PACKED = 'Fetch the file again; a .dbc that was cut or changed on the way does not open'

/**
 * @param file its name, for messages
 * @param open gets the header and gives what is called with every record that is not deleted
 * @throws ImportError where the bytes are no table, are cut, or do not have the CRC-32 that they state; what `open` throws
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
  const head = await takeHead(published)
  const { length, recordLength, records, columns } = readHeader(head, file)
  const feed = createFeed(recordLength, records, open({ columns, records }))
  const header = head.subarray(0, length)
  if (isDbc(head)) {
    refuseUnpacked(file, (await stat(path)).size, records * recordLength)
    let checked = crc32(header)
    // The CRC covers the records as they were packed, the final 0x1A included where there is one.
    let checkedWithoutEnd = checked
    const expected = head.readUInt32LE(length)
    const body = records * recordLength
    let taken = 0
    await unpack(continued(head.subarray(length + 4), published), file, (chunk) => {
      const before = checked
      checked = crc32(chunk, checked)
      taken += chunk.length
      if (taken <= body) checkedWithoutEnd = checked
      else if (taken === body + 1) checkedWithoutEnd = crc32(chunk.subarray(0, -1), before)
      if (taken > body + 1 || (taken === body + 1 && chunk.at(-1) !== END_OF_FILE))
        throw new ImportError(file, 'unpacks to more bytes than its header says', REMEDY_PACKED)
      feed.take(chunk)
    })
    if (taken < body)
      throw new ImportError(
        file,
        `is cut: it unpacks to ${taken} bytes where its header says ${body}`,
        REMEDY_PACKED,
      )
    if (checked !== expected && checkedWithoutEnd !== expected)
      throw new ImportError(file, 'does not have the CRC-32 its header states', REMEDY_PACKED)
  } else {
    for await (const chunk of continued(head.subarray(length), published)) feed.take(chunk)
    if (feed.seen() < records)
      throw new ImportError(file, `is cut: ${records} records do not fit its ${size} bytes`, REMEDY)
    refuseUncounted(file, records, feed.next(), (size - length - records * recordLength) / recordLength)
  }
  return { bytes: size, sha256: hash.digest('hex'), rows: feed.visited(), deleted: feed.deleted() }
}

/** The header, and with it the bytes that say whether what follows is packed. */
async function takeHead(published: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0)
  const wanted = (): number => (head.length < 10 ? 10 : head.readUInt16LE(8) + 6)
  while (head.length < wanted()) {
    const { value, done } = await published.next()
    if (done === true) break
    head = Buffer.concat([head, value])
  }
  return head
}

function readHeader(
  head: Buffer,
  file: string,
): { length: number; recordLength: number; records: number; columns: readonly DbfColumn[] } {
  if (head.length < 33 || (head[0] as number) % 16 !== 3)
    throw new ImportError(file, 'is not a dBase file', REMEDY)
  const records = head.readUInt32LE(4)
  const length = head.readUInt16LE(8)
  const recordLength = head.readUInt16LE(10)
  if (head.length < length) throw new ImportError(file, 'is cut within its header', REMEDY)
  const columns = readDbfColumns(head.subarray(0, length))
  const width = columns.reduce((sum, column) => sum + column.length, 1)
  if (columns.length === 0 || width !== recordLength)
    throw new ImportError(file, 'has columns that do not fill its records', REMEDY)
  return { length, recordLength, records, columns }
}

async function* continued(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first
  yield* rest
}

async function* slicesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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
    await pipeline(Readable.from(slicesOf(packed)), stream.through(explode()), output)
  } catch {
    throw problem ?? new ImportError(file, 'cannot be unpacked: it is cut or was changed', REMEDY_PACKED)
  }
}

interface Feed {
  take(chunk: Buffer): void
  /** Records that were whole. */
  seen(): number
  visited(): number
  deleted(): readonly number[]
  /** First byte behind the records that the header counts. */
  next(): number | undefined
}

/** Chunks end anywhere: what is left of one is the begin of the next record. */
function createFeed(recordLength: number, records: number, visit: RecordVisitor): Feed {
  const split = Buffer.alloc(recordLength)
  let held = 0
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
      if (held > 0 && record < records) {
        start = Math.min(recordLength - held, chunk.length)
        chunk.copy(split, held, 0, start)
        held += start
        if (held < recordLength) return
        held = 0
        visitOne(split, 0)
      }
      while (record < records && start + recordLength <= chunk.length) {
        visitOne(chunk, start)
        start += recordLength
      }
      if (record >= records) {
        next ??= chunk[start]
        return
      }
      held = chunk.copy(split, 0, start)
    },
    seen: () => record,
    visited: () => visited,
    deleted: () => deleted,
    next: () => next,
  }
}
