/**
 * The list of accounts of health financing: pages, filters and orders against plain SQL over the release's files; what each source
 * means; releases without financing.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { SOURCE_CODES } from '../../src/model/financing/code-lists.ts'
import { readManifest } from '../../src/release/verify.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openWithout, walkList } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('financing')
const client = await openClient(small.releasesDir, 1, { rows: true })
const fromEngine = await openClient(small.releasesDir)
t.teardown(() => Promise.all([client.close(), fromEngine.close()]))
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const FILES = `read_parquet('${join(small.releasesDir, small.result.financing ?? '', 'health_financing')}/*/*.parquet', hive_partitioning = true)`
const PLACES = `read_parquet('${join(small.releasesDir, small.result.demography ?? '', 'municipalities')}/*.parquet')`
const [[region] = []] = (
  await connection.runAndReadAll(`SELECT health_region_code FROM ${PLACES} WHERE ibge_code = 1400100`)
).getRows()
const KEY = 'reference_period, source, entity_code, sphere, reference_year, period, stage, category_path'
const LIST = '/v1/health-financing/sources'

type Rows = Record<string, unknown>[]
async function sqlRows(where: string): Promise<Rows> {
  const found = await connection.runAndReadAll(
    `SELECT * REPLACE (left(CAST(reference_period AS VARCHAR), 4) || '-' || right(CAST(reference_period AS VARCHAR), 2) AS reference_period,
       CAST(percentage AS DOUBLE) AS percentage) FROM (SELECT * FROM ${FILES} WHERE ${where} ORDER BY ${KEY})`,
  )
  return found
    .getRowObjectsJson()
    .map((row) => ({ ...row, amount_cents: row.amount_cents === null ? null : Number(row.amount_cents) }))
}

t.test('pages laid end to end are the rows of the files', async (t) => {
  for (const [query, where] of [
    ['', 'true'],
    ['source=siops', "source = 'siops'"],
    ['source=siconfi_rreo_02,siconfi_rreo_14&uf=AC', "source LIKE 'siconfi%' AND uf = 'AC'"],
    ['municipality_ibge_code=140010', "entity_code = '1400100'"],
    [
      'municipality_ibge_code=1400100&reference_year=2025',
      "entity_code = '1400100' AND reference_year = 2025",
    ],
    ['stage=paid,indicator', "stage IN ('paid', 'indicator')"],
    [
      'stage=transferred_net&region_code=1&reference_year=2026',
      "stage = 'transferred_net' AND reference_year = 2026",
    ],
    ['reference_period=2026-04', 'reference_period = 202604'],
    [
      `health_region_code=${region}&source=fns`,
      `source = 'fns' AND CAST(entity_code AS INTEGER) IN (SELECT ibge_code FROM ${PLACES} WHERE health_region_code = '${region}')`,
    ],
  ] as const) {
    const wanted = await sqlRows(where)
    t.ok(wanted.length > 0, where)
    const sameKeys = (rows: Rows): Rows =>
      rows.map((row) =>
        Object.fromEntries(Object.entries(row).sort(([left], [right]) => (left < right ? -1 : 1))),
      )
    t.same(
      sameKeys(await walkList(client, `${LIST}?${query}`, query === '' ? 100 : 37)),
      sameKeys(wanted),
      query,
    )
    const { body } = await client.get(`${LIST}?${query}&count=true&limit=1`)
    t.equal(body.pagination.total, wanted.length)
    await sameFromEngine(t, `${LIST}?${query}&count=true&limit=50`)
  }
})

const strip = (text: string): string => text.replace(/"request_id":"[^"]+"/, '')
async function sameFromEngine(t: Test, url: string, own = client, engine = fromEngine): Promise<void> {
  const [rows, stored] = await Promise.all([own.get(url), engine.get(url)])
  t.equal(strip(rows.text), strip(stored.text), url)
}

t.test('row files answer every page byte for byte as the engine does', async (t) => {
  const view = client.store.current()
  if (view === null) throw new Error('no release')
  const periods = Object.keys(view.components.financing?.coverage.health_financing ?? {}).map(Number)
  t.ok(periods.length > 3)
  for (const period of periods)
    t.ok(client.rows?.find(view, 'health_financing', period) !== null, `${period} has a row file`)
  const month = '2026-04'
  for (const query of [
    'limit=100',
    `reference_period=${month}&limit=100`,
    `reference_period=${month}&source=siconfi_rreo_02&stage=liquidated&limit=7`,
    ...['uf', '-entity_name', 'amount_cents', '-amount_cents', 'reference_year,-amount_cents'].map(
      (sort) => `reference_period=2025-12&sort=${sort}&limit=100`,
    ),
  ]) {
    let url = `${LIST}?${query}`
    for (let page = 0; page < 3; page += 1) {
      await sameFromEngine(t, url)
      const { body } = await client.get(url)
      if (body.pagination.next_cursor === null) break
      url = `${LIST}?${query}&cursor=${body.pagination.next_cursor}`
    }
  }
})

