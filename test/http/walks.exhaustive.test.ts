/**
 * Every list, walked to its end: pages laid end to end are the list, in order, nothing twice, nothing lost; also when
 * another release is promoted in the middle. And no changed cursor is ever taken for a cursor.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ROUTES } from '../../src/http/routes/index.ts'
import { importPaths } from '../../src/import/import.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { writePointer } from '../../src/release/writer.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient } from '../fixtures/client.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const older = await importPaths([join(small.snapshots, 'cnes/2026-04'), join(small.snapshots, 'ibge')], {
  releasesDir: small.releasesDir,
  maxRejected: 0.001,
})
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const current = client.store.current() as ReleaseView

interface Walk {
  readonly url: string
  /** FROM and WHERE of the same rows in plain SQL, by hand. */
  readonly from: string
  readonly where: string
  readonly key: readonly string[]
  /** Short enough for pages of one. */
  readonly isShort?: true
}

const ACTIVE = 'is_active AND reference_period = 202605'
const inRegion = (code: string): string =>
  `municipality_ibge_code IN (SELECT ibge_code FROM MUNICIPALITIES WHERE health_region_code = '${code}')`
const WALKS: readonly Walk[] = [
  {
    url: '/v1/states/RR/municipalities',
    from: 'municipalities',
    where: "uf = 'RR' AND territorial_type = 'MUNICIPALITY'",
    key: ['ibge_code'],
    isShort: true,
  },
  {
    url: '/v1/municipalities',
    from: 'municipalities',
    where: "territorial_type = 'MUNICIPALITY'",
    key: ['ibge_code'],
  },
  {
    url: '/v1/municipalities?state=AM',
    from: 'municipalities',
    where: "territorial_type = 'MUNICIPALITY' AND uf = 'AM'",
    key: ['ibge_code'],
    isShort: true,
  },
  {
    url: '/v1/municipalities?search=sao%20joao',
    from: 'municipalities',
    where: "territorial_type = 'MUNICIPALITY' AND lower(strip_accents(name)) LIKE '%sao joao%'",
    key: ['ibge_code'],
    isShort: true,
  },
  {
    url: '/v1/municipalities?search=JO%C3%83O%20s%C3%A3o',
    from: 'municipalities',
    where:
      "territorial_type = 'MUNICIPALITY' AND lower(strip_accents(name)) LIKE '%sao%' AND lower(strip_accents(name)) LIKE '%joao%'",
    key: ['ibge_code'],
    isShort: true,
  },
  {
    url: '/v1/municipalities?territorial_type=IGNORED',
    from: 'municipalities',
    where: "territorial_type = 'IGNORED'",
    key: ['ibge_code'],
    isShort: true,
  },
  {
    url: '/v1/municipalities?health_macroregion_code=1201&health_region_code=12001',
    from: 'municipalities',
    where:
      "health_macroregion_code = '1201' AND health_region_code = '12001' AND territorial_type = 'MUNICIPALITY'",
    key: ['ibge_code'],
    isShort: true,
  },
  {
    url: '/v1/municipalities?region_code=4',
    from: 'municipalities',
    where: "region_code = 4 AND territorial_type = 'MUNICIPALITY'",
    key: ['ibge_code'],
  },
  { url: '/v1/health-regions', from: 'health_regions', where: 'true', key: ['health_region_code'] },
  {
    url: '/v1/health-regions?uf=BA&search=DEMONSTRATIVA%2011',
    from: 'health_regions',
    where: "uf = 'BA' AND lower(strip_accents(health_region_name)) LIKE '%demonstrativa 11%'",
    key: ['health_region_code'],
    isShort: true,
  },
  {
    url: '/v1/health-macroregions?search=29',
    from: 'health_macroregions',
    where: "health_macroregion_code LIKE '29%' OR health_macroregion_name LIKE '%29%'",
    key: ['health_macroregion_code'],
    isShort: true,
  },
  { url: '/v1/facilities', from: 'facilities', where: ACTIVE, key: ['cnes_code'] },
  {
    url: '/v1/facilities?health_region_code=12001&management_type=M&region_code=1',
    from: 'facilities',
    where: `${ACTIVE} AND management_type = 'M' AND ${inRegion('12001')}`,
    key: ['cnes_code'],
    isShort: true,
  },
  {
    url: '/v1/bed-capacity?health_macroregion_code=1401&region_code=1',
    from: 'bed_capacity',
    where: `${ACTIVE} AND municipality_ibge_code IN (SELECT ibge_code FROM MUNICIPALITIES WHERE health_macroregion_code = '1401')`,
    key: ['cnes_code', 'bed_type_code'],
    isShort: true,
  },
  {
    url: '/v1/equipment-inventory?health_region_code=16001&health_macroregion_code=1602',
    from: 'equipment_inventory',
    where: `${ACTIVE} AND ${inRegion('16001')} AND municipality_ibge_code IN (SELECT ibge_code FROM MUNICIPALITIES WHERE health_macroregion_code = '1602')`,
    key: ['cnes_code', 'category_code', 'equipment_code'],
    isShort: true,
  },
  {
    url: '/v1/specialized-service-offerings?health_region_code=14002&service_code=110',
    from: 'specialized_services',
    where: `${ACTIVE} AND service_code = '110' AND ${inRegion('14002')}`,
    key: ['cnes_code', 'service_code', 'classification_code'],
    isShort: true,
  },
  {
    url: '/v1/demography/population?health_region_code=29007&municipality=2900108',
    from: 'population',
    where: "municipality_code = '2900108' AND population_type = 'ESTIMATED_POPULATION'",
    key: ['municipality_code', 'reference_year', 'population_type'],
    isShort: true,
  },
  {
    url: '/v1/demography/population?health_macroregion_code=2902',
    from: 'population',
    where:
      "population_type = 'ESTIMATED_POPULATION' AND CAST(municipality_code AS INTEGER) IN (SELECT ibge_code FROM MUNICIPALITIES WHERE health_macroregion_code = '2902')",
    key: ['municipality_code', 'reference_year', 'population_type'],
    isShort: true,
  },
  {
    url: '/v1/facilities?uf=AP&facility_type_code=05',
    from: 'facilities',
    where: `${ACTIVE} AND uf = 'AP' AND facility_type_code = '05'`,
    key: ['cnes_code'],
    isShort: true,
  },
  {
    url: '/v1/facilities?municipality_ibge_code=140010&management_type=E',
    from: 'facilities',
    where: `${ACTIVE} AND municipality_ibge_code = 1400100 AND management_type = 'E'`,
    key: ['cnes_code'],
    isShort: true,
  },
  {
    url: '/v1/facilities?uf=rr,AP&facility_type_code=05,02&has_beds=true&has_services=false',
    from: 'facilities',
    where: `${ACTIVE} AND uf IN ('AP', 'RR') AND facility_type_code IN ('02', '05') AND has_beds AND NOT has_services`,
    key: ['cnes_code'],
    isShort: true,
  },
  {
    url: '/v1/facilities?status=inactive&uf=RR&management_type=D',
    from: 'facilities',
    where: "NOT is_active AND reference_period = 202605 AND uf = 'RR' AND management_type = 'D'",
    key: ['cnes_code'],
    isShort: true,
  },
  { url: '/v1/bed-capacity', from: 'bed_capacity', where: ACTIVE, key: ['cnes_code', 'bed_type_code'] },
  {
    url: '/v1/bed-capacity?status=all&reference_period=all',
    from: 'bed_capacity',
    where: 'true',
    key: ['reference_period', 'cnes_code', 'bed_type_code'],
  },
  {
    url: '/v1/bed-capacity?municipality_ibge_code=1400100&has_sus_capacity=true',
    from: 'bed_capacity',
    where: `${ACTIVE} AND municipality_ibge_code = 1400100 AND beds_sus > 0`,
    key: ['cnes_code', 'bed_type_code'],
    isShort: true,
  },
  {
    // A facility's state and type are those of the month of the row.
    url: '/v1/bed-capacity?reference_period=all&uf=AC,rr&facility_type_code=05,07',
    from: 'bed_capacity',
    where: "is_active AND uf IN ('AC', 'RR') AND facility_type_code IN ('05', '07')",
    key: ['reference_period', 'cnes_code', 'bed_type_code'],
    isShort: true,
  },
  {
    url: '/v1/equipment-inventory?uf=AP&facility_type_code=36,39',
    from: 'equipment_inventory',
    where: `${ACTIVE} AND uf = 'AP' AND facility_type_code IN ('36', '39')`,
    key: ['cnes_code', 'category_code', 'equipment_code'],
    isShort: true,
  },
  {
    url: '/v1/specialized-service-offerings?uf=RR&facility_type_code=05',
    from: 'specialized_services',
    where: `${ACTIVE} AND uf = 'RR' AND facility_type_code = '05'`,
    key: ['cnes_code', 'service_code', 'classification_code'],
    isShort: true,
  },
  {
    url: '/v1/bed-capacity?bed_category_code=3',
    from: 'bed_capacity',
    where: `${ACTIVE} AND bed_category_code = '3'`,
    key: ['cnes_code', 'bed_type_code'],
    isShort: true,
  },
  {
    url: '/v1/equipment-inventory',
    from: 'equipment_inventory',
    where: ACTIVE,
    key: ['cnes_code', 'category_code', 'equipment_code'],
  },
  {
    url: '/v1/equipment-inventory?equipment_type_key=01:02&has_sus_quantity=true',
    from: 'equipment_inventory',
    where: `${ACTIVE} AND category_code = '01' AND equipment_code = '02' AND quantity_sus > 0`,
    key: ['cnes_code', 'category_code', 'equipment_code'],
    isShort: true,
  },
  {
    url: '/v1/equipment-inventory?equipment_category_code=09&tp_sus_code=2&municipality_ibge_code=1600303',
    from: 'equipment_inventory',
    where: `${ACTIVE} AND category_code = '09' AND tp_sus_code = '2' AND municipality_ibge_code = 1600303`,
    key: ['cnes_code', 'category_code', 'equipment_code'],
    isShort: true,
  },
  {
    url: '/v1/specialized-service-offerings',
    from: 'specialized_services',
    where: ACTIVE,
    key: ['cnes_code', 'service_code', 'classification_code'],
  },
  {
    url: '/v1/specialized-service-offerings?municipality_ibge_code=140010&has_hospital=true',
    from: 'specialized_services',
    where: `${ACTIVE} AND municipality_ibge_code = 1400100 AND len(list_filter(declarations, lambda d: d.has_hospital)) > 0`,
    key: ['cnes_code', 'service_code', 'classification_code'],
    isShort: true,
  },
  {
    url: '/v1/demography/population',
    from: 'population',
    where: "population_type = 'ESTIMATED_POPULATION'",
    key: ['municipality_code', 'reference_year'],
  },
  {
    url: '/v1/demography/population-by-age?state=RR&sex=F',
    from: 'population_by_age',
    where: "uf = 'RR' AND sex = 'F'",
    key: ['municipality_code', 'reference_year', 'sex', 'age_group'],
    isShort: true,
  },
  {
    url: '/v1/demography/population?state=AC&population_type=CENSUS_POPULATION',
    from: 'population',
    where: "population_type = 'CENSUS_POPULATION' AND uf = 'AC'",
    key: ['municipality_code', 'reference_year'],
    isShort: true,
  },
]
const LISTS = ROUTES.flatMap((route) => (route.kind === 'list' ? [route] : []))
/** The list of an address, whatever values the parameters of its path have. */
const listOf = (url: string) => {
  const [path = ''] = url.split('?')
  const list = LISTS.find((own) => new RegExp(`^${own.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
  if (list === undefined) throw new Error(`no list ${path}`)
  return list
}
const limitOf = (url: string) => listOf(url).limit
const withQuery = (url: string, more: string): string => `${url}${url.includes('?') ? '&' : '?'}${more}`
type Row = Record<string, unknown>
const keysOf = (rows: readonly Row[], key: readonly string[]): string[] =>
  rows.map((row) => key.map((column) => String(row[column])).join(' '))

/** All pages, from the first to the one without a next cursor. */
async function walk(url: string, limit: number | null, between: () => Promise<void> = async () => undefined) {
  const rows: Row[] = []
  const releases = new Set<unknown>()
  let cursor: string | null = null
  let pages = 0
  do {
    const query: string = [limit === null ? '' : `limit=${limit}`, cursor === null ? '' : `cursor=${cursor}`]
      .filter(Boolean)
      .join('&')
    const { status, body, text } = await client.get(query === '' ? url : withQuery(url, query))
    if (status !== 200) throw new Error(text)
    if (body.data.length > (limit ?? limitOf(url).default)) throw new Error('a page is too long')
    if (body.pagination.has_more !== (body.pagination.next_cursor !== null)) throw new Error('has_more')
    rows.push(...body.data)
    releases.add(body.meta.release_id)
    cursor = body.pagination.next_cursor
    pages += 1
    await between()
  } while (cursor !== null)
  return { rows, pages, releases }
}

/** A condition in which MUNICIPALITIES is the dataset of the release. */
const withMunicipalities = (where: string) =>
  where
    .split('MUNICIPALITIES')
    .flatMap((text, index) => [
      ...(index === 0 ? [] : [{ kind: 'table', dataset: 'municipalities', period: null } as const]),
      { kind: 'text', text } as const,
    ])

async function expected({ from, where, key }: Walk): Promise<string[]> {
  const rows = await client.engine.run(
    {
      parts: [
        { kind: 'text', text: `SELECT ${key.join(', ')} FROM ` },
        { kind: 'table', dataset: from, period: null },
        { kind: 'text', text: ' WHERE ' },
        ...withMunicipalities(where),
        { kind: 'text', text: ` ORDER BY ${key.join(', ')}` },
      ],
    },
    current,
  )
  return keysOf(rows, key)
}

t.test('there is a walk of every list', async (t) => {
  const walked = new Set(WALKS.map(({ url }) => listOf(url).path))
  // The release here has facilities and places alone: each other area's own test walks its list.
  const [others, here] = [true, false].map((isElsewhere) =>
    LISTS.filter(({ dataset }) => (current.components[dataset.area] === null) === isElsewhere),
  )
  t.ok(others?.every(({ path }) => /^\/v1\/(sih|sia|sim|sinasc|health-financing)\//.test(path)))
  const unwalked = here?.map(({ path }) => path).filter((path) => !walked.has(path))
  t.same(unwalked, [], 'a list that is new has an entry in WALKS')
})

for (const one of WALKS)
  t.test(one.url, async (t: Test) => {
    const all = await expected(one)
    t.ok(all.length > 0, `${all.length} rows`)
    const { max } = limitOf(one.url)
    const limits = one.isShort === true ? cases([1, 2, null, max], [2]) : cases([null, max], [max])
    for (const limit of limits) {
      const { rows, pages } = await walk(one.url, limit)
      t.same(keysOf(rows, one.key), all, `limit ${limit ?? 'of the route'}: ${pages} pages`)
    }
    const counted = (await client.get(withQuery(one.url, 'count=true&limit=1'))).body
    t.equal(counted.pagination.total, all.length)
  })

t.test('a walk ends on the release it began on', async (t) => {
  for (const url of ['/v1/facilities?uf=RR', '/v1/bed-capacity', '/v1/demography/population?state=RR']) {
    const one = WALKS.find((walk) => walk.url.startsWith(url.split('?')[0] ?? '')) as Walk
    const before = await walk(url, 20)
    let turn = 0
    const moved = await walk(url, 20, async () => {
      turn += 1
      writePointer(small.releasesDir, turn % 2 === 1 ? older.analytics : small.result.analytics)
      await client.store.refresh()
    })
    t.ok(turn > 1, `${turn} promotes`)
    t.same(keysOf(moved.rows, one.key), keysOf(before.rows, one.key))
    t.same([...moved.releases], [...before.releases], 'one release')
    writePointer(small.releasesDir, small.result.analytics)
    await client.store.refresh()
  }
  writePointer(small.releasesDir, older.analytics)
  await client.store.refresh()
  const { body } = await client.get('/v1/facilities?limit=1')
  t.equal(body.meta.release_id, older.cnes, 'a new walk is on the new release')
  writePointer(small.releasesDir, small.result.analytics)
  await client.store.refresh()
})

const CHANGES = cases(10_000, 500)
t.test(`${CHANGES} changed cursors`, async (t) => {
  const chance = createChance(41)
  const urls = WALKS.map(({ url }) => url)
  const cursors: { url: string; cursor: string }[] = []
  for (const url of urls) {
    const { body } = await client.get(withQuery(url, 'limit=1'))
    if (body.pagination.next_cursor !== null) cursors.push({ url, cursor: body.pagination.next_cursor })
  }
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const wrong: string[] = []
  for (let index = 0; index < CHANGES; index += 1) {
    const draw = (purpose: number, below: number): number => Math.floor(chance(index, purpose) * below)
    const { url, cursor } = cursors[draw(1, cursors.length)] as { url: string; cursor: string }
    const place = draw(2, cursor.length)
    const letter = letters[draw(3, 64)] ?? ''
    const other = cursors[draw(4, cursors.length)] as { url: string; cursor: string }
    const changes = [
      () => cursor.slice(0, place) + letter + cursor.slice(place + 1),
      () => cursor.slice(0, place),
      () => cursor.slice(place),
      () => cursor + letter,
      () => cursor.slice(0, place) + letter + cursor.slice(place),
      () => other.cursor.slice(0, place) + cursor.slice(place),
      () => Buffer.from(cursor, 'base64url').reverse().toString('base64url'),
      () => (other.url === url ? '' : other.cursor),
    ]
    const changed = changes[draw(5, changes.length)]?.() ?? ''
    if (changed === cursor || changed === '' || (changed === other.cursor && other.url === url)) continue
    // Trailing bits that base64 does not use are refused too: one cursor has one spelling.
    const { status, body } = await client.get(withQuery(url, `cursor=${encodeURIComponent(changed)}`))
    if (status !== 400 || !['invalid_cursor', 'invalid_request'].includes(body.code))
      wrong.push(`${status} ${url} ${changed}`)
  }
  t.same(wrong.slice(0, 5), [])
})
