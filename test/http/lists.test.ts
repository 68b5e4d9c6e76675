/**
 * What a list can be asked for besides filters: an order, a place on the map, the facility of each row, other formats. Row files
 * and engine answer alike; orders, distances and formats are compared with plain computations over all rows.
 */
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { ROUTES } from '../../src/http/routes/index.ts'
import { type DatasetName, datasetOf } from '../../src/model/datasets.ts'
import { parseSort } from '../../src/query/lists/order.ts'
import { chordFrom, distanceOf } from '../../src/query/lists/places.ts'
import { writePointer } from '../../src/release/writer.ts'
import { makeRows } from '../../src/rows/make.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { forgeRelease, joinForged } from '../fixtures/forged-release.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const FACILITIES = 'facilities/reference_period=202605/part-0.parquet'
/** Facilities without names, with names that are formulas, and places of one distance and on the edges of a box. */
const changed = join(temporaryFolder('lists'), 'part-0.parquet')
const instance = await DuckDBInstance.create(':memory:')
const connection = await instance.connect()
await connection.run(
  `COPY (SELECT * EXCLUDE (row) REPLACE (
     CASE WHEN row % 7 = 0 THEN NULL ELSE legal_name END AS legal_name,
     CASE row % 50 WHEN 0 THEN '=1+1' WHEN 1 THEN '"aspas", vírgula' WHEN 2 THEN '@x' ELSE trade_name END AS trade_name,
     CASE WHEN row % 9 = 0 THEN NULL WHEN row % 11 = 0 THEN -10.0 ELSE latitude END AS latitude,
     CASE WHEN row % 9 = 0 THEN NULL WHEN row % 11 = 0 THEN -67.5 ELSE longitude END AS longitude)
   FROM (SELECT *, row_number() OVER (ORDER BY cnes_code) AS row FROM read_parquet('${join(small.releasesDir, small.result.cnes ?? '', FACILITIES)}', hive_partitioning = false))
   ORDER BY cnes_code) TO '${changed}' (FORMAT parquet)`,
)
/** Outlines of two municipalities, as far as boxes need them. */
const BOXES: Readonly<Record<number, readonly [west: number, south: number, east: number, north: number]>> = {
  1400100: [-70, -20, -50, 2],
  1600303: [-67.4, -9.9, -67.3, -9.8],
}
const OUTLINES = 'municipality_outlines'
const outlines = join(temporaryFolder('outlines'), 'part-0.parquet')
await connection.run(
  `COPY (SELECT * FROM (VALUES ${Object.entries(BOXES)
    .map(([code, box]) => `(${code}, ${box.map((degrees) => `${degrees}::DOUBLE`).join(', ')})`)
    .join(', ')}) AS boxes(ibge_code, west, south, east, north)) TO '${outlines}' (FORMAT parquet)`,
)
connection.closeSync()
instance.closeSync()
const cnes = await forgeRelease(small.releasesDir, small.result.cnes ?? '', (folder) =>
  cpSync(changed, join(folder, FACILITIES)),
)
const analytics = await joinForged(small.releasesDir, small.result.analytics, cnes)
await makeRows(small.releasesDir, analytics)
writePointer(small.releasesDir, analytics)
/** The same with outlines. */
const demography = await forgeRelease(
  small.releasesDir,
  small.result.demography ?? '',
  (folder, manifest) => {
    const path = `${OUTLINES}/part-0.parquet`
    rmSync(join(folder, OUTLINES), { recursive: true, force: true })
    mkdirSync(join(folder, OUTLINES))
    cpSync(outlines, join(folder, path))
    const rows = Object.keys(BOXES).length
    manifest.datasets[OUTLINES] = {
      key: ['ibge_code'],
      fields: [
        { name: 'ibge_code', type: 'INTEGER' },
        ...['west', 'south', 'east', 'north'].map((name) => ({ name, type: 'DOUBLE' })),
      ],
      rows,
      periods: [],
    }
    manifest.files = [
      ...manifest.files.filter((file) => !file.path.startsWith(`${OUTLINES}/`)),
      { path, bytes: 0, sha256: '', rows },
    ]
  },
)
const outlined = await forgeRelease(small.releasesDir, analytics, (_folder, manifest) => {
  manifest.components.demography = demography
})

