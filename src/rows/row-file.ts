/**
 * Reads an open row file: rows by number, row numbers by key. Input: a file that `build.ts` made. Output: JSON as bytes.
 *
 * Rows are stored in blocks of sixteen. A block starts with the offset of each row (three bytes each). A row is the segments of its
 * JSON in order: a fragment number, or a text with compressed phrases. Some datasets repeat leading segments, the head, from row to
 * row (the facility of its beds). A block stores each head once, and every row begins with the number of the row in the block that
 * holds its head.
 *
 * Blocks are read from disk on demand, and all processes share the system's page cache. This process holds only the fragments, the
 * phrases and the first key of each block.
 */
import type { Dataset } from '../model/datasets.ts'
import type { FilterIndexHead } from './filter-index.ts'
import { isInteger, type KeyValue, type KeyWidths, keyText, widthOf } from './keys.ts'
import { type ByteString, fromByteString, TEXT_END } from './phrases.ts'
import {
  type ByteRange,
  openSections,
  readNumbers,
  type SectionDigests,
  type SectionFile,
} from './sections.ts'
import { readCoordinates, readSortIndex, type SortIndex, type SortIndexHead } from './sort-index.ts'
import { openTextIndex, type TextIndex, type TextIndexHead } from './text-index.ts'

export const BLOCK_ROWS = 16

export interface StringRanges {
  readonly ends: ByteRange
  readonly bytes: ByteRange
}

/** Segment of every row: a fragment numbered by one or two bytes, or a text after a prefix. */
export type SegmentHead =
  | { readonly bytes: 1 | 2; readonly fragments: StringRanges }
  | { readonly prefix: ByteString }

export interface RowFileHead {
  readonly rows: number
  readonly widths: KeyWidths
  /** Rows whose record only the engine can answer. */
  readonly odd: readonly number[]
  /** Key of each block's first row, all of one width. */
  readonly firstKeys: ByteRange
  readonly phrases: StringRanges
  readonly parts: readonly SegmentHead[]
  /** Number of segments in the head, in the prefix that contains the key, and in list rows. */
  readonly headParts: number
  readonly keyParts: number
  readonly listParts: number
  readonly filters: readonly FilterIndexHead[]
  readonly text: TextIndexHead | null
  readonly sorts: readonly SortIndexHead[]
  readonly coordinates: ByteRange | null
}

export interface RowFile {
  readonly head: RowFileHead
  readonly file: SectionFile
  readonly filters: readonly (FilterIndexHead & { readonly ends32: Uint32Array })[]
  readonly text: TextIndex | null
  readonly disk: number
  readonly memory: number
  /** Ranks of the rows by a field; null when the field has no sort index. */
  sortIndex(field: string): SortIndex | null
  /** Latitude and longitude of each row, interleaved; null when the dataset has none. Kept in memory after the first use. */
  coordinates(): Float64Array | null
  /** First row whose key is not less than the prefix `text`; with `isAfter`, the first row after all keys with that prefix. */
  bound(text: string, isAfter: boolean): number
  keyText(values: readonly KeyValue[]): string | null
  keyAt(row: number): KeyValue[]
  record(row: number): ByteString
  /** JSON array of rows as lists show them, ascending. @param opening replaces the opening brace of each row */
  list(rows: readonly number[], opening?: ByteString): ByteString
  each(rows: readonly number[], opening?: ByteString): ByteString[]
  close(): void
}

/** Largest number of bytes read at once, and largest distance in blocks between rows that one read covers. */
const READ_BYTES = 64 << 10
const NEAR_BLOCKS = 5
/**
 * Opens a row file. Every function of the result throws RowFileDamaged when the bytes it reads differ from those written.
 * @param expected size and digests from the index file
 * @throws RowFileDamaged when the file does not match them
 */
export function openRowFile(dataset: Dataset, path: string, expected: SectionDigests): RowFile {
  const file = openSections(path, expected)
  try {
    return readRowFile(dataset, file)
  } catch (error) {
    file.close()
    throw error
  }
}

