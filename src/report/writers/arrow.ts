/**
 * Writes cells as an Arrow IPC stream: text as Utf8, integers as Int64, decimals as Decimal128 (exact, no DOUBLE).
 *
 * Input: columns and batches of cells. Output: bytes, one record batch per batch of rows. The schema's metadata holds the manifest,
 * if there is one.
 */
import {
  AsyncByteQueue,
  type Data,
  type DataType,
  Decimal,
  Field,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import { canonicalJson } from '../../release/digest.ts'
import type { ReportManifest } from '../manifest.ts'
import type { Cell, Column } from '../table.ts'
import type { FileSink, TableWriter } from './index.ts'

export const MANIFEST_KEY = 'sus-data-report'
const DECIMAL_DIGITS = 38

class ByteCollector extends AsyncByteQueue {
  #chunks: Uint8Array[] = []

  override write(bytes: Uint8Array): void {
    this.#chunks.push(bytes)
  }

  take(): Uint8Array {
    const bytes = Buffer.concat(this.#chunks)
    this.#chunks = []
    return bytes
  }
}

export class ArrowEncoder {
  readonly #columns: readonly Column[]
  readonly #schema: Schema
  readonly #chunks = new ByteCollector()
  readonly #writer = new RecordBatchStreamWriter({ autoDestroy: false })

  constructor(columns: readonly Column[], metadata = new Map<string, string>()) {
    this.#columns = columns
    const fields = columns.map((column) => new Field(column.name, typeOf(column), true))
    this.#schema = new Schema(fields, metadata)
    this.#writer.reset(this.#chunks, this.#schema)
  }

  /** @returns the bytes of the batch, preceded by the schema in the first call */
  encode(cells: readonly (readonly Cell[])[]): Uint8Array {
    const cellsOf = (index: number): Cell[] => cells.map((row) => row[index] ?? null)
    const children = this.#columns.map((column, index) => dataOf(column, cellsOf(index)))
    const type = new Struct(this.#schema.fields)
    const data = makeData({ type, length: cells.length, nullCount: 0, children })
    this.#writer.write(new RecordBatch(this.#schema, data))
    return this.#chunks.take()
  }

  end(): Uint8Array {
    this.#writer.finish()
    return this.#chunks.take()
  }
}

const typeOf = ({ type, decimals }: Column): DataType =>
  type === 'text' ? new Utf8() : type === 'integer' ? new Int64() : new Decimal(decimals, DECIMAL_DIGITS, 128)

function dataOf(column: Column, cells: readonly Cell[]): Data {
  if (column.type === 'text') {
    const [data] = vectorFromArray([...cells], new Utf8()).data
    if (data !== undefined) return data
  }
  const nullBitmap = new Uint8Array(Math.ceil(cells.length / 64) * 8)
  let nullCount = 0
  cells.forEach((cell, index) => {
    if (cell === null) nullCount += 1
    else nullBitmap[index >> 3] = (nullBitmap[index >> 3] ?? 0) | (1 << (index & 7))
  })
  if (column.type === 'integer') {
    const data = BigInt64Array.from(cells, (cell) => BigInt(cell ?? 0))
    return makeData({ type: new Int64(), length: cells.length, nullCount, nullBitmap, data })
  }
  // Two 64-bit words per value: 128 bits, little-endian, two's complement.
  const words = new BigInt64Array(cells.length * 2)
  cells.forEach((cell, index) => {
    const unscaled = parseDecimal(cell ?? '0', column.decimals)
    words[2 * index] = BigInt.asIntN(64, unscaled)
    words[2 * index + 1] = unscaled >> 64n
  })
  const type = new Decimal(column.decimals, DECIMAL_DIGITS, 128)
  return makeData({ type, length: cells.length, nullCount, nullBitmap, data: new Uint32Array(words.buffer) })
}

/** '298.42' with 2 decimals → 29842n. @throws RangeError when the text has more decimals or is not a number */
export function parseDecimal(text: string, decimals: number): bigint {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text)
  const fraction = match?.[3] ?? ''
  if (match === null || fraction.length > decimals)
    throw new RangeError(`not a decimal of ${decimals} digits`)
  const digits = BigInt(`${match[2]}${fraction.padEnd(decimals, '0')}`)
  return match[1] === '-' ? -digits : digits
}

export function createArrowWriter(sink: FileSink, columns: readonly Column[]): TableWriter {
  let draft: ReportManifest
  let encoder: ArrowEncoder
  let isEmpty = true
  return {
    async begin(newDraft) {
      draft = newDraft
      encoder = new ArrowEncoder(columns, new Map([[MANIFEST_KEY, canonicalJson(draft)]]))
    },
    async rows({ cells }) {
      isEmpty = false
      await sink.write(encoder.encode(cells))
    },
    async end(manifest) {
      // A stream without rows still contains the schema.
      if (isEmpty) await sink.write(encoder.encode([]))
      await sink.write(encoder.end())
      await sink.replaceDraft(draft, manifest)
    },
  }
}
