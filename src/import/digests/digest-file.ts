/**
 * Computes the digest of the rows of one Parquet file (`rows_sha256`). Equal rows give equal digests with any writer and file layout.
 * docs/content-digests.md describes the encoding and docs/decisions/0020-content-digests.md the reasons. The rows of a file must be in
 * key order.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { type FileMetaData, parquetMetadata, parquetSchema, type SchemaTree } from 'hyparquet'
import { ZSTDDecoder } from 'zstddec'
import { digestJson } from '../../release/digest.ts'
import { type LeafColumn, type Page, readPages } from './pages.ts'
import { type Encoded, encodeValues, kindOf, Reused, WORD_BYTES } from './texts.ts'

const ROWS_FORMAT = 'sus-data-rows-1'
const FOOTER_END = 8
const BUFFER_BYTES = 64 * 1024
/** Struct that is not null, and a null after it. */
const STRUCTS = encodeValues([''], String)

/** The digest of a column: it receives encoded values, and hashes them in pieces. */
class ColumnDigest {
  readonly kind: string
  readonly #hash = createHash('sha256')
  readonly #buffer = new DataView(new ArrayBuffer(BUFFER_BYTES + WORD_BYTES))
  #used = 0

  constructor(kind: string) {
    this.kind = kind
  }

  #flush(): void {
    this.#hash.update(new Uint8Array(this.#buffer.buffer, 0, this.#used))
    this.#used = 0
  }

  /** Adds all values in their order. */
  addAll({ bytes, offsets, count }: Encoded): void {
    this.#flush()
    this.#hash.update(new Uint8Array(bytes.buffer, 0, offsets[count]))
  }

  /** Adds the values at these positions. A word is copied at once; what it holds beyond a value is overwritten by the next. */
  addSome({ bytes, offsets }: Encoded, positions: Int32Array): void {
    const buffer = this.#buffer
    let used = this.#used
    for (let at = 0; at < positions.length; at += 1) {
      const position = positions[at] as number
      const from = offsets[position] as number
      const length = (offsets[position + 1] as number) - from
      if (used + length > BUFFER_BYTES) {
        this.#used = used
        this.#flush()
        used = 0
        if (length > BUFFER_BYTES) {
          this.#hash.update(new Uint8Array(bytes.buffer, from, length))
          continue
        }
      }
      for (let byte = 0; byte < length; byte += WORD_BYTES)
        buffer.setInt32(used + byte, bytes.getInt32(from + byte, true), true)
      used += length
    }
    this.#used = used
  }

  hex(): string {
    this.#flush()
    return this.#hash.digest('hex')
  }
}

const pagePositions = new Reused((length) => new Int32Array(length))

/** Adds the values of a page, and a null for each element that exists (level `present`) without a value. */
function addPage(
  digest: ColumnDigest,
  { count, definition, values, indexes }: Page,
  max: number,
  present: number,
) {
  if (definition === null) {
    if (indexes === null) digest.addAll(values)
    else digest.addSome(values, indexes)
    return
  }
  const positions = pagePositions.take(count)
  let used = 0
  let value = 0
  for (let at = 0; at < count; at += 1) {
    const level = definition[at] as number
    if (level < present) continue
    if (level < max) positions[used] = values.count
    else {
      positions[used] = indexes === null ? value : (indexes[value] as number)
      value += 1
    }
    used += 1
  }
  digest.addSome(values, positions.subarray(0, used))
}

/** A struct or list, whose values follow from the levels of the first column below it. */
interface Container {
  readonly digest: ColumnDigest
  readonly isList: boolean
  /** Number of lists around it. */
  readonly depth: number
  /** Smallest level at which the element that holds it exists. */
  readonly present: number
  /** Smallest level at which it is not null. */
  readonly defined: number
}

interface Leaf extends LeafColumn {
  readonly digest: ColumnDigest
  /** Smallest level at which the element that holds it exists. */
  readonly present: number
  readonly containers: readonly Container[]
}

interface Place {
  readonly path: string
  readonly schemaPath: SchemaTree[]
  readonly level: number
  readonly depth: number
  readonly present: number
}

/** Lists the columns of plain values that a schema is split into. */
class Columns {
  readonly digests = new Map<string, ColumnDigest>()
  readonly leaves: Leaf[] = []
  /** Containers whose first column is not reached yet. */
  #containers: Container[] = []

