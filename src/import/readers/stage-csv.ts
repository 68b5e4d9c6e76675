/**
 * One published CSV (`;`, quoted, its text UTF-8 by now) → one staged table of text, with the row number of the file.
 *
 * In: a file on disk, the columns wanted. Out: table with source_row (header = 1) and those columns as published; rows
 * that do not parse are listed by number and reason, never by content. DuckDB's reader does the reading; this file checks
 * that the file is what it should be, and says what to do when it is not.
 */
import { open } from 'node:fs/promises'
import { ImportError } from '../import-error.ts'
import { quoteName, quoteText, type Session } from '../session.ts'

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
  /** Published names of the columns, normalised, in file order. */
  readonly columns: readonly string[]
}

const DATE_HEADER = /^TO_CHAR\((\w+),\s*'DD\/MM\/YYYY'\)$/i
const MAX_HEADER_BYTES = 1 << 16

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

  const declared = columns.map((column) => `${quoteText(column)}: 'VARCHAR'`).join(', ')
  const wanted = [...csv.required, ...csv.optional].map((column) =>
    columns.includes(column) ? quoteName(column) : `CAST(NULL AS VARCHAR) AS ${quoteName(column)}`,
  )
  const rejects = `${csv.table}_rejects`
  // Rows keep the order of the file, so the position in the table is the row of the file; a window function would read
  // the file with one thread.
  const rows = `${csv.table}_rows`
  const readTable = `CREATE TABLE ${quoteName(rows)} AS
     SELECT ${wanted.join(', ')}
     FROM read_csv(${quoteText(csv.path)}, delim = ';', quote = '"', escape = '"', header = true, auto_detect = false,
       all_varchar = true, null_padding = false, max_line_size = 1048576,
       columns = {${declared}}, store_rejects = true, rejects_table = ${quoteText(rejects)},
       rejects_scan = ${quoteText(`${rejects}_scan`)}, rejects_limit = 0)`
  try {
    await session.run(readTable)
  } catch (error) {
    throw new ImportError(
      csv.file,
      `cannot be read as ';' separated ISO-8859-1 (${publicReason(error)})`,
      'Fetch the file again and import it unchanged',
    )
  }
  const rejectedRows = await session.rows(
    `SELECT line AS "row", min(error_type::VARCHAR) AS reason FROM ${quoteName(rejects)} GROUP BY line ORDER BY line`,
  )
  const rejected = rejectedRows.map((row) => ({ row: Number(row.row), reason: reasonOf(String(row.reason)) }))
  if (rejected.length > 0)
    await session.run(
      `CREATE TABLE ${quoteName(`${csv.table}_holes`)} AS SELECT line FROM ${quoteName(rejects)}`,
    )
  await numberRows(session, csv.table, rows, rejected.length > 0 ? rejects : null)
  await session.run(
    `DROP TABLE IF EXISTS ${quoteName(rejects)}; DROP TABLE IF EXISTS ${quoteName(`${rejects}_scan`)}`,
  )
  const staged = await session.number(`SELECT count(*) FROM ${quoteName(csv.table)}`)
  return { rows: staged + rejected.length, rejected, columns }
}

/** The header is row 1; each rejected row before a row moves it one further down. */
async function numberRows(
  session: Session,
  table: string,
  rows: string,
  rejects: string | null,
): Promise<void> {
  if (rejects === null) {
    await session.run(
      `CREATE VIEW ${quoteName(table)} AS SELECT CAST(rowid + 2 AS INTEGER) AS source_row, * FROM ${quoteName(rows)}`,
    )
    return
  }
  await session.run(
    `CREATE VIEW ${quoteName(table)} AS
     WITH holes AS (
       SELECT line - 1 - row_number() OVER (ORDER BY line) AS good_before, row_number() OVER (ORDER BY line) AS holes
       FROM (SELECT DISTINCT line FROM ${quoteName(`${table}_holes`)})
     )
     SELECT CAST(staged.place + 1 + coalesce(holes.holes, 0) AS INTEGER) AS source_row, staged.* EXCLUDE (place)
     FROM (SELECT rowid + 1 AS place, * FROM ${quoteName(rows)}) AS staged
     ASOF LEFT JOIN holes ON staged.place > holes.good_before`,
  )
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

const reasonOf = (errorType: string): string =>
  errorType
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, '_')
    .replace(/^(.*)$/, 'unreadable_$1')
