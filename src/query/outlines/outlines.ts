/**
 * Draws outlines of areas at any level, as TopoJSON or GeoJSON text. Pure. In: the arcs and municipalities of a release. Out: the text of a
 * document. Coarser levels are merges by topojson-client, which drop the arcs between municipalities of the same area. Borders are
 * therefore identical at all levels.
 */
import { mergeArcs } from 'topojson-client'
import type { MultiPolygon, Polygon, Topology } from 'topojson-specification'
import type { Row } from '../../engine/types.ts'
import { GRID, type OutlineLevel } from '../../model/outlines/index.ts'
import { type Sql, sql, table } from '../../sql.ts'

export const OUTLINE_FORMATS = ['topojson', 'geojson'] as const
export type OutlineFormat = (typeof OUTLINE_FORMATS)[number]

type Code = string | number
type Properties = Readonly<Record<string, Code | null>>
type Arc = readonly (readonly [x: number, y: number])[]
type ArcRings = readonly (readonly (readonly number[])[])[]

export interface OutlineMesh {
  /** Grid steps per degree. */
  readonly grid: number
  /** Stored JSON of each arc: the first point, then steps. */
  readonly arcTexts: readonly string[]
  readonly arcs: readonly Arc[]
  readonly municipalities: readonly {
    readonly row: Row
    /** Null when the mesh has no area for the municipality. */
    readonly rings: ArcRings | null
  }[]
  readonly file: string | null
}

export const planArcs = (): Sql => sql`SELECT points FROM ${table('outline_arcs')} ORDER BY arc`
export const planOutlines = (): Sql =>
  sql`SELECT place.*, outlines.rings, outlines.source_file AS mesh_file
FROM ${table('municipalities')} AS place LEFT JOIN ${table('municipality_outlines')} AS outlines USING (ibge_code)
WHERE place.territorial_type = 'MUNICIPALITY'
ORDER BY ibge_code`

export function readMesh(rows: readonly Row[], municipalities: readonly Row[]): OutlineMesh {
  const arcTexts = rows.map(({ points }) => String(points))
  const arcs = arcTexts.map((text) => JSON.parse(text) as Arc)
  const file = municipalities.find(({ mesh_file }) => typeof mesh_file === 'string')?.mesh_file
  return {
    grid: GRID,
    arcTexts,
    arcs,
    municipalities: municipalities.map((row) => ({
      row,
      rings: typeof row.rings === 'string' ? withoutNecks(JSON.parse(row.rings) as ArcRings, arcs) : null,
    })),
    file: typeof file === 'string' ? file : null,
  }
}

/**
 * Removes arcs that an outline follows there and back. Releases made by earlier versions have them where a neck of a municipality is
 * narrower than the grid. Such an arc has more than two uses with its neighbours, and a merge could leave a ring open.
 */
function withoutNecks(rings: ArcRings, arcs: readonly Arc[]): ArcRings {
  const used = rings.flat(2).map(numberOf)
  return new Set(used).size === used.length ? rings : merge(topologyOf(arcs, GRID), [rings])
}

const PLACES: Readonly<Record<OutlineLevel, (row: Row) => Properties | null>> = {
  municipality: ({ ibge_code, name, uf }) => placeOf(ibge_code, name, { uf }),
  health_region: (row) => placeOf(row.health_region_code, row.health_region_name, { uf: row.uf }),
  health_macroregion: (row) =>
    placeOf(row.health_macroregion_code, row.health_macroregion_name, { uf: row.uf }),
  state: ({ uf, state_name, state_ibge_code }) => placeOf(uf, state_name, { ibge_code: state_ibge_code }),
  region: ({ region_code, region_name }) => placeOf(region_code, region_name, {}),
}

const placeOf = (code: unknown, name: unknown, more: Readonly<Record<string, unknown>>): Properties | null =>
  code === null || code === undefined ? null : ({ code, name, ...more } as unknown as Properties)

interface Outline {
  readonly code: Code
  readonly properties: Properties
  readonly rings: ArcRings
}

export interface OutlineDocument {
  readonly text: string
  readonly count: number
  /** Municipalities in scope without an outline. */
  readonly missing: readonly Properties[]
}

