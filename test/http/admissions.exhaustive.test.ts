/**
 * The list of hospital admissions: pages, filters, months and batches against plain SQL over the release's files; the same from row
 * files and from the engine; what was not collected; releases without admissions.
 */
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { DATASETS } from '../../src/model/datasets.ts'
import { readManifest } from '../../src/release/verify.ts'
import { personalTexts, personsIn } from '../fixtures/admission-persons.ts'
import { openWithout, walkList } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const fromFiles = await openClient(small.releasesDir, 1, { rows: true })
const fromEngine = await openClient(small.releasesDir)
t.teardown(() => Promise.all([fromFiles.close(), fromEngine.close()]))
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const FILES = `read_parquet('${join(small.releasesDir, small.result.sih ?? '', 'hospital_admissions')}/*/*.parquet', hive_partitioning = true)`
const KEY = [
  'cnes_code',
  'procedure_code',
  'care_character_code',
  'complexity_code',
  'financing_code',
  'municipality_ibge_code',
  'processing_uf',
] as const

async function sqlRows(where: string): Promise<Record<string, unknown>[]> {
  const found = await connection.runAndReadAll(
    `SELECT * FROM ${FILES} WHERE ${where} ORDER BY reference_period, ${KEY.join(', ')}`,
  )
  return found
    .getRowObjects()
    .map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          name === 'reference_period'
            ? `${String(value).slice(0, 4)}-${String(value).slice(4)}`
            : typeof value === 'bigint'
              ? Number(value)
              : value,
        ]),
      ),
    )
}

const LIST = '/v1/sih/monthly'
const CASES: readonly (readonly [query: string, where: string])[] = [
  ['', 'reference_period = 202605'],
  ['reference_period=2026-04&uf=AP', "reference_period = 202604 AND uf = 'AP'"],
  ['reference_period=all&procedure_code=0411010034', "procedure_code = '0411010034'"],
  ['procedure_code=03', "reference_period = 202605 AND procedure_code LIKE '03%'"],
  [
    'procedure_code=0303,05',
    "reference_period = 202605 AND (procedure_code LIKE '0303%' OR procedure_code LIKE '05%')",
  ],
  [
    'care_character_code=01&uf=RR,AC',
    "reference_period = 202605 AND care_character_code = '01' AND uf IN ('AC', 'RR')",
  ],
  ['municipality_ibge_code=140010', 'reference_period = 202605 AND municipality_ibge_code = 1400100'],
  ['region_code=1&reference_period=2026-03', 'reference_period = 202603'],
]

t.test('pages laid end to end are the rows of the files, from row files and from the engine', async (t) => {
  for (const [query, where] of CASES) {
    const wanted = await sqlRows(where)
    t.ok(wanted.length > 0, where)
    for (const client of [fromFiles, fromEngine])
      t.same(await walkList(client, `${LIST}?${query}`, 37), wanted, query)
  }
  const [first] = await sqlRows('reference_period = 202605')
  const { body } = await fromFiles.get(`${LIST}?cnes_code=${first?.cnes_code}&limit=100`)
  t.same(body.data, await sqlRows(`reference_period = 202605 AND cnes_code = '${first?.cnes_code}'`))
})

t.test('flows show their fields, from row files and from the engine', async (t) => {
  const { hospital_admission_flows: dataset } = DATASETS
  const hidden: readonly string[] = dataset.internal
  for (const client of [fromFiles, fromEngine])
    for (const query of ['', '?sort=-admissions']) {
      const { body } = await client.get(`/v1/sih/flows${query}`)
      t.ok(body.data.length > 0)
      for (const row of body.data)
        t.same(
          Object.keys(row).sort(),
          dataset.fields.filter((field) => !hidden.includes(field)).sort(),
          query,
        )
    }
})

