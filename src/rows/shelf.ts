/**
 * A dataset's rows, written out once and kept in key order: a row by its key, a page by a place, rows by the words they
 * hold. In: an open file of lines and its index. Out: JSON bytes as they go to the client. The file has no name any more,
 * so nobody else can change it; what the system keeps of it in memory it can take back.
 */
import { closeSync, readSync } from 'node:fs'
import type { Dataset } from '../model/datasets.ts'
import type { LinesIndex } from './build.ts'
import { keyText, keyValues } from './lines.ts'
import { lowerBound, type Positions } from './positions.ts'
import { findRows } from './words.ts'

/** Rows whose bytes stand this close are read at once: a read costs more than the bytes between. */
const READ_GAP_BYTES = 16 << 10
const READ_MAX_BYTES = 4 << 20
/** Blocks of rows are read here, one after another: what is taken of them is copied at once. */
const DESK = Buffer.allocUnsafeSlow(256 << 10)
const [OPEN, CLOSE, COMMA, LEFT, RIGHT] = [0x7b, 0x7d, 0x2c, 0x5b, 0x5d]

/** Bytes that may still have to be read: a Buffer is one. To be written out before the next turn of the event loop. */
export interface Bytes {
  readonly length: number
  /** @returns bytes written, all of them */
  copy(target: Buffer, at: number): number
}

/** @returns the bytes, in memory of their own unless they have it */
export function readBytes(bytes: Bytes): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes
  const own = Buffer.allocUnsafe(bytes.length)
  bytes.copy(own, 0)
  return own
}

export interface Shelf {
  readonly rows: number
  /** Memory the index takes; the lines themselves are in the file. */
  readonly bytes: number
  /** Key columns → position, or null. */
  find(key: readonly (string | number)[]): number | null
  /** First position after a key, whether a row has it or not. */
  after(key: readonly (string | number)[]): number
  /** Positions of the rows whose first key column has a value. */
  range(first: string | number): { readonly from: number; readonly to: number }
  keyAt(position: number): (string | number)[]
  /** JSON of one record with every field; null where only the engine writes it exactly. */
  record(position: number): Buffer | null
  /** JSON array of rows as lists show them. */
  list(positions: readonly number[]): Bytes
  /** Rows that hold a folded text, or whose code begins with a prefix; null where there is no index of words. */
  readonly search: ((text: string, codePrefix: string) => Positions) | null
  isClosed(): boolean
  close(): void
}

