/**
 * Reads the pages of a Parquet column as the texts of `rows_sha256`. In: the bytes of a column chunk. Out: for each page its levels, and
 * its values as encoded texts with their positions. A value of a dictionary is encoded once for a chunk and not once for each row, so
 * most columns cost a copy of bytes. hyparquet reads headers and the encodings that are rare here.
 */
import type { Compressors, SchemaTree } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { decompressPage, readDataPage, readDataPageV2 } from 'hyparquet/src/datapage.js'
import { readPlain } from 'hyparquet/src/plain.js'
import { type Encoded, encodePlainTexts, encodeValues, FLAGS, Reused, type TextOf } from './texts.ts'

type Codec = Parameters<typeof decompressPage>[2]

export interface LeafColumn {
  /** Elements of the schema from the root to the column. */
  readonly schemaPath: SchemaTree[]
  readonly maxDefinition: number
  readonly maxRepetition: number
  /** Returns the text of a value; null for a column of texts. */
  readonly textOf: TextOf | null
}

/** A page. It is used before the next one is read, because pages share memory. */
export interface Page {
  /** Number of levels: values, nulls, and lists without elements. */
  readonly count: number
  /** Null where every level is the largest one. */
  readonly definition: Uint8Array | null
  /** Null where every level is zero. */
  readonly repetition: Uint8Array | null
  readonly values: Encoded
  /** Position in `values` of each value that is not null; null where they are in order. */
  readonly indexes: Int32Array | null
}

/** @throws Error for a page that is damaged or of an unknown kind */
export function* readPages(
  chunk: Uint8Array,
  codec: Codec,
  compressors: Compressors,
  column: LeafColumn,
): Generator<Page> {
  const reader = readerOf(chunk)
  const { schemaPath, textOf } = column
  const { element } = schemaPath.at(-1) as SchemaTree
  const type = element.type ?? 'BYTE_ARRAY'
  const decoder = { pathInSchema: [], type, element, schemaPath, codec, compressors, parsers: {} as never }
  let dictionary: Encoded | null = null
  while (reader.offset < chunk.length) {
    const header = parquetHeader(reader)
    const bytes = chunk.subarray(reader.offset, reader.offset + header.compressed_page_size)
    reader.offset += bytes.length
    const unpack = (): Uint8Array => decompressPage(bytes, header.uncompressed_page_size, codec, compressors)
    if (header.type === 'DICTIONARY_PAGE') {
      const count = header.dictionary_page_header?.num_values ?? 0
      const page = unpack()
      dictionary =
        textOf === null
          ? encodePlainTexts(page, 0, count, true)
          : encodeValues(readPlain(readerOf(page), type, count, element.type_length), textOf)
      continue
    }
    const about = header.data_page_header ?? header.data_page_header_v2
    if (about === undefined) throw new Error(`a page of the kind ${header.type} cannot be read`)
    const isIndexed = about.encoding === 'PLAIN_DICTIONARY' || about.encoding === 'RLE_DICTIONARY'
    if (isIndexed && dictionary === null) throw new Error('a page lacks its dictionary')
    if (header.data_page_header !== undefined) {
      const isPlain = about.encoding === 'PLAIN' && (textOf === null || type === 'BOOLEAN')
      if (isIndexed || isPlain) {
        yield readPage(unpack(), about.num_values, column, isIndexed ? dictionary : null, type === 'BOOLEAN')
        continue
      }
    }
    const { definitionLevels, repetitionLevels, dataPage } =
      header.data_page_header === undefined
        ? readDataPageV2(bytes, header, decoder)
        : readDataPage(unpack(), header.data_page_header, decoder)
    yield {
      count: about.num_values,
      definition: definitionLevels?.length ? Uint8Array.from(definitionLevels) : null,
      repetition: repetitionLevels.length > 0 ? Uint8Array.from(repetitionLevels) : null,
      values: isIndexed ? (dictionary as Encoded) : encodeValues(dataPage, textOf),
      indexes: isIndexed ? Int32Array.from(dataPage as number[]) : null,
    }
  }
}

const readerOf = (bytes: Uint8Array) => ({
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  offset: 0,
})

const pageDefinition = new Reused((length) => new Uint8Array(length))
const pageRepetition = new Reused((length) => new Uint8Array(length))
const pageIndexes = new Reused((length) => new Int32Array(length))

/** Reads a page of positions in a dictionary, of texts, or of booleans. */
function readPage(
  page: Uint8Array,
  count: number,
  { maxDefinition, maxRepetition }: LeafColumn,
  dictionary: Encoded | null,
  isBoolean: boolean,
): Page {
  const { view } = readerOf(page)
  let at = 0
  const readLevels = (max: number, memory: Reused<Uint8Array>): Uint8Array | null => {
    if (max === 0) return null
    const end = at + 4 + view.getUint32(at, true)
    const levels = memory.take(count).subarray(0, count)
    unpackRuns(page, at + 4, end, 32 - Math.clz32(max), levels)
    at = end
    return levels
  }
  const repetition = readLevels(maxRepetition, pageRepetition)
  const levels = readLevels(maxDefinition, pageDefinition)
  let present = count
  // Most columns have no null. Looking for one byte is faster than counting.
  if (levels !== null && (maxDefinition > 1 || levels.includes(0)))
    for (const level of levels) if (level < maxDefinition) present -= 1
  const base = { count, repetition, definition: present === count ? null : levels }
  const indexes = pageIndexes.take(present).subarray(0, present)
  if (isBoolean) {
    for (let index = 0; index < present; index += 1)
      indexes[index] = ((page[at + (index >> 3)] ?? 0) >> (index & 7)) & 1
    return { ...base, values: FLAGS, indexes }
  }
  if (dictionary === null)
    return { ...base, values: encodePlainTexts(page, at, present, false), indexes: null }
  unpackRuns(page, at + 1, page.length, page[at] ?? 0, indexes)
  return { ...base, values: dictionary, indexes }
}

/** Unpacks runs of one number, and numbers of `width` bits, until the target is full. */
function unpackRuns(
  bytes: Uint8Array,
  start: number,
  end: number,
  width: number,
  target: Uint8Array | Int32Array,
): void {
  let at = start
  let filled = 0
  while (filled < target.length) {
    if (at >= end) throw new Error('a page ends before its values')
    let header = 0
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at] ?? 0
      at += 1
      header |= (byte & 127) << shift
      if (byte < 128) break
    }
    if ((header & 1) === 0) {
      let value = 0
      for (let shift = 0; shift < width; shift += 8) {
        value |= (bytes[at] ?? 0) << shift
        at += 1
      }
      const to = Math.min(target.length, filled + (header >>> 1))
      target.fill(value, filled, to)
      filled = to
      continue
    }
    const groups = header >>> 1
    const to = Math.min(target.length, filled + groups * 8)
    const mask = (1 << width) - 1
    let from = at
    let buffer = 0
    let bits = 0
    for (; filled < to; filled += 1) {
      while (bits < width) {
        buffer |= (bytes[from] ?? 0) << bits
        from += 1
        bits += 8
      }
      target[filled] = buffer & mask
      buffer >>>= width
      bits -= width
    }
    at += groups * width
  }
}
