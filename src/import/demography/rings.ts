/**
 * Rings of whole numbers: their surface, which lies inside which, and polygons made of them by that alone. Pure.
 *
 * The order in which a file lists rings is not to be trusted: published meshes have polygons whose first ring is a speck
 * beside the coast, with the whole municipality listed as one of its holes.
 */

export type GridPoint = readonly [x: number, y: number]
export type GridRing = readonly GridPoint[]

/** Twice the surface inside a closed ring, in squares of the grid; negative where it runs clockwise. */
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
 * Takes a ring apart where it passes a point twice, so that no ring touches itself. A neck that is narrower than the grid
 * has become a line there and back: the parts at its ends stay, and the line, which holds no surface, goes.
 * @param ring closed, without repeated points in a row; @returns closed rings, in the direction of the one they were
 */
export function splitRing(ring: GridRing): GridPoint[][] {
  const parts: GridPoint[][] = []
  const path: GridPoint[] = []
  const places = new Map<string, number>()
  for (const point of ring) {
    const place = places.get(point.join())
    if (place === undefined) {
      places.set(point.join(), path.length)
      path.push(point)
      continue
    }
    const loop = path.splice(place + 1)
    for (const passed of loop) places.delete(passed.join())
    // There and back along one line.
    if (loop.length > 1) parts.push([point, ...loop, point])
  }
  return parts
}

interface Placed {
  readonly ring: GridRing
  readonly size: number
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
  /** Larger rings around it, the largest first. */
  readonly around: Placed[]
}

function place(ring: GridRing): Placed {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const [x, y] of ring) {
    west = Math.min(west, x)
    east = Math.max(east, x)
    south = Math.min(south, y)
    north = Math.max(north, y)
  }
  return { ring, size: Math.abs(twiceSurface(ring)), west, south, east, north, around: [] }
}

/**
 * @param rings closed rings of one area in any order and direction
 * @returns polygons: the outside clockwise, its holes the other way; rings without a surface are left out
 */
export function nestRings(rings: readonly GridRing[]): GridRing[][] {
  const placed = rings
    .map(place)
    .filter(({ size }) => size > 0)
    .sort((left, right) => right.size - left.size)
  const polygons = new Map<Placed, GridRing[]>()
  placed.forEach((own, index) => {
    own.around.push(...placed.slice(0, index).filter((other) => lies(own, other)))
    const parent = own.around.at(-1)
    // Inside an even number of rings is outside the area's holes.
    if (own.around.length % 2 === 0 || parent === undefined) polygons.set(own, [turn(own.ring, -1)])
    else polygons.get(parent)?.push(turn(own.ring, 1))
  })
  return [...polygons.values()]
}

const turn = (ring: GridRing, sign: number): GridRing =>
  Math.sign(twiceSurface(ring)) === sign ? ring : [...ring].reverse()

/** Does a ring lie inside a larger one? Of rings that touch, the points beside the touching ones decide. */
function lies(own: Placed, other: Placed): boolean {
  if (own.west < other.west || own.east > other.east || own.south < other.south || own.north > other.north)
    return false
  for (const point of own.ring) {
    const side = sideOf(point, other.ring)
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