t.test('flows: pages laid end to end are the rows of the files', async (t) => {
  const from = `read_parquet('${join(small.releasesDir, small.result.sih ?? '', 'hospital_admission_flows')}/*/*.parquet', hive_partitioning = true)`
  for (const [query, where] of [
    ['', 'reference_period = 202605'],
    ['residence_uf=RR', "reference_period = 202605 AND residence_uf = 'RR'"],
    ['uf=AC&reference_period=all', "uf = 'AC'"],
    [
      'hospital_municipality_code=140010&diagnosis_chapter_code=10',
      "reference_period = 202605 AND hospital_municipality_code = 1400100 AND diagnosis_chapter_code = '10'",
    ],
    [
      'residence_municipality_code=1400100',
      'reference_period = 202605 AND residence_municipality_code = 1400100',
    ],
    ['region_code=1', 'reference_period = 202605'],
  ] as const) {
    const rows = await walkList(fromFiles, `/v1/sih/flows?${query}`, 73)
    const [wanted] = (
      await connection.runAndReadAll(
        `SELECT count(*)::INT AS n, sum(admissions)::INT AS admissions, sum(distance_km * admissions)::INT AS km FROM ${from} WHERE ${where}`,
      )
    ).getRowObjects()
    const sum = (field: string): number => rows.reduce((all, row) => all + Number(row[field]), 0)
    t.ok(rows.length > 0)
    t.same(
      [
        rows.length,
        sum('admissions'),
        rows.reduce((all, row) => all + Number(row.distance_km) * Number(row.admissions), 0),
      ],
      [wanted?.n, wanted?.admissions, wanted?.km],
      query,
    )
    t.equal(new Set(rows.map((row) => JSON.stringify(row))).size, rows.length, 'nothing twice')
  }
})

t.test('sorted by each of its orders, from row files and from the engine', async (t) => {
  for (const sort of ['uf', 'municipality_name', 'admissions', 'days_of_stay', 'deaths', 'value_total_cents'])
    for (const way of ['', '-']) {
      const [files, engine] = await Promise.all(
        [fromFiles, fromEngine].map((client) => walkList(client, `${LIST}?uf=RR&sort=${way}${sort}`, 61)),
      )
      t.same(files, engine, `${way}${sort}`)
      const values = (files ?? []).map((row) => row[sort])
      const ordered = typeof values[0] === 'number' ? values.map(Number) : []
      const signed = ordered.map((value) => (way === '' ? value : -value))
      t.ok(signed.every((value, at) => at === 0 || (signed[at - 1] ?? 0) <= value))
      t.ok(values.length > 20)
    }
})

t.test('each row names the published file that it was added up from', async (t) => {
  const { snapshots } = await readManifest(small.releasesDir, small.result.sih ?? '')
  const { body, headers } = await fromFiles.get(`${LIST}?limit=1&uf=RR`)
  const snapshot = snapshots.find(({ file }) => file === 'RDRR2605.dbf')
  t.match(body.data[0], {
    processing_uf: 'RR',
    source_file: 'RDRR2605.dbf',
    source_sha256: snapshot?.sha256,
    source_rows: snapshot?.rows,
  })
  t.equal(headers['x-data-release-id'], small.result.sih)
  t.equal(body.meta.release_id, small.result.sih)
  t.equal(body.meta.reference_period, '2026-05')
})

t.test('a state whose month is late is null in totals, and said', async (t) => {
  for (const client of [fromFiles, fromEngine]) {
    const ask = async (query: string) => (await client.get(`${LIST}?count=true&${query}`)).body
    const late = await ask('uf=AP&reference_period=2026-05')
    t.equal(late.pagination.total, null)
    t.same(late.data, [])
    t.match(late.meta.notes, [
      { code: 'not_collected', dataset: 'hospital_admissions', states: ['AP'], effect: 'incomplete_list' },
    ])
    const own = await ask('uf=AP')
    t.equal(own.meta.reference_period, '2026-04', 'the newest month of the state')
    t.ok(own.pagination.total > 0)
    t.equal(own.meta.notes, undefined)
    const there = await ask('uf=RR')
    t.equal(there.pagination.total, (await sqlRows("reference_period = 202605 AND uf = 'RR'")).length)
  }
})

