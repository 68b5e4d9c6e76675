/**
 * Decides how each field of a row is encoded: as the number of a JSON fragment, possibly merged with neighbouring fields, or as
 * text. Input: the columns of a Parquet file. Output: the segments of a row, in order.
 */
import type { JsonValue } from '../engine/types.ts'
import { FIELDS, type FieldName } from '../model/fields.ts'
import { quoteName } from '../sql.ts'
import { type CodedColumn, type ColumnRequest, mergeColumns, type RowFileSource } from './columns.ts'
import { DECLARATIONS } from './filter-index.ts'
import { type ByteString, toByteString } from './phrases.ts'

/** Rows in the sample that decides each field's encoding. */
const SAMPLE_ROWS = 100_000
/** A field with more distinct values in the sample is encoded as text. */
const FRAGMENTS_MAX = 8192
/** Largest count of fragments in one segment, because a fragment number takes at most two bytes. */
const NUMBERS_MAX = 65_536
/** Largest size in bytes of one segment's fragments, which stay in memory. */
const FRAGMENT_BYTES_MAX = 1 << 20

/** Encoding of a field: fragment numbers, repeating texts, or texts that rarely repeat. */
type FieldKind = 'fragments' | 'repeated' | 'texts'

/** Piece of each row's JSON that covers one field or several merged fields. */
export type Segment =
  | { readonly kind: 'code'; readonly column: CodedColumn }
  | { readonly kind: 'repeated'; readonly prefix: ByteString; readonly column: CodedColumn }
  | { readonly kind: 'texts'; readonly prefix: ByteString; readonly field: FieldName }

export async function chooseKinds(
  { connection, from, rows }: RowFileSource,
  fields: readonly FieldName[],
): Promise<Map<FieldName, FieldKind>> {
  const sampled = Math.min(rows, SAMPLE_ROWS)
  const counted = fields.filter((field) => !['address', 'coordinate'].includes(FIELDS[field].type))
  const result = await connection.runAndReadAll(
    `SELECT ${counted.map((field) => `count(DISTINCT ${quoteName(field)})`).join(', ')} FROM ${from} WHERE file_row_number < ${sampled}`,
  )
  const counts = new Map(counted.map((field, index) => [field, Number(result.getRows()[0]?.[index] ?? 0)]))
  return new Map(
    fields.map((field) => {
      const count = counts.get(field)
      if (count === undefined) return [field, 'texts']
      if (count <= Math.min(FRAGMENTS_MAX, Math.max(64, sampled / 8)) && field !== DECLARATIONS)
        return [field, 'fragments']
      return [field, field === DECLARATIONS || count < sampled / 2 ? 'repeated' : 'texts']
    }),
  )
}

export function requestFor(field: FieldName): ColumnRequest {
  const expression = quoteName(field)
  const { type } = FIELDS[field]
  if (type === 'string') return { expression, kind: 'text' }
  if (type === 'date') return { expression: `CAST(${expression} AS VARCHAR)`, kind: 'text' }
  if (type === 'declarations' || type === 'address' || type === 'codes') return { expression, kind: 'nested' }
  // DuckDB casts to the double nearest to the two decimals, which JavaScript then writes with two decimals.
  if (type === 'percentage') return { expression: `CAST(${expression} AS DOUBLE)`, kind: 'plain' }
  return { expression, kind: 'plain' }
}

/** Groups fields into the segments of a row, in order. @param boundaries field numbers before which a segment must end */
export function planSegments(
  fields: readonly FieldName[],
  kinds: ReadonlyMap<FieldName, FieldKind>,
  coded: ReadonlyMap<string, CodedColumn>,
  boundaries: readonly number[],
): { segment: Segment; end: number }[] {
  const segments: { segment: Segment; end: number }[] = []
  for (const [index, field] of fields.entries()) {
    const prefix = `${index === 0 ? '{' : ','}"${field}":`
    const end = index + 1
    const column = coded.get(field)
    if (column === undefined || kinds.get(field) === 'texts') {
      segments.push({ segment: { kind: 'texts', prefix, field }, end })
      continue
    }
    const { codes, values } = column
    if (kinds.get(field) === 'repeated' || values.length > NUMBERS_MAX) {
      segments.push({ segment: { kind: 'repeated', prefix, column }, end })
      continue
    }
    const fragmentColumn = { codes, values: values.map((value) => prefix + jsonBytes(value)) }
    const previous = segments.at(-1)?.segment
    const isJoinable = previous?.kind === 'code' && !boundaries.includes(index)
    const merged = isJoinable ? mergeFragments(previous.column, fragmentColumn) : null
    if (merged !== null) segments.pop()
    segments.push({ segment: { kind: 'code', column: merged ?? fragmentColumn }, end })
  }
  return segments
}

function mergeFragments(left: CodedColumn, right: CodedColumn): CodedColumn | null {
  const merged = mergeColumns(left, right, NUMBERS_MAX, (first, second) => `${first}${second}`)
  if (merged === null) return null
  const bytes = merged.values.reduce<number>((sum, value) => sum + String(value).length, 0)
  return bytes <= FRAGMENT_BYTES_MAX ? merged : null
}

export const jsonBytes = (value: JsonValue): ByteString => toByteString(JSON.stringify(value))