const plain = await openClient(small.releasesDir)
const written = await openClient(small.releasesDir, 1, { rows: true, cacheBytes: 1 << 24 })
t.teardown(async () => {
  await plain.close()
  await written.close()
})
const strip = (text: string): string => text.replace(/"request_id":"[^"]+"/, '')
type Row = Record<string, unknown>

/** The answer of both, which is the same. */
async function ask(t: Test, url: string, headers: Record<string, string> = {}): Promise<Reply> {
  const [expected, found] = [await plain.get(url, headers), await written.get(url, headers)]
  if (strip(found.text) !== strip(expected.text) || found.headers.link !== expected.headers.link)
    t.equal(
      strip(found.text).slice(0, 2000),
      strip(expected.text).slice(0, 2000),
      `${url} ${headers.accept ?? ''}`,
    )
  if (found.headers.etag !== expected.headers.etag) t.equal(found.headers.etag, expected.headers.etag, url)
  return found
}
const withQuery = (url: string, more: string): string => `${url}${url.includes('?') ? '&' : '?'}${more}`
/** All rows of a list, page by page. */
async function walk(
  t: Test,
  url: string,
  limit: number,
  pagesMax = Number.POSITIVE_INFINITY,
): Promise<Row[]> {
  const rows: Row[] = []
  let cursor: string | null = ''
  for (let page = 0; cursor !== null && page < pagesMax; page += 1) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { status, body, text } = await ask(t, withQuery(url, `limit=${limit}${more}`))
    if (status !== 200) throw new Error(text)
    rows.push(...body.data)
    cursor = body.pagination.next_cursor
  }
  return rows
}
const keyOf = (row: Row, name: DatasetName): string =>
  JSON.stringify(['reference_period', ...datasetOf(name).key].map((column) => row[column]))

const facilities = await walk(t, '/v1/facilities?status=all', 250)
const chance = createChance(15)

t.test(
  'sorted lists stand in their order, null last, and lose nothing over their pages',
  secondRing,
  async (t) => {
    const collator = new Intl.Collator('pt')
    const compare = (left: unknown, right: unknown): number =>
      typeof left === 'string' ? collator.compare(left, String(right)) : Number(left) - Number(right)
    let sorted = 0
    for (const route of ROUTES) {
      if (route.kind !== 'list' || route.pathFilter !== undefined) continue
      const name = route.dataset.name as DatasetName
      const fields = route.dataset.sorts ?? []
      t.ok(fields.length > 0, `${name} has orders`)
      t.ok(
        fields.every((field) => route.dataset.fields.includes(field)),
        'those it shows',
      )
      // Other tests make releases of these areas.
      if (['sih', 'sia', 'sim', 'sinasc', 'financing'].includes(route.dataset.area)) continue
      const filter =
        name === 'facilities'
          ? 'status=all'
          : name === 'municipalities'
            ? 'state=AC,RR,SC'
            : route.filters.includes('uf')
              ? 'uf=RR'
              : 'state=RR'
      const [field = 'uf', other = 'uf'] = [fields[0], fields.at(-1)]
      const sorts = [...fields, ...fields.map((each) => `-${each}`), `uf,-${other}`, `-${other},${field}`]
      for (const sort of sorts.filter((_, index) => index % cases(1, 4) === 0 || index >= sorts.length - 2)) {
        if (new Set(parseSort(sort).map((term) => term.field)).size < parseSort(sort).length) continue
        const url = `${route.path}?${filter}&sort=${sort}`
        const rows = await walk(t, url, route.limit.max, cases(8, 3))
        if (rows.length === 0) throw new Error(url)
        t.equal(new Set(rows.map((row) => keyOf(row, name))).size, rows.length, `${url}: nothing twice`)
        const terms = parseSort(sort)
        const wrong = rows.findIndex((row, at) => {
          const before = rows[at - 1]
          if (before === undefined) return false
          for (const { field, isDescending } of terms) {
            const [left, right] = [before[field] ?? null, row[field] ?? null]
            if (left === right) continue
            if (left === null || right === null) return left === null
            // Collations may see as equal what differs in bytes.
            const difference = compare(left, right)
            if (difference !== 0) return isDescending ? difference < 0 : difference > 0
          }
          return keyOf(before, name) > keyOf(row, name)
        })
        t.equal(wrong, -1, `${url}: ${JSON.stringify(rows.slice(Math.max(0, wrong - 1), wrong + 1))}`)
        sorted += 1
      }
    }
    t.ok(sorted > 15, `${sorted} orders`)
    for (const sort of ['legal_name', '-legal_name']) {
      const rows = await walk(t, `/v1/facilities?status=all&sort=${sort}`, 250)
      t.same(
        rows.map(({ cnes_code }) => cnes_code).sort(),
        facilities.map(({ cnes_code }) => cnes_code),
      )
      const nameless = rows.filter(({ legal_name }) => legal_name === null)
      t.ok(nameless.length > 100)
      t.same(rows.slice(-nameless.length), nameless, 'those without a name come last')
      t.same(
        nameless.map(({ cnes_code }) => cnes_code),
        nameless.map(({ cnes_code }) => cnes_code).sort(),
      )
    }
    const all = await walk(t, '/v1/bed-capacity?reference_period=all&sort=-beds_existing', 100)
    t.equal(new Set(all.map((row) => keyOf(row, 'bed_capacity'))).size, all.length)
    t.same(
      all.map(({ beds_existing }) => beds_existing),
      all.map(({ beds_existing }) => Number(beds_existing)).sort((a, b) => b - a),
    )
  },
)

