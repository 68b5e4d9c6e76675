/**
 * Sorts rows by fields other than their key, and stores the rows' coordinates. Input: a Parquet file and the sortable fields of a
 * dataset. Output: for each field, the rank of every row's value as `query/lists/order.ts` compares them; both are also read back
 * here.
 *
 * DuckDB computes the ranks over the distinct values, so that they agree exactly with ORDER BY in a statement.
 */
import type { Dataset } from '../model/datasets.ts'
import type { FieldName } from '../model/fields.ts'
import { type RowFileSource, readChunks } from './columns.ts'
import { type RowSet, visitRows } from './row-sets.ts'
import type { ByteRange, SectionFile, SectionWriter } from './sections.ts'

export interface SortIndexHead {
  readonly field: FieldName
  readonly bytes: 1 | 2 | 4
  /** Number of distinct values; also the rank of null, which sorts last. */
  readonly values: number
  readonly ranks: ByteRange
}

type Ranks = Uint8Array | Uint16Array | Uint32Array
export interface SortIndex {
  readonly ranks: Ranks
  readonly values: number
  /** Rows by rank, those of equal rank ascending. `starts` holds the first index of each rank, including null, and the end. */
  readonly order: Uint32Array
  readonly starts: Uint32Array
}

export const bytesOfSort = ({ ranks, order, starts }: SortIndex): number =>
  ranks.byteLength + order.byteLength + starts.byteLength

/** Names use the collation that `query/lists/order.ts` uses. */
const comparedBy = (field: FieldName): string =>
  field === 'name' || field.endsWith('_name') ? 'v COLLATE pt' : 'v'

export async function writeSortIndexes(
  { connection, from, rows }: RowFileSource,
  dataset: Dataset,
  out: SectionWriter,
): Promise<SortIndexHead[]> {
  const fields = dataset.sorts ?? []
  if (fields.length === 0) return []
  const counts: number[] = []
  for (const [index, field] of fields.entries()) {
    await connection.run(
      `CREATE OR REPLACE TEMP TABLE ranked_${index} AS
       SELECT v, CAST(dense_rank() OVER (ORDER BY ${comparedBy(field)}) - 1 AS INTEGER) AS rank
       FROM (SELECT DISTINCT "${field}" AS v FROM ${from} WHERE "${field}" IS NOT NULL)`,
    )
    const counted = await connection.runAndReadAll(`SELECT coalesce(max(rank) + 1, 0) FROM ranked_${index}`)
    counts.push(Number(counted.getRows()[0]?.[0] ?? 0))
  }
  const ranks = counts.map((values): Ranks => new (arrayOf(widthOf(values)))(rows))
  const joins = fields.map((field, index) => `LEFT JOIN ranked_${index} ON "${field}" = ranked_${index}.v`)
  const selected = counts.map((values, index) => `coalesce(ranked_${index}.rank, ${values})`)
  let read = 0
  for await (const chunk of readChunks(
    connection,
    `SELECT file_row_number, ${selected.join(', ')} FROM ${from} ${joins.join(' ')}`,
  )) {
    const rowNumbers = chunk.getColumnValues(0)
    for (const [index, fieldRanks] of ranks.entries()) {
      const found = chunk.getColumnValues(index + 1)
      for (let at = 0; at < found.length; at += 1) fieldRanks[Number(rowNumbers[at])] = found[at] as number
    }
    read += rowNumbers.length
  }
  if (read !== rows) throw new RangeError(`${read} rows, the manifest says ${rows}`)
  for (const index of fields.keys()) await connection.run(`DROP TABLE ranked_${index}`)
  return fields.map((field, index) => ({
    field,
    bytes: widthOf(counts[index] ?? 0),
    values: counts[index] ?? 0,
    ranks: out.put(ranks[index] as Ranks),
  }))
}

const widthOf = (values: number): 1 | 2 | 4 => (values < 256 ? 1 : values < 65_536 ? 2 : 4)
const arrayOf = (bytes: 1 | 2 | 4) => (bytes === 1 ? Uint8Array : bytes === 2 ? Uint16Array : Uint32Array)

export function readSortIndex(file: SectionFile, { bytes, values, ranks: range }: SortIndexHead): SortIndex {
  const { buffer, byteOffset, byteLength } = file.read(range)
  const ranks = new (arrayOf(bytes))(buffer as ArrayBuffer, byteOffset, byteLength / bytes)
  const starts = new Uint32Array(values + 2)
  for (const rank of ranks) starts[rank + 1] = (starts[rank + 1] ?? 0) + 1
  for (let rank = 1; rank < starts.length; rank += 1)
    starts[rank] = (starts[rank] ?? 0) + (starts[rank - 1] ?? 0)
  const order = new Uint32Array(ranks.length)
  const next = starts.slice()
  for (let row = 0; row < ranks.length; row += 1) {
    const rank = ranks[row] ?? 0
    const at = next[rank] ?? 0
    order[at] = row
    next[rank] = at + 1
  }
  return { values, ranks, order, starts }
}

