/**
 * The municipal mesh: its published forms, rings in any order, what simplification must keep, and the published meshes where they
 * are: every municipality has an outline of about its size, the levels share their borders, and the country is small enough.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { feature, neighbors } from 'topojson-client'
import { topology } from 'topojson-server'
import type { GeometryCollection, Topology } from 'topojson-specification'
import {
  type MeshArea,
  readMeshJson,
  readMeshShapefile,
  recogniseMesh,
} from '../../src/import/demography/mesh-files.ts'
import { openMesh } from '../../src/import/demography/outlines.ts'
import { type GridRing, nestRings, splitRing, twiceSurface } from '../../src/import/demography/rings.ts'
import { simplifyMesh } from '../../src/import/demography/simplify.ts'
import { importPaths } from '../../src/import/import.ts'
import { UnknownContent } from '../../src/import/import-error.ts'
import { readManifest } from '../../src/release/verify.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { makeDbf } from '../fixtures/dbf-builder.ts'
import { refuses } from '../fixtures/refused-file.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

type Ring = [number, number][]
const square = (x: number, y: number, side = 1): Ring => [
  [x, y],
  [x + side, y],
  [x + side, y + side],
  [x, y + side],
  [x, y],
]
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const collection = (...features: object[]) => ({ type: 'FeatureCollection', features })
const area = (code: unknown, coordinates: Ring[], name = 'CD_MUN') => ({
  type: 'Feature',
  properties: { [name]: code, NM_MUN: 'Município' },
  geometry: { type: 'Polygon', coordinates },
})
const TWO = collection(area('1400100', [square(-60, 0)]), area('1400050', [square(-59, 0)]))

/** The .shp of some polygons, by the format's description: all numbers of the content are little-endian but the record heads. */
function shp(polygons: readonly Ring[][]): Buffer {
  const records = polygons.map((rings, index) => {
    const points = rings.flat()
    const content = Buffer.alloc(44 + 4 * rings.length + 16 * points.length)
    content.writeInt32LE(5, 0)
    content.writeInt32LE(rings.length, 36)
    content.writeInt32LE(points.length, 40)
    rings.forEach((_, ring) => {
      content.writeInt32LE(rings.slice(0, ring).flat().length, 44 + 4 * ring)
    })
    points.forEach(([x, y], place) => {
      content.writeDoubleLE(x, 44 + 4 * rings.length + 16 * place)
      content.writeDoubleLE(y, 52 + 4 * rings.length + 16 * place)
    })
    const head = Buffer.alloc(8)
    head.writeInt32BE(index + 1, 0)
    head.writeInt32BE(content.length / 2, 4)
    return Buffer.concat([head, content])
  })
  const head = Buffer.alloc(100)
  head.writeInt32BE(9994, 0)
  head.writeInt32BE((100 + Buffer.concat(records).length) / 2, 24)
  head.writeInt32LE(1000, 28)
  head.writeInt32LE(5, 32)
  return Buffer.concat([head, ...records])
}

t.test('GeoJSON, TopoJSON and shapefile of one mesh are one mesh', async (t) => {
  const geo = readMeshJson('malha.geojson', json(TWO)).mesh
  t.equal(geo.column, 'CD_MUN')
  t.equal(geo.rows, 2)
  const made = topology({ BR: TWO as never }, 1e6)
  const topo = readMeshJson('malha.json.gz', gzipSync(json(made))).mesh
  // The format has outsides clockwise.
  const rings = [square(-60, 0), square(-59, 0)].map((ring) => [[...ring].reverse()])
  const dbf = makeDbf({
    columns: [
      ['CD_MUN', 7],
      ['NM_MUN', 20],
    ],
    rows: [{ CD_MUN: '1400100' }, { CD_MUN: '1400050' }],
  })
  const shape = readMeshShapefile('BR_Municipios_2024.shp', shp(rings), dbf)
  const simple = (areas: readonly MeshArea[]) => {
    const { arcs, areas: found } = simplifyMesh(areas)
    return [[...found.keys()], arcs.length, arcs.flat().length]
  }
  t.same(simple(geo.areas), [[1400100, 1400050], 3, 10], 'one border is shared')
  t.same(simple(topo.areas), simple(geo.areas))
  t.same(simple(shape.areas), simple(geo.areas))
})