t.test('a cursor is bound to its order, its place and its filters', async (t) => {
  const first = (await ask(t, '/v1/facilities?sort=trade_name&limit=2')).body.pagination.next_cursor
  for (const query of [
    '',
    'sort=-trade_name',
    'sort=trade_name,uf',
    'sort=trade_name&bbox=-70,-11,-60,-9',
    'sort=trade_name&near=1,-60',
  ]) {
    const { status, body } = await ask(t, `/v1/facilities?cursor=${first}${query === '' ? '' : `&${query}`}`)
    t.equal(status, 400, query)
    t.equal(body.code, 'invalid_cursor')
  }
  const near = (await ask(t, '/v1/facilities?near=-10,-67.5&radius_km=50&limit=2')).body.pagination
    .next_cursor
  t.equal(
    (await ask(t, `/v1/facilities?near=-10.0,-67.50&radius_km=50.0&limit=2&cursor=${near}`)).status,
    200,
    'equal numbers',
  )
  t.equal((await ask(t, `/v1/facilities?near=-10,-67.5&radius_km=51&cursor=${near}`)).status, 400)
})

t.test('boxes: what lies in them, edges included', async (t) => {
  const details = new Map<string, { latitude: number | null; longitude: number | null }>()
  for (const { properties, geometry } of (
    await ask(t, '/v1/facilities?status=all&limit=10000', { accept: 'application/geo+json' })
  ).body.features)
    details.set(properties.cnes_code, {
      latitude: geometry?.coordinates[1] ?? null,
      longitude: geometry?.coordinates[0] ?? null,
    })
  t.equal(details.size, facilities.length)
  for (const box of [
    [-67.5, -10, -67.5, -10],
    [-68, -11, -60, 3],
    [-72.7, -7.66, -72.65, -7.6],
    [-180, -90, 180, 90],
    [-50, -30, -40, -20],
    [10, 10, 11, 11],
  ]) {
    const [west = 0, south = 0, east = 0, north = 0] = box
    const expected = facilities.filter(({ cnes_code }) => {
      const { latitude, longitude } = details.get(String(cnes_code)) ?? { latitude: null, longitude: null }
      return (
        latitude !== null &&
        longitude !== null &&
        latitude >= south &&
        latitude <= north &&
        longitude >= west &&
        longitude <= east
      )
    })
    const url = `/v1/facilities?status=all&bbox=${box}`
    t.same(await walk(t, url, 250), expected, url)
    t.equal((await ask(t, `${url}&count=true&limit=1`)).body.pagination.total, expected.length)
    if (box[0] === -67.5) t.ok(expected.length > 20, 'on a corner')
  }
  // Near a point: compared with the usual formula in floating point.
  const kilometres = (
    latitude: number,
    longitude: number,
    other: { latitude: number; longitude: number },
  ): number => {
    const radians = (degrees: number): number => (degrees * Math.PI) / 180
    const a =
      Math.sin(radians(other.latitude - latitude) / 2) ** 2 +
      Math.cos(radians(latitude)) *
        Math.cos(radians(other.latitude)) *
        Math.sin(radians(other.longitude - longitude) / 2) ** 2
    return 2 * 6371.0088 * Math.asin(Math.sqrt(a))
  }
  for (const [latitude, longitude, radius] of [
    [-10, -67.5, 30],
    [-7.6307, -72.6747, 40],
    [-10.001, -67.5, 500],
    [2.8, -60.7, 400],
    [-9.9, -67.8, 0.5],
  ] as const) {
    const url = `/v1/facilities?status=all&near=${latitude},${longitude}&radius_km=${radius}`
    const rows = await walk(t, url, 97)
    const distances = new Map(
      [...details].flatMap(([code, place]) =>
        place.latitude === null || place.longitude === null
          ? []
          : [
              [
                code,
                kilometres(latitude, longitude, place as { latitude: number; longitude: number }),
              ] as const,
            ],
      ),
    )
    const expected = [...distances].filter(([, distance]) => distance <= radius)
    t.equal(rows.length, expected.length, url)
    t.ok(
      rows.every(
        ({ cnes_code, distance_km }) =>
          Math.abs((distances.get(String(cnes_code)) ?? -1) - Number(distance_km)) < 0.001,
      ),
      'distances to the metre',
    )
    t.ok(
      rows.every(
        (row, at) =>
          at === 0 ||
          Number(rows[at - 1]?.distance_km) < Number(row.distance_km) ||
          (Number(rows[at - 1]?.distance_km) === Number(row.distance_km) &&
            ((distances.get(String(rows[at - 1]?.cnes_code)) ?? 0) <
              (distances.get(String(row.cnes_code)) ?? 0) ||
              String(rows[at - 1]?.cnes_code) < String(row.cnes_code))),
      ),
      'the nearest first, then by code',
    )
    const byName = await walk(t, `${url}&sort=-trade_name`, 250)
    t.same(byName.map(({ cnes_code }) => cnes_code).sort(), rows.map(({ cnes_code }) => cnes_code).sort())
    t.equal((await ask(t, `${url}&limit=1&count=true`)).body.pagination.total, rows.length)
  }
  // Around the seat of Cruzeiro do Sul, in Acre: the places planted above are of the newest month alone.
  const months = await walk(t, '/v1/facilities?near=-7.6307,-72.6747&radius_km=100&reference_period=all', 250)
  t.same(new Set(months.map(({ reference_period }) => reference_period)), new Set(['2026-04', '2026-05']))
  const inBox = await walk(t, '/v1/facilities?bbox=-68,-11,-60,3&reference_period=all&sort=uf', 250)
  t.ok(inBox.length > 0)
})

