/**
 * Encodes row keys as fixed-width texts whose order as texts is the order of the rows. Pure.
 *
 * Integers are padded with leading zeros, texts with trailing spaces. Texts are UTF-8 bytes (ByteString), which sort as in the
 * engine. Widths count bytes.
 */
import type { Dataset } from '../model/datasets.ts'
import { FIELDS, type FieldName } from '../model/fields.ts'
import { toByteString } from './phrases.ts'

export type KeyValue = string | number
/** Bytes of each key column; null for integers, which take INTEGER_WIDTH. */
export type KeyWidths = readonly (number | null)[]

/** Digits to which an integer key is padded. */
export const INTEGER_WIDTH = 10

export const isInteger = (field: FieldName): boolean => FIELDS[field].type === 'integer'
/** Fields of a record, in the order of its JSON members. */
export const fieldsOf = (dataset: Dataset): FieldName[] => [...dataset.fields, ...(dataset.detail ?? [])]
export const isSearched = (dataset: Dataset): boolean =>
  dataset.internal?.includes('search_text' as FieldName) ?? false

export const widthOf = (widths: KeyWidths): number =>
  widths.reduce<number>((sum, width) => sum + (width ?? INTEGER_WIDTH), 0)

/** @returns the text of a key or of its first columns; null when no row can have that key */
export function keyText(
  dataset: Pick<Dataset, 'key'>,
  widths: KeyWidths,
  values: readonly KeyValue[],
): string | null {
  let text = ''
  for (const [index, value] of values.entries()) {
    const column = dataset.key[index]
    if (column === undefined) return null
    const encoded = toByteString(String(value))
    const width = widths[index] ?? INTEGER_WIDTH
    if (encoded.length > width) return null
    text += isInteger(column) ? encoded.padStart(width, '0') : encoded.padEnd(width, ' ')
  }
  return text
}
