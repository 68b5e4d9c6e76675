/**
 * Writes values as the texts of `rows_sha256`: each followed by a zero byte, with the bytes 0 and 1 inside a value escaped.
 * docs/content-digests.md describes the texts.
 */
import type { SchemaElement } from 'hyparquet'
import { decimalText } from '../../engine/decimals.ts'

/** Encoded values one after another, and a null after the last. Value `i` is at `offsets[i]` up to `offsets[i + 1]` of `bytes`. */
export interface Encoded {
  /** It has room for a word after the null, so that values can be copied by words. */
  readonly bytes: DataView<ArrayBuffer>
  readonly offsets: Int32Array
  /** Number of values, which is also the position of the null. */
  readonly count: number
}

/** Returns the text of a value. It never holds the bytes 0 and 1. */
export type TextOf = (value: unknown) => string

export const WORD_BYTES = 4
const SEPARATOR = 0
const ESCAPE = 1
const DIGIT_ZERO = 48
/** Longest text of a number, a date or a boolean with its separator: a decimal of 38 digits has 40 characters. */
const TEXT_MAX = 48
/** Bytes of a null, and a word. */
const END_BYTES = 2 + WORD_BYTES

function endWithNull(bytes: Uint8Array<ArrayBuffer>, offsets: Int32Array, count: number): Encoded {
  const used = offsets[count] as number
  bytes[used] = ESCAPE
  bytes[used + 1] = SEPARATOR
  offsets[count + 1] = used + 2
  return { bytes: new DataView(bytes.buffer), offsets, count }
}

/** Memory that each page uses again, because an allocation for each costs as much as its values. */
export class Reused<Numbers extends Uint8Array | Int32Array> {
  readonly #make: (length: number) => Numbers
  #numbers: Numbers

  constructor(make: (length: number) => Numbers) {
    this.#make = make
    this.#numbers = make(0)
  }

  /** @returns numbers of at least this length, with any content */
  take(length: number): Numbers {
    if (this.#numbers.length < length) this.#numbers = this.#make(length)
    return this.#numbers
  }
}
const pageBytes = new Reused((length) => new Uint8Array(length))
const pageOffsets = new Reused((length) => new Int32Array(length))

/**
 * Encodes texts of a page in the encoding PLAIN: each stands after its length in four bytes.
 * @param isKept false if the result is used before the next call, so that it may share memory with it
 */
export function encodePlainTexts(page: Uint8Array, start: number, count: number, isKept: boolean): Encoded {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength)
  // Each byte may become two, and each length becomes one byte.
  const size = 2 * (page.length - start) + END_BYTES
  const bytes = isKept ? new Uint8Array(size) : pageBytes.take(size)
  const offsets = isKept ? new Int32Array(count + 2) : pageOffsets.take(count + 2)
  const target = new DataView(bytes.buffer)
  let from = start
  let used = 0
  for (let index = 0; index < count; index += 1) {
    const length = view.getUint32(from, true)
    from += 4
    const to = from + length
    if (to > page.length) throw new Error('a page ends inside a text')
    // Copies four bytes at a time. A byte below 2 sets its highest bit in `low`: the text is then copied again, with escapes.
    let low = 0
    let at = 0
    for (; at + WORD_BYTES <= length; at += WORD_BYTES) {
      const word = view.getInt32(from + at, true)
      low |= (word - 0x02020202) & ~word & 0x80808080
      target.setInt32(used + at, word, true)
    }
    used =
      low === 0
        ? copyEscaped(page, from + at, to, bytes, used + at)
        : copyEscaped(page, from, to, bytes, used)
    from = to
    offsets[index + 1] = used
  }
  return endWithNull(bytes, offsets, count)
}

