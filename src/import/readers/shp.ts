/**
 * The polygons of a shapefile. In: the bytes of a .shp. Out: for each record its rings of [x, y], as the file has them.
 *
 * Written here because the package that read them depends on an archived one, and the packages that are kept bring projections and
 * archives along. Polygons are all that is read: of heights and measures (types 15 and 25) nothing is used, and attributes are in the
 * .dbf of the same name (dbf.ts). The format is ESRI's "Shapefile Technical Description" of July 1998.
 */
import { ImportError } from '../import-error.ts'

export type ShapeRing = readonly (readonly [x: number, y: number])[]

const FILE_CODE = 9994
const HEADER_BYTES = 100
const RECORD_HEADER_BYTES = 8
/** Offset of the numbers of the parts in a record. */
const PARTS_AT = 44
const NULL_SHAPE = 0
/** Polygons, polygons with heights, polygons with measures. */
const POLYGON_TYPES: ReadonlySet<number> = new Set([5, 15, 25])
const REMEDY = 'Fetch the file again'

/**
 * @returns rings of each record; null where a record has no shape
 * @throws ImportError for bytes that are no whole file, and for shapes that are no polygons
 */
export function readShapes(file: string, bytes: Buffer): (readonly ShapeRing[] | null)[] {
  const refuse = (problem = 'is not a whole shapefile'): never => {
    throw new ImportError(file, problem, REMEDY)
  }
  if (bytes.length < HEADER_BYTES || bytes.readInt32BE(0) !== FILE_CODE) refuse()
  // Lengths are counted in words of 16 bits.
  const end = bytes.readInt32BE(24) * 2
  if (end > bytes.length) refuse()
  const shapes: (readonly ShapeRing[] | null)[] = []
  for (let start = HEADER_BYTES; start < end; ) {
    if (start + RECORD_HEADER_BYTES + 4 > end) refuse()
    const content = start + RECORD_HEADER_BYTES
    const next = content + bytes.readInt32BE(start + 4) * 2
    const type = bytes.readInt32LE(content)
    if (bytes.readInt32BE(start) !== shapes.length + 1 || next < content + 4 || next > end) refuse()
    if (type !== NULL_SHAPE && !POLYGON_TYPES.has(type))
      refuse(`has a geometry that is no area (feature ${shapes.length + 1})`)
    shapes.push(type === NULL_SHAPE ? null : (readRings(bytes.subarray(content, next)) ?? refuse()))
    start = next
  }
  return shapes
}

/** @returns rings of a record; null where its counts do not fit its bytes */
function readRings(record: Buffer): ShapeRing[] | null {
  if (record.length < PARTS_AT) return null
  const parts = record.readInt32LE(36)
  const points = record.readInt32LE(40)
  const pointsAt = PARTS_AT + 4 * parts
  if (parts < 0 || points < 0 || pointsAt + 16 * points > record.length) return null
  const starts = Array.from({ length: parts }, (_, part) => record.readInt32LE(PARTS_AT + 4 * part))
  const ends = [...starts.slice(1), points]
  if (starts.some((first, part) => first < 0 || first > (ends[part] as number))) return null
  return starts.map((first, part) =>
    Array.from({ length: (ends[part] as number) - first }, (_, index) => {
      const at = pointsAt + 16 * (first + index)
      return [record.readDoubleLE(at), record.readDoubleLE(at + 8)] as const
    }),
  )
}
