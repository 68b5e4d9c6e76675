/** Outlines as values: merges of releases that earlier versions made, whose municipalities may touch themselves. */
import t from 'tap'
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import { drawOutlines, readMesh } from '../../src/query/outlines/outlines.ts'

t.test('a neck that the grid made a line is no border of a merge', async (t) => {
  // C lies on both sides of B and runs along the border of A and B there and back; B and C are one state, A another.
  const arcs = [
    [
      [0, 1000],
      [1000, 0],
    ],
    [
      [1000, 1000],
      [1000, 0],
    ],
    [
      [2000, 1000],
      [1000, 0],
    ],
    [
      [3000, 1000],
      [0, -1000],
      [-3000, 0],
      [0, 1000],
    ],
    [
      [1000, 1000],
      [0, 1000],
      [1000, 0],
      [0, -1000],
    ],
    [
      [1000, 2000],
      [-1000, 0],
      [0, -1000],
    ],
    [
      [3000, 1000],
      [0, 1000],
      [-1000, 0],
    ],
    [
      [1000, 2000],
      [0, -1000],
    ],
    [
      [2000, 2000],
      [0, -1000],
    ],
    [
      [1000, 2000],
      [1000, 0],
    ],
  ]
  const rows: [number, string, number[][][]][] = [
    [1, 'PR', [[[0, 1, 2, 3]]]],
    [2, 'SC', [[[-8, 9, 8, -2]]]],
    // Its own line (arc 1) there and back: it has both sides of B.
    [3, 'SC', [[[-3, -2, 1, -9, -7]], [[-1, -6, 7]]]],
  ]
  const mesh = readMesh(
    arcs.map((points) => ({ points: JSON.stringify(points) })),
    rows.map(([ibge_code, uf, rings]) => ({
      ibge_code,
      name: String(ibge_code),
      uf,
      state_name: uf,
      state_ibge_code: uf === 'PR' ? 41 : 42,
      rings: JSON.stringify(rings),
      mesh_file: 'mesh.json',
    })),
  )
  const { text, count } = drawOutlines(mesh, 'state', null, 'topojson')
  t.equal(count, 2)
  const topology = JSON.parse(text) as Topology
  const { features } = feature(topology, topology.objects.state as GeometryCollection)
  for (const { geometry } of features) {
    const polygons =
      geometry.type === 'Polygon'
        ? [geometry.coordinates]
        : geometry.type === 'MultiPolygon'
          ? geometry.coordinates
          : []
    for (const ring of polygons.flat()) {
      t.same(ring[0], ring.at(-1), 'a ring ends where it begins')
      for (let index = 1; index < ring.length; index += 1) {
        const [[x0 = 0, y0 = 0] = [], [x1 = 0, y1 = 0] = []] = [ring[index - 1], ring[index]]
        t.ok(x0 === x1 || y0 === y1, 'it follows the borders there are')
      }
    }
  }
})
