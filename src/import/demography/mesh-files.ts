/**
 * The municipal mesh in the forms it is published in (GeoJSON, TopoJSON, shapefile) → one list of areas with their codes.
 *
 * In: bytes. Out: the polygons of each area in degrees, in the order of the file, with the place of the code. Which of the codes
 * are municipalities, and what becomes of the polygons, is decided elsewhere. topojson-client reads TopoJSON.
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

/** An area of a mesh. */
export interface MeshArea {
  /** Code of seven digits. */
  readonly code: number
  /** Place of the feature in the file, the first being 1. */
  readonly row: number
  /** Polygons of rings of [longitude, latitude], as the file has them. Empty: no geometry is published. */
  readonly polygons: readonly (readonly (readonly Position[])[])[]
}

export interface Mesh {
  readonly file: string
  /** Property that holds the code; `id` where it is the feature's own. */
  readonly column: string
  /** Features of the file. */
  readonly rows: number
  readonly areas: readonly MeshArea[]
}

/** Names of the property with the code of a municipality, in capitals; the first that a file has. */
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
/** A mesh of all municipalities has 5,570 areas. */
const AREAS_MAX = 100_000
/** Points of all arcs that the areas of a topology name: one arc may be named by many. */
const POINTS_MAX = 20_000_000
const JSON_NAME = /\.(geo|topo)?json(\.gz)?$/i
/** Files of a shapefile beside its .shp and .dbf: nothing is read of them. */
const COMPANION = /\.(shx|prj|cpg|sbn|sbx|qpj)$/i
/** Column types of dBase whose cells are numbers. */
const NUMBER_TYPES: ReadonlySet<string> = new Set(['N', 'F'])
/** A member of the object that says the demonstration made it. */
export const SYNTHETIC_MEMBER = 'sus_data_demonstration'

export type MeshKind = 'json' | 'shapes' | 'attributes' | 'companion'

/** @param head first bytes of a file; @returns what it is of a mesh; null: nothing */
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

/**
 * A mesh of GeoJSON or TopoJSON, gzip or not.
 * @returns with it whether the demonstration made it
 * @throws ImportError; UnknownContent where its areas are no municipalities
 */
export function readMeshJson(file: string, bytes: Buffer): { mesh: Mesh; synthetic: boolean } {
  const value = parseJson(isGzip(bytes) ? gunzipMesh(file, bytes) : bytes, file)
  if (!isRecord(value)) throw new ImportError(file, 'is not whole JSON', REMEDY)
  return { mesh: meshOf(file, featuresOf(file, value)), synthetic: SYNTHETIC_MEMBER in value }
}

function gunzipMesh(file: string, bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: Math.min(unpackedMax(bytes.length), TEXT_BYTES_MAX) })
  } catch {
    throw new ImportError(file, 'is not a whole gzip file, or unpacks to more than a mesh has', REMEDY)
  }
}

/** @returns points that a topology takes once its arcs are written out */
function pointsOf({ arcs, objects }: Topology): number {
  const ofArcs = (value: unknown): number =>
    Array.isArray(value)
      ? value.reduce((sum: number, member) => sum + ofArcs(member), 0)
      : (arcs[(value as number) < 0 ? ~(value as number) : (value as number)]?.length ?? 0)
  const ofObject = (object: unknown): number => {
    const { arcs: own, geometries } = object as { arcs?: unknown; geometries?: readonly unknown[] }
    const inner = (geometries ?? []).reduce((sum: number, geometry) => sum + ofObject(geometry), 0)
    return inner + (own === undefined ? 0 : ofArcs(own))
  }
  return Object.values(objects).reduce((sum, object) => sum + ofObject(object), 0)
}

function featuresOf(file: string, value: Readonly<Record<string, unknown>>): Feature[] {
  try {
    if (value.type !== 'Topology') return (value as unknown as FeatureCollection).features
    const topology = value as unknown as Topology
    if (pointsOf(topology) > POINTS_MAX) throw new RangeError('too many points')
    return Object.values(topology.objects).flatMap((object) => {
      const made = toGeoJson(topology, object as GeometryObject<object>)
      return made.type === 'FeatureCollection' ? made.features : [made]
    })
  } catch {
    throw new ImportError(file, 'is not a whole mesh', REMEDY)
  }
}

/** @param shapes bytes of the .shp, @param attributes bytes of the .dbf of the same name @throws as readMeshJson */
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
    const geometry = rings === null ? null : { type: 'Polygon', coordinates: inShapefileOrder(rings) }
    return { type: 'Feature', properties: Object.fromEntries(cells), geometry: geometry as Polygon }
  })
  return meshOf(file, features)
}

/**
 * Rings that run clockwise come first: the format says that they are outsides. Rings of equal size keep this order, and the bytes
 * of a release follow from it.
 */
const inShapefileOrder = (rings: readonly ShapeRing[]): Position[][] => {
  const isOutside = (ring: ShapeRing): boolean => ring.length >= 4 && twiceSurface(ring) <= 0
  return [...rings.filter(isOutside), ...rings.filter((ring) => !isOutside(ring))].map((ring) =>
    ring.map((point) => [...point]),
  )
}

function meshOf(file: string, features: readonly Feature[]): Mesh {
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

/** The property of the first feature that holds a code, by the order of the names; a feature's own id is the last. */
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

const isDegree = (value: unknown, most: number): boolean =>
  typeof value === 'number' && Math.abs(value) <= most
