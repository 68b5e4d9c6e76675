/**
 * Stages a published CSV (`;`, quoted, already converted to UTF-8) as a text table with source_row and the requested columns.
 * source_row is the line on which a record begins, as in a text editor: the header is line 1, and line feeds inside cells count.
 * Rows that do not parse are listed by number and reason, never by content. DuckDB parses the file; this code checks it and
 * explains errors.
 */
import { open, rm, stat } from 'node:fs/promises'
import { ImportError, LimitReached } from '../import-error.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import { countLines, regulariseCsv } from './regular-csv.ts'

export interface CsvTable {
  readonly file: string
  readonly path: string
  readonly table: string
  readonly required: readonly string[]
  /** Columns that exist only in some months. They are null if the file lacks them. */
  readonly optional: readonly string[]
}

export interface StagedCsv {
  /** Number of data rows in the file, staged or rejected. */
  readonly rows: number
  readonly rejected: readonly { readonly row: number; readonly reason: string }[]
  /** Published column names, in file order. */
  readonly published: readonly string[]
  readonly columns: readonly string[]
}

const DATE_HEADER = /^TO_CHAR\((\w+),\s*'DD\/MM\/YYYY'\)$/i
const MAX_HEADER_BYTES = 1 << 16
/**
 * Number of lines above which a minimum size per line is required. DuckDB needs 16 bytes per empty cell, so a few megabytes of
 * packed separators would take gigabytes. Published rows are larger, because every cell is quoted.
 */
const SIZE_CHECK_MIN_LINES = 100_000
const MIN_ROW_BYTES_PER_COLUMN = 2

/** Normalises a column name, so that `TO_CHAR(DT_ATUALIZACAO,'DD/MM/YYYY')` becomes `DT_ATUALIZACAO`. */
export const normaliseHeader = (header: string): string =>
  /RENEM/i.test(header) ? 'CO_RENEM' : (DATE_HEADER.exec(header.trim())?.[1] ?? header.trim()).toUpperCase()

/** @throws ImportError with the file and the remedy */
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
  const repeatedColumn = columns.find((column, index) => columns.indexOf(column) !== index)
  if (repeatedColumn !== undefined)
    throw new ImportError(csv.file, `names the column ${repeatedColumn} twice`, 'Fetch the file again')

  const lines = await countLines(csv.path)
  const { size } = await stat(csv.path)
  if (lines.feeds > SIZE_CHECK_MIN_LINES && size < lines.feeds * columns.length * MIN_ROW_BYTES_PER_COLUMN)
    throw new ImportError(
      csv.file,
      `has ${lines.feeds} lines with hardly more than ${columns.length} separators each, so that nearly all of its cells are empty`,
      'Fetch the file again and import it unchanged',
    )
  const columnIndexes = columns.map((column) => ({ column, place: columns.indexOf(column) }))
  const requestedColumns = [...csv.required, ...csv.optional]
  const selected = requestedColumns.map((column) =>
    columns.includes(column) ? quoteName(column) : `CAST(NULL AS VARCHAR) AS ${quoteName(column)}`,
  )
  // Derive the row number from rowid, because rows keep file order. A window function would read the file with one thread.
  const rowsTable = `${csv.table}_rows`
  const staged = await readLines(session, csv, rowsTable, columns, selected, lines)
  if (staged !== null) {
    await session.run(
      `CREATE VIEW ${quoteName(csv.table)} AS SELECT CAST(rowid + 2 AS INTEGER) AS source_row, * FROM ${quoteName(rowsTable)}`,
    )
    return { rows: staged, rejected: [], published, columns }
  }

  await session.run(`DROP TABLE IF EXISTS ${quoteName(rowsTable)}`)
  const presentColumns = columnIndexes.filter(({ column }) => requestedColumns.includes(column))
  const regularPath = `${csv.path}.regular`
  const regularised = await regulariseCsv(
    csv.path,
    regularPath,
    columns.length,
    presentColumns.map(({ place }) => place),
  )
  if (regularised.isCut)
    throw new ImportError(
      csv.file,
      `is cut: its last line (${regularised.rejected.at(-1)?.row}) ends before its last cell does`,
      'Fetch the file again',
    )
  await readTable(
    session,
    csv,
    rowsTable,
    [SOURCE_ROW, ...presentColumns.map(({ column }) => column)],
    [SOURCE_ROW, ...selected],
    {
      path: regularPath,
      header: false,
      rejects: null,
    },
  )
  await rm(regularPath, { force: true })
  await session.run(
    `CREATE VIEW ${quoteName(csv.table)} AS SELECT CAST(${SOURCE_ROW} AS INTEGER) AS source_row, * EXCLUDE (${SOURCE_ROW}) FROM ${quoteName(rowsTable)}`,
  )
  return {
    rows: regularised.rows + regularised.rejected.length,
    rejected: regularised.rejected,
    published,
    columns,
  }
}

const SOURCE_ROW = 'line_of_file'

/**
 * Reads a regular file, in which every record is one line. Nearly all files are regular.
 * @returns number of rows; null if the file has multi-line cells, blank lines or rows that do not parse
 */
async function readLines(
  session: Session,
  csv: CsvTable,
  rowsTable: string,
  columns: readonly string[],
  selected: readonly string[],
  { feeds, endsWithFeed }: Awaited<ReturnType<typeof countLines>>,
): Promise<number | null> {
  const rejects = `${csv.table}_rejects`
  try {
    await readTable(session, csv, rowsTable, columns, selected, { path: csv.path, header: true, rejects })
  } catch (error) {
    if (error instanceof LimitReached) throw error
    return null
  }
  const rejected = await session.number(`SELECT count(*) FROM ${quoteName(rejects)}`)
  await session.run(`DROP TABLE ${quoteName(rejects)}; DROP TABLE ${quoteName(`${rejects}_scan`)}`)
  const staged = await session.number(`SELECT count(*) FROM ${quoteName(rowsTable)}`)
  return rejected === 0 && feeds === staged + (endsWithFeed ? 1 : 0) ? staged : null
}

/** @param source rejects: table for rows that do not parse, or null if there can be none */
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

/** Splits a header at semicolons and removes quotes. The SQL of a date column may contain a comma but no semicolon. */
const splitHeader = (header: string): string[] =>
  header.split(';').map((cell) =>
    cell
      .trim()
      .replace(/^"(.*)"$/s, '$1')
      .replaceAll('""', '"'),
  )

/** Maps DuckDB's message to a safe reason, because it may quote a line with personal data. */
function publicReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (/encod|utf|unicode|latin/i.test(message)) return 'the bytes do not fit the encoding'
  if (/line size|maximum/i.test(message)) return 'a line is too long'
  return 'the rows do not fit the header'
}
