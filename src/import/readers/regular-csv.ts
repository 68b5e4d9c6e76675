/**
 * An irregular CSV → a regular one, with the line of each record. For tables with cells of several lines, blank lines or rows
 * that do not parse; regular tables do not come here (stage-csv.ts), because this takes several times as long.
 *
 * In: a file of UTF-8 separated by `;`. Out: a file in which every cell is quoted and every record begins with the number of
 * the line it begins at, as a text editor counts lines (the header is line 1); the rows that cannot be read. A record whose
 * quotes do not fit is read as a line whose cells are all quoted, so that a quote inside a cell costs nothing.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { StringDecoder } from 'node:string_decoder'
import { ImportError, namedRows } from '../import-error.ts'

export interface Unreadable {
  /** Line of the file. */
  readonly row: number
  readonly reason: string
}

export interface RegularCsv {
  readonly rows: number
  readonly rejected: readonly Unreadable[]
  /** Nothing could be read from the line the file ends with, and the line has no end: the file was cut. */
  readonly isCut: boolean
}

/** A cell that is not closed after so many lines is a quote too many, not a text of many lines. */
const MAX_LINES = 200
const CHUNK_CHARACTERS = 1 << 18
/** A file with more is none of its kind, and reading on would take minutes. */
const UNREADABLE_MAX = 100_000
const LINE_CHARACTERS_MAX = 1 << 22

/**
 * @param columns published columns
 * @param wanted places of the columns to write
 */
export async function regulariseCsv(
  path: string,
  destination: string,
  columns: number,
  wanted: readonly number[],
): Promise<RegularCsv> {
  const rejected: Unreadable[] = []
  let rows = 0
  let isLastRead = true
  async function* written(): AsyncGenerator<string> {
    let text = ''
    for await (const record of readRecords(path, columns)) {
      isLastRead = !('reason' in record)
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
        const cells = wanted.map((place) => (record.cells[place] ?? '').replaceAll('"', '""'))
        text += `"${[record.row, ...cells].join('";"')}"\n`
        if (text.length > CHUNK_CHARACTERS) {
          yield text
          text = ''
        }
      }
    }
    yield text
  }
  await pipeline(Readable.from(written()), createWriteStream(destination))
  return { rows, rejected, isCut: !isLastRead && !(await endsWithFeed(path)) }
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

/** Line feeds of a file: what a regular table has one of for each record. */
export async function countLines(path: string): Promise<{ feeds: number; endsWithFeed: boolean }> {
  let feeds = 0
  let last = 0x0a
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    for (let place = chunk.indexOf(0x0a); place !== -1; place = chunk.indexOf(0x0a, place + 1)) feeds += 1
    last = chunk[chunk.length - 1] ?? last
  }
  return { feeds, endsWithFeed: last === 0x0a }
}

interface PublishedRecord {
  readonly row: number
  readonly cells: readonly string[]
}

/** Records after the header, which is one line. */
async function* readRecords(path: string, columns: number): AsyncGenerator<PublishedRecord | Unreadable> {
  /** Lines read ahead of the record being read; the first is line `row`. */
  let ahead: string[] = []
  let row = 2
  const lines = readLines(path)
  await lines.next()
  for (;;) {
    if (ahead.length === 0) {
      const next = await lines.next()
      if (next.done === true) return
      ahead.push(next.value)
    }
    const first = ahead[0] ?? ''
    if (first.trim() === '') {
      ahead = ahead.slice(1)
      row += 1
      continue
    }
    let text = first
    let used = 1
    let cells = splitRecord(text)
    while (cells === 'open' && used < MAX_LINES) {
      if (used === ahead.length) {
        const next = await lines.next()
        if (next.done === true) break
        ahead.push(next.value)
      }
      text += `\n${ahead[used] ?? ''}`
      used += 1
      cells = splitRecord(text)
    }
    if (typeof cells === 'string' || cells.length !== columns) {
      const loose = splitQuotedLine(first)
      used = 1
      if (loose.length === columns) cells = loose
    }
    if (typeof cells !== 'string' && cells.length === columns) yield { row, cells }
    else yield { row, reason: reasonOf(cells, columns) }
    ahead = ahead.slice(used)
    row += used
  }
}

const reasonOf = (cells: readonly string[] | 'open' | 'quote', columns: number): string => {
  if (cells === 'open') return 'unreadable_unquoted_value'
  if (cells === 'quote') return 'unreadable_unquoted_value'
  return cells.length < columns ? 'unreadable_missing_columns' : 'unreadable_too_many_columns'
}

/** @returns cells; 'open' where a quoted cell is not closed; 'quote' where something follows a closing quote */
function splitRecord(text: string): readonly string[] | 'open' | 'quote' {
  const cells: string[] = []
  for (let place = 0; ; ) {
    if (text[place] === '"') {
      let end = text.indexOf('"', place + 1)
      while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2)
      if (end === -1) return 'open'
      cells.push(text.slice(place + 1, end).replaceAll('""', '"'))
      if (end + 1 === text.length) return cells
      if (text[end + 1] !== ';') return 'quote'
      place = end + 2
    } else {
      const end = text.indexOf(';', place)
      cells.push(text.slice(place, end === -1 ? text.length : end))
      if (end === -1) return cells
      place = end + 1
    }
  }
}

/** A line whose cells are all quoted, split between them: quotes inside a cell are its text. */
function splitQuotedLine(line: string): string[] {
  if (line.length < 2 || !line.startsWith('"') || !line.endsWith('"')) return []
  return line
    .slice(1, -1)
    .split('";"')
    .map((cell) => cell.replaceAll('""', '"'))
}

/** Lines without their ends; a carriage return before a line feed belongs to the end. */
async function* readLines(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    const lines = (rest + decoder.write(chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_CHARACTERS_MAX)
      throw new ImportError(
        basename(path),
        `has a line of more than ${LINE_CHARACTERS_MAX} characters`,
        'Fetch the file again and import it unchanged',
      )
    for (const line of lines) yield withoutReturn(line)
  }
  rest += decoder.end()
  if (rest !== '') yield withoutReturn(rest)
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)