function readRowFile(dataset: Dataset, file: SectionFile): RowFile {
  const head = file.head as RowFileHead
  const { rows, widths, headParts, keyParts, listParts } = head
  const { blockEnds } = file
  const firstKeys = file.read(head.firstKeys).toString('latin1')
  const phrases = readStrings(file, head.phrases)
  const segments = head.parts.map((segment) =>
    'prefix' in segment
      ? { prefix: segment.prefix, bytes: 0, fragments: [] }
      : { prefix: '', bytes: segment.bytes, fragments: readStrings(file, segment.fragments) },
  )
  const segmentCount = segments.length
  const width = widthOf(widths)
  const text = head.text === null ? null : openTextIndex(file, head.text, rows)
  const filters = head.filters.map((filter) => ({ ...filter, ends32: readNumbers(file, filter.ends) }))
  const startOf = (block: number): number => (block === 0 ? 0 : (blockEnds[block - 1] ?? 0))
  /** The last block read: looking up a key and reading its row both use the same block. */
  let lastBlock = -1
  let lastBytes: ByteString = ''
  const readBlock = (block: number): ByteString => {
    if (block !== lastBlock) {
      const bytes = file.view(block, block)
      file.checkBlock(block, bytes, 0)
      lastBytes = bytes.toString('latin1', 0, (blockEnds[block] ?? 0) - startOf(block))
      lastBlock = block
    }
    return lastBytes
  }

  /** Offset after the segments decoded last. */
  let decodedEnd = 0
  /** Decodes segments `from` to `to`, starting at byte `at`. */
  const decode = (bytes: ByteString, at: number, from: number, to: number): ByteString => {
    let json = ''
    for (let index = from; index < to; index += 1) {
      const segment = segments[index] as (typeof segments)[number]
      if (segment.bytes === 1) {
        json += segment.fragments[bytes.charCodeAt(at)] ?? ''
        at += 1
      } else if (segment.bytes === 2) {
        json += segment.fragments[bytes.charCodeAt(at) | (bytes.charCodeAt(at + 1) << 8)] ?? ''
        at += 2
      } else {
        json += segment.prefix
        let start = at
        for (;;) {
          const byte = bytes.charCodeAt(at)
          // NaN at the end of the bytes also fails this comparison.
          if (!(byte < 32)) {
            if (Number.isNaN(byte)) throw new RangeError('a row that is cut off')
            at += 1
            continue
          }
          if (at > start) json += bytes.substring(start, at)
          if (byte === TEXT_END) break
          json += phrases[(byte << 8) | bytes.charCodeAt(at + 1)] ?? ''
          at += 2
          start = at
        }
        at += 1
      }
    }
    decodedEnd = at
    return json
  }
  const rowStart = (bytes: ByteString, row: number): number =>
    bytes.charCodeAt(3 * row) | (bytes.charCodeAt(3 * row + 1) << 8) | (bytes.charCodeAt(3 * row + 2) << 16)
  /** Row of a block whose head was decoded last, so that its neighbours need not decode it again. */
  let headBytes: ByteString = ''
  let headRow = -1
  let headJson: ByteString = ''
  const decodeRow = (bytes: ByteString, row: number, to: number): ByteString => {
    const start = rowStart(bytes, row)
    if (headParts === 0) return decode(bytes, start, 0, to)
    const headOwner = bytes.charCodeAt(start)
    if (headOwner !== headRow || bytes !== headBytes) {
      headJson = decode(bytes, rowStart(bytes, headOwner) + 1, 0, headParts)
      headRow = headOwner
      headBytes = bytes
      if (headOwner === row) return headJson + decode(bytes, decodedEnd, headParts, to)
    }
    if (headOwner !== row) return headJson + decode(bytes, start + 1, headParts, to)
    decode(bytes, start + 1, 0, headParts)
    return headJson + decode(bytes, decodedEnd, headParts, to)
  }
  const keyOf = (json: ByteString): KeyValue[] =>
    dataset.key.map((column) => {
      const name = `"${column}":`
      const at = json.indexOf(name) + name.length
      if (!isInteger(column)) return readText(json, at + 1)
      const end = json.indexOf(',', at)
      return Number(end < 0 ? json.substring(at) : json.substring(at, end))
    })

  let degrees: Float64Array | null = null
  const heldBytes =
    file.memory +
    firstKeys.length +
    (text?.bytes ?? 0) +
    head.phrases.bytes[1] +
    head.parts.reduce((sum, segment) => sum + ('prefix' in segment ? 0 : segment.fragments.bytes[1]), 0)
  const bytesOfRow = (buffer: Buffer, at: number, length: number, row: number): ByteString => {
    const offset = at + 3 * (row % BLOCK_ROWS)
    const isLast = row % BLOCK_ROWS === BLOCK_ROWS - 1 || row === rows - 1
    const end = isLast ? length : buffer.readUIntLE(offset + 3, 3)
    return buffer.toString('latin1', at + buffer.readUIntLE(offset, 3), at + end)
  }
  /** Calls `onRow` with the JSON of each row as lists show it, ascending, without the closing brace. */
  const visit = (
    wanted: readonly number[],
    opening: ByteString,
    onRow: (json: ByteString, row: number) => void,
  ): void => {
    let [block, bytes] = [-1, '']
    let buffer: Buffer = Buffer.alloc(0)
    let [from, to] = [0, 0]
    /** Offset of the block in the buffer, and its length in bytes. */
    let [at, length] = [0, 0]
    /** Only one row of the block is wanted, so the others need not be converted to text. */
    let isSingleRow = false
    for (let index = 0; index < wanted.length; index += 1) {
      const row = wanted[index] ?? 0
      const next = Math.floor(row / BLOCK_ROWS)
      if (next !== block) {
        block = next
        const [start, end] = [startOf(block), blockEnds[block] ?? 0]
        if (start < from || end > to) {
          // Read nearby blocks together: a read costs more than the bytes between them.
          let last = block
          for (let other = index + 1; other < wanted.length; other += 1) {
            const otherBlock = Math.floor((wanted[other] ?? 0) / BLOCK_ROWS)
            if (otherBlock > last + NEAR_BLOCKS || (blockEnds[otherBlock] ?? 0) - start > READ_BYTES) break
            last = otherBlock
          }
          from = start
          to = blockEnds[last] ?? 0
          buffer = file.view(block, last)
        }
        at = start - from
        file.checkBlock(block, buffer, at)
        length = end - start
        isSingleRow = headParts === 0 && Math.floor((wanted[index + 1] ?? -1) / BLOCK_ROWS) !== block
        if (!isSingleRow) bytes = buffer.toString('latin1', at, at + length)
      }
      const shown = isSingleRow
        ? decode(bytesOfRow(buffer, at, length, row), 0, 0, listParts)
        : decodeRow(bytes, row % BLOCK_ROWS, listParts)
      // Keep the string unchanged when possible, because cutting it makes a copy.
      onRow(opening === '{' ? shown : opening + shown.substring(1), row)
    }
  }

  return {
    head,
    file,
    filters,
    text,
    disk: file.disk,
    get memory() {
      return heldBytes + (degrees?.byteLength ?? 0)
    },
    bound(wanted, isAfter) {
      const isBefore = (key: string): boolean => {
        const opening = key.substring(0, wanted.length)
        return opening < wanted || (isAfter && opening === wanted)
      }
      let [low, high] = [0, blockEnds.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if (isBefore(firstKeys.substring(middle * width, (middle + 1) * width))) low = middle + 1
        else high = middle
      }
      if (low === 0) return 0
      const [block, bytes] = [low - 1, readBlock(low - 1)]
      let [from, to] = [1, Math.min(BLOCK_ROWS, rows - block * BLOCK_ROWS)]
      while (from < to) {
        const middle = (from + to) >> 1
        if (isBefore(keyText(dataset, widths, keyOf(decodeRow(bytes, middle, keyParts))) ?? ''))
          from = middle + 1
        else to = middle
      }
      return block * BLOCK_ROWS + from
    },
    keyText: (values) => keyText(dataset, widths, values),
    keyAt: (row) => keyOf(decodeRow(readBlock(Math.floor(row / BLOCK_ROWS)), row % BLOCK_ROWS, keyParts)),
    record: (row) => `${decodeRow(readBlock(Math.floor(row / BLOCK_ROWS)), row % BLOCK_ROWS, segmentCount)}}`,
    sortIndex(field) {
      const index = head.sorts.find((other) => other.field === field)
      return index === undefined ? null : readSortIndex(file, index)
    },
    coordinates() {
      if (head.coordinates !== null) degrees ??= readCoordinates(file, head.coordinates)
      return degrees
    },
    each(wanted, opening = '{') {
      const found = new Map<number, ByteString>()
      // Neighbouring rows are read together, and a repeated row is read once.
      visit(
        [...new Set(wanted)].sort((left, right) => left - right),
        opening,
        (json, row) => found.set(row, `${json}}`),
      )
      return wanted.map((row) => found.get(row) ?? '')
    },
    list(wanted, opening = '{') {
      let json = ''
      visit(wanted, opening, (row) => {
        json += `${json === '' ? '[' : ','}${row}}`
      })
      return json === '' ? '[]' : `${json}]`
    },
    close: () => file.close(),
  }
}
const QUOTE = 34
const BACKSLASH = 92

/** @param at position after the opening quote of a JSON text @returns the text */
function readText(json: ByteString, at: number): string {
  let end = at
  let isEscaped = false
  for (let byte = json.charCodeAt(end); byte !== QUOTE; byte = json.charCodeAt(end)) {
    if (Number.isNaN(byte)) throw new RangeError('a row that is cut off')
    if (byte === BACKSLASH) isEscaped = true
    end += byte === BACKSLASH ? 2 : 1
  }
  const text = fromByteString(json.substring(at, end))
  return isEscaped ? (JSON.parse(`"${text}"`) as string) : text
}

function readStrings(file: SectionFile, { ends, bytes }: StringRanges): ByteString[] {
  const all = file.read(bytes).toString('latin1')
  let start = 0
  return Array.from(readNumbers(file, ends), (end) => {
    const text = all.substring(start, end)
    start = end
    return text
  })
}

export const parseRow = (json: ByteString): unknown => JSON.parse(fromByteString(json))
