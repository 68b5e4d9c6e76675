/**
 * Makes the outlines of municipalities from a municipal mesh.
 * In: the files of an import. Out: the tables municipality_outlines_out and outline_arcs_out, and their manifest entries.
 * A municipality without an area in the mesh gets no outline. It is counted, and responses list it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GRID } from '../../model/outlines/index.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError, UnknownContent } from '../import-error.ts'
import { quoteText, type Session } from '../session.ts'
import { type Mesh, type MeshArea, readMeshJson, readMeshShapefile, recogniseMesh } from './mesh-files.ts'
import type { GridPoint, GridRing } from './rings.ts'
import { simplifyMesh } from './simplify.ts'

export interface MeshSource {
  readonly mesh: Mesh
  readonly snapshots: readonly Snapshot[]
  readonly synthetic: boolean
}

const HEAD_BYTES = 65_536
/** Codes of Lagoa Mirim and Lagoa dos Patos, which are in IBGE's meshes but are not municipalities. */
const LAGOONS: ReadonlySet<number> = new Set([4300001, 4300002])

/**
 * @param unknown receives the names of files that look like a mesh but do not contain municipalities
 * @returns the mesh, and the files that do not belong to a mesh
 * @throws ImportError if there are two meshes or a shapefile is incomplete
 */
export async function openMesh(
  files: readonly FoundFile[],
  unknown: string[],
): Promise<{ mesh: MeshSource | null; rest: readonly FoundFile[] }> {
  const meshes: MeshSource[] = []
  const rest: FoundFile[] = []
  const stemOf = ({ path }: FoundFile): string => path.replace(/\.[^.]*$/, '').toLowerCase()
  const shapes = files.filter(({ name }) => /\.shp$/i.test(name))
  for (const file of files) {
    const isPart = shapes.some((shape) => stemOf(shape) === stemOf(file))
    if (isPart && !/\.shp$/i.test(file.name)) continue
    if (!/\.(shp|shx|prj|cpg|sbn|sbx|qpj|dbf|(geo|topo)?json(\.gz)?)$/i.test(file.name)) {
      rest.push(file)
      continue
    }
    const bytes = await readFile(file.path)
    const kind = recogniseMesh(file.name, bytes.subarray(0, HEAD_BYTES))
    if (kind === null) rest.push(file)
    else if (kind === 'attributes')
      throw new ImportError(
        file.name,
        'is the table of a shapefile without its .shp',
        'Import the zip of the mesh as IBGE publishes it, or all of its files',
      )
    else if (kind === 'companion') unknown.push(file.name)
    else
      try {
        meshes.push(
          kind === 'json' ? readJsonSource(file, bytes) : await readShapeSource(file, bytes, files, stemOf),
        )
      } catch (error) {
        if (!(error instanceof UnknownContent)) throw error
        unknown.push(file.name)
      }
  }
  const [mesh = null, other] = meshes
  if (mesh !== null && other !== undefined)
    throw new ImportError(
      other.mesh.file,
      `is a mesh of the municipalities, as ${mesh.mesh.file} is`,
      'Import one mesh',
    )
  return { mesh, rest }
}

const snapshotOf = ({ name, archive }: FoundFile, bytes: Buffer, rows: number): Snapshot => ({
  publisher: 'IBGE',
  file: name,
  archive,
  bytes: bytes.length,
  sha256: sha256Hex(bytes),
  rows,
})

function readJsonSource(file: FoundFile, bytes: Buffer): MeshSource {
  const { mesh, synthetic } = readMeshJson(file.name, bytes)
  return { mesh, synthetic, snapshots: [snapshotOf(file, bytes, mesh.rows)] }
}

async function readShapeSource(
  file: FoundFile,
  bytes: Buffer,
  files: readonly FoundFile[],
  stemOf: (file: FoundFile) => string,
): Promise<MeshSource> {
  const table = files.find((other) => /\.dbf$/i.test(other.name) && stemOf(other) === stemOf(file))
  if (table === undefined)
    throw new ImportError(
      file.name,
      'comes without its .dbf',
      'Import the zip of the mesh as IBGE publishes it, or all of its files',
    )
  const attributes = await readFile(table.path)
  const mesh = readMeshShapefile(file.name, bytes, attributes)
  return {
    mesh,
    synthetic: false,
    snapshots: [snapshotOf(file, bytes, mesh.rows), snapshotOf(table, attributes, mesh.rows)],
  }
}

export interface StagedOutlines {
  readonly datasets: readonly ['municipality_outlines', 'outline_arcs']
  readonly setAside: readonly (readonly [reason: string, features: readonly number[]])[]
  /** Number of areas whose code is not in the list. */
  readonly rejected: number
  readonly counts: Readonly<Record<string, number>>
  readonly violations: Readonly<Record<string, number>>
}