/** Writes latitude and longitude of each row, interleaved; NaN where a row has none. @returns null for a dataset without coordinates */
export async function writeCoordinates(
  { connection, from, rows }: RowFileSource,
  dataset: Dataset,
  out: SectionWriter,
): Promise<ByteRange | null> {
  const hasCoordinates = (['latitude', 'longitude'] as const).every((field) =>
    dataset.detail?.includes(field),
  )
  if (!hasCoordinates) return null
  const degrees = new Float64Array(rows * 2).fill(Number.NaN)
  for await (const chunk of readChunks(
    connection,
    `SELECT file_row_number, latitude, longitude FROM ${from}`,
  )) {
    const [rowNumbers = [], latitudes = [], longitudes = []] = [0, 1, 2].map((column) =>
      chunk.getColumnValues(column),
    )
    for (let at = 0; at < rowNumbers.length; at += 1) {
      const [latitude, longitude] = [latitudes[at], longitudes[at]]
      if (!Number.isFinite(latitude) || !Number.isFinite(longitude)) continue
      const rowNumber = Number(rowNumbers[at])
      degrees[2 * rowNumber] = latitude as number
      degrees[2 * rowNumber + 1] = longitude as number
    }
  }
  return out.put(degrees)
}

export function readCoordinates(file: SectionFile, range: ByteRange): Float64Array {
  const { buffer, byteOffset, byteLength } = file.read(range)
  return new Float64Array(buffer as ArrayBuffer, byteOffset, byteLength / 8)
}

export interface SortedBy {
  readonly index: SortIndex
  readonly isDescending: boolean
}

/** Position of a row's value in the order of a term. Null sorts last, ascending and descending. */
const positionOf = ({ index: { ranks, values }, isDescending }: SortedBy, row: number): number => {
  const rank = ranks[row] ?? values
  return isDescending && rank !== values ? values - 1 - rank : rank
}

/**
 * Returns rows of a set in a sort order, starting after the row `after`. A large set is walked value by value of the first term, only
 * until the page is full. A small set is scanned completely.
 * @param terms compared one after another, then by row number; at least one
 * @param after last row of the previous page; null starts at the beginning
 * @returns at most `limit` rows
 */
export function sortRows(
  set: RowSet,
  terms: readonly SortedBy[],
  after: number | null,
  limit: number,
): number[] {
  const [first, ...others] = terms
  if (first === undefined || set.list !== null || set.check !== null) {
    const chosen = chooseFirst(terms, after, limit)
    visitRows(set, 0, chosen.add)
    return chosen.finish()
  }
  const { bits } = set
  const { order, starts, values } = first.index
  const found: number[] = []
  const begin = after === null ? 0 : positionOf(first, after)
  for (let at = begin; at <= values && found.length < limit; at += 1) {
    const rank = first.isDescending && at !== values ? values - 1 - at : at
    // Only rows that share the value of the last row of the previous page can sort before that row.
    const chosen = chooseFirst(others, at === begin ? after : null, limit - found.length)
    const end = starts[rank + 1] ?? 0
    for (let position = starts[rank] ?? 0; position < end; position += 1) {
      const row = order[position] ?? 0
      if (bits !== null && ((bits[row >>> 5] ?? 0) & (1 << (row & 31))) === 0) continue
      if (!chosen.add(row)) break
    }
    for (const row of chosen.finish()) found.push(row)
  }
  return found
}

/** Keeps the first rows of a sort order from rows that arrive ascending. `add` returns false when no later row can be among them. */
function chooseFirst(
  terms: readonly SortedBy[],
  after: number | null,
  limit: number,
): { add(row: number): boolean; finish(): number[] } {
  const compare = (left: number, right: number): number => {
    for (const term of terms) {
      const difference = positionOf(term, left) - positionOf(term, right)
      if (difference !== 0) return difference
    }
    return left - right
  }
  const keptMax = terms.length === 0 ? limit : limit * 4 + 1000
  let kept: number[] = []
  let last: number | null = null
  return {
    add(row) {
      if (last !== null && compare(row, last) > 0) return true
      if (after !== null && compare(row, after) <= 0) return true
      kept.push(row)
      if (kept.length < keptMax) return true
      if (terms.length === 0) return false
      kept = kept.sort(compare).slice(0, limit)
      last = kept.at(-1) ?? null
      return true
    },
    finish: () => kept.sort(compare).slice(0, limit),
  }
}
