/**
 * Sets of rows, a bit each. In: what DuckDB says of a condition, positions that are found. Out: unions, intersections,
 * counts, and the next rows after a place. Values only; a set is never changed once it is shared.
 */
export interface Positions {
  readonly rows: number
  readonly bits: Uint32Array
}

export const emptySet = (rows: number): { rows: number; bits: Uint32Array } => ({
  rows,
  bits: new Uint32Array(Math.ceil(rows / 32)),
})

export function add(set: Positions, position: number): void {
  const word = position >>> 5
  set.bits[word] = (set.bits[word] ?? 0) | (1 << (position & 31))
}

/** @param text '0' and '1', the first row first: a BIT of DuckDB as text; null is none */
export function fromBitText(rows: number, text: string | null): Positions {
  const set = emptySet(rows)
  if (text === null) return set
  for (let at = text.indexOf('1'); at >= 0; at = text.indexOf('1', at + 1)) add(set, at)
  return set
}

/** Rows that are in all of the sets; @returns null, every row, where there is no set */
export function intersect(sets: readonly Positions[]): Positions | null {
  const [first, ...others] = sets
  if (first === undefined) return null
  if (others.length === 0) return first
  const bits = first.bits.slice()
  for (const other of others)
    for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] ?? 0) & (other.bits[word] ?? 0)
  return { rows: first.rows, bits }
}

/** @returns at most `limit` positions from `from` on, ascending; @param set null: every row */
export function nextPositions(set: Positions | null, rows: number, from: number, limit: number): number[] {
  const found: number[] = []
  if (set === null) {
    for (let at = from; at < rows && found.length < limit; at += 1) found.push(at)
    return found
  }
  const { bits } = set
  let word = from >>> 5
  // The rows before `from` in its own word are not asked for.
  let left = (bits[word] ?? 0) & (-1 << (from & 31))
  while (found.length < limit) {
    while (left === 0) {
      word += 1
      if (word >= bits.length) return found
      left = bits[word] ?? 0
    }
    const lowest = left & -left
    found.push(word * 32 + (31 - Math.clz32(lowest)))
    left ^= lowest
  }
  return found
}

/** @param set null: every row */
export function countOf(set: Positions | null, rows: number): number {
  if (set === null) return rows
  let total = 0
  for (let word of set.bits) {
    word -= (word >>> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
    total += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return total
}
