/**
 * One partition of a dataset → a file of lines and the index that finds rows in it. Runs in a process of its own.
 *
 * In: a Parquet file of a verified release. Out: the file's index, typed arrays only, so that it goes from
 * one process to another as it is. Refuses (throws) whatever the index could not answer exactly: keys that do not ascend or differ in
 * length.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Dataset } from '../model/datasets.ts'
import { fieldsOf, isSearched, linesCopy, oddRowsQuery, widthsQuery } from './lines.ts'
import { collectWords, type WordIndex } from './words.ts'

export interface LinesIndex {
  readonly rows: number
  readonly bytes: number
  /** Characters of each key column, null for integers. */
  readonly widths: readonly (number | null)[]
  /** Keys of one length, laid end to end, ascending. */
  readonly keys: Uint8Array
  readonly keyWidth: number
  /** Where row i begins, its comma before the first field. */
  readonly starts: Uint32Array
  /** Bytes from there to the end of the last field that lists show, and to that of the last field. */
  readonly listBytes: Uint32Array
  readonly recordBytes: Uint32Array
  /** Rows whose record the file does not hold exactly. */
  readonly odd: Uint32Array
  readonly words: WordIndex | null
}

const READ_BYTES = 8 << 20
/** starts are 32 bits. */
const FILE_BYTES_MAX = 2 ** 32 - 1
const LINE_FEED = 10
const QUOTE = 34
const BACKSLASH = 92
/** How the escape of a control character begins; two digits follow. */
const ESCAPE = Buffer.from('\\u00')
const CAPITAL_A = 65
/** The bit that makes a capital letter a small one. */
const SMALL = 32

/** @param out path of the file to make */
export async function buildLines(
  connection: DuckDBConnection,
  dataset: Dataset,
  file: string,
  rows: number,
  out: string,
): Promise<LinesIndex> {
  const [widthRow = []] = (await connection.runAndReadAll(widthsQuery(dataset, file))).getRows()
  const widths = widthRow.map((width) => (width === null ? null : Number(width)))
  const oddQuery = oddRowsQuery(dataset, file)
  const odd = oddQuery === null ? [] : (await connection.runAndReadAll(oddQuery)).getRows()
  await connection.run(linesCopy(dataset, file, widths, out))
  return { ...indexFile(dataset, out, rows), widths, odd: Uint32Array.from(odd, ([row]) => Number(row)) }
}

function indexFile(dataset: Dataset, path: string, rows: number): Omit<LinesIndex, 'widths' | 'odd'> {
  const firstDetail = dataset.detail?.[0]
  const cut = firstDetail === undefined ? null : Buffer.from(`,"${firstDetail}":`)
  const firstField = Buffer.from(`,"${fieldsOf(dataset)[0]}":`)
  const collector = isSearched(dataset) ? collectWords(rows) : null
  const starts = new Uint32Array(rows)
  const listBytes = new Uint32Array(rows)
  const recordBytes = cut === null ? listBytes : new Uint32Array(rows)
  const textEnds = new Uint32Array(collector === null ? 0 : rows)
  const textParts: Buffer[] = []
  let textBytes = 0
  let keys = Buffer.alloc(0)
  let keyWidth = 0
  let row = 0

  /** @param base where the block stands in the file; @param end of the line in the block, at its line feed */
  const takeLine = (block: Buffer, base: number, start: number, end: number): void => {
    if (row >= rows) throw new RangeError('more rows than the manifest says')
    // {"k":"
    const keyAt = start + 6
    if (row === 0) {
      keyWidth = block.indexOf(QUOTE, keyAt) - keyAt
      keys = Buffer.alloc(rows * keyWidth)
    }
    if (block[keyAt + keyWidth] !== QUOTE) throw new RangeError('keys of different lengths')
    block.copy(keys, row * keyWidth, keyAt, keyAt + keyWidth)
    const isAfter =
      row === 0 ||
      keys.compare(keys, row * keyWidth, (row + 1) * keyWidth, (row - 1) * keyWidth, row * keyWidth) < 0
    if (!isAfter) throw new RangeError('keys that do not ascend')

    let fieldsAt = keyAt + keyWidth + 1
    if (collector !== null) {
      // ,"s":"…" or ,"s":null
      const textAt = fieldsAt + 5
      let text = ''
      if (block[textAt] === QUOTE) {
        let textEnd = textAt + 1
        while (block[textEnd] !== QUOTE) textEnd += block[textEnd] === BACKSLASH ? 2 : 1
        text = JSON.parse(block.toString('utf8', textAt, textEnd + 1)) as string
        fieldsAt = textEnd + 1
      } else fieldsAt = textAt + 4
      collector.add(text)
      const bytes = Buffer.from(text)
      textParts.push(bytes)
      textBytes += bytes.length
      textEnds[row] = textBytes
    }
    if (block.compare(firstField, 0, firstField.length, fieldsAt, fieldsAt + firstField.length) !== 0)
      throw new RangeError('a line that does not begin as it should')
    starts[row] = base + fieldsAt
    recordBytes[row] = end - 1 - fieldsAt
    if (cut !== null) listBytes[row] = block.indexOf(cut, fieldsAt) - fieldsAt
    row += 1
  }

  const handle = openSync(path, 'r+')
  let block = Buffer.alloc(READ_BYTES)
  let [base, filled] = [0, 0]
  for (;;) {
    if (filled === block.length) block = Buffer.concat([block, Buffer.alloc(block.length)])
    const read = readSync(handle, block, filled, block.length - filled, base + filled)
    filled += read
    let start = 0
    const view = block.subarray(0, filled)
    for (let end = view.indexOf(LINE_FEED); end >= 0; end = view.indexOf(LINE_FEED, start)) {
      takeLine(view, base, start, end)
      start = end + 1
    }
    for (const place of lowerEscapes(view.subarray(0, start))) writeSync(handle, view, place, 1, base + place)
    block.copyWithin(0, start, filled)
    base += start
    filled -= start
    if (read === 0) break
  }
  closeSync(handle)
  if (row !== rows || filled > 0) throw new RangeError(`${row} rows, the manifest says ${rows}`)
  if (base > FILE_BYTES_MAX) throw new RangeError('a file too large for its index')
  const words =
    collector === null ? null : { ...collector.finish(), texts: joinTexts(textParts, textBytes), textEnds }
  return { rows, bytes: base, keys, keyWidth, starts, listBytes, recordBytes, words }
}

/**
 * DuckDB writes \u001F where JSON.stringify writes \u001f; the length is the same. @param lines whole lines, which are changed
 * @returns places of the changed bytes
 */
function lowerEscapes(lines: Buffer): number[] {
  const places: number[] = []
  for (let at = lines.indexOf(ESCAPE); at >= 0; ) {
    let backslashes = 1
    while (lines[at - backslashes] === BACKSLASH) backslashes += 1
    // Behind a backslash that is escaped itself stands text.
    const digitAt = at + ESCAPE.length + 1
    const digit = lines[digitAt] ?? 0
    if (backslashes % 2 === 1 && digit >= CAPITAL_A) {
      lines[digitAt] = digit | SMALL
      places.push(digitAt)
    }
    at = lines.indexOf(ESCAPE, at + 1)
  }
  return places
}

function joinTexts(parts: readonly Buffer[], bytes: number): Uint8Array {
  const all = new Uint8Array(bytes)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