t.test('what is no code is refused', async (t: Test) => {
  for (const [query, parameter] of [
    ['procedure_code=03x', 'procedure_code'],
    ['procedure_code=03040506070', 'procedure_code'],
    ['care_character_code=7', 'care_character_code'],
    ['cnes_code=12', 'cnes_code'],
    ['reference_period=2020-01', 'reference_period'],
    ['diagnosis=A00', 'diagnosis'],
  ] as const) {
    const { status, body } = await fromFiles.get(`${LIST}?${query}`)
    t.equal(status, 400, query)
    t.equal(body.errors[0].parameter, parameter)
  }
  const key = fromFiles.keyWithout('analytics.query.read')
  t.equal((await fromFiles.get(LIST, { authorization: `Bearer ${key}` })).status, 403)
})

t.test('nothing of a person is in answers or logs', async (t) => {
  const lines: string[] = []
  const client = await openClient(small.releasesDir, 1, {
    rows: true,
    log: { write: (line) => lines.push(line) },
  })
  t.teardown(() => client.close())
  const persons = personalTexts([202603, 202604, 202605])
  t.ok(persons.size > 3000, `${persons.size} texts`)
  const answers: string[] = []
  const keep = ({ text, bytes }: { text: string; bytes: Buffer }): void => {
    answers.push(text, bytes.toString('latin1'))
  }
  for (const row of await walkList(client, `${LIST}?reference_period=all`, 100))
    answers.push(JSON.stringify(row))
  const { body: catalog } = await client.get('/v1/analytics/catalog')
  for (const { code } of catalog.data.dimensions) {
    keep(await client.get(`/v1/analytics/dimensions/${code}/values?counts=true&limit=250`))
    for (const metrics of [['admissions', 'admissions_value'], ['bed_occupancy_share']]) {
      const query = { metrics, group_by: [code], limit: 1000 }
      keep(await client.query(query))
      keep(await client.query(query, { accept: 'text/csv' }))
      keep(await client.post('/v1/analytics/explain', query))
    }
  }
  for (const group_by of [[], ['procedure'], ['diagnosis_category']])
    for (const metric of ['admissions', 'hospital_deaths'])
      keep(
        await client.post('/v1/analytics/lineage', {
          metrics: [metric],
          group_by,
          key:
            group_by.length === 0
              ? {}
              : { [group_by[0] as string]: group_by[0] === 'procedure' ? '0310010039' : 'O80' },
          limit: 1000,
        }),
      )
  for (const id of [small.result.sih, small.result.analytics]) keep(await client.get(`/v1/releases/${id}`))
  // Errors do not repeat a row, and the log has no address.
  for (const person of [...persons].slice(0, 20)) {
    await client.get(`${LIST}?cnes_code=${encodeURIComponent(person)}`)
    await client.get(`/v1/analytics/dimensions/procedure/values?search=${encodeURIComponent(person)}`)
  }
  t.same([...new Set(answers.flatMap((text) => personsIn(text, persons)))], [])
  t.ok(answers.join('').length > 1_000_000, 'much was searched')
  t.ok(lines.length > 200, `${lines.length} lines`)
  t.same([...new Set(lines.flatMap((line) => personsIn(line, persons)))], [])
})

t.test('a release without admissions has none, and answers', async (t) => {
  const old = await openWithout(small, 'sih', true)
  t.teardown(() => old.close())
  const { status, body } = await old.get(`${LIST}?count=true`)
  t.equal(status, 200)
  t.same(body.data, [])
  t.equal(body.pagination.total, null)
  t.match(body.meta.notes, [{ code: 'not_collected', dataset: 'hospital_admissions', periods: [] }])
  t.equal((await old.query({ metrics: ['bed_capacity_existing'] })).status, 200)
})