t.test('distances are computed with operations that are exact everywhere', async (t) => {
  for (let turn = 0; turn < 2000; turn += 1) {
    const [a, b, c, d] = [1, 2, 3, 4].map((purpose) => chance(turn, purpose)) as [
      number,
      number,
      number,
      number,
    ]
    const near = { latitude: a * 180 - 90, longitude: b * 360 - 180, radiusKm: 500 }
    const [latitude, longitude] = [near.latitude + (c - 0.5) * 8, near.longitude + (d - 0.5) * 8]
    const radians = (degrees: number): number => (degrees * Math.PI) / 180
    const expected =
      Math.sin(radians(latitude - near.latitude) / 2) ** 2 +
      Math.cos(radians(near.latitude)) *
        Math.cos(radians(latitude)) *
        Math.sin(radians(longitude - near.longitude) / 2) ** 2
    const found = chordFrom(near)(latitude, longitude)
    if (Math.abs(found - expected) > 1e-14) t.equal(found, expected)
    if (found < 0.0015 && Math.abs(distanceOf(found) - 2 * 6371.0088 * Math.asin(Math.sqrt(found))) > 0.00051)
      t.fail(`${distanceOf(found)}`)
  }
  // To the last bit: what another machine must compute as well.
  const chord = chordFrom({ latitude: -9.97499, longitude: -67.8243, radiusKm: 1 })(-10, -67.8)
  t.equal(chord, 9.125033015493262e-8)
  t.equal(distanceOf(chord), 3.849)
})

