/**
 * One published CSV (`;`, quoted, its text UTF-8 by now) → one staged table of text, with the row number of the file.
 *
 * In: a file on disk, the columns wanted. Out: table with source_row and those columns as published; rows that do not parse are
 * listed by number and reason, never by content. A row's number is the line at which its record begins, as a text editor
 * counts lines: the header is 1, and a line feed inside a quoted cell counts. DuckDB's reader does the reading; this file checks
 * that the file is what it should be, and says what to do when it is not.
 */
import { open, rm, stat } from 'node:fs/promises'
import { ImportError, LimitReached } from '../import-error.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import { countLines, regulariseCsv } from './regular-csv.ts'

export interface CsvTable {
  /** Name shown in messages. */
  readonly file: string
  /** Where the bytes are. */
  readonly path: string
  readonly table: string
  readonly required: readonly string[]
  /** Columns that come and go between months: null where the file lacks them. */
  readonly optional: readonly string[]
}

export interface StagedCsv {
  /** Data rows the file publishes: staged + rejected. */
  readonly rows: number
  readonly rejected: readonly { readonly row: number; readonly reason: string }[]
  /** Names of the columns as published, in file order. */
  readonly published: readonly string[]
  /** The same, normalised. */
  readonly columns: readonly string[]
}

const DATE_HEADER = /^TO_CHAR\((\w+),\s*'DD\/MM\/YYYY'\)$/i
const MAX_HEADER_BYTES = 1 << 16
/**
 * A table of more lines has more bytes in each: published rows have quotes around every cell. Empty cells take DuckDB 16 bytes each, so
 * that a few megabytes of packed separators would take gigabytes.
 */
const FULL_ROWS_FROM = 100_000
const ROW_BYTES_PER_COLUMN = 2

/** `TO_CHAR(DT_ATUALIZACAO,'DD/MM/YYYY')` and `DT_ATUALIZACAO` are one column. */
export const normaliseHeader = (header: string): string =>
  /RENEM/i.test(header) ? 'CO_RENEM' : (DATE_HEADER.exec(header.trim())?.[1] ?? header.trim()).toUpperCase()

/** @throws ImportError naming the file and the remedy */
export async function stageCsv(session: Session, csv: CsvTable): Promise<StagedCsv> {
  const published = await readHeader(csv)
  const columns = published.map(normaliseHeader)
  const missing = csv.required.filter((column) => !columns.includes(column))
  if (missing.length > 0)
    throw new ImportError(
      csv.file,
      `lacks the column ${missing.join(', ')}`,
      'Fetch the file again; if the publisher renamed the column, this version cannot read the month',
    )
  const twice = columns.find((column, index) => columns.indexOf(column) !== index)
  if (twice !== undefined)
    throw new ImportError(csv.file, `names the column ${twice} twice`, 'Fetch the file again')

  const lines = await countLines(csv.path)
  const { size } = await stat(csv.path)
  if (lines.feeds > FULL_ROWS_FROM && size < lines.feeds * columns.length * ROW_BYTES_PER_COLUMN)
    throw new ImportError(
      csv.file,
      `has ${lines.feeds} lines with hardly more than ${columns.length} separators each, so that nearly all of its cells are empty`,
      'Fetch the file again and import it unchanged',
    )
  const places = columns.map((column) => ({ column, place: columns.indexOf(column) }))
  const wanted = [...csv.required, ...csv.optional]
  const selected = wanted.map((column) =>
    columns.includes(column) ? quoteName(column) : `CAST(NULL AS VARCHAR) AS ${quoteName(column)}`,
  )
  // Rows keep the order of the file, so the position in the table is the row of the file; a window function would read
  // the file with one thread.
  const rows = `${csv.table}_rows`
  const staged = await readLines(session, csv, rows, columns, selected, lines)
  if (staged !== null) {
    await session.run(
      `CREATE VIEW ${quoteName(csv.table)} AS SELECT CAST(rowid + 2 AS INTEGER) AS source_row, * FROM ${quoteName(rows)}`,
    )
    return { rows: staged, rejected: [], published, columns }
  }

  await session.run(`DROP TABLE IF EXISTS ${quoteName(rows)}`)
  const kept = places.filter(({ column }) => wanted.includes(column))
  const regular = `${csv.path}.regular`
  const read = await regulariseCsv(
    csv.path,
    regular,
    columns.length,
    kept.map(({ place }) => place),
  )
  if (read.isCut)
    throw new ImportError(
      csv.file,
      `is cut: its last line (${read.rejected.at(-1)?.row}) ends before its last cell does`,
      'Fetch the file again',
    )
  await readTable(
    session,
    csv,
    rows,
    [SOURCE_ROW, ...kept.map(({ column }) => column)],
    [SOURCE_ROW, ...selected],
    {
      path: regular,
      header: false,
      rejects: null,
    },
  )
  await rm(regular, { force: true })
  await session.run(
    `CREATE VIEW ${quoteName(csv.table)} AS SELECT CAST(${SOURCE_ROW} AS INTEGER) AS source_row, * EXCLUDE (${SOURCE_ROW}) FROM ${quoteName(rows)}`,
  )
  return { rows: read.rows + read.rejected.length, rejected: read.rejected, published, columns }
}