t.test('categories may hold any character', secondRing, async (t) => {
  const own = await makeSmallRelease('financing')
  const folder = temporaryFolder('categories')
  const header =
    'BLOCO;GRUPO;ESTRATÉGIA;UF;MUNICIPIO;CO_MUNICIPIO_IBGE;TP_REPASSE;DT_ULTIMA_LIBERACAO;VL_BRUTO;VL_LIQUIDO'
  const texts = [
    'Ação',
    'Ação "É"',
    "d'água",
    '\\',
    '\\"',
    'A',
    'A > B',
    'Ω',
    '日本',
    '🙂 x',
    'z\u00e9',
    'ab',
  ]
  const rows = texts.map(
    (text) => `Bloco;Grupo;"${text.replaceAll('"', '""')}";RR;X;140010;MUNICIPAL;21/12/2023;"1,50";"1,00"`,
  )
  writeFileSync(join(folder, 'REPASSE-FAF-COM-POPULACAO-2023.csv'), `${[header, ...rows].join('\n')}\n`)
  const { analytics } = await importPaths([folder], {
    releasesDir: own.releasesDir,
    maxRejected: 0,
    makesRows: true,
  })
  writePointer(own.releasesDir, analytics)
  const [files, engine] = [
    await openClient(own.releasesDir, 1, { rows: true }),
    await openClient(own.releasesDir),
  ]
  t.teardown(() => Promise.all([files.close(), engine.close()]))
  const found: unknown[] = []
  for (const url of [`${LIST}?limit=1`, `${LIST}?limit=5`, `${LIST}?limit=100`]) {
    let next = url
    for (;;) {
      await sameFromEngine(t, next, files, engine)
      const { body } = await files.get(next)
      if (url.endsWith('=100'))
        found.push(...body.data.map((row: { category_path: string }) => row.category_path))
      if (body.pagination.next_cursor === null) break
      next = `${url}&cursor=${body.pagination.next_cursor}`
    }
  }
  t.same(new Set(found), new Set(texts.map((text) => `Bloco > Grupo > ${text}`)))
  t.equal(found.length, 2 * texts.length)
})

t.test('sorted by each of its orders', async (t) => {
  for (const sort of ['uf', 'entity_name', 'reference_year', 'amount_cents'])
    for (const way of ['', '-']) {
      const rows = await walkList(client, `${LIST}?source=siops&sort=${way}${sort}`, 61)
      t.equal(rows.length, (await sqlRows("source = 'siops'")).length)
      const values = rows.map((row) => row[sort]).filter((value) => typeof value === 'number')
      t.ok(
        values.every(
          (value, at) =>
            at === 0 || (values[at - 1] ?? 0) <= value === (way === '') || values[at - 1] === value,
        ),
      )
    }
})

t.test('each row names the published file and rows, and each source says what it means', async (t) => {
  const { snapshots } = await readManifest(small.releasesDir, small.result.financing ?? '')
  const { body, headers } = await client.get(`${LIST}?source=fns&uf=RR&reference_year=2024&limit=2`)
  const [row] = body.data
  const snapshot = snapshots.find(({ file }) => file === row.source_file)
  t.match(row, {
    source_file: 'REPASSE_FAF_COM_POPULACAO-2024.csv',
    source_sha256: snapshot?.sha256,
    source_rows: snapshot?.rows,
    published_column: 'VL_BRUTO',
    reference_period: '2024-12',
    percentage: null,
  })
  t.ok(row.published_rows.length >= 1)
  t.equal(headers['x-data-release-id'], small.result.financing)
  t.equal(body.meta.reference_period, 'all')
  t.equal(body.meta.sources.length, 1)
  t.match(body.meta.sources[0], {
    source: 'fns',
    means: /transferiu/,
    means_en: /transferred/,
    adds_en: /may be added/,
  })
  const whole = (await client.get(`${LIST}?limit=1`)).body
  t.same(
    whole.meta.sources.map(({ source }: { source: string }) => source),
    SOURCE_CODES,
  )
  const accounts = await sqlRows("source = 'fns' AND len(published_rows) = 2")
  t.ok(accounts.length > 0, 'a strategy in two bank accounts is one row')
  const pinned = await client.get(`${LIST}?limit=1&expected_release_id=${small.result.analytics}`)
  t.equal(pinned.status, 200)
  t.match(String(pinned.headers['cache-control']), /immutable/)
  const csv = await client.get(`${LIST}?source=siconfi_rreo_14&limit=3`, { accept: 'text/csv' })
  t.match(csv.text, /percentage/)
  t.match(csv.text, /12(\.0+)?,/)
})

t.test('what is no code is refused', async (t) => {
  for (const [query, parameter] of [
    ['source=datasus', 'source'],
    ['stage=gasto', 'stage'],
    ['reference_year=25', 'reference_year'],
    ['uf=XX', 'uf'],
    ['reference_period=2020-01', 'reference_period'],
    ['year=2025', 'year'],
  ] as const) {
    const { status, body } = await client.get(`${LIST}?${query}`)
    t.equal(status, 400, query)
    t.equal(body.errors[0].parameter, parameter)
  }
  const key = client.keyWithout('analytics.query.read')
  t.equal((await client.get(LIST, { authorization: `Bearer ${key}` })).status, 403)
})

t.test('a release without financing has none, and says so', async (t) => {
  const old = await openWithout(small, 'financing', true)
  t.teardown(() => old.close())
  const { status, body } = await old.get(`${LIST}?count=true`)
  t.equal(status, 200)
  t.same(body.data, [])
  t.equal(body.pagination.total, null)
  t.match(body.meta.notes, [{ code: 'dataset_not_imported', dataset: 'health_financing' }])
})