t.test('the facility of each row, as it is in the month of the row', async (t) => {
  for (const path of ['/v1/bed-capacity', '/v1/equipment-inventory', '/v1/specialized-service-offerings']) {
    for (const query of ['', '&reference_period=all', '&uf=AC&status=all', '&sort=-facility_name']) {
      const { body } = await ask(t, `${path}?include=facility&limit=25${query}`)
      const bare = (await ask(t, `${path}?limit=25${query}`)).body
      t.same(
        body.data.map(({ facility, ...row }: Row) => row),
        bare.data,
        'beside what the row is',
      )
      for (const row of body.data.filter((_: Row, index: number) => index % 6 === 0)) {
        const record = (
          await ask(t, `/v1/facilities/${row.cnes_code}?reference_period=${row.reference_period}`)
        ).body.data
        const {
          facility_type_code,
          facility_type_name,
          address,
          phone,
          latitude,
          longitude,
          coordinates_suspect,
        } = record
        t.same(row.facility, {
          facility_type_code,
          facility_type_name,
          address,
          phone,
          latitude,
          longitude,
          coordinates_suspect,
        })
      }
    }
    const lacking = await written.get(`${path}?include=facility`, {
      authorization: `Bearer ${written.keyWithout('facilities.read')}`,
    })
    t.equal(lacking.status, 403, 'of the registry of facilities')
    t.match(lacking.body.detail, 'facilities.read')
    // Also where others were answered.
    t.equal((await written.get(`${path}?include=facility`)).status, 200)
    t.equal(
      (
        await written.get(`${path}?include=facility`, {
          authorization: `Bearer ${written.keyWithout('facilities.read')}`,
        })
      ).status,
      403,
    )
    t.equal((await written.get(`${path}?include=beds`)).status, 400)
  }
  t.equal((await written.get('/v1/facilities?include=facility')).status, 400)
})

t.test('coordinates outside of the box around their municipality are marked', secondRing, async (t) => {
  const pin = `expected_release_id=${outlined}`
  const accept = 'application/geo+json'
  const { features } = (await ask(t, `/v1/facilities?status=all&limit=10000&${pin}`, { accept })).body
  const counts = new Map<boolean | null, number>()
  for (const { properties, geometry } of features) {
    const box = BOXES[properties.municipality_ibge_code]
    const [longitude, latitude] = geometry?.coordinates ?? []
    const expected =
      box === undefined || geometry === null
        ? null
        : longitude < box[0] - 0.2 ||
          longitude > box[2] + 0.2 ||
          latitude < box[1] - 0.2 ||
          latitude > box[3] + 0.2
    if (properties.coordinates_suspect !== expected)
      t.equal(properties.coordinates_suspect, expected, properties.cnes_code)
    const count = counts.get(expected) ?? 0
    counts.set(expected, count + 1)
    if (count > 12) continue
    const record = (await ask(t, `/v1/facilities/${properties.cnes_code}?${pin}`)).body.data
    t.equal(record.coordinates_suspect, expected, 'of the record')
    const beside = (
      await ask(
        t,
        `/v1/equipment-inventory?cnes_code=${properties.cnes_code}&status=all&include=facility&limit=1&${pin}`,
      )
    ).body.data
    if (beside.length > 0) t.equal(beside[0].facility.coordinates_suspect, expected, 'beside its equipment')
  }
  t.same([...counts.keys()].sort(), [false, null, true])
  t.ok((counts.get(false) ?? 0) > 5, 'inside of the margin, on a corner among them')
})

