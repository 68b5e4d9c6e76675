/**
 * Outlines with as many points as a map of the whole country shows: what `detail=overview` answers. Pure.
 *
 * In: the mesh of a release. Out: the same with fewer points; arcs, rings and places are the same ones, so neighbours still share
 * their borders and coarser levels are still merges of finer ones. topojson-simplify weighs points (Visvalingam and Whyatt).
 */
import { presimplify } from 'topojson-simplify'
import type { OutlineMesh } from './outlines.ts'

export const OUTLINE_DETAILS = ['full', 'overview'] as const

/** Squares of the grid that a point must add: about 36 km². On a map of Brazil that is 720 pixels wide, it is one pixel. */
const LEAST = 3000
/** Steps of the grid of a mesh that are one of the overview: about 555 m, a tenth of a pixel of that map. */
const COARSER = 5
/** Small areas keep what adds this share of theirs, so that none of them loses its shape. */
const LEAST_SHARE = 0.03

type Point = readonly [x: number, y: number, weight: number]

const coarse = new WeakMap<OutlineMesh, OutlineMesh>()

/** Made once for each mesh, when it is first asked for. */
export function coarsen(mesh: OutlineMesh): OutlineMesh {
  const known = coarse.get(mesh)
  if (known !== undefined) return known
  const weighed = weigh(mesh)
  const least = leastWeights(mesh, weighed)
  const arcs = weighed.map((points, arc) => {
    const kept = points.filter(([, , weight]) => weight >= (least[arc] ?? 0))
    return stepsOf(kept.map(([x, y]) => [Math.round(x / COARSER), Math.round(y / COARSER)]))
  })
  const made = { ...mesh, grid: mesh.grid / COARSER, arcs, arcTexts: arcs.map((arc) => JSON.stringify(arc)) }
  coarse.set(mesh, made)
  return made
}

/** The first point, then steps; points that are now the same are one, but a line has two. */
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

/** Points of each arc with the area that each adds; the ends of an arc are infinitely heavy. */
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

/** What a point of each arc must add: less where the arc is the border of something small. */
function leastWeights({ municipalities }: OutlineMesh, arcs: readonly (readonly Point[])[]): number[] {
  const surfaces = arcs.map((points) =>
    points.reduce((sum, [x, y], index) => {
      const [nextX, nextY] = points[index + 1] ?? [x, y]
      return sum + x * nextY - nextX * y
    }, 0),
  )
  const least = arcs.map(() => LEAST)
  for (const { rings } of municipalities)
    for (const ring of (rings ?? []).flat()) {
      const twice = ring.reduce(
        (sum, arc) => sum + (arc < 0 ? -(surfaces[-1 - arc] ?? 0) : (surfaces[arc] ?? 0)),
        0,
      )
      for (const arc of ring) {
        const own = arc < 0 ? -1 - arc : arc
        least[own] = Math.min(least[own] ?? 0, (LEAST_SHARE * Math.abs(twice)) / 2)
      }
    }
  return least
}
