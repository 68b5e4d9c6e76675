/**
 * Converts an irregular CSV (UTF-8, separated by `;`) to a regular one: with multi-line cells, blank lines or unreadable rows.
 * stage-csv.ts uses it only when needed, because it takes several times as long as DuckDB. In the output every cell is quoted,
 * and every record begins with its line number in the source (the header is line 1). A record with unbalanced quotes is read as a
 * line of quoted cells, so that a stray quote inside a cell does no harm.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { StringDecoder } from 'node:string_decoder'
import { ImportError, namedRows } from '../import-error.ts'

export interface Unreadable {
  readonly row: number
  readonly reason: string
}

export interface RegularCsv {
  readonly rows: number
  readonly rejected: readonly Unreadable[]
  /** True if the file is truncated: its last line is unreadable and has no line feed. */
  readonly isCut: boolean
}

/** Maximum number of lines of a cell. Beyond it, the opening quote is treated as a stray quote. */
const MAX_LINES = 200
const CHUNK_CHARACTERS = 1 << 18
/** Maximum number of unreadable rows. A file with more is the wrong kind, and reading it would take minutes. */
const UNREADABLE_MAX = 100_000
const LINE_CHARACTERS_MAX = 1 << 22

/** @param columns number of published columns; @param columnIndexes indexes of the columns to write */
export async function regulariseCsv(
  path: string,
  destination: string,
  columns: number,
  columnIndexes: readonly number[],
): Promise<RegularCsv> {
  const rejected: Unreadable[] = []
  let rows = 0
  let isLastReadable = true
  async function* formatRecords(): AsyncGenerator<string> {
    let text = ''
    for await (const record of readRecords(path, columns)) {
      isLastReadable = !('reason' in record)
      if ('reason' in record) {
        rejected.push(record)
        if (rejected.length > UNREADABLE_MAX)
          throw new ImportError(
            basename(path),
            `has more than ${UNREADABLE_MAX} rows that do not fit its header, the first in ${namedRows(rejected.map((other) => other.row))}`,
            'Fetch the file again and import it unchanged',
          )
      } else {
        rows += 1
        const cells = columnIndexes.map((index) => (record.cells[index] ?? '').replaceAll('"', '""'))
        text += `"${[record.row, ...cells].join('";"')}"\n`
        if (text.length > CHUNK_CHARACTERS) {
          yield text
          text = ''
        }
      }
    }
    yield text
  }
  await pipeline(Readable.from(formatRecords()), createWriteStream(destination))
  return { rows, rejected, isCut: !isLastReadable && !(await endsWithFeed(path)) }
}

async function endsWithFeed(path: string): Promise<boolean> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, Math.max(size - 1, 0))
    return buffer[0] === 0x0a
  } finally {
    await handle.close()
  }
}

/** Counts line feeds. A regular table has one per record. */
export async function countLines(path: string): Promise<{ feeds: number; endsWithFeed: boolean }> {
  let feeds = 0
  let last = 0x0a
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    for (let position = chunk.indexOf(0x0a); position !== -1; position = chunk.indexOf(0x0a, position + 1))
      feeds += 1
    last = chunk[chunk.length - 1] ?? last
  }
  return { feeds, endsWithFeed: last === 0x0a }
}

interface PublishedRecord {
  readonly row: number
  readonly cells: readonly string[]
}

/** Yields the records after the header, which is one line. */
async function* readRecords(path: string, columns: number): AsyncGenerator<PublishedRecord | Unreadable> {
  /** Lines read ahead; the first is line `row`. */
  let linesAhead: string[] = []
  let row = 2
  const lines = readLines(path)
  await lines.next()
  for (;;) {
    if (linesAhead.length === 0) {
      const next = await lines.next()
      if (next.done === true) return
      linesAhead.push(next.value)
    }
    const first = linesAhead[0] ?? ''
    if (first.trim() === '') {
      linesAhead = linesAhead.slice(1)
      row += 1
      continue
    }
    let text = first
    let usedLines = 1
    let cells = splitRecord(text)
    while (cells === 'open' && usedLines < MAX_LINES) {
      if (usedLines === linesAhead.length) {
        const next = await lines.next()
        if (next.done === true) break
        linesAhead.push(next.value)
      }
      text += `\n${linesAhead[usedLines] ?? ''}`
      usedLines += 1
      cells = splitRecord(text)
    }
    if (typeof cells === 'string' || cells.length !== columns) {
      const quotedCells = splitQuotedLine(first)
      usedLines = 1
      if (quotedCells.length === columns) cells = quotedCells
    }
    if (typeof cells !== 'string' && cells.length === columns) yield { row, cells }
    else yield { row, reason: classifyUnreadable(cells, columns) }
    linesAhead = linesAhead.slice(usedLines)
    row += usedLines
  }
}

const classifyUnreadable = (cells: readonly string[] | 'open' | 'quote', columns: number): string => {
  if (cells === 'open') return 'unreadable_unclosed_quote'
  if (cells === 'quote') return 'unreadable_unquoted_value'
  return cells.length < columns ? 'unreadable_missing_columns' : 'unreadable_too_many_columns'
}

/** @returns cells; 'open' for an unclosed quoted cell; 'quote' if text follows a closing quote */
function splitRecord(text: string): readonly string[] | 'open' | 'quote' {
  const cells: string[] = []
  for (let position = 0; ; ) {
    if (text[position] === '"') {
      let end = text.indexOf('"', position + 1)
      while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2)
      if (end === -1) return 'open'
      cells.push(text.slice(position + 1, end).replaceAll('""', '"'))
      if (end + 1 === text.length) return cells
      if (text[end + 1] !== ';') return 'quote'
      position = end + 2
    } else {
      const end = text.indexOf(';', position)
      cells.push(text.slice(position, end === -1 ? text.length : end))
      if (end === -1) return cells
      position = end + 1
    }
  }
}

/** Splits a line of quoted cells. Quotes inside a cell are kept as text. */
function splitQuotedLine(line: string): string[] {
  if (line.length < 2 || !line.startsWith('"') || !line.endsWith('"')) return []
  return line
    .slice(1, -1)
    .split('";"')
    .map((cell) => cell.replaceAll('""', '"'))
}

/** Yields lines without LF or CR LF. */
async function* readLines(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let remainder = ''
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    const lines = (remainder + decoder.write(chunk)).split('\n')
    remainder = lines.pop() ?? ''
    if (remainder.length > LINE_CHARACTERS_MAX)
      throw new ImportError(
        basename(path),
        `has a line of more than ${LINE_CHARACTERS_MAX} characters`,
        'Fetch the file again and import it unchanged',
      )
    for (const line of lines) yield removeReturn(line)
  }
  remainder += decoder.end()
  if (remainder !== '') yield removeReturn(remainder)
}

const removeReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)
