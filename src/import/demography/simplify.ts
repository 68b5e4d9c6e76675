/**
 * Simplifies a mesh for maps of the country and keeps the borders that neighbours share.
 *
 * In: polygons in degrees. Out: arcs (lines between points where borders meet) and the arcs of each area.
 * Coordinates are integers on a grid of a thousandth of a degree, so the result is the same on any machine.
 * Points are removed by the area they add (Visvalingam and Whyatt), and areas that would be distorted keep more points.
 * topojson-server finds shared borders; topojson-simplify weighs points.
 */
import type { Position } from 'geojson'
import { topology } from 'topojson-server'
import { presimplify } from 'topojson-simplify'
import type { GeometryCollection, MultiPolygon, Topology } from 'topojson-specification'
import { GRID } from '../../model/outlines/index.ts'
import type { MeshArea } from './mesh-files.ts'
import { type GridPoint, type GridRing, nestRings, splitRing, twiceSurface } from './rings.ts'

/** Points to keep in a mesh. The country's 5,571 areas then take less than 600 KB compressed. */
export const POINTS_MAX = 90_000
/** Largest change of an area's surface, as a share of it. Areas that change more keep more points. */
const DISTORTION_MAX = 0.05
/** Divisor of the weight threshold for distorted areas, applied in each round. */
const FINER = 4
/** Smallest island or lake to keep, in grid squares: about 1 km². */
const PATCH_MIN = 80

/** Arc numbers by polygon and ring. The number −1 − n means arc n in reverse. */
export type ArcRings = number[][][]

export interface SimplifiedMesh {
  readonly arcs: readonly (readonly GridPoint[])[]
  /** Arcs by code, without the areas that have no geometry or no surface. */
  readonly areas: ReadonlyMap<number, ArcRings>
  readonly pointsBefore: number
}

interface WeighedPoint {
  readonly x: number
  readonly y: number
  readonly weight: number
}

/** @param pointsMax number of points to keep, before the extra points of distorted areas */
export function simplifyMesh(areas: readonly MeshArea[], pointsMax = POINTS_MAX): SimplifiedMesh {
  const gridded = areas.flatMap(({ code, polygons }) => {
    const coordinates = nestRings(polygons.flat().map(gridRing).flatMap(splitRing))
    return coordinates.length === 0 ? [] : [{ code, coordinates }]
  })
  const mesh = {
    type: 'GeometryCollection',
    geometries: gridded.map(({ coordinates }) => ({ type: 'MultiPolygon', coordinates })),
  }
  const shared = topology({ mesh } as unknown as Parameters<typeof topology>[0]) as unknown as Topology<{
    mesh: GeometryCollection
  }>
  const rings = new Map(
    gridded.map(({ code }, index) => [
      code,
      (shared.objects.mesh.geometries[index] as MultiPolygon).arcs as ArcRings,
    ]),
  )
  const arcs = presimplify(shared).arcs.map((arc) =>
    (arc as unknown as [number, number, number][]).map(([x, y, weight]) => ({ x, y, weight })),
  )
  const kept = keepPoints(arcs, rings, pointsMax)
  return {
    ...numberArcs(kept, dropPatches(kept, rings)),
    pointsBefore: arcs.reduce((sum, arc) => sum + arc.length, 0),
  }
}

function gridRing(ring: readonly Position[]): GridRing {
  const points: GridPoint[] = []
  for (const [longitude = 0, latitude = 0] of ring) {
    const x = Math.round(longitude * GRID)
    const y = Math.round(latitude * GRID)
    const last = points.at(-1)
    if (last === undefined || last[0] !== x || last[1] !== y) points.push([x, y])
  }
  return points
}

const numberOf = (arc: number): number => (arc < 0 ? -1 - arc : arc)

/** Twice the surface that an arc contributes to its ring, with only the points of at least the given weight. */
function arcSurface(arc: readonly WeighedPoint[], threshold: number): number {
  let sum = 0
  let previous: WeighedPoint | null = null
  for (const point of arc) {
    if (point.weight < threshold) continue
    if (previous !== null) sum += previous.x * point.y - point.x * previous.y
    previous = point
  }
  return sum
}

const ringSurface = (ring: readonly number[], surfaces: readonly number[]): number =>
  ring.reduce((sum, arc) => sum + (arc < 0 ? -(surfaces[-1 - arc] ?? 0) : (surfaces[arc] ?? 0)), 0)

