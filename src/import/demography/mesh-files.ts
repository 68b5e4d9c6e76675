/**
 * Reads the municipal mesh from GeoJSON, TopoJSON or a shapefile into one list of areas with their codes.
 * In: bytes. Out: the polygons of each area in degrees, in file order, and the property that holds the code.
 * outlines.ts decides which codes are municipalities. topojson-client reads TopoJSON.
 */

import { gunzipSync } from 'node:zlib'
import type { Feature, FeatureCollection, GeoJsonProperties, MultiPolygon, Polygon, Position } from 'geojson'
import { feature as toGeoJson } from 'topojson-client'
import type { GeometryObject, Topology } from 'topojson-specification'
import { ImportError, UnknownContent } from '../import-error.ts'
import { openDbf } from '../readers/dbf.ts'
import { parseJson } from '../readers/json.ts'
import { readShapes, type ShapeRing } from '../readers/shp.ts'
import { TEXT_BYTES_MAX, unpackedMax } from '../readers/unpack-limits.ts'
import { isRecord } from './ibge-table.ts'
import { twiceSurface } from './rings.ts'

export interface MeshArea {
  /** Code of seven digits. */
  readonly code: number
  /** Position of the feature in the file. The first is 1. */
  readonly row: number
  /** Polygons of rings of [longitude, latitude], as in the file. Empty without a published geometry. */
  readonly polygons: readonly (readonly (readonly Position[])[])[]
}

export interface Mesh {
  readonly file: string
  /** Property that holds the code, or `id` for the feature's id. */
  readonly column: string
  readonly rows: number
  readonly areas: readonly MeshArea[]
}

/** Property names for the municipality code, in upper case and in order of preference. */
const CODE_NAMES = [
  'CD_MUN',
  'CD_GEOCMU',
  'CD_GEOCODM',
  'CODAREA',
  'MUNICIPALITY_CODE',
  'CODE_MUNI',
  'GEOCODIGO',
  'ID',
]
const REMEDY = 'Fetch the file again'
/** Largest number of areas. A mesh of all municipalities has 5,570. */
const AREAS_MAX = 100_000
/** Largest number of points after a topology's arcs are expanded. Many areas may refer to one arc. */
const POINTS_MAX = 20_000_000
const JSON_NAME = /\.(geo|topo)?json(\.gz)?$/i
const COMPANION = /\.(shx|prj|cpg|sbn|sbx|qpj)$/i
const NUMBER_TYPES: ReadonlySet<string> = new Set(['N', 'F'])
export const SYNTHETIC_MEMBER = 'sus_data_demonstration'

export type MeshKind = 'json' | 'shapes' | 'attributes' | 'companion'

/** @param head first bytes of a file @returns its role in a mesh, or null if it has none */
export function recogniseMesh(fileName: string, head: Buffer): MeshKind | null {
  if (/\.shp$/i.test(fileName)) return head.length >= 4 && head.readUInt32BE(0) === 9994 ? 'shapes' : null
  if (COMPANION.test(fileName)) return 'companion'
  if (/\.dbf$/i.test(fileName))
    return CODE_NAMES.slice(0, 3).some((name) => head.toString('latin1').includes(`${name}\0`))
      ? 'attributes'
      : null
  if (!JSON_NAME.test(fileName)) return null
  let text = head
  if (isGzip(head))
    try {
      text = gunzipSync(head, { finishFlush: 2, maxOutputLength: TEXT_BYTES_MAX })
    } catch {
      return null
    }
  return /"type"\s*:\s*"(FeatureCollection|Topology)"/.test(text.toString('utf8', 0, 4096)) ? 'json' : null
}

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/** @throws ImportError for a damaged file, UnknownContent if no property holds municipality codes */
export function readMeshJson(file: string, bytes: Buffer): { mesh: Mesh; synthetic: boolean } {
  const value = parseJson(isGzip(bytes) ? gunzipMesh(file, bytes) : bytes, file)
  if (!isRecord(value)) throw new ImportError(file, 'is not whole JSON', REMEDY)
  return { mesh: buildMesh(file, featuresOf(file, value)), synthetic: SYNTHETIC_MEMBER in value }
}

function gunzipMesh(file: string, bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: Math.min(unpackedMax(bytes.length), TEXT_BYTES_MAX) })
  } catch {
    throw new ImportError(file, 'is not a whole gzip file, or unpacks to more than a mesh has', REMEDY)
  }
}

function countPoints({ arcs, objects }: Topology): number {
  const countInArcs = (value: unknown): number =>
    Array.isArray(value)
      ? value.reduce((sum: number, member) => sum + countInArcs(member), 0)
      : (arcs[(value as number) < 0 ? ~(value as number) : (value as number)]?.length ?? 0)
  const countInObject = (object: unknown): number => {
    const { arcs: objectArcs, geometries } = object as { arcs?: unknown; geometries?: readonly unknown[] }
    const inner = (geometries ?? []).reduce((sum: number, geometry) => sum + countInObject(geometry), 0)
    return inner + (objectArcs === undefined ? 0 : countInArcs(objectArcs))
  }
  return Object.values(objects).reduce((sum, object) => sum + countInObject(object), 0)
}