t.test('GeoJSON: features with pages of their own size', async (t) => {
  const accept = 'application/geo+json'
  const features: { id: string; type: string; properties: Row; geometry: unknown }[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const more: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { body, headers } = await ask(t, `/v1/facilities?status=all&limit=2300${more}`, { accept })
    t.equal(headers['content-type'], accept)
    t.equal(body.type, 'FeatureCollection')
    t.same(Object.keys(body), ['type', 'features', 'pagination', 'meta'])
    t.equal(body.meta.release_id, cnes)
    t.equal(body.meta.reference_period, '2026-05')
    features.push(...body.features)
    cursor = body.pagination.next_cursor
  }
  const bare = features.map(({ properties: { coordinates_suspect: _mark, ...row } }) => row)
  t.same(bare, facilities, 'pages laid end to end are the list')
  t.ok(features.every(({ id, type, properties }) => type === 'Feature' && id === properties.cnes_code))
  t.ok(features.some(({ geometry }) => geometry === null))
  const near = (await ask(t, '/v1/facilities?near=-10,-67.5&radius_km=20&count=true', { accept })).body
  t.equal(near.pagination.limit, 1000)
  t.equal(near.pagination.total, near.features.length)
  t.equal(near.features[0].properties.distance_km, 0)
  t.same(near.features[0].geometry, { type: 'Point', coordinates: [-67.5, -10] })
  t.equal(
    (await ask(t, '/v1/facilities?bbox=10,10,11,11', { accept })).text.slice(0, 46),
    '{"type":"FeatureCollection","features":[],"pag',
  )
  t.equal((await written.get('/v1/facilities?limit=10001', { accept })).status, 400)
  t.equal((await written.get('/v1/facilities?limit=251')).status, 400, 'JSON keeps its limit')
  const gzip = await written.get('/v1/facilities?limit=1000', { accept, 'accept-encoding': 'gzip' })
  t.equal(gzip.headers['content-encoding'], 'gzip')
})

/** @returns the cells of a CSV */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, bare = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? bare)
    if (end === '\r\n') rows.push([])
  }
  return rows.slice(0, -1)
}