/** @param textOf null if the values are texts in UTF-8 */
export function encodeValues(values: ArrayLike<unknown>, textOf: TextOf | null): Encoded {
  const offsets = new Int32Array(values.length + 2)
  let used = 0
  if (textOf === null) {
    const texts = Array.from(values as ArrayLike<Uint8Array>)
    const bytes = new Uint8Array(texts.reduce((sum, text) => sum + 2 * text.length + 1, END_BYTES))
    for (const [index, text] of texts.entries()) {
      used = copyEscaped(text, 0, text.length, bytes, used)
      offsets[index + 1] = used
    }
    return endWithNull(bytes, offsets, values.length)
  }
  const bytes = new Uint8Array(values.length * TEXT_MAX + END_BYTES)
  for (let index = 0; index < values.length; index += 1) {
    const text = textOf(values[index])
    for (let at = 0; at < text.length; at += 1) bytes[used + at] = text.charCodeAt(at)
    used += text.length + 1
    offsets[index + 1] = used
  }
  return endWithNull(bytes, offsets, values.length)
}

/** Copies a text and the zero byte after it. @returns number of bytes used in the target */
function copyEscaped(
  source: Uint8Array,
  from: number,
  to: number,
  target: Uint8Array,
  start: number,
): number {
  let used = start
  for (let at = from; at < to; at += 1) {
    const byte = source[at] as number
    if (byte <= ESCAPE) {
      target[used] = ESCAPE
      target[used + 1] = DIGIT_ZERO + byte
      used += 2
    } else {
      target[used] = byte
      used += 1
    }
  }
  target[used] = SEPARATOR
  return used + 1
}

/** The booleans, at the positions 0 and 1. */
export const FLAGS: Encoded = encodeValues([false, true], String)

/** @returns the kind of a column and how its values become text; null for texts. @throws Error for a type without a digest */
export function kindOf(element: SchemaElement): { readonly kind: string; readonly textOf: TextOf | null } {
  const { type, converted_type, scale = 0 } = element
  if (type === 'BYTE_ARRAY' && converted_type === 'UTF8') return { kind: 'text', textOf: null }
  if (type === 'BOOLEAN') return { kind: 'boolean', textOf: String }
  if (type === 'DOUBLE') return { kind: 'double', textOf: (value) => doubleText(value as number) }
  if (converted_type === 'DECIMAL')
    return { kind: `decimal(${scale})`, textOf: (value) => decimalText(integerOf(value), scale) }
  if (converted_type === 'DATE') return { kind: 'date', textOf: (value) => dateText(value as number) }
  const isInteger = converted_type === undefined || /^INT_(8|16|32|64)$/.test(converted_type)
  if ((type === 'INT32' || type === 'INT64') && isInteger && isPlainInteger(element))
    return { kind: 'integer', textOf: String }
  throw new Error(`rows with a column of the type ${converted_type ?? type} have no digest: ${element.name}`)
}

const isPlainInteger = ({ logical_type }: SchemaElement): boolean =>
  logical_type === undefined || logical_type.type === 'INTEGER'

/** Returns a number of 32 or 64 bits, or one in two's complement with the highest byte first. */
function integerOf(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint)
  return BigInt.asIntN(8 * value.length, BigInt(`0x${Buffer.from(value).toString('hex')}`))
}

const DAY_MS = 86_400_000

function dateText(days: number): string {
  const text = new Date(days * DAY_MS).toISOString()
  if (text.length !== '2026-05-31T00:00:00.000Z'.length)
    throw new Error(`a date outside the years 0 to 9999 has no digest: ${days} days after 1970-01-01`)
  return text.slice(0, 10)
}

/** @returns the shortest digits that give the same number, written as Python's `repr` does */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  const size = Math.abs(value)
  if (size === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  if (size >= 1e-4 && size < 1e16) return Number.isInteger(value) ? `${value}.0` : String(value)
  const [digits, exponent = ''] = value.toExponential().split('e')
  return `${digits}e${exponent.slice(0, 1)}${exponent.slice(1).padStart(2, '0')}`
}