/** @param states states to draw; null draws all @param isNamed false leaves out all properties but the code */
export function drawOutlines(
  mesh: OutlineMesh,
  level: OutlineLevel,
  states: ReadonlySet<string> | null,
  format: OutlineFormat,
  isNamed = true,
): OutlineDocument {
  const groups = new Map<Code, { properties: Properties; members: ArcRings[] }>()
  const missing: Properties[] = []
  for (const { row, rings } of mesh.municipalities) {
    if (states !== null && !states.has(String(row.uf))) continue
    const properties = PLACES[level](row)
    if (properties === null || rings === null) {
      missing.push({ code: row.ibge_code as number, name: row.name as string, uf: row.uf as string })
      continue
    }
    const code = properties.code as Code
    const group = groups.get(code) ?? { properties, members: [] }
    group.members.push(rings)
    groups.set(code, group)
  }
  const topology = topologyOf(mesh.arcs, mesh.grid)
  const outlines = [...groups.values()]
    .sort((left, right) => compare(left.properties.code as Code, right.properties.code as Code))
    .map(({ properties, members }): Outline => {
      const [only] = members
      return {
        code: properties.code as Code,
        properties: isNamed ? properties : {},
        rings: members.length === 1 && only !== undefined ? only : merge(topology, members),
      }
    })
  const text = format === 'topojson' ? topoText(mesh, level, outlines) : geoText(mesh, outlines)
  return { text, count: outlines.length, missing }
}

const transformOf = (grid: number) => ({ scale: [1 / grid, 1 / grid], translate: [0, 0] })
const compare = (left: Code, right: Code): number => (left < right ? -1 : left > right ? 1 : 0)

const topologyOf = (arcs: readonly Arc[], grid: number): Topology =>
  ({ type: 'Topology', objects: {}, transform: transformOf(grid), arcs }) as unknown as Topology

function merge(topology: Topology, members: readonly ArcRings[]): ArcRings {
  const shapes = members.map((arcs) => ({ type: 'MultiPolygon', arcs }) as unknown as MultiPolygon)
  return mergeArcs(topology, shapes as unknown as Polygon[]).arcs
}

const numberOf = (arc: number): number => (arc < 0 ? -1 - arc : arc)

/** Leaves out unused arcs and renumbers the others in their order. */
function topoText(mesh: OutlineMesh, level: OutlineLevel, outlines: readonly Outline[]): string {
  const isUsed = new Uint8Array(mesh.arcs.length)
  for (const { rings } of outlines)
    for (const polygon of rings) for (const ring of polygon) for (const arc of ring) isUsed[numberOf(arc)] = 1
  const numbers = new Int32Array(mesh.arcs.length)
  const texts: string[] = []
  mesh.arcTexts.forEach((text, index) => {
    if (isUsed[index] !== 1) return
    numbers[index] = texts.length
    texts.push(text)
  })
  const renumber = (arc: number): number =>
    arc < 0 ? -1 - (numbers[-1 - arc] as number) : (numbers[arc] as number)
  const geometries = outlines.map(({ code, properties, rings }) => {
    const arcs = rings.map((polygon) => polygon.map((ring) => ring.map(renumber)))
    const [only] = arcs
    const shape =
      arcs.length === 1 && only !== undefined
        ? { type: 'Polygon', arcs: only }
        : { type: 'MultiPolygon', arcs }
    return JSON.stringify({ ...shape, id: code, ...(properties.code === undefined ? {} : { properties }) })
  })
  return `{"type":"Topology","transform":${JSON.stringify(transformOf(mesh.grid))},"objects":{"${level}":{"type":"GeometryCollection","geometries":[${geometries.join(',')}]}},"arcs":[${texts.join(',')}]}`
}

/** Writes outer rings counterclockwise (RFC 7946). */
function geoText(mesh: OutlineMesh, outlines: readonly Outline[]): string {
  // Cache each arc, because it is written up to twice: forwards and backwards.
  const forwards = mesh.arcs.map((): string[] | null => null)
  const pointsOf = (arc: number): string[] => {
    const cached = forwards[arc]
    if (cached !== null && cached !== undefined) return cached
    let [x, y] = [0, 0]
    const points = (mesh.arcs[arc] ?? []).map(([stepX, stepY]) => {
      x += stepX
      y += stepY
      return `[${x / mesh.grid},${y / mesh.grid}]`
    })
    forwards[arc] = points
    return points
  }
  const ringText = (ring: readonly number[]): string => {
    const points: string[] = []
    for (const arc of ring) {
      const arcPoints = arc < 0 ? [...pointsOf(-1 - arc)].reverse() : pointsOf(arc)
      for (let index = points.length === 0 ? 0 : 1; index < arcPoints.length; index += 1)
        points.push(arcPoints[index] as string)
    }
    return `[${points.reverse().join(',')}]`
  }
  const features = outlines.map(({ code, properties, rings }) => {
    const polygons = rings.map((polygon) => `[${polygon.map(ringText).join(',')}]`)
    const [only] = polygons
    const geometry =
      polygons.length === 1 && only !== undefined
        ? `{"type":"Polygon","coordinates":${only}}`
        : `{"type":"MultiPolygon","coordinates":[${polygons.join(',')}]}`
    return `{"type":"Feature","id":${JSON.stringify(code)},"properties":${JSON.stringify(properties)},"geometry":${geometry}}`
  })
  return `{"type":"FeatureCollection","features":[${features.join(',')}]}`
}
