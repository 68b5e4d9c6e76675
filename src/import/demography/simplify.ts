/**
 * Areas of a mesh → few enough points for a map of the country, with borders that neighbours share.
 *
 * In: polygons in degrees. Out: arcs (lines between two places where borders meet) of whole numbers on a grid, and the arcs that
 * each area is made of. Everything is computed in whole numbers, so the outcome is the same on any machine:
 * coordinates are put on a grid of a thousandth of a degree, points are left out by the area they add (Visvalingam and
 * Whyatt), and areas that this would distort keep more of them. topojson-server finds shared borders, topojson-simplify weighs points.
 */
import type { Position } from 'geojson'
import { topology } from 'topojson-server'
import { presimplify } from 'topojson-simplify'
import type { GeometryCollection, MultiPolygon, Topology } from 'topojson-specification'
import { GRID } from '../../model/outlines/index.ts'
import type { MeshArea } from './mesh-files.ts'
import { type GridPoint, type GridRing, nestRings, splitRing, twiceSurface } from './rings.ts'

/** Points that are kept of a whole mesh: a country of 5,571 areas under 600 KB compressed. */
export const POINTS_MAX = 90_000
/** An area may lose or gain this share of its surface, else its borders keep more points. */
const DISTORTION_MAX = 0.05
/** Each turn keeps what adds a quarter of the area of the turn before. */
const FINER = 4
/** Islands and lakes smaller than about 1 km² are left out, in squares of the grid. */
const PATCH_MIN = 80

/** Numbers of the arcs of each ring of each polygon: −1 − n is arc n backwards. */
export type ArcRings = number[][][]

export interface SimplifiedMesh {
  readonly arcs: readonly (readonly GridPoint[])[]
  /** By code; areas that have no geometry, or none of any size, are absent. */
  readonly areas: ReadonlyMap<number, ArcRings>
  /** Points of the arcs before. */
  readonly pointsBefore: number
}

interface WeighedPoint {
  readonly x: number
  readonly y: number
  readonly weight: number
}

/** @param pointsMax points to keep; distorted areas get more */
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

/** A ring on the grid, without repeated points. */
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

/** Twice what each arc adds to the surface of a ring that runs along it. */
function arcSurface(arc: readonly WeighedPoint[], least: number): number {
  let sum = 0
  let before: WeighedPoint | null = null
  for (const point of arc) {
    if (point.weight < least) continue
    if (before !== null) sum += before.x * point.y - point.x * before.y
    before = point
  }
  return sum
}

const ringSurface = (ring: readonly number[], surfaces: readonly number[]): number =>
  ring.reduce((sum, arc) => sum + (arc < 0 ? -(surfaces[-1 - arc] ?? 0) : (surfaces[arc] ?? 0)), 0)

/** The heaviest points, and more of the arcs of areas that would be distorted and of rings that would turn over. */
function keepPoints(
  arcs: readonly (readonly WeighedPoint[])[],
  rings: ReadonlyMap<number, ArcRings>,
  pointsMax: number,
): GridPoint[][] {
  const weights = arcs
    .flatMap((arc) => arc.map(({ weight }) => weight))
    .sort((left, right) => (left < right ? 1 : left > right ? -1 : 0))
  // Ends of arcs are infinitely heavy; where they alone are too many, what is heaviest between them is the measure.
  const heaviest = weights.find(Number.isFinite) ?? 0
  const everywhere = weights.length <= pointsMax ? 0 : Math.min(weights[pointsMax] ?? 0, heaviest)
  const least = arcs.map(() => everywhere)
  const whole = arcs.map((arc) => arcSurface(arc, 0))
  const surfaces = arcs.map((arc) => arcSurface(arc, everywhere))
  const sizeBefore = (ring: readonly number[]): number => ringSurface(ring, whole)
  const sizeAfter = (ring: readonly number[]): number => ringSurface(ring, surfaces)
  const distorted = (area: ArcRings): number[][] => {
    const own = area.flat()
    const before = own.reduce((sum, ring) => sum + sizeBefore(ring), 0)
    const after = own.reduce((sum, ring) => sum + sizeAfter(ring), 0)
    return Math.abs(after - before) > DISTORTION_MAX * Math.abs(before)
      ? own
      : own.filter((ring) => sizeBefore(ring) * sizeAfter(ring) < 0)
  }
  for (;;) {
    // All areas in each turn: a finer border can take from one side what it gives to the other.
    const touched = new Set([...rings.values()].flatMap(distorted).flat().map(numberOf))
    if (touched.size === 0) break
    for (const arc of touched) {
      const finer = (least[arc] ?? 0) / FINER
      // Half a square is the least that three points on the grid have between them, if they are not in a line.
      least[arc] = finer < 0.5 ? 0 : finer
      surfaces[arc] = arcSurface(arcs[arc] ?? [], least[arc] ?? 0)
    }
  }
  return arcs.map((arc, index) =>
    arc.filter(({ weight }) => weight >= (least[index] ?? 0)).map(({ x, y }): GridPoint => [x, y]),
  )
}

/** Small islands, lakes, and what has collapsed are left out; the largest polygon of an area stays whatever its size. */
function dropPatches(
  arcs: readonly (readonly GridPoint[])[],
  rings: ReadonlyMap<number, ArcRings>,
): Map<number, ArcRings> {
  const surfaces = arcs.map(twiceSurface)
  const sizeOf = (ring: readonly number[]): number => Math.abs(ringSurface(ring, surfaces)) / 2
  const used = new Set([...rings.values()].flat(3))
  // What touches another area is part of its border: it goes only where nothing is left of it. A neighbour runs along the
  // other side of a border; two areas that run along the same side of a line are one speck published as part of both.
  const isAlone = (ring: readonly number[]): boolean => ring.every((arc) => !used.has(-1 - arc))
  const stays = (ring: readonly number[]): boolean => sizeOf(ring) >= (isAlone(ring) ? PATCH_MIN : 0.5)
  const left = new Map<number, ArcRings>()
  for (const [code, polygons] of rings) {
    const largest = polygons.reduce(
      (best, polygon) => (sizeOf(polygon[0] ?? []) > sizeOf(best?.[0] ?? []) ? polygon : best),
      polygons[0],
    )
    const kept = polygons.flatMap((polygon) => {
      const [outside, ...holes] = polygon
      if (outside === undefined || sizeOf(outside) === 0) return []
      return polygon === largest || stays(outside) ? [[outside, ...holes.filter(stays)]] : []
    })
    if (kept.length > 0) left.set(code, kept)
  }
  return left
}

/** Arcs that nothing uses any more go; the others are numbered anew in their order. */
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
