/**
 * Invents a mesh of outlines that nobody mistakes for a map of Brazil: one square per municipality, one block per state, one
 * row of blocks per major region. It is TopoJSON like a mesh of IBGE's API (`codarea`). As in meshes before 2025, the
 * youngest municipality is missing, and responses state that.
 */
import { topology } from 'topojson-server'
import { YOUNGEST_MUNICIPALITY } from '../../src/import/demography/national-list.ts'
import { STATES } from '../../src/model/territory/states.ts'
import type { DemoMunicipality } from './geography.ts'

/** Side of a square, in thousandths of a degree. */
export const SIDE = 300
const WEST = -73_500
const NORTH = 4_500

/** @param mark member that marks the demonstration @param text its value @returns the TopoJSON text */
export function demonstrationMesh(towns: readonly DemoMunicipality[], mark: string, text: string): string {
  const features = [...squareCorners(towns)].map(([code, [x, y]]) => ({
    type: 'Feature' as const,
    properties: { codarea: String(code) },
    geometry: {
      type: 'Polygon' as const,
      coordinates: [
        [
          [x, y],
          [x + SIDE, y],
          [x + SIDE, y - SIDE],
          [x, y - SIDE],
          [x, y],
        ],
      ],
    },
  }))
  const made = topology({
    BRMU: { type: 'FeatureCollection', features },
  } as unknown as Parameters<typeof topology>[0]) as unknown as {
    objects: object
    arcs: [number, number][][]
  }
  const arcs = made.arcs.map((arc) =>
    arc.map(([x, y], index) => {
      const [beforeX, beforeY] = arc[index - 1] ?? [WEST, NORTH]
      return [x - beforeX, y - beforeY]
    }),
  )
  const transform = { scale: [0.001, 0.001], translate: [WEST / 1000, NORTH / 1000] }
  return JSON.stringify({ type: 'Topology', [mark]: text, transform, objects: made.objects, arcs })
}

/** @returns code → north-western corner of the municipality's square, in thousandths of a degree */
export function squareCorners(
  towns: readonly DemoMunicipality[],
): Map<number, readonly [west: number, north: number]> {
  const found = new Map<number, readonly [number, number]>()
  let top = 0
  for (const region of [1, 2, 5, 3, 4]) {
    let left = 0
    let height = 0
    for (const { uf } of STATES.filter(({ region_code }) => region_code === region)) {
      const stateTowns = towns.filter((town) => town.uf === uf && town.code !== YOUNGEST_MUNICIPALITY.code)
      const width = Math.ceil(Math.sqrt(stateTowns.length))
      stateTowns.forEach(({ code }, index) => {
        found.set(code, [
          WEST + SIDE * (left + (index % width)),
          NORTH - SIDE * (top + Math.floor(index / width)),
        ])
      })
      left += width
      height = Math.max(height, Math.ceil(stateTowns.length / width))
    }
    top += height
  }
  return found
}
