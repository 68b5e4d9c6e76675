/**
 * The demonstration's mesh of outlines: TopoJSON like an answer of IBGE's API (`codarea`), with one invented outline per
 * municipality. It looks like Brazil: the outlines are the Voronoi cells of the real municipal seats within the country's
 * outline, which `brazil/make-outlines.mjs` made. As in meshes before 2025, the youngest municipality is missing, and responses
 * state that. data/README.md names the sources.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { gunzipSync } from 'node:zlib'

/** The build copies these files to dist/, where package.json names them for sources and build alike. */
const readBrazil = (file: string): Buffer =>
  readFileSync(createRequire(import.meta.url).resolve(`#brazil/${file}`))

/** @param mark member that marks the demonstration @param text its value @returns the TopoJSON text */
export function demonstrationMesh(mark: string, text: string): string {
  const { type, ...mesh } = JSON.parse(gunzipSync(readBrazil('outlines.topojson.gz')).toString()) as {
    type: 'Topology'
  }
  return JSON.stringify({ type, [mark]: text, ...mesh })
}

/** @returns code of a municipality → coordinates of its seat, in degrees */
export function municipalSeats(): Map<number, readonly [latitude: number, longitude: number]> {
  const lines = readBrazil('seats.csv').toString().trim().split('\n').slice(1)
  return new Map(
    lines.map((line) => {
      const [code = 0, latitude = 0, longitude = 0] = line.split(',').map(Number)
      return [code, [latitude, longitude]]
    }),
  )
}
