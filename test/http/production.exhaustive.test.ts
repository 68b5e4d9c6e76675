/**
 * The list of outpatient production: pages, filters, months and published files against plain SQL over the release's files; the same
 * from row files and from the engine; what was not collected; releases without production.
 */
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { readManifest } from '../../src/release/verify.ts'
import { openWithout, walkList } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('production')
const fromFiles = await openClient(small.releasesDir, 1, { rows: true })
const fromEngine = await openClient(small.releasesDir)
t.teardown(() => Promise.all([fromFiles.close(), fromEngine.close()]))
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const FILES = `read_parquet('${join(small.releasesDir, small.result.sia ?? '', 'outpatient_production')}/*/*.parquet', hive_partitioning = true)`
const KEY =
  'care_period, cnes_code, procedure_code, financing_code, complexity_code, instrument_code, municipality_ibge_code, processing_uf, file_part'

async function sqlRows(where: string): Promise<Record<string, unknown>[]> {
  const found = await connection.runAndReadAll(
    `SELECT * REPLACE (left(CAST(reference_period AS VARCHAR), 4) || '-' || right(CAST(reference_period AS VARCHAR), 2) AS reference_period)
     FROM ${FILES} WHERE ${where} ORDER BY reference_period, ${KEY}`,
  )
  return found
    .getRowObjects()
    .map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
      ),
    )
}

const LIST = '/v1/sia/monthly'
const IN_MAY = 'reference_period = 202605'
const CASES: readonly (readonly [query: string, where: string])[] = [
  ['uf=RR', `${IN_MAY} AND uf = 'RR'`],
  ['reference_period=2026-04&uf=AP', "reference_period = 202604 AND uf = 'AP'"],
  ['reference_period=all&procedure_code=0604010010', "procedure_code = '0604010010'"],
  ['procedure_code=0202,06', `${IN_MAY} AND (procedure_code LIKE '0202%' OR procedure_code LIKE '06%')`],
  ['care_period=2026-04', `${IN_MAY} AND care_period = '2026-04'`],
  [
    'reference_period=all&care_period=2026-03,2026-04&uf=AC',
    "care_period IN ('2026-03', '2026-04') AND uf = 'AC'",
  ],
  [
    'instrument_code=P,S&complexity_code=03',
    `${IN_MAY} AND instrument_code IN ('P', 'S') AND complexity_code = '03'`,
  ],
  ['financing_code=04&region_code=1', `${IN_MAY} AND financing_code = '04'`],
  ['municipality_ibge_code=140010', `${IN_MAY} AND municipality_ibge_code = 1400100`],
]

t.test('pages laid end to end are the rows of the files, from row files and from the engine', async (t) => {
  for (const [query, where] of CASES) {
    const wanted = await sqlRows(where)
    t.ok(wanted.length > 0, where)
    for (const client of [fromFiles, fromEngine])
      t.same(await walkList(client, `${LIST}?${query}`, 100), wanted, query)
  }
  const [first] = await sqlRows(IN_MAY)
  const { body } = await fromFiles.get(`${LIST}?cnes_code=${first?.cnes_code}&limit=100`)
  t.same(body.data, await sqlRows(`${IN_MAY} AND cnes_code = '${first?.cnes_code}'`))
})

t.test('sorted by each of its orders, from row files and from the engine', async (t) => {
  for (const sort of ['uf', '-municipality_name', 'quantity_approved', '-value_approved_cents']) {
    const [files, engine] = await Promise.all(
      [fromFiles, fromEngine].map((client) => walkList(client, `${LIST}?uf=RR&sort=${sort}`, 100)),
    )
    t.same(files, engine, sort)
    t.ok((files ?? []).length > 50)
  }
})

t.test('each row names the one published file that it was added up from', async (t) => {
  const { snapshots } = await readManifest(small.releasesDir, small.result.sia ?? '')
  const { body, headers } = await fromFiles.get(`${LIST}?limit=100&uf=AC`)
  t.equal(headers['x-data-release-id'], small.result.sia)
  t.equal(body.meta.release_id, small.result.sia)
  t.equal(body.meta.reference_period, '2026-05')
  const parts = new Set<string>()
  for (const { source_file, source_sha256, source_rows, file_part } of body.data) {
    const snapshot = snapshots.find(({ file }) => file === source_file)
    t.match({ source_sha256, source_rows }, { source_sha256: snapshot?.sha256, source_rows: snapshot?.rows })
    t.equal(source_file, `PAAC2605${file_part}.dbf`)
    parts.add(file_part)
  }
  t.same([...parts].sort(), ['a', 'b'], 'a month in two parts')
})

t.test('a state whose month is late is null in totals, and said', async (t) => {
  for (const client of [fromFiles, fromEngine]) {
    const ask = async (query: string) => (await client.get(`${LIST}?count=true&${query}`)).body
    const late = await ask('uf=AP&reference_period=2026-05')
    t.equal(late.pagination.total, null)
    t.same(late.data, [])
    t.match(late.meta.notes, [
      { code: 'not_collected', dataset: 'outpatient_production', states: ['AP'], effect: 'incomplete_list' },
    ])
    const own = await ask('uf=AP')
    t.equal(own.meta.reference_period, '2026-04', 'the newest month of the state')
    t.ok(own.pagination.total > 0)
    const there = await ask('uf=RR')
    t.equal(there.pagination.total, (await sqlRows(`${IN_MAY} AND uf = 'RR'`)).length)
  }
})

t.test('what is no code is refused', async (t) => {
  for (const [query, parameter] of [
    ['procedure_code=03x', 'procedure_code'],
    ['care_period=2026-13', 'care_period'],
    ['care_period=202605', 'care_period'],
    ['instrument_code=X', 'instrument_code'],
    ['complexity_code=2', 'complexity_code'],
    ['care_character_code=01', 'care_character_code'],
  ] as const) {
    const { status, body } = await fromFiles.get(`${LIST}?${query}`)
    t.equal(status, 400, query)
    t.equal(body.errors[0].parameter, parameter)
  }
  const key = fromFiles.keyWithout('analytics.query.read')
  t.equal((await fromFiles.get(LIST, { authorization: `Bearer ${key}` })).status, 403)
})

t.test('nothing of a person is in an answer', async (t) => {
  const { body } = await fromFiles.get(`${LIST}?limit=100`)
  const text = JSON.stringify(body)
  // Health-card numbers of the demonstration begin with 70, authorisations with 3 or 4: 15 and 13 digits.
  t.notMatch(text, /(?<![0-9a-f])7\d{14}(?![0-9a-f])/)
  t.notMatch(text, /(?<![0-9a-f])[34]\d{12}(?![0-9a-f])/)
})

t.test('a release without production has none, and answers', async (t) => {
  const old = await openWithout(small, 'sia', true)
  t.teardown(() => old.close())
  const { status, body } = await old.get(`${LIST}?count=true`)
  t.equal(status, 200)
  t.same(body.data, [])
  t.equal(body.pagination.total, null)
  t.match(body.meta.notes, [{ code: 'not_collected', dataset: 'outpatient_production', periods: [] }])
  t.ok((await old.get('/v1/sih/monthly')).body.data.length > 0)
})