t.test('each publisher calls the code by another name', async (t) => {
  for (const name of ['CD_GEOCMU', 'codarea', 'municipality_code', 'id', 'code_muni'])
    t.equal(readMeshJson('a.json', json(collection(area(1400100, [square(-60, 0)], name)))).mesh.column, name)
  const own = { type: 'Feature', id: '1400100', properties: null, geometry: null }
  t.equal(readMeshJson('a.json', json(collection(own))).mesh.column, 'id')
})

t.test('what is no mesh of municipalities, and what is broken', async (t) => {
  const read = (value: unknown) => () => readMeshJson('a.json', json(value))
  for (const value of [collection(area('14', [square(-60, 0)])), collection()])
    try {
      read(value)()
      t.fail('it was read')
    } catch (error) {
      t.ok(error instanceof UnknownContent, 'states, and nothing at all')
    }
  refuses(t, () => readMeshJson('a.json', Buffer.from('{"type":"FeatureCollection"')), /whole JSON/)
  const good = area('1400100', [square(-60, 0)])
  refuses(t, read(collection(good, good)), /twice \(feature 2\)/)
  refuses(t, read(collection(good, area('x', [square(0, 0)]))), /without a code.*feature 2/)
  refuses(t, read(collection(area('1400100', [square(6e5, 0)]))), /no degrees \(feature 1\)/)
  const line = { ...good, geometry: { type: 'LineString', coordinates: square(0, 0) } }
  refuses(t, read(collection(line)), /no area \(feature 1\)/)
  const gone = readMeshJson('a.json', json(collection(good, { ...area('1400050', []), geometry: null }))).mesh
  t.equal(simplifyMesh(gone.areas).areas.size, 1, 'an area without geometry has no outline')
})

t.test('a shapefile that is cut, changed or beside another table is refused', async (t) => {
  const shapes = shp([[square(-60, 0)], [square(-59, 0)]])
  const table = (...codes: string[]): Buffer =>
    makeDbf({ columns: [['CD_MUN', 7]], rows: codes.map((CD_MUN) => ({ CD_MUN })) })
  const both = table('1400100', '1400050')
  const changed = (change: (bytes: Buffer) => void): Buffer => {
    const bytes = Buffer.from(shapes)
    change(bytes)
    return bytes
  }
  const read =
    (bytes: Buffer, attributes = both) =>
    () =>
      readMeshShapefile('M.shp', bytes, attributes)
  for (let length = 0; length < shapes.length; length += 4)
    refuses(t, read(shapes.subarray(0, length)), /is not a whole shapefile/)
  for (const [place, value] of [
    [100, 2],
    [104, 0],
    [104, 1000],
  ] as const)
    refuses(t, read(changed((bytes) => bytes.writeInt32BE(value, place))), /is not a whole shapefile/)
  // Counts of parts and points, and the begin of the first part.
  for (const [place, value] of [
    [144, -1],
    [144, 1000],
    [148, 1000],
    [152, 6],
  ] as const)
    refuses(t, read(changed((bytes) => bytes.writeInt32LE(value, place))), /is not a whole shapefile/)
  refuses(t, read(changed((bytes) => bytes.writeInt32LE(3, 108))), /no area \(feature 1\)/)
  refuses(t, read(shapes, table('1400100')), /has 2 shapes beside 1 rows/)
  refuses(t, read(shapes, both.subarray(0, 70)), /is cut/)
  const without = readMeshShapefile(
    'M.shp',
    changed((bytes) => bytes.writeInt32LE(0, 108)),
    both,
  )
  t.equal(without.areas[0]?.polygons.length, 0, 'a record may have no shape')
  const withHeights = readMeshShapefile(
    'M.shp',
    changed((bytes) => bytes.writeInt32LE(15, 108)),
    both,
  )
  t.equal(withHeights.areas[0]?.polygons.flat(2).length, 5)
})

t.test('files are known by their first bytes', async (t) => {
  t.equal(recogniseMesh('a.geojson.gz', gzipSync(json(TWO)).subarray(0, 200)), 'json')
  t.equal(recogniseMesh('sidra.json', json([{ D1C: '1' }])), null)
  t.equal(recogniseMesh('a.shp', shp([])), 'shapes')
  t.equal(recogniseMesh('a.prj', Buffer.from('GEOGCS')), 'companion')
})

