/**
 * Packs ascending lists of row numbers into bytes and reads them back. Each entry is the distance from the previous row, seven bits
 * per byte.
 */

export interface PackedLists {
  readonly ends: Uint32Array
  readonly bytes: Uint8Array
}

/** @param lists number of lists @param visit calls `add` for every pair of list and row, rows of each list ascending; it runs twice */
export function packLists(
  lists: number,
  visit: (add: (list: number, row: number) => void) => void,
): PackedLists {
  // A list starts from row -1, so that every distance is at least 1.
  const last = new Int32Array(lists).fill(-1)
  const ends = new Uint32Array(lists)
  visit((list, row) => {
    ends[list] = (ends[list] ?? 0) + bytesOf(row - (last[list] ?? 0))
    last[list] = row
  })
  const next = new Uint32Array(lists)
  let total = 0
  for (let list = 0; list < lists; list += 1) {
    next[list] = total
    total += ends[list] ?? 0
    ends[list] = total
  }
  const bytes = new Uint8Array(total)
  last.fill(-1)
  visit((list, row) => {
    let at = next[list] ?? 0
    let distance = row - (last[list] ?? 0)
    for (; distance > 127; distance >>>= 7) {
      bytes[at] = (distance & 127) | 128
      at += 1
    }
    bytes[at] = distance
    next[list] = at + 1
    last[list] = row
  })
  return { ends, bytes }
}

const bytesOf = (distance: number): number => {
  let bytes = 1
  for (let left = distance >>> 7; left > 0; left >>>= 7) bytes += 1
  return bytes
}

/** Calls `add` for each row of a packed list, ascending. @param from @param to byte range of the list */
export function visitList(bytes: Uint8Array, from: number, to: number, add: (row: number) => void): void {
  let row = -1
  let [distance, shift] = [0, 0]
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte < 128) {
      row += distance | (byte << shift)
      add(row)
      distance = 0
      shift = 0
    } else {
      distance |= (byte & 127) << shift
      shift += 7
    }
  }
}