t.test('CSV: the whole list, or a page with a link to the next', async (t) => {
  const accept = 'text/csv'
  const { text, headers } = await ask(t, '/v1/facilities?status=all', { accept })
  t.equal(headers['content-type'], 'text/csv; charset=utf-8; header=present')
  const [names = [], ...lines] = readCsv(text)
  t.same(names, datasetOf('facilities').fields)
  const safe = (value: unknown): string => {
    const cell = value === null ? '' : String(value)
    return typeof value === 'string' && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  }
  t.same(
    lines,
    facilities.map((row) => names.map((name) => safe(row[name]))),
    'row by row what JSON has',
  )
  t.ok(
    lines.some((cells) => cells.includes("'=1+1")),
    'no formula',
  )
  t.ok(lines.some((cells) => cells.includes('"aspas", vírgula')))
  t.ok(
    lines.every(([code]) => /^\d{7}$/.test(code ?? '')),
    'codes with their zeros',
  )

  const pages: string[][] = []
  let url: string | undefined = '/v1/facilities?status=all&uf=RR&limit=40&count=true'
  const total = facilities.filter(({ uf }) => uf === 'RR').length
  while (url !== undefined) {
    const page: Reply = await ask(t, url, { accept })
    pages.push(...readCsv(page.text).slice(1))
    t.equal(page.headers['x-total-count'], String(total))
    url = /<(.+)>; rel="next"/.exec(String(page.headers.link ?? ''))?.[1]
  }
  t.same(
    pages,
    lines.filter((cells) => cells[names.indexOf('uf')] === 'RR'),
    'the walk of the links',
  )
  const from = (await ask(t, '/v1/facilities?status=all&limit=100')).body.pagination.next_cursor
  t.same(
    readCsv((await ask(t, `/v1/facilities?status=all&cursor=${from}`, { accept })).text).slice(1),
    lines.slice(100),
    'from a cursor on',
  )

  const beds = readCsv(
    (await ask(t, '/v1/bed-capacity?include=facility&reference_period=all&sort=-beds_sus', { accept })).text,
  )
  t.ok(beds[0]?.includes('facility_address_street') && beds[0].includes('facility_latitude'))
  t.ok(beds.every((cells) => cells.length === beds[0]?.length))
  const services = readCsv((await ask(t, '/v1/specialized-service-offerings?uf=RR', { accept })).text)
  const at = services[0]?.indexOf('declarations') ?? 0
  t.ok(
    services.slice(1).every((cells) => Array.isArray(JSON.parse(cells[at] ?? ''))),
    'lists as JSON',
  )
  t.equal(
    (await ask(t, '/v1/facilities?near=-10,-67.5&radius_km=1', { accept })).text
      .split('\r\n')[1]
      ?.split(',')
      .at(-1),
    '0',
  )
  t.equal(readCsv((await ask(t, '/v1/states', { accept })).text).length, 28)
  t.equal(readCsv((await ask(t, '/v1/bed-types', { accept })).text).length, 70)
  const none = await ask(t, '/v1/facilities?search=nobodyhasthisname', { accept })
  t.equal(readCsv(none.text).length, 1, 'names of the columns alone')
  const head = await written.send({ method: 'HEAD', url: '/v1/facilities', headers: { accept } })
  t.equal(head.status, 200)
  t.equal(head.text, '')
  const refused = await written.get('/v1/facilities?cursor=abc', { accept })
  t.equal(refused.status, 400)
  t.equal(refused.headers['content-type'], 'application/problem+json; charset=utf-8')
})

