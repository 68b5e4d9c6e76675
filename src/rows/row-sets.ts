/**
 * Immutable sets of rows of a row file: intersections, counts, and the next rows after a position. A set stores one bit per row, or
 * the row numbers where those take less memory.
 */
export interface RowSet {
  readonly rows: number
  /** Row numbers, ascending. */
  readonly list: Uint32Array | null
  /** One bit per row. When `bits` and `list` are both null, the set has every row. */
  readonly bits: Uint32Array | null
  /** Predicate that each row must also pass; null when all rows count. */
  readonly check: Check | null
}
export type Check = (position: number) => boolean

export const everyRow = (rows: number, check: Check | null = null): RowSet => ({
  rows,
  list: null,
  bits: null,
  check,
})

/** Collects rows in any order; duplicates are allowed. */
export function collectRows(rows: number): {
  add(position: number): void
  finish(check?: Check | null): RowSet
} {
  let list = new Uint32Array(64)
  let length = 0
  let bits: Uint32Array | null = null
  const setBit = (into: Uint32Array, position: number): void => {
    const word = position >>> 5
    into[word] = (into[word] ?? 0) | (1 << (position & 31))
  }
  const makeRoom = (): void => {
    if (length < listMax(rows)) {
      const larger = new Uint32Array(length * 2)
      larger.set(list)
      list = larger
      return
    }
    bits = new Uint32Array(Math.ceil(rows / 32))
    for (const position of list) setBit(bits, position)
  }
  return {
    add(position) {
      if (bits === null && length === list.length) makeRoom()
      if (bits !== null) setBit(bits, position)
      else {
        list[length] = position
        length += 1
      }
    },
    finish(check = null) {
      if (bits !== null) return { rows, list: null, bits, check }
      const sorted = list.slice(0, length).sort()
      let kept = 0
      for (let at = 0; at < length; at += 1)
        if (at === 0 || sorted[at] !== sorted[at - 1]) {
          sorted[kept] = sorted[at] ?? 0
          kept += 1
        }
      return { rows, list: kept === length ? sorted : sorted.slice(0, kept), bits: null, check }
    },
  }
}

/** Largest list that takes no more memory than one bit per row. */
const listMax = (rows: number): number => rows / 32

export function rowRange(rows: number, from: number, to: number): RowSet {
  const found = collectRows(rows)
  for (let row = from; row < to; row += 1) found.add(row)
  return found.finish()
}

/** Rows that are in every set; all rows when there are no sets. */
export function intersect(rows: number, sets: readonly RowSet[]): RowSet {
  if (sets.length === 1 && sets[0] !== undefined) return sets[0]
  const check = checkAll(sets.flatMap((set) => set.check ?? []))
  const lists = sets.flatMap(({ list }) => list ?? []).sort((left, right) => left.length - right.length)
  const bitSets = sets.flatMap(({ bits }) => bits ?? [])
  const [shortest, ...others] = lists
  if (shortest !== undefined) {
    let list = shortest
    for (const bits of bitSets)
      list = keep(list, (position) => ((bits[position >>> 5] ?? 0) & (1 << (position & 31))) !== 0)
    for (const other of others)
      list = keep(list, (position) => other[lowerBound(other, position)] === position)
    return { rows, list, bits: null, check }
  }
  const [first, ...more] = bitSets
  if (first === undefined) return everyRow(rows, check)
  const bits = first.slice()
  for (const other of more)
    for (let word = 0; word < bits.length; word += 1) bits[word] = (bits[word] ?? 0) & (other[word] ?? 0)
  const all = { rows, list: null, bits, check: null }
  const count = countOf(all)
  if (count > listMax(rows)) return { ...all, check }
  return { rows, list: Uint32Array.from(nextRows(all, 0, count)), bits: null, check }
}

function checkAll(checks: readonly Check[]): Check | null {
  const [first, ...others] = checks
  if (first === undefined || others.length === 0) return first ?? null
  return (position) => checks.every((check) => check(position))
}

function keep(list: Uint32Array, isKept: Check): Uint32Array {
  const kept = new Uint32Array(list.length)
  let length = 0
  for (const position of list)
    if (isKept(position)) {
      kept[length] = position
      length += 1
    }
  return kept.slice(0, length)
}

/** Index of the first number that is not less than `wanted`. */
export function lowerBound(numbers: Uint32Array, wanted: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) < wanted) low = middle + 1
    else high = middle
  }
  return low
}

export function nextRows(set: RowSet, from: number, limit: number): number[] {
  const found: number[] = []
  if (limit > 0)
    visitRows(set, from, (position) => {
      found.push(position)
      return found.length < limit
    })
  return found
}

export function countOf(set: RowSet): number {
  const { rows, list, bits, check } = set
  let total = 0
  if (check !== null)
    visitRows(set, 0, () => {
      total += 1
      return true
    })
  else if (list !== null) total = list.length
  else if (bits === null) total = rows
  else
    for (let word of bits) {
      word -= (word >>> 1) & 0x55555555
      word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
      total += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
    }
  return total
}

/** @param visit receives each row of the set from `from` on, ascending, until it returns false */
export function visitRows({ rows, list, bits, check }: RowSet, from: number, visit: Check): void {
  const goesOn: Check = check === null ? visit : (position) => !check(position) || visit(position)
  if (list !== null) {
    for (let at = lowerBound(list, from); at < list.length; at += 1) if (!goesOn(list[at] ?? 0)) return
  } else if (bits === null) {
    for (let position = from; position < rows; position += 1) if (!goesOn(position)) return
  } else {
    let word = from >>> 5
    // Skip the rows before `from` in its word.
    let left = (bits[word] ?? 0) & (-1 << (from & 31))
    while (word < bits.length) {
      while (left !== 0) {
        const lowest = left & -left
        if (!goesOn(word * 32 + (31 - Math.clz32(lowest)))) return
        left ^= lowest
      }
      word += 1
      left = bits[word] ?? 0
    }
  }
}

export const bytesOf = ({ list, bits }: RowSet): number => (list ?? bits)?.byteLength ?? 0
