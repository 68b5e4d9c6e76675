/**
 * The municipal mesh → outlines: which file is the mesh, which of its areas are municipalities, and the tables of a release.
 *
 * In: the files found. Out: the tables municipality_outlines_out and outline_arcs_out, and what the manifest says of them. A
 * municipality without an area in the mesh gets no outline; it is counted, and answers list it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GRID } from '../../model/outlines/index.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError, UnknownContent } from '../import-error.ts'
import { quoteText, type Session } from '../session.ts'
import { type Mesh, readMeshJson, readMeshShapefile, recogniseMesh } from './mesh-files.ts'
import type { GridPoint, GridRing } from './rings.ts'
import { simplifyMesh } from './simplify.ts'

export interface MeshSource {
  readonly mesh: Mesh
  readonly snapshots: readonly Snapshot[]
  readonly synthetic: boolean
}

const HEAD_BYTES = 65_536
/** Areas of IBGE's meshes that are no municipalities: Lagoa Mirim and Lagoa dos Patos. */
const LAGOONS: ReadonlySet<number> = new Set([4300001, 4300002])

/**
 * Takes the files of a mesh out of those of the area.
 * @param unknown gets the names of files that look like a mesh and are none of municipalities
 * @throws ImportError where there are two meshes, or the parts of a shapefile are not together
 */
export async function openMesh(
  files: readonly FoundFile[],
  unknown: string[],
): Promise<{ mesh: MeshSource | null; rest: readonly FoundFile[] }> {
  const found: MeshSource[] = []
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
        found.push(
          kind === 'json' ? readJsonSource(file, bytes) : await readShapeSource(file, bytes, files, stemOf),
        )
      } catch (error) {
        if (!(error instanceof UnknownContent)) throw error
        unknown.push(file.name)
      }
  }
  const [mesh = null, other] = found
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

/** What became of a mesh. */
export interface StagedOutlines {
  /** Whose tables are made. */
  readonly datasets: readonly ['municipality_outlines', 'outline_arcs']
  /** Areas set aside, with their reason. */
  readonly setAside: readonly (readonly [reason: string, rows: number])[]
  /** Those of them whose code is not in the list. */
  readonly rejected: number
  readonly counts: Readonly<Record<string, number>>
  readonly violations: Readonly<Record<string, number>>
}

/**
 * Makes the tables municipality_outlines_out (of the municipalities in municipalities_out) and outline_arcs_out.
 * @param listed codes of the municipalities there are
 */
export async function stageOutlines(
  session: Session,
  { mesh }: MeshSource,
  listed: ReadonlySet<string>,
): Promise<StagedOutlines> {
  const known = mesh.areas.filter(({ code }) => listed.has(String(code)))
  const lagoons = mesh.areas.filter(({ code }) => LAGOONS.has(code)).length
  const rejected = mesh.rows - known.length - lagoons
  const { arcs, areas } = simplifyMesh(known)
  const rowOf = new Map(mesh.areas.map(({ code, row }) => [code, row]))
  await stage(
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
      const box = [least(xs), least(ys), -least(xs.map((x) => -x)), -least(ys.map((y) => -y))]
      return [
        code,
        ...box.map((value) => value / GRID),
        geometryText(polygons),
        JSON.stringify(rings),
        rowOf.get(code) ?? 0,
      ]
    }),
  )
  await stage(
    session,
    'outline_arcs_out',
    { arc: 'INTEGER', points: 'VARCHAR' },
    arcs.map((arc, index) => [index, JSON.stringify(stepsOf(arc))]),
  )
  await session.run(
    `CREATE TABLE municipality_outlines_out AS
     SELECT outlines.*, place.name, place.uf, ${quoteText(mesh.file)} AS source_file, ${quoteText(mesh.column)} AS source_column
     FROM outlines_in AS outlines JOIN municipalities_out AS place USING (ibge_code)`,
  )
  const reasons = [
    ['not_a_municipality', lagoons],
    ['unknown_municipality', rejected],
    ['no_geometry', known.length - areas.size],
  ] as const
  return {
    datasets: ['municipality_outlines', 'outline_arcs'],
    setAside: reasons.filter(([, rows]) => rows > 0),
    rejected,
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

/** The points of a ring, arc by arc: an arc ends where the next begins. */
function pointsOf(ring: readonly number[], arcs: readonly GridRing[]): GridPoint[] {
  const points: GridPoint[] = []
  for (const arc of ring) {
    const own = arc < 0 ? [...(arcs[-1 - arc] ?? [])].reverse() : (arcs[arc] ?? [])
    points.push(...(points.length === 0 ? own : own.slice(1)))
  }
  return points
}

/** GeoJSON has the outside counterclockwise (RFC 7946), TopoJSON clockwise. */
const geometryText = (polygons: readonly GridPoint[][][]): string =>
  JSON.stringify({
    type: 'MultiPolygon',
    coordinates: polygons.map((polygon) =>
      polygon.map((ring) => [...ring].reverse().map(([x, y]) => [x / GRID, y / GRID])),
    ),
  })

const stepsOf = (arc: GridRing): (readonly number[])[] =>
  arc.map(([x, y], index) => {
    const [beforeX, beforeY] = arc[index - 1] ?? [0, 0]
    return [x - beforeX, y - beforeY]
  })

const least = (values: readonly number[]): number =>
  values.reduce((before, value) => (value < before ? value : before), Number.POSITIVE_INFINITY)

const MIN_LINE_BYTES = 1 << 20

/** Rows of texts and numbers as a table; none of them holds a line or a bar. */
async function stage(
  session: Session,
  table: string,
  columns: Readonly<Record<string, string>>,
  rows: readonly (readonly (string | number)[])[],
): Promise<void> {
  const path = join(session.scratch, `${table}.txt`)
  const lines = rows.map((row) => `${row.join('|')}\n`)
  await writeFile(path, lines.join(''))
  // DuckDB takes 16 times the longest line it may meet as its buffer.
  const longest = lines.reduce((before, line) => Math.max(before, Buffer.byteLength(line)), MIN_LINE_BYTES)
  const types = Object.entries(columns).map(([column, type]) => `${column}: '${type}'`)
  await session.run(
    `CREATE TABLE ${table} AS SELECT * FROM read_csv(${quoteText(path)}, delim = '|', header = false, quote = '', escape = '',
       auto_detect = false, max_line_size = ${longest + 1}, columns = {${types.join(', ')}})`,
  )
}