t.test('what is not offered is 406, and nothing is answered in another format in silence', async (t) => {
  const cases: [accept: string, path: string, type: string | null][] = [
    ['*/*', '/v1/facilities', 'application/json'],
    ['', '/v1/facilities', 'application/json'],
    ['application/*', '/v1/facilities', 'application/json'],
    ['application/json', '/v1/facilities', 'application/json'],
    ['application/json, application/problem+json', '/v1/facilities', 'application/json'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', '/v1/facilities', 'application/json'],
    ['text/csv', '/v1/facilities', 'text/csv'],
    ['text/*', '/v1/bed-capacity', 'text/csv'],
    ['application/json;q=0.1, text/csv', '/v1/bed-types', 'text/csv'],
    ['text/csv;q=0, */*', '/v1/facilities', 'application/json'],
    ['application/geo+json', '/v1/facilities', 'application/geo+json'],
    ['application/geo+json', '/v1/bed-capacity', null],
    ['application/geo+json, */*;q=0.1', '/v1/bed-capacity', 'application/json'],
    ['text/html', '/v1/facilities', null],
    ['application/xml', '/v1/states', null],
    ['application/json;q=0', '/v1/facilities/0000000', null],
    ['text/csv', '/v1/states/14', null],
    ['application/vnd.apache.arrow.stream', '/v1/analytics/catalog', null],
    ['nonsense', '/v1/municipalities', null],
  ]
  for (const [accept, path, type] of cases) {
    const { status, headers, body } = await ask(
      t,
      `${path}${path.split('/').length > 3 || path.includes('types') || path.includes('states') ? '' : '?limit=2'}`,
      { accept },
    )
    if (type === null) {
      t.equal(status, 406, `${accept} ${path}`)
      t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
      t.equal(body.code, 'not_acceptable')
      t.ok(body.offered.includes('application/json'))
    } else {
      t.equal(status, 200, `${accept} ${path}`)
      t.equal(String(headers['content-type']).split(';')[0], type, `${accept} ${path}`)
    }
    t.match(String(headers.vary), /\bAccept,/)
  }
  const english = await written.get('/v1/facilities', { accept: 'text/html', 'accept-language': 'en' })
  t.equal(english.body.detail, 'This route answers with application/json, text/csv, application/geo+json.')
})

t.test('formats of one address do not answer for each other', async (t) => {
  const url = '/v1/facilities?uf=RR&limit=5'
  const types = ['application/json', 'text/csv', 'application/geo+json']
  const tags: string[] = []
  for (let turn = 0; turn < 3; turn += 1)
    for (const accept of types) {
      const { headers } = await written.get(url, { accept })
      t.equal(String(headers['content-type']).split(';')[0], accept)
      if (turn === 0) tags.push(String(headers.etag))
    }
  t.equal(new Set(tags).size, 3, 'each has a tag of its own')
  for (const [index, accept] of types.entries())
    for (const [other, tag] of tags.entries())
      t.equal((await written.get(url, { accept, 'if-none-match': tag })).status, index === other ? 304 : 200)
})

t.test('what a format costs', async (t) => {
  const left = async (url: string, accept: string): Promise<number> =>
    Number(/r=(\d+)/.exec(String((await written.get(url, { accept })).headers.ratelimit))?.[1])
  for (const [url, accept, cost] of [
    ['/v1/facilities?limit=1', 'application/json', 1],
    ['/v1/facilities?limit=1', 'text/csv', 1],
    ['/v1/municipalities', 'text/csv', 20],
    ['/v1/facilities?limit=1', 'application/geo+json', 5],
    ['/v1/facilities', 'text/html', 1],
  ] as const) {
    // Tokens come back while it is measured: a little more may be left than the cost says.
    const before = await left('/health', '*/*').then(() => left('/v1/states', '*/*'))
    const spent = before - (await left(url, accept))
    t.ok(spent <= cost && spent >= 0, `${accept} ${url}: ${spent} of ${cost}`)
  }
})

t.test(
  'parameters that mean nothing are refused with a sentence that says what may stand there',
  async (t) => {
    const wrong: [query: string, parameter: string, text: RegExp][] = [
      ['sort=', 'sort', /up to 3 of these fields/],
      ['sort=cnpj', 'sort', /trade_name, legal_name/],
      ['sort=uf,uf', 'sort', /each once/],
      ['sort=uf,-uf', 'sort', /each once/],
      ['sort=--uf', 'sort', /with - before descending/],
      ['sort=uf,legal_name,trade_name,facility_type_code', 'sort', /up to 3/],
      ['sort=search_text', 'sort', /these fields/],
      ['bbox=1,2,3', 'bbox', /west,south,east,north/],
      ['bbox=1,2,3,x', 'bbox', /decimal degrees/],
      ['bbox=-60,-10,-70,-9', 'bbox', /west ≤ east/],
      ['bbox=-70,-9,-60,-10', 'bbox', /south ≤ north/],
      ['bbox=-181,0,0,0', 'bbox', /decimal degrees/],
      ['bbox=0,0,0,1e1', 'bbox', /decimal degrees/],
      ['near=91,0', 'near', /latitude,longitude/],
      ['near=1', 'near', /latitude,longitude/],
      ['near=1,NaN', 'near', /latitude,longitude/],
      ['near=1,2&radius_km=0', 'radius_km', /above 0, up to 500/],
      ['near=1,2&radius_km=501', 'radius_km', /up to 500/],
      ['radius_km=5', 'radius_km', /goes with near only/],
      ['include=facility', 'include', /not a parameter/],
    ]
    for (const [query, parameter, text] of wrong) {
      const { status, body } = await ask(t, `/v1/facilities?${query}`, { 'accept-language': 'en' })
      t.equal(status, 400, query)
      t.equal(body.errors[0]?.parameter, parameter, query)
      t.match(body.errors[0]?.message, text, query)
      const pt = (await written.get(`/v1/facilities?${query}`)).body
      t.not(pt.errors[0]?.message, body.errors[0]?.message, 'in Portuguese')
    }
    t.equal((await ask(t, '/v1/bed-capacity?bbox=1,1,2,2')).status, 400)
  },
)
