/**
 * Reads published tables as records of text: CSV with either separator, in UTF-8 or Windows-1252, and sheets of workbooks.
 * In: a file. Out: its header, then each record with its row number (header = 1). Other files interpret the columns.
 * DuckDB reads CSV, workbook-rows.ts workbooks.
 */

import { createReadStream } from 'node:fs'
import { open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { digestFile } from '../../release/digest.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { decodeWindows1252 } from '../readers/windows-1252.ts'
import { quoteText, type Session } from '../session.ts'
import { openWorkbook, type SheetRow } from './workbook-rows.ts'

export interface PublishedRecord {
  /** Row number in the file. The header is row 1. */
  readonly row: number
  readonly cells: readonly string[]
}

export interface PublishedTable {
  readonly columns: readonly string[]
  readonly records: AsyncIterable<PublishedRecord>
}

const REMEDY = 'Fetch the file again'
const HEAD_BYTES = 1 << 16
/** Rows of a sheet in which its header is looked for; titles and notes may stand above it. */
const HEADER_ROWS_MAX = 100
/** Largest number of records in memory at once. */
const BATCH_ROWS = 20_480

export const isWorkbook = (name: string): boolean => /\.xlsx$/i.test(name)

/** Makes the manifest's snapshot entry of a file. @param rows number of data rows in the file */
export async function snapshotOf(found: FoundFile, publisher: string, rows: number): Promise<Snapshot> {
  const { bytes, sha256 } = await digestFile(found.path)
  return { publisher, file: found.name, archive: found.archive, bytes, sha256, rows }
}

/** @param isHeader recognises the header row; in a workbook, the first match on any sheet is used */
export function openTable(
  session: Session,
  found: FoundFile,
  isHeader: (columns: readonly string[]) => boolean,
): Promise<PublishedTable> {
  return isWorkbook(found.name) ? openSheet(found, isHeader) : openCsv(session, found, isHeader)
}

async function openSheet(
  found: FoundFile,
  isHeader: (columns: readonly string[]) => boolean,
): Promise<PublishedTable> {
  for (const sheet of await openWorkbook(found.path, found.shown)) {
    const rows = sheet.rows()
    for (let count = 0; count < HEADER_ROWS_MAX; count += 1) {
      const next = await rows.next()
      if (next.done === true) break
      const columns = next.value.cells
      if (isHeader(columns)) return { columns, records: recordsOf(rows, columns.length) }
    }
    await rows.return(undefined)
  }
  throw new ImportError(found.shown, 'has no sheet with the columns that are needed', REMEDY)
}

async function* recordsOf(rows: AsyncIterable<SheetRow>, width: number): AsyncGenerator<PublishedRecord> {
  for await (const { row, cells } of rows) {
    if (cells.every((cell) => cell === '')) continue
    yield { row, cells: Array.from({ length: width }, (_, column) => cells[column] ?? '') }
  }
}

async function openCsv(
  session: Session,
  found: FoundFile,
  isHeader: (columns: readonly string[]) => boolean,
): Promise<PublishedTable> {
  const isUtf8 = await isUtf8File(found.path)
  const head = await readFirstBytes(found.path)
  const first = (isUtf8 ? head.toString('utf8') : decodeWindows1252(head)).split(/\r?\n/)[0] ?? ''
  const separator = separatorOf(first)
  const columns = splitLine(first, separator)
  if (!isHeader(columns))
    throw new ImportError(found.shown, 'lacks columns that are needed', 'Import the file as it is published')
  return { columns, records: csvRecords(session, found, isUtf8, separator, columns.length) }
}

export const separatorOf = (line: string): ',' | ';' =>
  line.split(';').length >= line.split(',').length ? ';' : ','

export const splitLine = (line: string, separator: string): string[] =>
  line
    .replace(/^\uFEFF/, '')
    .split(separator)
    .map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))

async function* csvRecords(
  session: Session,
  found: FoundFile,
  isUtf8: boolean,
  separator: string,
  width: number,
): AsyncGenerator<PublishedRecord> {
  const path = join(session.scratch, `financing-${found.name.replaceAll(/\W/g, '_')}.csv`)
  await writeUtf8(found.path, path, isUtf8)
  const names = Array.from({ length: width }, (_, index) => `'c${index}': 'VARCHAR'`)
  // The table keeps the order of the file, so rowid gives the row number.
  try {
    await session.run(
      `CREATE TABLE financing_csv AS SELECT * FROM read_csv(${quoteText(path)}, delim = ${quoteText(separator)}, quote = '"', escape = '"', header = false, skip = 1, columns = {${names.join(', ')}}, auto_detect = false, max_line_size = 4194304)`,
    )
  } catch {
    throw new ImportError(
      found.shown,
      'has a row that does not fit its header, or is cut',
      `${REMEDY}; nothing of it was imported`,
    )
  } finally {
    await rm(path, { force: true })
  }
  try {
    const rows = await session.number('SELECT count(*) FROM financing_csv')
    for (let first = 0; first < rows; first += BATCH_ROWS) {
      const batch = await session.connection.runAndReadAll(
        `SELECT * FROM financing_csv WHERE rowid >= ${first} AND rowid < ${first + BATCH_ROWS} ORDER BY rowid`,
      )
      let row = first + 1
      for (const values of batch.getRows()) {
        row += 1
        yield { row, cells: values.map((value) => (value === null ? '' : String(value).trim())) }
      }
    }
  } finally {
    await session.run('DROP TABLE financing_csv')
  }
}

/** Copies a text file as UTF-8 without a byte-order mark, and keeps its lines. */
async function writeUtf8(path: string, destination: string, isUtf8: boolean): Promise<void> {
  const utf8 = new TextDecoder('utf-8')
  const target = await open(destination, 'w')
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>)
      await writeFile(target, isUtf8 ? utf8.decode(chunk, { stream: true }) : decodeWindows1252(chunk))
    if (isUtf8) await writeFile(target, utf8.decode())
  } finally {
    await target.close()
  }
}

/** True if the complete file is valid UTF-8. Text in Latin-1 with accents almost never is. */
export async function isUtf8File(path: string): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>)
      decoder.decode(chunk, { stream: true })
    decoder.decode()
    return true
  } catch {
    return false
  }
}

export async function readFirstBytes(path: string): Promise<Buffer> {
  const handle = await open(path, 'r')
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}
