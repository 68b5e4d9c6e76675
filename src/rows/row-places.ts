/**
 * Finds the rows inside a box or near a point, and sorts rows by distance. Input: the coordinates of all rows. Output: row sets.
 * There is no spatial index: a scan of every row of the country takes a few milliseconds.
 */
import { chordFrom, degreesOf, isInBox, type Near, type Place, reachOf } from '../query/lists/places.ts'
import { collectRows, type RowSet, visitRows } from './row-sets.ts'

/** @param degrees latitude and longitude of each row, interleaved; NaN where a row has none */
export function findRowsIn(degrees: Float64Array, { box, near }: Place): RowSet {
  const rows = degrees.length / 2
  const found = collectRows(rows)
  const reach = near === null ? 0 : reachOf(near)
  const chord = near === null ? null : chordFrom(near)
  const maxDegrees = near === null ? 0 : degreesOf(near)
  const low = Math.max(box?.south ?? -90, near === null ? -90 : near.latitude - maxDegrees)
  const high = Math.min(box?.north ?? 90, near === null ? 90 : near.latitude + maxDegrees)
  for (let row = 0; row < rows; row += 1) {
    const latitude = degrees[2 * row] as number
    // A comparison with NaN is false, so rows without coordinates are skipped.
    if (!(latitude >= low && latitude <= high)) continue
    const longitude = degrees[2 * row + 1] as number
    if (box !== null && !isInBox(box, latitude, longitude)) continue
    if (chord === null || chord(latitude, longitude) <= reach) found.add(row)
  }
  return found.finish()
}

/** @returns the rows of a set, nearest first; rows at the same distance in ascending order */
export function sortRowsByDistance(degrees: Float64Array, set: RowSet, near: Near): Uint32Array {
  const chord = chordFrom(near)
  const found: { row: number; distance: number }[] = []
  visitRows(set, 0, (row) => {
    const distance = chord(degrees[2 * row] as number, degrees[2 * row + 1] as number)
    found.push({ row, distance })
    return true
  })
  found.sort((left, right) => left.distance - right.distance || left.row - right.row)
  return Uint32Array.from(found, ({ row }) => row)
}
