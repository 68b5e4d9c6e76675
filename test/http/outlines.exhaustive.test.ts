/** Outlines over the demonstration: levels, formats, states, what is missing, validators, and releases without a mesh. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { feature, neighbors } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir, 1, { cacheBytes: 2 ** 26 })
t.teardown(() => client.close())
const url = (level: string, more = ''): string => `/v1/geo/outlines/${level}${more}`
const sum = (surfaces: Iterable<number>): number =>
  [...surfaces].reduce((total, surface) => total + surface, 0)
const isNear = (left: number, right: number, part = 1e-9): boolean =>
  Math.abs(left - right) <= part * Math.abs(right)
const YOUNGEST = { code: 5101837, name: 'Boa Esperança do Norte', uf: 'MT' }

type Properties = Record<string, unknown>
const shapesOf = (document: Topology, level: string) =>
  feature(document, document.objects[level] as GeometryCollection<Properties>).features
/** Surface of a document's outlines in square degrees, by code. */
function surfacesOf(document: Topology, level: string): Map<unknown, number> {
  return new Map(
    shapesOf(document, level).map(({ properties, geometry }) => {
      const polygons =
        geometry.type === 'Polygon'
          ? [geometry.coordinates]
          : geometry.type === 'MultiPolygon'
            ? geometry.coordinates
            : []
      const twice = polygons.flat().reduce(
        (total, ring) =>
          total +
          ring.reduce((sum, [x = 0, y = 0], index) => {
            const [nextX = 0, nextY = 0] = ring[index + 1] ?? [x, y]
            return sum + x * nextY - nextX * y
          }, 0),
        0,
      )
      return [properties.code, -twice / 2]
    }),
  )
}

t.test('every level holds every municipality once, and the borders agree', async (t) => {
  const surfaces = new Map<string, Map<unknown, number>>()
  for (const [level, count] of [
    ['municipality', 5570],
    ['state', 27],
    ['region', 5],
  ] as const) {
    const { body, headers } = await client.get(url(level))
    const { data, meta } = body
    t.equal(data.type, 'Topology')
    t.equal(meta.outlines, count)
    t.same(meta.missing, [YOUNGEST], 'the mesh is older than the youngest municipality')
    t.match(meta.source, { publisher: 'IBGE', file: 'malha_municipios_demonstracao.json' })
    t.equal(meta.synthetic, true)
    t.equal(headers['x-data-release-id'], small.result.demography)
    const found = surfacesOf(data, level)
    t.equal(found.size, count)
    t.ok([...found.values()].every((surface) => surface > 0))
    surfaces.set(level, found)
  }
  const [municipalities = new Map(), states = new Map(), regions = new Map()] = surfaces.values()
  for (const [uf, code] of [
    ['RR', 14],
    ['MG', 31],
    ['MT', 51],
  ] as const) {
    const parts = [...municipalities].filter(([place]) => Math.floor(Number(place) / 100_000) === code)
    t.ok(isNear(states.get(uf) ?? 0, sum(parts.map(([, surface]) => surface))), `${uf} is its municipalities`)
  }
  t.ok(isNear(sum(regions.values()), sum(municipalities.values())))
  const document = (await client.get(url('state'))).body.data
  const { geometries } = document.objects.state
  const names = geometries.map(({ id }: { id: string }) => id)
  const beside = neighbors(geometries)[names.indexOf('ES')] ?? []
  t.same(beside.map((index) => names[index]).sort(), ['BA', 'MG', 'RJ'], 'borders are the same arcs')
})

t.test('health regions and macro-regions are merges too', async (t) => {
  const country = sum(surfacesOf((await client.get(url('region'))).body.data, 'region').values())
  for (const level of ['health_region', 'health_macroregion']) {
    const { status, body } = await client.get(url(level))
    t.equal(status, 200)
    const values = await client.get(`/v1/analytics/dimensions/${level}/values?limit=250`)
    const codes = new Set(
      body.data.objects[level].geometries.map(
        ({ properties }: { properties: Properties }) => properties.code,
      ),
    )
    t.same(
      values.body.data.filter(({ code }: { code: string }) => !codes.has(code)),
      [],
      'the codes are those of the dimension',
    )
    t.ok(isNear(sum(surfacesOf(body.data, level).values()), country))
  }
})