  #digest(path: string, kind: string): ColumnDigest {
    if (this.digests.has(path)) throw new Error(`two columns are called ${path}`)
    const digest = new ColumnDigest(kind)
    this.digests.set(path, digest)
    return digest
  }

  add(node: SchemaTree, place: Place): void {
    const { element, children } = node
    const { path, depth, present } = place
    const schemaPath = [...place.schemaPath, node]
    const level = place.level + (element.repetition_type === 'OPTIONAL' ? 1 : 0)
    const [first] = children
    if (first === undefined) {
      const { kind, textOf } = kindOf(element)
      this.leaves.push({
        digest: this.#digest(path, kind),
        schemaPath,
        maxDefinition: level,
        maxRepetition: depth,
        textOf,
        present,
        containers: this.#containers,
      })
      this.#containers = []
      return
    }
    const isList = element.converted_type === 'LIST'
    const digest = this.#digest(path, isList ? 'list' : 'struct')
    this.#containers.push({ digest, isList, depth, present, defined: level })
    if (isList) {
      const inside = { path: `${path}[]`, level: level + 1, depth: depth + 1, present: level + 1 }
      this.add(first.children[0] as SchemaTree, { ...inside, schemaPath: [...schemaPath, first] })
      return
    }
    for (const child of children)
      this.add(child, { path: `${path}.${child.element.name}`, schemaPath, level, depth, present })
  }
}

/** Collects the values of a struct or list from the levels of pages. A list may continue on the next page. */
class ContainerValues {
  readonly #container: Container
  /** Lengths of lists; 0 for a struct, and null for nulls. */
  readonly #values: (number | null)[] = []

  constructor(container: Container) {
    this.#container = container
  }

  addPage({ count, definition, repetition }: Page, max: number): void {
    const { isList, depth, present, defined } = this.#container
    for (let at = 0; at < count; at += 1) {
      const level = definition?.[at] ?? max
      const repeated = repetition?.[at] ?? 0
      if (repeated > depth) {
        // Another element of this list, or of a list inside this container.
        if (isList && repeated === depth + 1)
          this.#values[this.#values.length - 1] = (this.#values.at(-1) ?? 0) + 1
        continue
      }
      if (level >= present) this.#values.push(level < defined ? null : isList && level > defined ? 1 : 0)
    }
  }

  end(): void {
    const { digest, isList } = this.#container
    // A null is at the position after the last value.
    const longest = this.#values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)
    const values = isList
      ? encodeValues(
          Array.from({ length: longest + 1 }, (_, length) => length),
          String,
        )
      : STRUCTS
    const positions = new Int32Array(this.#values.length)
    for (const [at, value] of this.#values.entries()) positions[at] = value ?? values.count
    digest.addSome(values, positions)
  }
}

let zstd: Promise<ZSTDDecoder> | null = null
const loadZstd = async (): Promise<ZSTDDecoder> => {
  const decoder = new ZSTDDecoder()
  await decoder.init()
  return decoder
}

/** @returns 64 hex digits. @throws Error for a file that is damaged or has a column of a type without a digest */
export async function digestFileRows(path: string): Promise<string> {
  const file = await open(path)
  try {
    zstd ??= loadZstd()
    const decoder = await zstd
    const compressors = { ZSTD: (bytes: Uint8Array, length: number) => decoder.decode(bytes, length) }
    const metadata = await readFooter(file)
    const columns = new Columns()
    const root = parquetSchema(metadata)
    for (const child of root.children)
      columns.add(child, { path: child.element.name, schemaPath: [root], level: 0, depth: 0, present: 0 })
    let buffer = Buffer.alloc(0)
    for (const { columns: chunks } of metadata.row_groups)
      for (const [index, leaf] of columns.leaves.entries()) {
        const about = chunks[index]?.meta_data
        if (about === undefined) throw new Error('a group of rows lacks a column')
        const start = Number(about.dictionary_page_offset ?? about.data_page_offset)
        const length = Number(about.total_compressed_size)
        if (buffer.length < length) buffer = Buffer.allocUnsafeSlow(length)
        const chunk = await readBytes(file, start, buffer.subarray(0, length))
        const containers = leaf.containers.map((container) => new ContainerValues(container))
        for (const page of readPages(chunk, about.codec, compressors, leaf)) {
          addPage(leaf.digest, page, leaf.maxDefinition, leaf.present)
          for (const container of containers) container.addPage(page, leaf.maxDefinition)
        }
        for (const container of containers) container.end()
      }
    const digests = [...columns.digests].map(([name, digest]) => [
      name,
      { kind: digest.kind, sha256: digest.hex() },
    ])
    return digestJson({
      format: ROWS_FORMAT,
      rows: Number(metadata.num_rows),
      columns: Object.fromEntries(digests),
    })
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    await file.close()
  }
}

async function readFooter(file: FileHandle): Promise<FileMetaData> {
  const { size } = await file.stat()
  const end = await readBytes(file, size - FOOTER_END, Buffer.alloc(FOOTER_END))
  const length = new DataView(end.buffer, end.byteOffset).getUint32(0, true) + FOOTER_END
  if (length > size) throw new Error('is not a Parquet file')
  const footer = await readBytes(file, size - length, Buffer.alloc(length))
  return parquetMetadata(footer.buffer.slice(footer.byteOffset, footer.byteOffset + length))
}

async function readBytes<Target extends Buffer>(
  file: FileHandle,
  start: number,
  target: Target,
): Promise<Target> {
  if (start < 0) throw new Error('is not a Parquet file')
  const { bytesRead } = await file.read(target, 0, target.length, start)
  if (bytesRead < target.length) throw new Error('ends before its last rows')
  return target
}