/** @param file descriptor; the shelf closes it */
export function openShelf(dataset: Dataset, index: LinesIndex, file: number): Shelf {
  const { rows, keyWidth, starts, listBytes, recordBytes, words } = index
  const texts = Buffer.from(index.keys.buffer, index.keys.byteOffset, index.keys.byteLength)
  // Keys of digits, which most are, are compared as numbers: they sort as their texts do, for all are of one length.
  const numbers = numbersOf(texts, rows, keyWidth)
  const keyTextAt = (position: number): string =>
    numbers === null
      ? texts.toString('latin1', position * keyWidth, (position + 1) * keyWidth)
      : String(numbers[position]).padStart(keyWidth, '0')
  const odd = new Set(index.odd)
  let isClosed = false

  /** First position whose key is not below (or, past, not at or below) a text; a shorter text is a prefix. */
  const bound = (text: string, past: boolean): number => {
    if (numbers !== null && DIGITS.test(text)) {
      // The least number that begins so, or the first that no longer does.
      const scale = 10 ** (keyWidth - text.length)
      return lowerBound(numbers, (Number(text) + (past ? 1 : 0)) * scale)
    }
    let [low, high] = [0, rows]
    while (low < high) {
      const middle = (low + high) >> 1
      const found = keyTextAt(middle).slice(0, text.length)
      if (found < text || (past && found === text)) low = middle + 1
      else high = middle
    }
    return low
  }
  const read = (bytes: Buffer, position: number, length: number): Buffer => {
    if (readSync(file, bytes, 0, length, position) !== length)
      throw new RangeError('the file of rows is short')
    return bytes
  }
  /** Rows whose code begins with a prefix. */
  const addCodes = (codePrefix: string, add: (position: number) => void): void => {
    // Integer keys are padded here, so their digits begin after the zeros.
    const prefix = index.widths[0] === null ? null : /^[\x21-\x7e]+$/.test(codePrefix) ? codePrefix : null
    if (prefix !== null && prefix.length <= keyWidth) {
      const to = bound(prefix, true)
      for (let at = bound(prefix, false); at < to; at += 1) add(at)
    } else if (index.widths[0] === null && /^\d{1,10}$/.test(codePrefix))
      for (let at = 0; at < rows; at += 1) {
        const digits = String(Number(keyTextAt(at).slice(0, 10)))
        if (digits.startsWith(codePrefix)) add(at)
      }
  }
  const writeList = (positions: readonly number[], out: Buffer, start: number): number => {
    let [at, next] = [start, 0]
    while (next < positions.length) {
      const base = starts[positions[next] ?? 0] ?? 0
      let last = next
      const endOf = (place: number): number => {
        const position = positions[place] ?? 0
        return (starts[position] ?? 0) + (listBytes[position] ?? 0)
      }
      while (
        last + 1 < positions.length &&
        (starts[positions[last + 1] ?? 0] ?? 0) - endOf(last) <= READ_GAP_BYTES &&
        endOf(last + 1) - base <= READ_MAX_BYTES
      )
        last += 1
      const blockBytes = endOf(last) - base
      const block = read(blockBytes <= DESK.length ? DESK : Buffer.allocUnsafe(blockBytes), base, blockBytes)
      for (; next <= last; next += 1) {
        const position = positions[next] ?? 0
        const from = (starts[position] ?? 0) - base
        out[at] = next === 0 ? LEFT : COMMA
        out[at + 1] = OPEN
        at += 2 + block.copy(out, at + 2, from + 1, from + (listBytes[position] ?? 0))
        out[at] = CLOSE
        at += 1
      }
    }
    if (positions.length === 0) {
      out[at] = LEFT
      at += 1
    }
    out[at] = RIGHT
    return at + 1 - start
  }

  return {
    rows,
    bytes:
      (numbers?.byteLength ?? texts.length) +
      [starts, listBytes, recordBytes].reduce((sum, { byteLength }) => sum + byteLength, 0) +
      (words === null
        ? 0
        : words.words.length +
          [
            words.starts,
            words.bucketEnds,
            words.wordNumbers,
            words.ends,
            words.positions,
            words.texts,
            words.textEnds,
          ].reduce((sum, { byteLength }) => sum + byteLength, 0)),
    find(key) {
      const text = keyText(dataset, index.widths, key)
      if (text === null || text.length !== keyWidth) return null
      const position = bound(text, false)
      return position < rows && keyTextAt(position) === text ? position : null
    },
    after(key) {
      const text = keyText(dataset, index.widths, key)
      if (text === null || text.length !== keyWidth) throw new RangeError('not a key of these rows')
      return bound(text, true)
    },
    range(first) {
      const text = keyText({ ...dataset, key: dataset.key.slice(0, 1) }, index.widths, [first])
      return text === null ? { from: 0, to: 0 } : { from: bound(text, false), to: bound(text, true) }
    },
    keyAt: (position) => keyValues(dataset, index.widths, keyTextAt(position)),
    record(position) {
      if (odd.has(position)) return null
      const length = recordBytes[position] ?? 0
      // The comma before the first field becomes the brace, and the brace behind the last is in the file.
      const bytes = read(Buffer.allocUnsafe(length + 1), starts[position] ?? 0, length + 1)
      bytes[0] = OPEN
      return bytes
    },
    list: (positions) => ({
      // A row has its bytes without their comma, two braces, and a comma or bracket before it; a bracket closes them all.
      length:
        positions.reduce((sum, position) => sum + (listBytes[position] ?? 0) + 2, 1) +
        (positions.length === 0 ? 1 : 0),
      copy: (target, at) => writeList(positions, target, at),
    }),
    search:
      words === null
        ? null
        : // No code holds a space.
          (text, codePrefix) => findRows(words, text, (add) => addCodes(codePrefix, add)),
    isClosed: () => isClosed,
    close() {
      // Lists that were found in this turn are still to be read.
      if (!isClosed) setImmediate(() => closeSync(file))
      isClosed = true
    },
  }
}

const DIGITS = /^\d+$/
/** Longer ones are not exact as numbers. */
const DIGITS_MAX = 15

/** @returns null where a key is not of digits alone, or too long */
function numbersOf(texts: Buffer, rows: number, width: number): Float64Array | null {
  if (width > DIGITS_MAX) return null
  const numbers = new Float64Array(rows)
  for (let row = 0, at = 0; row < rows; row += 1) {
    let number = 0
    for (const end = at + width; at < end; at += 1) {
      const digit = (texts[at] ?? 0) - 48
      if (digit < 0 || digit > 9) return null
      number = number * 10 + digit
    }
    numbers[row] = number
  }
  return numbers
}
