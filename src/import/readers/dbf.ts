/**
 * Reads a dBase III table from bytes: its columns, and the exact text of each cell, decoded as Windows-1252. No library is used,
 * because the available ones need a path on disk, trim cells and parse numbers. Provenance must show each cell as published.
 */
import { ImportError } from '../import-error.ts'
import { decodeWindows1252 } from './windows-1252.ts'

export interface DbfColumn {
  readonly name: string
  readonly type: string
  readonly length: number
  readonly offset: number
}

interface DbfHeader {
  readonly columns: readonly DbfColumn[]
  readonly records: number
  readonly headerLength: number
  readonly recordLength: number
}

export interface DbfTable extends DbfHeader {
  /** @param record 0-based */
  isDeleted(record: number): boolean
  /** @param record 0-based; @returns the cell with its blanks */
  text(record: number, column: DbfColumn): string
}

const REMEDY = 'Fetch the file again'

/**
 * Tells whether a file begins with the mark of dBase III or of a later dBase whose header has the same layout. The low bits are 3;
 * the high ones say that there are memo or SQL files, such as 0x83.
 */
export const hasDbaseMark = (head: Buffer): boolean => head.length > 0 && (head[0] as number) % 16 === 3

/** Tells whether the file contains all records that its header counts. */
export const isWholeDbf = (bytes: Buffer): boolean =>
  bytes.length >= bytes.readUInt16LE(8) + bytes.readUInt32LE(4) * bytes.readUInt16LE(10)

/** @param head first bytes of the file, with its header @throws ImportError if they are no header, or one that cannot be true */
export function readDbfHeader(head: Buffer, file: string): DbfHeader {
  if (head.length < 33 || !hasDbaseMark(head)) throw new ImportError(file, 'is not a dBase file', REMEDY)
  const records = head.readUInt32LE(4)
  const headerLength = head.readUInt16LE(8)
  const recordLength = head.readUInt16LE(10)
  if (head.length < headerLength) throw new ImportError(file, 'is cut within its header', REMEDY)
  const columns = readDbfColumns(head.subarray(0, headerLength))
  const width = columns.reduce((sum, { length }) => sum + length, 1)
  if (columns.length === 0 || width !== recordLength)
    throw new ImportError(file, 'has columns that do not fill its records', REMEDY)
  return { columns, records, headerLength, recordLength }
}

/** @throws ImportError if the header does not match the bytes */
export function openDbf(bytes: Buffer, file: string): DbfTable {
  const header = readDbfHeader(bytes, file)
  const { records, headerLength, recordLength } = header
  if (bytes.length < headerLength + records * recordLength)
    throw new ImportError(file, `is cut: ${records} records do not fit its ${bytes.length} bytes`, REMEDY)
  const end = headerLength + records * recordLength
  refuseUncounted(file, records, bytes[end], (bytes.length - end) / recordLength)
  return {
    ...header,
    isDeleted: (record) => bytes[headerLength + record * recordLength] === 0x2a,
    text(record, column) {
      const start = headerLength + record * recordLength + column.offset
      return decodeWindows1252(bytes.subarray(start, start + column.length))
    },
  }
}

const DELETION_MARKS: ReadonlySet<number | undefined> = new Set([0x20, 0x2a])

/**
 * Rejects records after those that the header counts, because they would be lost silently.
 * @param next first byte after the counted records: a deletion mark begins a record, 0x1A ends the file
 * @param more number of records that fit in the remaining bytes
 * @throws ImportError if there are uncounted records
 */
export function refuseUncounted(
  file: string,
  records: number,
  next: number | undefined,
  extraRecords: number,
): void {
  if (extraRecords >= 1 && DELETION_MARKS.has(next))
    throw new ImportError(
      file,
      `holds ${Math.floor(extraRecords)} records more than the ${records} that its header counts`,
      REMEDY,
    )
}

export function readDbfColumns(head: Buffer): DbfColumn[] {
  const columns: DbfColumn[] = []
  const headerLength = Math.min(head.length, head.length < 10 ? 0 : head.readUInt16LE(8))
  let offset = 1
  // Also stop at the stated header length, because some headers end with a blank instead of 0x0D.
  for (let start = 32; start + 32 < headerLength && head[start] !== 0x0d; start += 32) {
    const name = head
      .toString('latin1', start, start + 11)
      .replace(/\0.*$/s, '')
      .trim()
    const length = head[start + 16] as number
    columns.push({ name, type: String.fromCharCode(head[start + 11] as number), length, offset })
    offset += length
  }
  return columns
}