function featuresOf(file: string, value: Readonly<Record<string, unknown>>): Feature[] {
  try {
    if (value.type !== 'Topology') return (value as unknown as FeatureCollection).features
    const topology = value as unknown as Topology
    if (countPoints(topology) > POINTS_MAX) throw new RangeError('too many points')
    return Object.values(topology.objects).flatMap((object) => {
      const converted = toGeoJson(topology, object as GeometryObject<object>)
      return converted.type === 'FeatureCollection' ? converted.features : [converted]
    })
  } catch {
    throw new ImportError(file, 'is not a whole mesh', REMEDY)
  }
}

/** @param shapes bytes of the .shp @param attributes bytes of the .dbf of the same name @throws as readMeshJson() */
export function readMeshShapefile(file: string, shapes: Buffer, attributes: Buffer): Mesh {
  const table = openDbf(attributes, file.replace(/shp$/i, 'dbf'))
  if (table.records > AREAS_MAX) throw new ImportError(file, `has more than ${AREAS_MAX} areas`, REMEDY)
  const areas = readShapes(file, shapes)
  if (areas.length !== table.records)
    throw new ImportError(file, `has ${areas.length} shapes beside ${table.records} rows of its .dbf`, REMEDY)
  const features = areas.map((rings, record): Feature => {
    const cells = table.columns.map((column) => {
      const text = table.text(record, column).trim()
      return [column.name, NUMBER_TYPES.has(column.type) ? Number(text) : text]
    })
    const geometry = rings === null ? null : { type: 'Polygon', coordinates: orderRings(rings) }
    return { type: 'Feature', properties: Object.fromEntries(cells), geometry: geometry as Polygon }
  })
  return buildMesh(file, features)
}

/** Moves clockwise rings, which are outsides, to the front. The order of equal rings determines the bytes of a release. */
const orderRings = (rings: readonly ShapeRing[]): Position[][] => {
  const isOutside = (ring: ShapeRing): boolean => ring.length >= 4 && twiceSurface(ring) <= 0
  return [...rings.filter(isOutside), ...rings.filter((ring) => !isOutside(ring))].map((ring) =>
    ring.map((point) => [...point]),
  )
}

function buildMesh(file: string, features: readonly Feature[]): Mesh {
  if (!Array.isArray(features)) throw new ImportError(file, 'is not a whole mesh', REMEDY)
  const column = codeColumn(features)
  if (column === null)
    throw new UnknownContent(
      file,
      'has no property with codes of seven digits',
      'Import the mesh of the municipalities, with their codes',
    )
  const seen = new Set<number>()
  const areas = features.map((feature, index): MeshArea => {
    const code = codeOf(feature, column)
    if (code === null)
      throw new ImportError(file, `has an area without a code of seven digits (feature ${index + 1})`, REMEDY)
    if (seen.has(code)) throw new ImportError(file, `has an area twice (feature ${index + 1})`, REMEDY)
    seen.add(code)
    return { code, row: index + 1, polygons: polygonsOf(file, feature, index + 1) }
  })
  return { file, column, rows: features.length, areas }
}

/** Finds the code property in the first feature, in the order of CODE_NAMES. The feature's id comes last. */
function codeColumn([first]: readonly Feature[]): string | null {
  if (first === undefined) return null
  const properties: GeoJsonProperties = first.properties ?? {}
  for (const wanted of CODE_NAMES) {
    const name = Object.keys(properties).find((key) => key.toUpperCase() === wanted)
    if (name !== undefined && isCode(properties[name])) return name
  }
  return isCode(first.id) ? 'id' : null
}

const isCode = (value: unknown): boolean => /^\d{7}$/.test(String(value))
function codeOf({ id, properties }: Feature, column: string): number | null {
  const value: unknown = properties?.[column] ?? (column === 'id' ? id : undefined)
  return isCode(value) ? Number(value) : null
}

function polygonsOf(file: string, { geometry }: Feature, row: number): MeshArea['polygons'] {
  if (geometry === null || geometry === undefined) return []
  const { type, coordinates } = geometry as Polygon | MultiPolygon
  if (type !== 'Polygon' && type !== 'MultiPolygon')
    throw new ImportError(file, `has a geometry that is no area (feature ${row})`, REMEDY)
  const polygons = type === 'Polygon' ? [coordinates] : coordinates
  for (const polygon of polygons)
    for (const ring of polygon)
      for (const [longitude, latitude] of ring)
        if (!isDegree(longitude, 180) || !isDegree(latitude, 90))
          throw new ImportError(
            file,
            `has coordinates that are no degrees (feature ${row})`,
            'Import the mesh in geographic coordinates (SIRGAS 2000), as IBGE publishes it',
          )
  return polygons
}

const isDegree = (value: unknown, limit: number): boolean =>
  typeof value === 'number' && Math.abs(value) <= limit