t.test('one mesh, whole', async (t) => {
  const folder = temporaryFolder('mesh')
  const file = (name: string, bytes: Buffer) => {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
    return { name, path, archive: null, shown: path }
  }
  const dbf = makeDbf({ columns: [['CD_MUN', 7]], rows: [{ CD_MUN: '1400100' }] })
  const shape = file('M.shp', shp([[[...square(-60, 0)].reverse()]]))
  const table = file('M.dbf', dbf)
  const other = file('other.geojson', json(TWO))
  const states = file('uf.geojson', json(collection(area('14', [square(-60, 0)]))))
  const unknown: string[] = []
  const { mesh, rest } = await openMesh([shape, table, file('M.prj', Buffer.from('x')), states], unknown)
  t.same([mesh?.mesh.rows, mesh?.snapshots.map(({ file }) => file)], [1, ['M.shp', 'M.dbf']])
  t.same(rest, [])
  t.same(unknown, ['uf.geojson'])
  const problem = async (...files: (typeof shape)[]): Promise<string> => {
    try {
      await openMesh(files, [])
      return ''
    } catch (error) {
      return String(error)
    }
  }
  t.match(await problem(shape, table, other), /other.geojson: is a mesh of the municipalities, as M.shp is/)
  t.match(await problem(shape), /M.shp: comes without its .dbf/)
  t.match(await problem(table), /M.dbf: is the table of a shapefile without its .shp/)
})

t.test('rings are nested by where they lie, not by how they are listed', async (t) => {
  const big = square(0, 0, 100)
  const lake = square(10, 10, 20)
  const island = square(12, 12, 5)
  const speck = square(200, 0, 2)
  const found = nestRings([speck, island, lake, [...big].reverse()] as GridRing[])
  t.equal(found.length, 3)
  t.same(
    found.map((polygon) => polygon.map((ring) => Math.abs(twiceSurface(ring)) / 2)),
    [[10_000, 400], [25], [4]],
  )
  for (const [outside, ...holes] of found) {
    t.ok(twiceSurface(outside as GridRing) < 0, 'clockwise')
    for (const hole of holes) t.ok(twiceSurface(hole) > 0)
  }
  t.same(
    nestRings([
      [
        [0, 0],
        [1, 0],
        [0, 0],
      ],
    ]),
    [],
    'a line is no area',
  )
})

t.test('a ring that touches itself is taken apart', async (t) => {
  const [left, right] = [square(0, 0, 10), square(20, 0, 10)]
  const neck: GridRing = [
    [0, 0],
    [10, 0],
    [20, 0],
    [30, 0],
    [30, 10],
    [20, 10],
    [20, 0],
    [10, 0],
    [10, 10],
    [0, 10],
    [0, 0],
  ]
  const sizes = (rings: readonly GridRing[]) => rings.map((ring) => twiceSurface(ring) / 2)
  t.same(sizes(splitRing(neck)), [100, 100], 'the line between two parts goes')
  t.same(sizes(splitRing([...left.slice(0, 2), [99, 0], ...left.slice(1)])), [100], 'and so does a spike')
  t.same(splitRing(right), [right], 'others stay as they are')
})

t.test('a municipality that is a line between two others keeps their border whole', async (t) => {
  // The neck of the third is a fifth of the grid wide; in the middle, one and two have it between them.
  const neck = 0.0002
  const areas: MeshArea[] = [
    {
      code: 1,
      row: 1,
      polygons: [
        [
          [
            [0, 0],
            [3, 0],
            [3, 1],
            [2, 1],
            [1, 1],
            [0, 1],
            [0, 0],
          ],
        ],
      ],
    },
    {
      code: 2,
      row: 2,
      polygons: [
        [
          [
            [1, 1 + neck],
            [2, 1 + neck],
            [2, 2],
            [1, 2],
            [1, 1 + neck],
          ],
        ],
      ],
    },
    {
      code: 3,
      row: 3,
      polygons: [
        [
          [
            [0, 1],
            [1, 1],
            [2, 1],
            [3, 1],
            [3, 2],
            [2, 2],
            [2, 1 + neck],
            [1, 1 + neck],
            [1, 2],
            [0, 2],
            [0, 1],
          ],
        ],
      ],
    },
  ]
  const { areas: found } = simplifyMesh(areas)
  const uses = [...found.values()].flatMap((rings) => rings.flat(2).map((arc) => (arc < 0 ? -1 - arc : arc)))
  t.equal(found.get(3)?.length, 2, 'two parts')
  for (const arc of uses) t.ok(uses.filter((other) => other === arc).length <= 2, 'an arc has two sides')
})

