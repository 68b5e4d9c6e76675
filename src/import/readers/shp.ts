/**
 * Reads the polygons of a shapefile (.shp): the rings of [x, y] of each record, unchanged. No package is used: the former one
 * depends on an archived package, and maintained ones include projections and archives. Heights and measures (types 15 and 25)
 * are ignored, and attributes are in the .dbf of the same name (dbf.ts). The format is ESRI's "Shapefile Technical Description"
 * of July 1998.
 */
import { ImportError } from '../import-error.ts'

export type ShapeRing = readonly (readonly [x: number, y: number])[]

const FILE_CODE = 9994
const HEADER_BYTES = 100
const RECORD_HEADER_BYTES = 8
/** Offset in a record of the first point index of each ring. */
const RINGS_OFFSET = 44
const NULL_SHAPE = 0
/** Types of polygons: plain, with heights, with measures. */
const POLYGON_TYPES: ReadonlySet<number> = new Set([5, 15, 25])
const REMEDY = 'Fetch the file again'

/**
 * @returns rings of each record; null for a record without a shape
 * @throws ImportError if the file is incomplete, or a shape is not a polygon
 */
export function readShapes(file: string, bytes: Buffer): (readonly ShapeRing[] | null)[] {
  const refuse = (problem = 'is not a whole shapefile'): never => {
    throw new ImportError(file, problem, REMEDY)
  }
  if (bytes.length < HEADER_BYTES || bytes.readInt32BE(0) !== FILE_CODE) refuse()
  // Lengths are in 16-bit words.
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

/** @returns rings of a record; null if its counts exceed its bytes */
function readRings(record: Buffer): ShapeRing[] | null {
  if (record.length < RINGS_OFFSET) return null
  const ringCount = record.readInt32LE(36)
  const pointCount = record.readInt32LE(40)
  const pointsOffset = RINGS_OFFSET + 4 * ringCount
  if (ringCount < 0 || pointCount < 0 || pointsOffset + 16 * pointCount > record.length) return null
  const starts = Array.from({ length: ringCount }, (_, ring) => record.readInt32LE(RINGS_OFFSET + 4 * ring))
  const ends = [...starts.slice(1), pointCount]
  if (starts.some((first, ring) => first < 0 || first > (ends[ring] as number))) return null
  return starts.map((first, ring) =>
    Array.from({ length: (ends[ring] as number) - first }, (_, index) => {
      const offset = pointsOffset + 16 * (first + index)
      return [record.readDoubleLE(offset), record.readDoubleLE(offset + 8)] as const
    }),
  )
}