const SOURCE_ROW = 'line_of_file'

/**
 * Reads a file whose records are its lines, as nearly all are.
 *
 * @returns rows; null where a record is not a line: a cell of several lines, a row that does not parse, a blank line
 */
async function readLines(
  session: Session,
  csv: CsvTable,
  rows: string,
  columns: readonly string[],
  selected: readonly string[],
  { feeds, endsWithFeed }: Awaited<ReturnType<typeof countLines>>,
): Promise<number | null> {
  const rejects = `${csv.table}_rejects`
  try {
    await readTable(session, csv, rows, columns, selected, { path: csv.path, header: true, rejects })
  } catch (error) {
    if (error instanceof LimitReached) throw error
    return null
  }
  const rejected = await session.number(`SELECT count(*) FROM ${quoteName(rejects)}`)
  await session.run(`DROP TABLE ${quoteName(rejects)}; DROP TABLE ${quoteName(`${rejects}_scan`)}`)
  const staged = await session.number(`SELECT count(*) FROM ${quoteName(rows)}`)
  return rejected === 0 && feeds === staged + (endsWithFeed ? 1 : 0) ? staged : null
}

/** @param source rejects: table that rows which do not parse are listed in; null where there can be none */
async function readTable(
  session: Session,
  { file }: CsvTable,
  table: string,
  columns: readonly string[],
  selected: readonly string[],
  source: { readonly path: string; readonly header: boolean; readonly rejects: string | null },
): Promise<void> {
  const declared = columns.map((column) => `${quoteText(column)}: 'VARCHAR'`).join(', ')
  const rejects =
    source.rejects === null
      ? ''
      : `, store_rejects = true, rejects_table = ${quoteText(source.rejects)}, rejects_scan = ${quoteText(`${source.rejects}_scan`)}, rejects_limit = 0`
  try {
    await session.run(
      `CREATE TABLE ${quoteName(table)} AS
       SELECT ${selected.join(', ')}
       FROM read_csv(${quoteText(source.path)}, delim = ';', quote = '"', escape = '"', header = ${source.header}, auto_detect = false,
         all_varchar = true, null_padding = false, max_line_size = 1048576, columns = {${declared}}${rejects})`,
    )
  } catch (error) {
    if (error instanceof LimitReached) throw error
    throw new ImportError(
      file,
      `cannot be read as ';' separated ISO-8859-1 (${publicReason(error)})`,
      'Fetch the file again and import it unchanged',
    )
  }
}

async function readHeader(csv: CsvTable): Promise<string[]> {
  const handle = await open(csv.path, 'r')
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0)
    const head = buffer.subarray(0, bytesRead)
    if (bytesRead === 0) throw new ImportError(csv.file, 'is empty', 'Fetch the file again')
    const end = head.indexOf(0x0a)
    const header = head
      .subarray(0, end === -1 ? bytesRead : end)
      .toString('utf8')
      .replace(/\r$/, '')
    if (!header.includes(';'))
      throw new ImportError(
        csv.file,
        `has no ';' in its header line${/[,\t|]/.test(header) ? ' (another delimiter is used)' : ''}`,
        "Import the file as DATASUS publishes it: separated by ';'",
      )
    return splitHeader(header)
  } finally {
    await handle.close()
  }
}

/** Header cells may be quoted, and the SQL of a date column holds a comma but no semicolon. */
const splitHeader = (header: string): string[] =>
  header.split(';').map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/s, '$1')
      .replaceAll('""', '"'),
  )

/** DuckDB's message may quote a line of the file, which may hold personal data: only its kind is shown. */
function publicReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/encod|utf|unicode|latin/i.test(message)) return 'the bytes do not fit the encoding'
  if (/line size|maximum/i.test(message)) return 'a line is too long'
  return 'the rows do not fit the header'
}