t.test('no area loses what its neighbour gains', async (t) => {
  // Borders of teeth: those of a small area are kept finer, and its larger neighbours share them.
  const wave = (x: number, from: number, to: number, teeth: number, depth: number): Ring =>
    Array.from({ length: teeth * 2 + 1 }, (_, index): [number, number] => [
      x + (index % 2) * depth * (1 + (index % 5) / 5),
      from + ((to - from) * index) / (teeth * 2),
    ])
  const borders = [0, 0.3, 0.42, 0.5, 0.9].map((x, index) =>
    wave(x, 0, 1, 10 + 3 * index, 0.02 + 0.01 * (index % 3)),
  )
  const areas: MeshArea[] = borders.slice(1).map((border, index) => {
    const ring = [...(borders[index] as Ring), ...[...border].reverse()]
    return { code: index + 1, row: index + 1, polygons: [[[...ring, ring[0] as [number, number]]]] }
  })
  const sizeOf = ({ arcs, areas }: ReturnType<typeof simplifyMesh>, code: number): number =>
    (areas.get(code) ?? [])
      .flat()
      .reduce(
        (total, ring) =>
          total + ring.reduce((own, arc) => own + (arc < 0 ? -1 : 1) * twiceSurfaceOf(arcs, arc), 0),
        0,
      )
  const twiceSurfaceOf = (arcs: readonly GridRing[], arc: number): number =>
    twiceSurface(arcs[arc < 0 ? -1 - arc : arc] as GridRing)
  for (let pointsMax = 10; pointsMax <= 120; pointsMax += 5) {
    const [whole, simple] = [simplifyMesh(areas, 1e6), simplifyMesh(areas, pointsMax)]
    for (const { code } of areas)
      t.ok(Math.abs(sizeOf(simple, code) / sizeOf(whole, code) - 1) <= 0.05, `${code} of ${pointsMax} points`)
  }
})

t.test('tiny municipalities keep their size, specks beside the coast go', async (t) => {
  const circle = (x: number, y: number, radius: number): Ring => {
    const points = Array.from({ length: 60 }, (_, index): [number, number] => [
      x + radius * Math.cos((index * Math.PI) / 30),
      y + radius * Math.sin((index * Math.PI) / 30),
    ])
    return [...points, points[0] as [number, number]]
  }
  const areas: MeshArea[] = [
    { code: 1, row: 1, polygons: [[circle(-50, -10, 1)], [circle(-48, -10, 0.002)]] },
    { code: 2, row: 2, polygons: [[circle(-45, -10, 0.02)]] },
  ]
  const { arcs, areas: found } = simplifyMesh(areas, 10)
  t.equal(found.get(1)?.length, 1, 'an island of half a square kilometre is left out')
  const [ring = []] = found.get(2)?.[0] ?? []
  const size = Math.abs(twiceSurface(arcs[ring[0] as number] as GridRing)) / 2
  t.ok(Math.abs(size / (Math.PI * 400) - 1) < 0.08, `${size} squares of the grid`)
})

