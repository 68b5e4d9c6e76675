/**
 * Checks whether a facility's coordinates lie in its municipality. In: a record's coordinates and municipality, and the release's outlines.
 * Out: `coordinates_suspect`, true outside the municipality's bounding box plus 0.2 degrees on each side. It is null without coordinates or
 * without an outline of the municipality.
 */
import type { Engine, JsonValue } from '../engine/types.ts'
import { both } from '../model/declare.ts'
import { type Box, isInBox } from '../query/lists/places.ts'
import { hasDataset, type ReleaseView } from '../release/view.ts'
import type { ByteString } from '../rows/row-store.ts'
import { sql, table } from '../sql.ts'

/** Enlarged bounding box by municipality code; null when the release has no outlines. */
export type Boxes = ReadonlyMap<number, Box> | null

const OUTLINES = 'municipality_outlines'
/** Margin in degrees. Published coordinates are off by some kilometres. */
const MARGIN_DEGREES = 0.2
export const SUSPECT_RULE = both(
  'sim fora do retângulo em volta do contorno do município, com 0,2 grau para cada lado; sem dado onde não há coordenadas ou contorno',
  'true outside of the box around the municipality’s outline, 0.2 degrees to each side; null without coordinates or outline',
)

export async function loadBoxes(view: ReleaseView, engine: Engine): Promise<Boxes> {
  if (!hasDataset(view, OUTLINES)) return null
  const rows = await engine.run(sql`SELECT ibge_code, west, south, east, north FROM ${table(OUTLINES)}`, view)
  return new Map(
    rows.map(({ ibge_code, west, south, east, north }) => [
      Number(ibge_code),
      {
        west: Number(west) - MARGIN_DEGREES,
        south: Number(south) - MARGIN_DEGREES,
        east: Number(east) + MARGIN_DEGREES,
        north: Number(north) + MARGIN_DEGREES,
      },
    ]),
  )
}

export function isSuspect(
  boxes: Boxes,
  municipality: JsonValue | undefined,
  latitude: JsonValue | undefined,
  longitude: JsonValue | undefined,
): boolean | null {
  const box = boxes?.get(Number(municipality))
  if (box === undefined || typeof latitude !== 'number' || typeof longitude !== 'number') return null
  return !isInBox(box, latitude, longitude)
}

/** @returns the numeric member, found by text search: quotes inside JSON strings are escaped, so they cannot match */
export function readNumber(json: ByteString, name: string): number | null {
  const start = json.indexOf(`"${name}":`)
  const value =
    start < 0
      ? Number.NaN
      : Number.parseFloat(json.substring(start + name.length + 3, start + name.length + 40))
  return Number.isNaN(value) ? null : value
}

export function markRecord(json: ByteString, boxes: Boxes): ByteString {
  const [municipality, latitude, longitude] = ['municipality_ibge_code', 'latitude', 'longitude'].map(
    (name) => readNumber(json, name),
  )
  return `${json.slice(0, -1)},"coordinates_suspect":${isSuspect(boxes, municipality, latitude, longitude)}}`
}
