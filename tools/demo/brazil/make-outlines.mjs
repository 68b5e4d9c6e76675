/**
 * Makes outlines.topojson.gz from seats.csv: the country's outline (Natural Earth, 1:10 million) cut into one Voronoi cell per
 * municipal seat, in degrees. It was run once. To run it again:
 *
 *     npm install --no-save d3-delaunay@6 lineclip@2 polyclip-ts@0.16 world-atlas@2
 *     node tools/demo/brazil/make-outlines.mjs
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { Delaunay } from 'd3-delaunay'
import { clipPolygon } from 'lineclip'
import { intersection } from 'polyclip-ts'
import { feature } from 'topojson-client'
import { topology } from 'topojson-server'

const BRAZIL = '076'
/** It was installed after the mesh of outlines that the demonstration imitates. */
const YOUNGEST = '5101837'
const EXTENT = [-76, -36, -26, 8]
/** Grid of the points: the extent of the country has this many steps in each direction, of some 100 m. */
const STEPS = 50_000

const folder = new URL('.', import.meta.url)
const world = JSON.parse(readFileSync(new URL(import.meta.resolve('world-atlas/countries-10m.json')), 'utf8'))
const country = feature(world, world.objects.countries).features.find(({ id }) => id === BRAZIL)
const borders = country.geometry.coordinates.map(([ring]) => ring)
const seats = readFileSync(new URL('seats.csv', folder), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.split(','))
  .filter(([code]) => code !== YOUNGEST)
const cells = Delaunay.from(
  seats.map(([, latitude, longitude]) => [Number(longitude), Number(latitude)]),
).voronoi(EXTENT)

const features = seats.map(([code], index) => {
  const cell = cells.cellPolygon(index)
  const [xs, ys] = [0, 1].map((axis) => cell.map((point) => point[axis]))
  const box = [Math.min(...xs) - 0.1, Math.min(...ys) - 0.1, Math.max(...xs) + 0.1, Math.max(...ys) + 0.1]
  const isNearBorder = borders.some((ring) =>
    ring.some(
      ([x, y], place) =>
        place > 0 &&
        Math.max(x, ring[place - 1][0]) >= box[0] &&
        Math.min(x, ring[place - 1][0]) <= box[2] &&
        Math.max(y, ring[place - 1][1]) >= box[1] &&
        Math.min(y, ring[place - 1][1]) <= box[3],
    ),
  )
  // Cutting the border to the box first leaves the exact cut few points to work on.
  const near = isNearBorder
    ? borders.map((ring) => [clipPolygon(ring, box)]).filter(([ring]) => ring.length > 3)
    : []
  return {
    type: 'Feature',
    properties: { codarea: code },
    geometry: { type: 'MultiPolygon', coordinates: isNearBorder ? intersection([cell], near) : [[cell]] },
  }
})
const made = topology({ BRMU: { type: 'FeatureCollection', features } }, STEPS)
writeFileSync(new URL('outlines.topojson.gz', folder), gzipSync(JSON.stringify(made), { level: 9 }))
