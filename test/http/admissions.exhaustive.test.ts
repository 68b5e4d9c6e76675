/**
 * The list of hospital admissions: pages, filters, months and batches against plain SQL over the release's files; the same from row
 * files and from the engine; what was not collected; releases without admissions.
 */
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { DATASETS } from '../../src/model/datasets.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { readManifest } from '../../src/release/verify.ts'
import { writePointer } from '../../src/release/writer.ts'
import { ADMISSION_COLUMNS, admissionsDbf } from '../../tools/demo/admissions.ts'
import { listMunicipalities } from '../../tools/demo/geography.ts'
import { createChance } from '../../tools/demo/random.ts'
import { personalTexts, personsIn } from '../fixtures/admission-persons.ts'
import { openWithout, walkList } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { prepareImports } from '../fixtures/file-imports.ts'
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

t.test(
  'all states of a month, and a month of CID-9: what is whole has no note, what has no group is null',
  async (t) => {
    const capitals = STATES.map(({ uf }) => ({
      uf,
      code: String(listMunicipalities(createChance(1)).find((place) => place.uf === uf)?.code ?? '').slice(
        0,
        6,
      ),
    }))
    const row = (hospital: string, month: string, cells: Readonly<Record<string, string>>) => ({
      UF_ZI: `${hospital.slice(0, 2)}0000`,
      ANO_CMPT: month.slice(0, 4),
      MES_CMPT: month.slice(4),
      IDENT: '1',
      MUNIC_RES: hospital,
      MUNIC_MOV: hospital,
      SEXO: '3',
      PROC_REA: '0303140151',
      VAL_SH: '300.10',
      VAL_SP: '100.05',
      VAL_TOT: '400.15',
      DT_SAIDA: `${month}10`,
      DIAG_PRINC: 'I500',
      COD_IDADE: '4',
      IDADE: '25',
      DIAS_PERM: '2',
      MORTE: '0',
      CAR_INT: '02',
      CNES: '2566168',
      COMPLEX: '02',
      FINANC: '06',
      ...cells,
    })
    const { importRows } = await prepareImports<Readonly<Record<string, string>>>(
      small.snapshots,
      'sih',
      (rows) => admissionsDbf(ADMISSION_COLUMNS, rows, [26, 5, 28]),
    )
    // Two residents of the state and one of the next state in each.
    const files = capitals.map(({ uf, code }, index) => [
      `RD${uf}2605.dbf`,
      [
        row(code, '202605', {}),
        row(code, '202605', { DIAG_PRINC: 'S720' }),
        row(code, '202605', { MUNIC_RES: capitals[(index + 1) % capitals.length]?.code ?? '' }),
      ],
    ])
    const cid9 = ['4280', '486', '650'].map((DIAG_PRINC) =>
      row('140010', '199705', { DIAG_PRINC, PROC_REA: '77500113', CNES: '', CAR_INT: '' }),
    )
    const oldProcedures = ['A09', 'I219', 'O623'].map((DIAG_PRINC) =>
      row('140010', '200712', { DIAG_PRINC, PROC_REA: '77500113', CNES: '', CAR_INT: '' }),
    )
    const { releasesDir, result } = await importRows({
      ...Object.fromEntries(files),
      'RDRR9705.dbf': cid9,
      'RDRR0712.dbf': oldProcedures,
    })
    writePointer(releasesDir, result.analytics)
    const client = await openClient(releasesDir)
    t.teardown(() => client.close())
    const ask = async (metrics: readonly string[], group_by: readonly string[], month: string, uf?: string) =>
      (
        await client.query({
          metrics,
          group_by,
          filters: [
            { dimension: 'reference_period', operator: 'EQ', value: month },
            ...(uf === undefined ? [] : [{ dimension: 'residence_state', operator: 'EQ', value: uf }]),
          ],
          limit: 10_000,
        })
      ).body
    const isPartial = ({ meta }: { meta: { notes: readonly WrittenNote[] } }): boolean =>
      meta.notes.some(({ code }) => code === 'partial_residence' || code === 'not_collected')
    const residents = await ask(['admissions', 'icsap_admissions'], ['residence_state'], '2026-05')
    t.notOk(isPartial(residents), JSON.stringify(residents.meta.notes))
    t.equal(residents.data.length, 27)
    const pairs = await ask(['admissions'], ['residence_state', 'state'], '2026-05')
    const shares = await ask(
      ['admissions_outside_state_share', 'admissions_of_known_state'],
      ['residence_state'],
      '2026-05',
    )
    t.notOk(isPartial(pairs))
    for (const { dimensions, metrics } of residents.data) {
      const { code } = dimensions.residence_state
      const ofState = pairs.data.filter(
        (pair: { dimensions: { residence_state: { code: string } } }) =>
          pair.dimensions.residence_state.code === code,
      )
      const sum = ofState.reduce(
        (all: number, pair: { metrics: { admissions: number } }) => all + pair.metrics.admissions,
        0,
      )
      t.same([metrics.admissions, metrics.icsap_admissions, sum], [3, 2, 3], code)
      const home = ofState.find(
        (pair: { dimensions: { state: { code: string } } }) => pair.dimensions.state.code === code,
      )
      t.equal(home.metrics.admissions, 2)
    }
    for (const { metrics } of shares.data)
      t.same(metrics, { admissions_outside_state_share: 33.33, admissions_of_known_state: 3 })

    const METRICS = [
      'admissions',
      'icsap_admissions',
      'icsap_universe_admissions',
      'icsap_share',
      'icsap_per_10k',
    ]
    const old = await ask(METRICS, [], '1997-05', 'RR')
    t.same(
      METRICS.map((code) => old.data[0].metrics[code]),
      [3, null, null, null, null],
      'admissions of CID-9 have no group',
    )
    t.match(
      old.meta.notes.find(({ code }: WrittenNote) => code === 'not_carried'),
      { dimension: 'icsap_group', states: ['RR'], periods: ['1997-05'] },
    )
    const before2008 = await ask(METRICS, ['residence_state'], '2007-12', 'RR')
    t.match(
      METRICS.map((code) => before2008.data[0].metrics[code]),
      [3, 1, null, null, Number],
      'procedures of the old table do not tell deliveries, so their files have no universe',
    )
    t.match(
      before2008.meta.notes.filter(({ code }: WrittenNote) => code === 'not_carried'),
      [
        {
          dimension: 'procedure',
          states: ['RR'],
          periods: ['2007-12'],
          metrics: ['icsap_universe_admissions', 'icsap_share'],
        },
      ],
    )
    const byGroup = await ask(['admissions'], ['icsap_group'], '1997-05', 'RR')
    t.same(
      byGroup.data.map(
        ({ dimensions, metrics }: { dimensions: { icsap_group: { code: null } }; metrics: object }) => [
          dimensions.icsap_group?.code ?? null,
          metrics,
        ],
      ),
      [[null, { admissions: 3 }]],
    )
    const newer = await ask(METRICS, [], '2026-05', 'RR')
    t.same(
      METRICS.slice(0, 4).map((code) => newer.data[0].metrics[code]),
      [3, 2, 3, 66.67],
    )
  },
)

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
  for (const row of await walkList(client, '/v1/sih/flows?reference_period=all', 100))
    answers.push(JSON.stringify(row))
  keep(await client.get('/v1/sih/flows?limit=100', { accept: 'text/csv' }))
  const { body: catalog } = await client.get('/v1/analytics/catalog')
  for (const { code } of catalog.data.dimensions) {
    keep(await client.get(`/v1/analytics/dimensions/${code}/values?counts=true&limit=250`))
    for (const metrics of [
      ['admissions', 'admissions_value'],
      ['bed_occupancy_share'],
      ['icsap_admissions', 'icsap_share'],
      ['admissions_outside_municipality_share', 'average_distance_km'],
    ]) {
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
  const pair = { residence_municipality: 1400175, municipality: 1400100 }
  for (const rows of [true, false])
    keep(
      await client.post('/v1/analytics/lineage', {
        metrics: ['admissions'],
        group_by: Object.keys(pair),
        key: pair,
        rows,
        limit: 1000,
      }),
    )
  // Errors do not repeat a row, and the log has no address.
  for (const person of [...persons].slice(0, 20)) {
    await client.get(`${LIST}?cnes_code=${encodeURIComponent(person)}`)
    await client.get(`/v1/sih/flows?residence_municipality_code=${encodeURIComponent(person)}`)
    await client.get(`/v1/sih/flows?diagnosis_chapter_code=${encodeURIComponent(person)}`)
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
