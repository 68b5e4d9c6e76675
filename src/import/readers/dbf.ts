/**
 * dBase III table → cells as published. In: the bytes. Out: columns and, for a record and a column, the exact text.
 *
 * Ours rather than a library's: the readers at hand want a path on disk, trim cells and parse numbers, and provenance
 * shows the cell as it was published. Nothing is trimmed or converted here; text is Windows-1252.
 */
import { ImportError } from '../import-error.ts'
import { decodeWindows1252 } from './windows-1252.ts'

export interface DbfColumn {
  readonly name: string
  readonly type: string
  readonly length: number
  readonly offset: number
}

export interface DbfTable {
  readonly columns: readonly DbfColumn[]
  readonly records: number
  readonly headerLength: number
  readonly recordLength: number
  /** @param record 0-based */
  isDeleted(record: number): boolean
  /** @returns the cell with its blanks; @param record 0-based */
  text(record: number, column: DbfColumn): string
}

const REMEDY = 'Fetch the file again'

/** Do the bytes hold all records that the header counts? @param bytes of the whole file */
export const isWholeDbf = (bytes: Buffer): boolean =>
  bytes.length >= bytes.readUInt16LE(8) + bytes.readUInt32LE(4) * bytes.readUInt16LE(10)

/** @throws ImportError when the header does not fit the bytes */
export function openDbf(bytes: Buffer, file: string): DbfTable {
  if (bytes.length < 33 || (bytes[0] as number) % 16 !== 3)
    throw new ImportError(file, 'is not a dBase file', REMEDY)
  const records = bytes.readUInt32LE(4)
  const headerLength = bytes.readUInt16LE(8)
  const recordLength = bytes.readUInt16LE(10)
  if (bytes.length < headerLength + records * recordLength)
    throw new ImportError(file, `is cut: ${records} records do not fit its ${bytes.length} bytes`, REMEDY)
  const end = headerLength + records * recordLength
  refuseUncounted(file, records, bytes[end], (bytes.length - end) / recordLength)
  const columns = readDbfColumns(bytes)
  const width = columns.reduce((sum, { length }) => sum + length, 1)
  if (columns.length === 0 || width !== recordLength)
    throw new ImportError(file, 'has columns that do not fill its records', REMEDY)
  return {
    columns,
    records,
    headerLength,
    recordLength,
    isDeleted: (record) => bytes[headerLength + record * recordLength] === 0x2a,
    text(record, column) {
      const start = headerLength + record * recordLength + column.offset
      return decodeWindows1252(bytes.subarray(start, start + column.length))
    },
  }
}

const MARKS: ReadonlySet<number | undefined> = new Set([0x20, 0x2a])

/**
 * Rows behind those that the header counts would be lost unseen.
 * @param next first byte behind the counted records: a record begins with a mark, the end of the file is 0x1A
 * @param more records that the bytes behind could be
 * @throws ImportError where there are any
 */
export function refuseUncounted(file: string, records: number, next: number | undefined, more: number): void {
  if (more >= 1 && MARKS.has(next))
    throw new ImportError(
      file,
      `holds ${Math.floor(more)} records more than the ${records} that its header counts`,
      REMEDY,
    )
}

/** @param head first bytes of a dBase file, its header included; @returns the columns it declares */
export function readDbfColumns(head: Buffer): DbfColumn[] {
  const columns: DbfColumn[] = []
  const headerLength = Math.min(head.length, head.length < 10 ? 0 : head.readUInt16LE(8))
  let offset = 1
  // Some headers end with a blank instead of 0x0D: their length says how many columns there are.
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
