/**
 * Geometry of rings with integer coordinates: surface, nesting, and polygons built from the nesting alone. Pure functions.
 * The ring order in a file is not reliable. Published meshes have polygons whose first ring is a speck near the coast,
 * with the municipality itself listed as one of its holes.
 */

export type GridPoint = readonly [x: number, y: number]
export type GridRing = readonly GridPoint[]

/** Twice the surface of a closed ring, in grid squares. It is negative for a clockwise ring. */
export function twiceSurface(points: GridRing): number {
  let sum = 0
  for (let index = 1; index < points.length; index += 1) {
    const [x0, y0] = points[index - 1] as GridPoint
    const [x1, y1] = points[index] as GridPoint
    sum += x0 * y1 - x1 * y0
  }
  return sum
}

/**
 * Splits a ring at points that it passes twice, so that no ring touches itself. A neck narrower than the grid is a line
 * there and back: the parts at its ends are kept, and the line is dropped because it has no surface.
 * @param ring closed ring without consecutive equal points @returns closed rings in the original direction
 */
export function splitRing(ring: GridRing): GridPoint[][] {
  const loops: GridPoint[][] = []
  const path: GridPoint[] = []
  const positions = new Map<string, number>()
  for (const point of ring) {
    const position = positions.get(point.join())
    if (position === undefined) {
      positions.set(point.join(), path.length)
      path.push(point)
      continue
    }
    const loop = path.splice(position + 1)
    for (const passed of loop) positions.delete(passed.join())
    // A loop of one point is a line there and back, without a surface.
    if (loop.length > 1) loops.push([point, ...loop, point])
  }
  return loops
}

interface NestedRing {
  readonly ring: GridRing
  readonly size: number
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
  /** Larger rings that contain this one, the largest first. */
  readonly outerRings: NestedRing[]
}

function measureRing(ring: GridRing): NestedRing {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const [x, y] of ring) {
    west = Math.min(west, x)
    east = Math.max(east, x)
    south = Math.min(south, y)
    north = Math.max(north, y)
  }
  return { ring, size: Math.abs(twiceSurface(ring)), west, south, east, north, outerRings: [] }
}

/** @returns polygons with a clockwise outside and counterclockwise holes, without rings that have no surface */
export function nestRings(rings: readonly GridRing[]): GridRing[][] {
  const nested = rings
    .map(measureRing)
    .filter(({ size }) => size > 0)
    .sort((left, right) => right.size - left.size)
  const polygons = new Map<NestedRing, GridRing[]>()
  nested.forEach((inner, index) => {
    inner.outerRings.push(...nested.slice(0, index).filter((other) => liesInside(inner, other)))
    const parent = inner.outerRings.at(-1)
    // A ring inside an even number of rings is an outside; inside an odd number it is a hole.
    if (inner.outerRings.length % 2 === 0 || parent === undefined)
      polygons.set(inner, [orient(inner.ring, -1)])
    else polygons.get(parent)?.push(orient(inner.ring, 1))
  })
  return [...polygons.values()]
}

const orient = (ring: GridRing, sign: number): GridRing =>
  Math.sign(twiceSurface(ring)) === sign ? ring : [...ring].reverse()

/** True if a ring lies inside a larger one. If the rings touch, the first point that is not on the larger ring decides. */
function liesInside(inner: NestedRing, outer: NestedRing): boolean {
  if (
    inner.west < outer.west ||
    inner.east > outer.east ||
    inner.south < outer.south ||
    inner.north > outer.north
  )
    return false
  for (const point of inner.ring) {
    const side = sideOf(point, outer.ring)
    if (side !== 'on') return side === 'in'
  }
  return true
}

function sideOf([x, y]: GridPoint, ring: GridRing): 'in' | 'out' | 'on' {
  let isInside = false
  for (let index = 1; index < ring.length; index += 1) {
    const [x0, y0] = ring[index - 1] as GridPoint
    const [x1, y1] = ring[index] as GridPoint
    const turned = (x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)
    if (
      turned === 0 &&
      Math.min(x0, x1) <= x &&
      x <= Math.max(x0, x1) &&
      Math.min(y0, y1) <= y &&
      y <= Math.max(y0, y1)
    )
      return 'on'
    if (y0 > y !== y1 > y && turned > 0 === y1 > y0) isInside = !isInside
  }
  return isInside ? 'in' : 'out'
}
