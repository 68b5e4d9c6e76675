/**
 * Simplifies outlines for `detail=overview`: as many points as a map of the whole country can show. Pure. In: the mesh of a release. Out: a
 * mesh with fewer points but the same arcs, rings and areas. Neighbours therefore still share borders, and coarser levels are still merges
 * of finer ones. topojson-simplify weighs the points (Visvalingam and Whyatt).
 */
import { presimplify } from 'topojson-simplify'
import type { OutlineMesh } from './outlines.ts'

export const OUTLINE_DETAILS = ['full', 'overview'] as const

/** Smallest area that a point must add, in grid squares: about 36 km², one pixel on a map of Brazil 720 pixels wide. */
const MIN_WEIGHT = 3000
/** Steps of the full grid in one step of the overview: about 555 m, a tenth of a pixel of that map. */
const GRID_FACTOR = 5
/** Points that add at least this share of a small area are kept, so that no area loses its shape. */
const MIN_SHARE = 0.03

type Point = readonly [x: number, y: number, weight: number]

const overviews = new WeakMap<OutlineMesh, OutlineMesh>()

export function coarsen(mesh: OutlineMesh): OutlineMesh {
  const cached = overviews.get(mesh)
  if (cached !== undefined) return cached
  const weighed = weigh(mesh)
  const minWeights = leastWeights(mesh, weighed)
  const arcs = weighed.map((points, arc) => {
    const kept = points.filter(([, , weight]) => weight >= (minWeights[arc] ?? 0))
    return stepsOf(kept.map(([x, y]) => [Math.round(x / GRID_FACTOR), Math.round(y / GRID_FACTOR)]))
  })
  const overview = {
    ...mesh,
    grid: mesh.grid / GRID_FACTOR,
    arcs,
    arcTexts: arcs.map((arc) => JSON.stringify(arc)),
  }
  overviews.set(mesh, overview)
  return overview
}

/** Encodes a line as its first point, then steps. Repeated points are dropped, but every line keeps two points. */
function stepsOf(points: readonly (readonly [x: number, y: number])[]): (readonly [number, number])[] {
  const steps: (readonly [number, number])[] = []
  let [beforeX, beforeY] = [0, 0]
  for (const [x, y] of points) {
    if (steps.length > 0 && x === beforeX && y === beforeY) continue
    steps.push([x - beforeX, y - beforeY])
    beforeX = x
    beforeY = y
  }
  return steps.length === 1 ? [...steps, [0, 0]] : steps
}

/** @returns the points of each arc with the area that each adds; end points have infinite weight */
function weigh({ arcs }: OutlineMesh): readonly (readonly Point[])[] {
  const absolute = arcs.map((steps) => {
    let [x, y] = [0, 0]
    return steps.map(([stepX, stepY]) => {
      x += stepX
      y += stepY
      return [x, y]
    })
  })
  const topology = { type: 'Topology', objects: {}, arcs: absolute } as unknown as Parameters<
    typeof presimplify
  >[0]
  return presimplify(topology).arcs as unknown as Point[][]
}

/** @returns the smallest weight of a kept point, for each arc; less where the arc borders a small area */
function leastWeights({ municipalities }: OutlineMesh, arcs: readonly (readonly Point[])[]): number[] {
  const doubleAreas = arcs.map((points) =>
    points.reduce((sum, [x, y], index) => {
      const [nextX, nextY] = points[index + 1] ?? [x, y]
      return sum + x * nextY - nextX * y
    }, 0),
  )
  const minWeights = arcs.map(() => MIN_WEIGHT)
  for (const { rings } of municipalities)
    for (const ring of (rings ?? []).flat()) {
      const doubleArea = ring.reduce(
        (sum, arc) => sum + (arc < 0 ? -(doubleAreas[-1 - arc] ?? 0) : (doubleAreas[arc] ?? 0)),
        0,
      )
      for (const arc of ring) {
        const index = arc < 0 ? -1 - arc : arc
        minWeights[index] = Math.min(minWeights[index] ?? 0, (MIN_SHARE * Math.abs(doubleArea)) / 2)
      }
    }
  return minWeights
}