for (const [path, counted] of [
  ['territory/municipalities_2025.topojson.gz', { rows: 5571, missing: 0 }],
  ['territory/ibge_malhas_v3_BR_municipio.topojson.json', { rows: 5570, missing: 1 }],
  ['ibge/municipios_geodata-br_3dec.geojson.gz', { rows: 5564, missing: 7 }],
] as const)
  t.test(path, { skip: skipWithoutShared }, async (t) => {
    const releasesDir = temporaryFolder('outlines')
    const result = await importPaths(
      [
        sharedPath('ibge/RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls'),
        sharedPath('ibge/tabela9514.xlsx'),
        sharedPath('territory/base_territorial_out25.zip'),
        sharedPath(path),
      ],
      { releasesDir, maxRejected: 0 },
    )
    const { counts } = await readManifest(releasesDir, result.demography ?? '')
    t.equal(counts.municipality_outlines, counted.rows)
    t.equal(counts.municipalities_without_outline, counted.missing)
    writePointer(releasesDir, result.analytics)
    const client = await openClient(releasesDir, 1, { cacheBytes: 2 ** 27 })
    t.teardown(() => client.close())
    const gzip = { 'accept-encoding': 'gzip' }
    const { bytes } = await client.get('/v1/geo/outlines/municipality', gzip)
    t.ok(bytes.length < 600_000, `${bytes.length} bytes compressed`)
    const times = []
    for (let turn = 0; turn < 5; turn += 1) {
      const { headers } = await client.get('/v1/geo/outlines/municipality', gzip)
      times.push(Number(/dur=([\d.]+)/.exec(String(headers['server-timing']))?.[1]))
    }
    t.ok(Math.min(...times) < 20, `${Math.min(...times).toFixed(1)} ms cached`)
    // With the page, its scripts and the answer of 5,571 rows (252,000 bytes), the country is shown with less than 600,000.
    const overview = await client.get('/v1/geo/outlines/municipality?detail=overview', gzip)
    t.ok(overview.bytes.length < 330_000, `${overview.bytes.length} bytes compressed, of the overview`)
    const { meta } = (await client.get('/v1/geo/outlines/municipality?detail=overview')).body
    t.equal(meta.outlines, counted.rows)
    const { mesh } = readMeshJson(path, readFileSync(sharedPath(path)))
    const { body } = await client.get('/v1/geo/outlines/municipality')
    t.equal(body.meta.missing.length, counted.missing)
    const before = new Map(
      mesh.areas.map(({ code, polygons }) => [
        code,
        nestRings(
          polygons.flat().map((ring) => ring.map(([x = 0, y = 0]): [number, number] => [x * 1e6, y * 1e6])),
        ).reduce((sum, polygon) => sum + polygon.reduce((own, ring) => own + twiceSurface(ring), 0), 0),
      ]),
    )
    const wrong = surfacesOf(body.data, 'municipality').filter(
      // Simplification takes or gives 5 % of what an area has on the grid, and the grid itself moves the smallest by 0.6 %.
      ([code, surface]) => Math.abs(surface / (-(before.get(code as number) ?? 0) / 2e12) - 1) > 0.06,
    )
    t.same(wrong.slice(0, 5), [], 'every outline is about as large as the area')
    const whole = sum(surfacesOf(body.data, 'municipality'))
    for (const [level, count] of [
      ['health_region', 439],
      ['health_macroregion', 121],
      ['state', 27],
      ['region', 5],
    ] as const) {
      const { body } = await client.get(`/v1/geo/outlines/${level}`)
      t.equal(body.data.objects[level].geometries.length, count, level)
      t.ok(
        // Sums of the same whole numbers: only the division by the grid rounds. More is a ring that does not close.
        Math.abs(sum(surfacesOf(body.data, level)) / whole - 1) < 1e-9,
        `${level}: merges have the surface of their parts`,
      )
    }
    const states = (await client.get('/v1/geo/outlines/state')).body.data as Topology<{
      state: GeometryCollection
    }>
    t.ok(neighbors(states.objects.state.geometries).every((list, index) => list.length > 0 || index < 0))
  })

const sum = (surfaces: readonly (readonly [unknown, number])[]): number =>
  surfaces.reduce((total, [, surface]) => total + surface, 0)

/** Surface of each outline, in square degrees. */
function surfacesOf(document: Topology, level: string): [unknown, number][] {
  const { features } = feature(document, document.objects[level] as GeometryCollection<{ code: unknown }>)
  return features.map(({ properties, geometry }) => {
    const polygons =
      geometry.type === 'Polygon'
        ? [geometry.coordinates]
        : geometry.type === 'MultiPolygon'
          ? geometry.coordinates
          : []
    const twice = polygons
      .flat()
      .reduce((total, ring) => total + twiceSurface(ring as unknown as GridRing), 0)
    return [properties.code, -twice / 2]
  })
}