t.test('states choose, GeoJSON runs counterclockwise and says the same', async (t) => {
  const { body } = await client.get(url('municipality', '?uf=rr,ac&format=geojson'))
  t.equal(body.data.type, 'FeatureCollection')
  t.equal(body.data.features.length, 15 + 22)
  t.same(body.meta.missing, [])
  const [first] = body.data.features
  t.same(first.properties, { code: 1200013, name: 'Acrelândia', uf: 'AC' })
  t.equal(first.id, 1200013)
  const [ring] = first.geometry.coordinates
  const twice = ring.reduce((sum: number, [x, y]: number[], index: number) => {
    const [nextX, nextY] = ring[index + 1] ?? [x, y]
    return sum + (x as number) * nextY - nextX * (y as number)
  }, 0)
  t.ok(twice > 0)
  t.same(ring[0], ring.at(-1))
  const topology = (await client.get(url('municipality', '?uf=AC,RR'))).body.data
  t.same(
    shapesOf(topology, 'municipality').map(({ properties }) => properties),
    body.data.features.map(({ properties }: { properties: Properties }) => properties),
  )
  t.equal(
    (await client.get(url('municipality', '?uf=AC,RR'))).text.length,
    (await client.get(url('municipality', '?uf=rr,ac'))).text.length,
  )
})

t.test('of a major region the states asked for, as in a query filtered by state', async (t) => {
  const { body } = await client.get(url('region', '?uf=BA,MG,ES'))
  const states = surfacesOf((await client.get(url('state'))).body.data, 'state')
  const regions = surfacesOf(body.data, 'region')
  t.same([...regions.keys()], [2, 3])
  t.ok(isNear(regions.get(2) ?? 0, states.get('BA') ?? 0))
  t.ok(isNear(regions.get(3) ?? 0, (states.get('MG') ?? 0) + (states.get('ES') ?? 0)))
})

t.test('the overview has the same places with fewer points, and codes alone', async (t) => {
  for (const level of ['municipality', 'state']) {
    const full = (await client.get(url(level))).body
    const overview = (await client.get(url(level, '?detail=overview'))).body
    t.same([full.meta.detail, overview.meta.detail], ['full', 'overview'])
    t.equal(overview.meta.outlines, full.meta.outlines)
    const [whole, coarse] = [full.data, overview.data].map(
      (document) => document.objects[level].geometries as { id: unknown; properties?: Properties }[],
    )
    t.same(
      coarse?.map(({ id }) => id),
      whole?.map(({ id }) => id),
    )
    t.ok(coarse?.every((outline) => !('properties' in outline)))
    t.same(neighbors(overview.data.objects[level].geometries), neighbors(full.data.objects[level].geometries))
    t.same(overview.data.transform.scale, [0.005, 0.005])
    t.ok(overview.data.arcs.flat().length <= full.data.arcs.flat().length)
    for (const outline of coarse ?? []) outline.properties = { code: outline.id }
    t.ok(
      isNear(
        sum(surfacesOf(overview.data, level).values()),
        sum(surfacesOf(full.data, level).values()),
        0.002,
      ),
    )
  }
  const { features } = (await client.get(url('state', '?detail=overview&format=geojson'))).body.data
  t.match(features[0], { type: 'Feature', id: 'AC', properties: {} })
  t.equal((await client.get(url('state', '?detail=fine'))).status, 400)
})