/** Makes the tables municipality_outlines_out and outline_arcs_out. @param listed municipality codes of the release */
export async function stageOutlines(
  session: Session,
  { mesh }: MeshSource,
  listed: ReadonlySet<string>,
): Promise<StagedOutlines> {
  const municipalAreas = mesh.areas.filter(({ code }) => listed.has(String(code)))
  const others = mesh.areas.filter(({ code }) => !listed.has(String(code)))
  const unlisted = others.filter(({ code }) => !LAGOONS.has(code))
  const { arcs, areas } = simplifyMesh(municipalAreas)
  const rowOf = new Map(mesh.areas.map(({ code, row }) => [code, row]))
  await createTable(
    session,
    'outlines_in',
    {
      ibge_code: 'INTEGER',
      west: 'DOUBLE',
      south: 'DOUBLE',
      east: 'DOUBLE',
      north: 'DOUBLE',
      geometry: 'VARCHAR',
      rings: 'VARCHAR',
      source_row: 'INTEGER',
    },
    [...areas].map(([code, rings]) => {
      const polygons = rings.map((polygon) => polygon.map((ring) => pointsOf(ring, arcs)))
      const points = polygons.flat(2)
      const xs = points.map(([x]) => x)
      const ys = points.map(([, y]) => y)
      const box = [minimum(xs), minimum(ys), -minimum(xs.map((x) => -x)), -minimum(ys.map((y) => -y))]
      return [
        code,
        ...box.map((value) => value / GRID),
        geometryText(polygons),
        JSON.stringify(rings),
        rowOf.get(code) ?? 0,
      ]
    }),
  )
  await createTable(
    session,
    'outline_arcs_out',
    { arc: 'INTEGER', points: 'VARCHAR' },
    arcs.map((arc, index) => [index, JSON.stringify(differencesOf(arc))]),
  )
  await session.run(
    `CREATE TABLE municipality_outlines_out AS
     SELECT outlines.*, place.name, place.uf, ${quoteText(mesh.file)} AS source_file, ${quoteText(mesh.column)} AS source_column
     FROM outlines_in AS outlines JOIN municipalities_out AS place USING (ibge_code)`,
  )
  const rowsOf = (features: readonly MeshArea[]): number[] => features.map(({ row }) => row)
  return {
    datasets: ['municipality_outlines', 'outline_arcs'],
    setAside: [
      ['not_a_municipality', rowsOf(others.filter(({ code }) => LAGOONS.has(code)))],
      ['unknown_municipality', rowsOf(unlisted)],
      ['no_geometry', rowsOf(municipalAreas.filter(({ code }) => !areas.has(code)))],
    ],
    rejected: unlisted.length,
    counts: {
      municipality_outlines: areas.size,
      municipalities_without_outline: listed.size - areas.size,
    },
    violations: {
      outlines_have_municipalities:
        areas.size - (await session.number('SELECT count(*) FROM municipality_outlines_out')),
    },
  }
}

/** Joins the arcs of a ring. Each arc ends at the first point of the next. */
function pointsOf(ring: readonly number[], arcs: readonly GridRing[]): GridPoint[] {
  const points: GridPoint[] = []
  for (const arc of ring) {
    const arcPoints = arc < 0 ? [...(arcs[-1 - arc] ?? [])].reverse() : (arcs[arc] ?? [])
    points.push(...(points.length === 0 ? arcPoints : arcPoints.slice(1)))
  }
  return points
}

/** Formats GeoJSON. Rings are reversed, because outsides are counterclockwise in GeoJSON (RFC 7946) and clockwise in TopoJSON. */
const geometryText = (polygons: readonly GridPoint[][][]): string =>
  JSON.stringify({
    type: 'MultiPolygon',
    coordinates: polygons.map((polygon) =>
      polygon.map((ring) => [...ring].reverse().map(([x, y]) => [x / GRID, y / GRID])),
    ),
  })

const differencesOf = (arc: GridRing): (readonly number[])[] =>
  arc.map(([x, y], index) => {
    const [beforeX, beforeY] = arc[index - 1] ?? [0, 0]
    return [x - beforeX, y - beforeY]
  })

const minimum = (values: readonly number[]): number =>
  values.reduce((before, value) => (value < before ? value : before), Number.POSITIVE_INFINITY)

const MIN_LINE_BYTES = 1 << 20

/** Creates a table from rows through a text file. No value may contain a line break or `|`. */
async function createTable(
  session: Session,
  table: string,
  columns: Readonly<Record<string, string>>,
  rows: readonly (readonly (string | number)[])[],
): Promise<void> {
  const path = join(session.scratch, `${table}.txt`)
  const lines = rows.map((row) => `${row.join('|')}\n`)
  await writeFile(path, lines.join(''))
  // DuckDB allocates a buffer of 16 times max_line_size, so keep it as small as the longest line.
  const longest = lines.reduce((before, line) => Math.max(before, Buffer.byteLength(line)), MIN_LINE_BYTES)
  const types = Object.entries(columns).map(([column, type]) => `${column}: '${type}'`)
  await session.run(
    `CREATE TABLE ${table} AS SELECT * FROM read_csv(${quoteText(path)}, delim = '|', header = false, quote = '', escape = '',
       auto_detect = false, max_line_size = ${longest + 1}, columns = {${types.join(', ')}})`,
  )
}