/** Keeps the heaviest points, and more points in the arcs of distorted areas and of rings that would flip direction. */
function keepPoints(
  arcs: readonly (readonly WeighedPoint[])[],
  rings: ReadonlyMap<number, ArcRings>,
  pointsMax: number,
): GridPoint[][] {
  const weights = arcs
    .flatMap((arc) => arc.map(({ weight }) => weight))
    .sort((left, right) => (left < right ? 1 : left > right ? -1 : 0))
  // Ends of arcs have infinite weight. If they alone exceed the limit, use the heaviest finite weight as the threshold.
  const heaviest = weights.find(Number.isFinite) ?? 0
  const initialThreshold = weights.length <= pointsMax ? 0 : Math.min(weights[pointsMax] ?? 0, heaviest)
  const thresholds = arcs.map(() => initialThreshold)
  const fullSurfaces = arcs.map((arc) => arcSurface(arc, 0))
  const surfaces = arcs.map((arc) => arcSurface(arc, initialThreshold))
  const sizeBefore = (ring: readonly number[]): number => ringSurface(ring, fullSurfaces)
  const sizeAfter = (ring: readonly number[]): number => ringSurface(ring, surfaces)
  const distortedRings = (area: ArcRings): number[][] => {
    const areaRings = area.flat()
    const before = areaRings.reduce((sum, ring) => sum + sizeBefore(ring), 0)
    const after = areaRings.reduce((sum, ring) => sum + sizeAfter(ring), 0)
    return Math.abs(after - before) > DISTORTION_MAX * Math.abs(before)
      ? areaRings
      : areaRings.filter((ring) => sizeBefore(ring) * sizeAfter(ring) < 0)
  }
  for (;;) {
    // Test all areas in each round, because a finer border can distort the neighbour on its other side.
    const distortedArcs = new Set([...rings.values()].flatMap(distortedRings).flat().map(numberOf))
    if (distortedArcs.size === 0) break
    for (const arc of distortedArcs) {
      const finer = (thresholds[arc] ?? 0) / FINER
      // Below half a square keep all points: it is the smallest triangle that grid points form.
      thresholds[arc] = finer < 0.5 ? 0 : finer
      surfaces[arc] = arcSurface(arcs[arc] ?? [], thresholds[arc] ?? 0)
    }
  }
  return arcs.map((arc, index) =>
    arc.filter(({ weight }) => weight >= (thresholds[index] ?? 0)).map(({ x, y }): GridPoint => [x, y]),
  )
}

/** Drops small islands, small lakes and rings without a surface. The largest polygon of an area always stays. */
function dropPatches(
  arcs: readonly (readonly GridPoint[])[],
  rings: ReadonlyMap<number, ArcRings>,
): Map<number, ArcRings> {
  const surfaces = arcs.map(twiceSurface)
  const sizeOf = (ring: readonly number[]): number => Math.abs(ringSurface(ring, surfaces)) / 2
  const used = new Set([...rings.values()].flat(3))
  // A ring that touches another area belongs to a border and is dropped only if it has no surface left. A neighbour uses
  // the arc in reverse. Two areas that use an arc in the same direction are one speck, published as part of both.
  const isSeparate = (ring: readonly number[]): boolean => ring.every((arc) => !used.has(-1 - arc))
  const isKept = (ring: readonly number[]): boolean => sizeOf(ring) >= (isSeparate(ring) ? PATCH_MIN : 0.5)
  const remaining = new Map<number, ArcRings>()
  for (const [code, polygons] of rings) {
    const largest = polygons.reduce(
      (best, polygon) => (sizeOf(polygon[0] ?? []) > sizeOf(best?.[0] ?? []) ? polygon : best),
      polygons[0],
    )
    const kept = polygons.flatMap((polygon) => {
      const [outside, ...holes] = polygon
      if (outside === undefined || sizeOf(outside) === 0) return []
      return polygon === largest || isKept(outside) ? [[outside, ...holes.filter(isKept)]] : []
    })
    if (kept.length > 0) remaining.set(code, kept)
  }
  return remaining
}

/** Drops unused arcs and renumbers the others in their order. */
function numberArcs(
  arcs: readonly (readonly GridPoint[])[],
  areas: ReadonlyMap<number, ArcRings>,
): Pick<SimplifiedMesh, 'arcs' | 'areas'> {
  const used = [...new Set([...areas.values()].flat(3).map(numberOf))].sort((left, right) => left - right)
  const numbers = new Map(used.map((arc, index) => [arc, index]))
  const renumber = (arc: number): number =>
    arc < 0 ? -1 - (numbers.get(-1 - arc) ?? 0) : (numbers.get(arc) ?? 0)
  return {
    arcs: used.map((arc) => arcs[arc] ?? []),
    areas: new Map(
      [...areas].map(([code, polygons]) => [
        code,
        polygons.map((polygon) => polygon.map((ring) => ring.map(renumber))),
      ]),
    ),
  }
}