t.test(
  'facilities of the demonstration lie in the outlines of their municipalities, but for some',
  async (t) => {
    const accept = 'application/geo+json'
    const all = (await client.get('/v1/facilities?limit=10000', { accept })).body.features as {
      properties: Properties
      geometry: { coordinates: [number, number] } | null
    }[]
    const suspect = (mark: boolean | null) =>
      all.filter(({ properties }) => properties.coordinates_suspect === mark).length / all.length
    t.ok(suspect(false) > 0.8, 'most')
    t.ok(suspect(true) > 0.01 && suspect(true) < 0.05, 'some are elsewhere')
    t.ok(suspect(null) > 0.05 && suspect(null) < 0.15, 'some have none')
    // Boa Vista: its outline's box, and the facilities in it.
    const outlines = (await client.get(url('municipality', '?uf=RR&format=geojson'))).body.data.features
    const { geometry } = outlines.find(({ id }: { id: number }) => id === 1400100)
    const [xs, ys] = [0, 1].map((axis) => geometry.coordinates[0].map((point: number[]) => point[axis])) as [
      number[],
      number[],
    ]
    const box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]
    const inside = (await client.get(`/v1/facilities?bbox=${box}&limit=10000`, { accept })).body.features
    const own = all.filter(({ properties }) => properties.municipality_ibge_code === 1400100)
    const both = inside.filter(
      ({ properties }: { properties: Properties }) => properties.municipality_ibge_code === 1400100,
    )
    t.ok(both.length > 0.8 * own.length, 'most of the municipality lie in its box')
    t.ok(both.length > 0.95 * inside.length, 'hardly any others do')
  },
)

t.test('documents without the envelope', async (t) => {
  const geo = await client.get(url('state'), { accept: 'application/geo+json' })
  t.match(geo.headers['content-type'], /geo\+json/)
  t.equal(JSON.parse(geo.text).type, 'FeatureCollection')
  const topo = await client.get(url('state'), { accept: 'application/topo+json' })
  for (const [format, accept, status] of [
    ['topojson', 'application/geo+json', 406],
    ['geojson', 'application/topo+json', 406],
    ['geojson', 'application/geo+json', 200],
    ['topojson', '*/*', 200],
    ['geojson', 'application/json', 200],
  ] as const) {
    const answer = await client.get(url('state', `?format=${format}`), { accept })
    t.equal(answer.status, status, `${format} as ${accept}`)
  }
  t.equal(JSON.parse(topo.text).type, 'Topology')
  const envelope = await client.get(url('state'))
  t.equal(
    new Set([geo, topo, envelope].map(({ headers }) => headers.etag)).size,
    3,
    'other bytes, another tag',
  )
})

t.test('validators, pins, compression', async (t) => {
  const first = await client.get(url('region'), { 'accept-encoding': 'gzip' })
  t.equal(first.headers['content-encoding'], 'gzip')
  const again = await client.get(url('region'), { 'if-none-match': String(first.headers.etag) })
  t.equal(again.status, 304)
  const pinned = await client.get(url('region', `?expected_release_id=${small.result.analytics}`))
  t.match(pinned.headers['cache-control'], /immutable/)
  t.equal((await client.get(url('region', '?expected_release_id=analytics-br-202001-x'))).status, 409)
})

t.test('what is refused', async (t) => {
  t.equal((await client.get(url('city'))).status, 404)
  t.equal((await client.get(url('state', '?format=svg'))).status, 400)
  t.equal((await client.get(url('state', '?uf=XX'))).status, 400)
  const forbidden = await client.get(url('state'), {
    authorization: `Bearer ${client.keyWithout('geo.read')}`,
  })
  t.equal(forbidden.status, 403)
})

t.test('a release without a mesh says what to import', async (t) => {
  const demography = await forgeRelease(
    small.releasesDir,
    small.result.demography ?? '',
    (folder, manifest) => {
      for (const name of ['municipality_outlines', 'outline_arcs']) {
        rmSync(join(folder, name), { recursive: true })
        delete manifest.datasets[name]
      }
      manifest.files = manifest.files.filter(({ path }) => !/outline/.test(path))
    },
  )
  const analytics = await forgeRelease(small.releasesDir, small.result.analytics, (_folder, manifest) => {
    manifest.components.demography = demography
  })
  writePointer(small.releasesDir, analytics)
  const old = await openClient(small.releasesDir)
  t.teardown(() => old.close())
  const { status, body } = await old.get(url('state'))
  t.equal(status, 400)
  t.equal(body.code, 'dimension_not_loaded')
  t.match(body.detail, /malha municipal do IBGE/)
})
