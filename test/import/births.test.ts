/**
 * Files of births → a release and its answers: traps of the published layouts, what is refused or set aside, what is never read, and
 * that the real files give what was measured on them.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { gestationClassOf } from '../../src/import/aggregated/gestation.ts'
import { importPaths } from '../../src/import/import.ts'
import {
  deliveryOf,
  monthOfBirth,
  motherAgeGroupOf,
  recogniseBirthFile,
  weightClassOf,
} from '../../src/import/sinasc/birth-files.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { statesFinal } from '../../src/query/analytics/datasets/finality.ts'
import { statesOfStatus } from '../../src/release/coverage.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { readManifest } from '../../src/release/verify.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { openClient } from '../fixtures/client.ts'
import { makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { partition, prepareImports } from '../fixtures/file-imports.ts'
import { secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

type Cells = Readonly<Record<string, string>>
const small = await makeSmallRelease('admissions')
/** A birth that nothing is wrong with. */
const plain: Cells = {
  CONTADOR: '7654321',
  CODMUNRES: '140010',
  IDADEMAE: '25',
  PESO: '3200',
  GESTACAO: '5',
  CONSULTAS: '4',
  PARTO: '1',
  SEXO: '2',
  RACACOR: '4',
  DTNASC: '17052022',
  APGAR5: '00',
  DTNASCMAE: '23091997',
  HORANASC: '2347',
  NUMREGCART: '99887766554',
}
/** Cells of it that must stand in no release, answer, log or error. Four digits of an hour occur in digests, too. */
const PERSONAL = ['7654321', '23091997', '99887766554', '17052022']
const NEW_COLUMNS = [
  ...['CODMUNRES', 'IDADEMAE', 'PESO', 'GESTACAO', 'CONSULTAS', 'PARTO', 'SEXO', 'RACACOR', 'DTNASC'],
  ...['APGAR5', 'DTNASCMAE', 'HORANASC', 'NUMREGCART', 'CONTADOR'],
].map((name) => [name, 12] as const)
const OLD_COLUMNS = [
  'DATA_NASC',
  'MUNI_MAE',
  'TIPO_PARTO',
  'GESTACAO',
  'PESO',
  'IDADE_MAE',
  'SEXO',
  'PRE_NATAL',
  'RACCOR',
].map((name) => [name, 10] as const)
const dbf = (rows: readonly Cells[]): Buffer => makeDbf({ columns: NEW_COLUMNS, rows })
const oldDbf = (rows: readonly Cells[]): Buffer => makeDbf({ columns: OLD_COLUMNS, rows })
const { importRows, refused, ask } = await prepareImports(small.snapshots, 'sinasc', dbf)

t.test('names of all generations', (t) => {
  const table: readonly (readonly [string, string, number])[] = [
    ['DNAC2009.DBC', 'AC', 200912],
    ['DNRRR94.DBC', 'RR', 199412],
    ['DNRBA1994.dbc', 'BA', 199412],
    ['DNRR2019.dbc', 'RR', 201912],
    ['dnex2022 (1).dbc', 'EX', 202212],
    ['DNREXT22.dbc', 'EX', 202212],
    ['DNBR2016.dbc', 'BR', 201612],
    ['DNRIG95.DBC', 'IG', 199512],
  ]
  for (const [name, uf, period] of table) t.same(recogniseBirthFile(name), { uf, period }, name)
  for (const name of ['DNXX2019.dbc', 'DNAC19.dbc', 'DOAC2019.dbc', 'DNAC2019.csv'])
    t.equal(recogniseBirthFile(name), null, name)
  t.end()
})

t.test('cells', (t) => {
  t.equal(monthOfBirth('17052022', 2022), '202205', 'day first from 1996 on')
  t.equal(monthOfBirth('19940517', 1994), '199405', 'year first before 1996')
  for (const cell of ['17002022', '17132022', '17050202', '052022', ''])
    t.equal(monthOfBirth(cell, 2022), '', cell)
  for (const cell of ['9999', '0000', '0', '', 'x']) t.equal(weightClassOf(cell), '', `weight ${cell}`)
  t.equal(weightClassOf('2499'), '1500-2499')
  t.equal(weightClassOf('2500'), '2500-2999')
  t.equal(weightClassOf('0499'), '0001-0499')
  t.equal(gestationClassOf('4', 1994), '37-41', 'in 1994, 4 is a birth at term')
  t.equal(gestationClassOf('4', 1996), '32-36')
  t.equal(gestationClassOf('8', 1996), '28-36')
  for (const cell of ['9', '0', '']) t.equal(gestationClassOf(cell, 2019), '', `gestation ${cell}`)
  t.equal(deliveryOf('3', 1995), '3', 'forceps')
  for (const cell of ['3', '4', '9', '']) t.equal(deliveryOf(cell, 1996), '', `delivery ${cell}`)
  t.equal(deliveryOf('2', 1996), '2')
  for (const cell of ['99', '00', '']) t.equal(motherAgeGroupOf(cell), '', `age ${cell}`)
  t.equal(motherAgeGroupOf('10'), '10-14')
  t.equal(motherAgeGroupOf('9'), '00-09')
  t.equal(motherAgeGroupOf('51'), '50+')
  t.end()
})

t.test('a birth without a municipality is one of the state of its file', async (t) => {
  const { releasesDir, result, manifest } = await importRows({
    'DNRR2022.dbf': dbf([plain, { ...plain, CODMUNRES: '' }, { ...plain, CODMUNRES: '000000' }]),
    'DNEX2022.dbf': dbf([{ ...plain, CODMUNRES: '' }]),
  })
  t.match(
    await ask(
      `SELECT residence_uf, residence_municipality_code, births FROM ${partition(releasesDir, result.sinasc ?? '', 'births')} ORDER BY ALL`,
    ),
    [
      { residence_uf: 'RR', residence_municipality_code: 1400000, births: 2 },
      { residence_uf: 'RR', residence_municipality_code: 1400100, births: 1 },
      { residence_uf: null, residence_municipality_code: null, births: 1 },
    ],
  )
  t.equal(manifest.counts.births_without_residence_2022, 1)
})

t.test('a file whose births have no municipality is one of the state of its name', async (t) => {
  const { manifest } = await importRows({ 'DNRR2022.dbf': dbf([{ ...plain, CODMUNRES: '' }]) })
  t.equal(manifest.counts.births_2022, 1)
})

t.test('births are summed by class; unknown is null, and no personal cell is read', async (t) => {
  const unknown: Cells = { DTNASC: '01062022', CODMUNRES: '140000', NUMREGCART: '99887766554' }
  const { releasesDir, result, manifest } = await importRows(
    {
      'DNRR2022.dbc': makeDbc(
        dbf([
          plain,
          { ...plain, CODMUNRES: '1400100', DTNASC: '02052022' },
          unknown,
          { ...plain, DTNASC: '01002022' },
          { ...plain, DTNASC: '31122021' },
          { ...plain, DTNASC: '31122022' },
        ]),
      ),
      'DNEX2022.dbc': dbf([{ ...plain, CODMUNRES: '900126' }]),
    },
    0.5,
  )
  const id = result.sinasc ?? ''
  t.match(
    await ask(
      `SELECT * EXCLUDE (source_sha256) FROM ${partition(releasesDir, id, 'births')} ORDER BY reference_period, processing_uf`,
    ),
    [
      { reference_period: '202200', residence_uf: 'RR', births: 1 },
      {
        reference_period: '202205',
        residence_uf: null,
        residence_municipality_code: null,
        processing_uf: 'EX',
        births: 1,
      },
      {
        reference_period: '202205',
        residence_uf: 'RR',
        residence_municipality_code: 1400100,
        mother_age_group: '25-29',
        weight_class_code: '3000-3999',
        gestation_class_code: '37-41',
        prenatal_visits_class_code: '7+',
        delivery_code: '1',
        race_code: '03',
        sex: 'F',
        births: 2,
        source_file: 'DNRR2022.dbc',
        source_rows: 6,
      },
      {
        reference_period: '202206',
        residence_municipality_code: 1400000,
        mother_age_group: null,
        weight_class_code: null,
        gestation_class_code: null,
        prenatal_visits_class_code: null,
        delivery_code: null,
        race_code: '99',
        sex: null,
        births: 1,
      },
      { reference_period: '202212', births: 1 },
    ],
  )
  t.same(manifest.datasets.births?.periods.length, 13)
  t.same(manifest.coverage.births?.['202201']?.states, ['RR'], 'residents abroad are of no state')
  t.same(
    manifest.set_aside.map(({ reason, rows }) => [reason, rows]),
    [['other_year', 1]],
  )
  t.equal(manifest.counts.births_without_month_RR_2022, 1)
  t.equal(manifest.coverage.births?.['202200'], undefined, 'the month 00 is no month')
  const texts = readdirSync(join(releasesDir, id), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
  for (const planted of [...PERSONAL, '2347'])
    t.notOk(
      texts.some((text) => text.includes(planted)),
      planted,
    )

  await promoteRelease(releasesDir, result.analytics)
  const logged: string[] = []
  const client = await openClient(releasesDir, 1, { log: { write: (line) => logged.push(line) } })
  t.teardown(() => client.close())
  const inMay = { dimension: 'reference_period', operator: 'EQ', value: '2022-05' }
  const inRoraima = { dimension: 'residence_state', operator: 'EQ', value: 'RR' }
  const question = { metrics: ['births'], group_by: ['sex'], filters: [inMay, inRoraima] }
  const answers = [
    await client.get('/v1/sinasc/monthly?reference_period=all&limit=100'),
    await client.query(question),
    await client.post('/v1/analytics/lineage', { ...question, group_by: [], key: {}, rows: true }),
    await client.get(`/v1/releases/${id}`),
  ]
  for (const { status, text } of answers) t.equal(status, 200, text.slice(0, 300))
  const error = await client.get('/v1/sinasc/monthly?mother_age_group=*')
  t.equal(error.status, 400)
  const refusal = await refused(t, { 'DNRR2023.dbc': [plain] })
  const written = [...answers.map(({ text }) => text), error.text, refusal, ...logged]
  t.ok(logged.length >= 5)
  for (const planted of PERSONAL)
    t.notOk(
      written.some((text) => text.includes(planted)),
      `${planted} in no answer, error or line of the log`,
    )
})

t.test('blank cells of residents abroad leave no gap in a complete release', async (t) => {
  const files = STATES.map(({ uf, ibge_code }) => [
    `DN${uf}2022.dbf`,
    dbf([{ ...plain, CODMUNRES: `${ibge_code}0000` }]),
  ])
  const { manifest } = await importRows({
    ...Object.fromEntries(files),
    'DNEX2022.dbf': dbf([{ ...plain, CODMUNRES: '900126', RACACOR: '', PARTO: '' }]),
  })
  const { states, not_carried } = manifest.coverage.births?.['202205'] ?? {}
  t.equal(states?.length, STATES.length)
  t.equal(not_carried, undefined)
})

t.test('a month that only residents abroad have is not collected', async (t) => {
  const { manifest } = await importRows({
    'DNRR2022.dbc': makeDbc(dbf([{ ...plain, DTNASC: '02052022' }])),
    'DNEX2022.dbc': dbf([{ ...plain, CODMUNRES: '900126', DTNASC: '02072022' }]),
  })
  t.same(manifest.datasets.births?.periods.at(-1), 202207)
  t.same(
    Object.keys(manifest.coverage.births ?? {}),
    ['01', '02', '03', '04', '05'].map((month) => `2022${month}`),
  )
})

t.test('a final file covers its year, and so does one without rows or without months', async (t) => {
  const { manifest } = await importRows({
    'SINASC/1996_/Dados/DNRES/DNRR2020.dbf': [{ ...plain, DTNASC: '17032020' }],
    'SINASC/PRELIM/DNRES/DNAP2020.dbf': [{ ...plain, DTNASC: '17032020', CODMUNRES: '160030' }],
    'DNAM2018.dbf': [{ ...plain, DTNASC: '', CODMUNRES: '130260' }],
    'DNPA2017.dbf': dbf([]),
  })
  const coverageOf = (month: string): unknown => manifest.coverage.births?.[month]
  t.match(coverageOf('202003'), { states: ['AP', 'RR'] })
  t.match(coverageOf('202012'), { states: ['RR'] })
  t.match(coverageOf('201812'), { states: ['AM'] })
  t.match(coverageOf('201712'), { states: ['PA'], empty: ['PA'] })
})

t.test(
  'files that would count twice, or of another state or year, are refused without their cells',
  async (t) => {
    const editions = await refused(t, { 'DNEX2022.dbc': [plain], 'DNREXT22.dbc': [plain] })
    t.match(editions, /is the same year and state as .*DNEX2022/)
    t.match(await refused(t, { 'DNBR2022.dbc': [plain] }), /births of all states/)
    const state = await refused(t, { 'DNAC2022.dbc': [plain] })
    t.match(state, /no birth of the state of its name/)
    t.match(await refused(t, { 'DNRR2021.dbc': [plain] }), /no birth of the year of its name/)
    t.match(await refused(t, { 'DNRR2022.dbc': oldDbf([]).subarray(0, 32 + 32 * 3) }), /is cut/)
    t.notMatch(editions + state, /7654321|23091997|99887766554/)
  },
)

t.test(
  'answers: shares divide by known classes, and what files do not carry is null',
  secondRing,
  async (t) => {
    const { releasesDir } = small
    const folder = join(temporaryFolder('births'), 'births')
    mkdirSync(folder)
    const rows: readonly Cells[] = [
      plain,
      {
        ...plain,
        DTNASC: '17002022',
        PESO: '9999',
        GESTACAO: '9',
        PARTO: '',
        CONSULTAS: '9',
        IDADEMAE: '99',
      },
      { ...plain, PESO: '2400', GESTACAO: '4', PARTO: '2', CONSULTAS: '2', IDADEMAE: '15' },
      { ...plain, PESO: '9999', GESTACAO: '9', PARTO: '', CONSULTAS: '9', IDADEMAE: '99' },
      { ...plain, DTNASC: '31122022' },
    ]
    const old = {
      ...{ DATA_NASC: '19940517', MUNI_MAE: '1400100', TIPO_PARTO: '2', GESTACAO: '4' },
      ...{ PESO: '9999', IDADE_MAE: '30', SEXO: '1', PRE_NATAL: '3' },
    }
    const [prelim, final] = ['SINASC/PRELIM/DNRES', 'SINASC/1994_1995/Dados/DNRES'].map((name) =>
      join(folder, name),
    )
    for (const name of [prelim, final]) mkdirSync(name ?? '', { recursive: true })
    writeFileSync(join(prelim ?? '', 'DNRR2022.dbc'), makeDbc(dbf(rows)))
    writeFileSync(join(folder, 'DNEX2022.dbc'), dbf([{ ...plain, CODMUNRES: '900126' }]))
    writeFileSync(join(final ?? '', 'DNRRR94.DBC'), oldDbf([old, { ...old, DATA_NASC: '19941201' }]))
    const made = await importPaths([folder], { releasesDir, maxRejected: 0, makesRows: true })
    await promoteRelease(releasesDir, made.analytics)
    const manifest = await readManifest(releasesDir, made.sinasc ?? '')
    t.same(manifest.coverage.births?.['202205']?.status, { RR: 'preliminary' }, 'by the folder PRELIM')
    t.same(manifest.coverage.births?.['199405']?.status, { RR: 'final' })
    const view = { components: { sinasc: manifest } } as unknown as ReleaseView
    t.notOk(statesFinal(view, 'births', 202205).has('RR'), 'a preliminary file is not final')
    t.ok(statesFinal(view, 'births', 199405).has('RR'))
    const isOf = (status: 'final' | 'preliminary', period: number): string[] => [
      ...statesOfStatus(view, 'births', period, status),
    ]
    t.same([isOf('final', 202205), isOf('preliminary', 202205), isOf('final', 199405)], [[], ['RR'], ['RR']])
    const client = await openClient(releasesDir, 1, { rows: true })
    t.teardown(() => client.close())
    const statuses = async (period: string): Promise<unknown> => {
      const { body } = await client.get(`/v1/sinasc/monthly?reference_period=${period}`)
      const rows = body.data as { source_file: string; publication_status: string | null }[]
      return Object.fromEntries(rows.map((row) => [row.source_file, row.publication_status]))
    }
    t.same(await statuses('2022-05'), { 'DNRR2022.dbc': 'preliminary', 'DNEX2022.dbc': null })
    t.same(await statuses('1994-05'), { 'DNRRR94.DBC': 'final' }, 'each row says what its file is')
    const metrics = [
      ...['births', 'low_birth_weight_share', 'preterm_share', 'caesarean_share', 'prenatal_7plus_share'],
      {
        metric: 'births',
        as: 'births_prenatal_7plus',
        filters: [{ dimension: 'prenatal_visits', operator: 'IN', value: ['7+'] }],
      },
      'adolescent_mothers_share',
    ]
    const askFor = async (year: number, group_by: readonly string[] = []) => {
      const { status, body, text } = await client.query({
        metrics,
        group_by,
        filters: [
          { dimension: 'reference_year', operator: 'EQ', value: year },
          { dimension: 'residence_state', operator: 'EQ', value: 'RR' },
        ],
      })
      if (status !== 200) throw new Error(text)
      return body
    }
    const { data, meta } = await askFor(2022)
    t.match(data[0].metrics, {
      births: 5,
      low_birth_weight_share: 33.33,
      preterm_share: 33.33,
      caesarean_share: 33.33,
      prenatal_7plus_share: 66.67,
      adolescent_mothers_share: 33.33,
      births_prenatal_7plus: 2,
    })
    t.notOk(meta.notes.some(({ code }: { code: string }) => code === 'partial_residence'))
    t.match(
      meta.notes.find(({ code }: { code: string }) => code === 'births_without_month'),
      { year: 2022, states: ['RR'], births: 1 },
      'a birth without a month counts in its year',
    )
    const byMonth = await client.query({
      metrics: ['births'],
      group_by: ['reference_period'],
      filters: [
        { dimension: 'reference_year', operator: 'EQ', value: 2022 },
        { dimension: 'residence_state', operator: 'EQ', value: 'RR' },
      ],
    })
    const months: { metrics: { births: number } }[] = byMonth.body.data
    t.same(
      [months.length, months.reduce((sum, { metrics }) => sum + metrics.births, 0)],
      [12, 4],
      'and in no month',
    )
    t.same(
      (await client.get('/v1/sinasc/monthly?reference_period=2022-00')).body.data.map(
        ({ reference_period, births }: Record<string, unknown>) => [reference_period, births],
      ),
      [['2022-00', 1]],
    )
    const withoutMonth = async (uf: string): Promise<readonly unknown[]> => {
      const { body } = await client.get(`/v1/sinasc/monthly?reference_period=2022-00&uf=${uf}&count=true`)
      return [body.pagination.total, (body.meta.notes ?? []).map(({ code }: { code: string }) => code)]
    }
    t.same(await withoutMonth('RR'), [1, []], 'the month 00 is collected with the months of its year')
    t.same(await withoutMonth('AC'), [null, ['not_collected']])
    const across = await client.query({
      metrics: ['births', 'preterm_share'],
      group_by: ['reference_year'],
      filters: [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }],
    })
    t.same(
      across.body.meta.notes.find(({ code }: { code: string }) => code === 'gestation_break')?.metrics,
      ['preterm_share'],
      'the gestation break of 2011 is noted across it',
    )
    const nineties = (await askFor(1994)).data[0].metrics
    t.match(nineties, {
      births: 2,
      low_birth_weight_share: null,
      preterm_share: 0,
      caesarean_share: 100,
      prenatal_7plus_share: null,
      births_prenatal_7plus: null,
    })
    const byWeight = (await askFor(2022, ['birth_weight'])).data
    t.same(
      byWeight.map(
        (row: { dimensions: { birth_weight: { code: string | null } }; metrics: { births: number } }) => [
          row.dimensions.birth_weight.code,
          row.metrics.births,
        ],
      ),
      [
        ['1500-2499', 1],
        ['3000-3999', 2],
        [null, 2],
      ],
    )
    const limited = await client.query({
      metrics: ['births', 'low_birth_weight_share'],
      group_by: ['residence_municipality'],
      filters: [
        { dimension: 'reference_period', operator: 'EQ', value: '2022-05' },
        { dimension: 'residence_state', operator: 'EQ', value: 'RR' },
      ],
      limits: 0.95,
    })
    t.same(
      limited.body.meta.limits.methods?.low_birth_weight_share ??
        limited.body.meta.limits.metrics?.low_birth_weight_share?.method,
      'wilson',
    )
    const listed = await client.get('/v1/sinasc/monthly?reference_period=2022-12&uf=RR&count=true')
    t.equal(listed.body.pagination.total, 1)
    t.match(listed.body.data[0], { residence_uf: 'RR', source_file: 'DNRR2022.dbc', births: 1 })
    for (const sort of ['', '&sort=-births']) {
      const path = `/v1/sinasc/monthly?reference_period=2022-05${sort}`
      const all = (await client.get(`${path}&limit=100`)).body.data
      const paged: unknown[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await client.get(`${path}&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
        paged.push(...page.body.data)
        cursor = page.body.pagination.next_cursor
      }
      t.equal(all.length, 4)
      t.same(paged, all, `pages of rows whose keys have nulls lose none ${sort}`)
    }
  },
)

interface Facts {
  readonly rows: number
  readonly births_by_month: Readonly<Record<string, number>>
  readonly sex: Readonly<Record<string, number>>
  readonly weight_class: Readonly<Record<string, number>>
  readonly mother_age: Readonly<Record<string, number>>
  readonly 'low_birth_weight_<2500': number
  readonly delivery_PARTO: Readonly<Record<string, number>>
  readonly gestation_category_GESTACAO: Readonly<Record<string, number>>
  readonly prenatal_CONSULTAS: Readonly<Record<string, number>>
  readonly residence_top10: readonly (readonly [string, number])[]
}
const sumOf = (counts: Readonly<Record<string, number>>, codes: readonly string[]): number =>
  codes.reduce((sum, code) => sum + (counts[code] ?? 0), 0)

t.test(
  'the published files give what was measured on them',
  { ...secondRing, ...(skipWithoutShared ? { skip: skipWithoutShared } : {}) },
  async (t) => {
    const folder = sharedPath('sinasc')
    const facts: Record<string, Facts> = JSON.parse(readFileSync(join(folder, 'facts.json'), 'utf8'))
    const names = Object.keys(facts).filter((name) => name !== 'DNEX2022.dbc')
    const { releasesDir, result, manifest } = await importRows(
      Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))])),
      0.001,
    )
    for (const name of names) {
      const expected = facts[name] as Facts
      const isOld = name === 'DNRRR94.DBC'
      const from = `${partition(releasesDir, result.sinasc, 'births')} WHERE source_file = '${name}'`
      const by = async (column: string): Promise<Record<string, number>> =>
        Object.fromEntries(
          (
            await ask(
              `SELECT coalesce(CAST(${column} AS VARCHAR), '') AS code, CAST(sum(births) AS INTEGER) AS n FROM ${from} GROUP BY 1`,
            )
          ).map(({ code, n }) => [String(code), Number(n)]),
        )
      const months = Object.entries(expected.births_by_month)
      t.same(
        await by(
          "left(CAST(reference_period AS VARCHAR), 4) || '-' || right(CAST(reference_period AS VARCHAR), 2)",
        ),
        Object.fromEntries(months),
        `${name}: months`,
      )
      const aside = expected.rows - months.reduce((sum, [, count]) => sum + count, 0)
      t.equal(
        manifest.set_aside.filter(({ file }) => file === name).reduce((sum, { rows }) => sum + rows, 0),
        aside,
        `${name}: rows set aside`,
      )
      const near = (actual: number, wanted: number, what: string): void => {
        t.equal(actual, wanted, `${name}: ${what}`)
      }
      const sex = await by('sex')
      near(sex.M ?? 0, expected.sex['1'] ?? 0, 'boys')
      near(sex.F ?? 0, expected.sex['2'] ?? 0, 'girls')
      const weight = await by('weight_class_code')
      for (const [published, code] of [
        ['<500', '0001-0499'],
        ['500-999', '0500-0999'],
        ['1000-1499', '1000-1499'],
        ['1500-2499', '1500-2499'],
        ['2500-2999', '2500-2999'],
        ['3000-3999', '3000-3999'],
        ['>=4000', '4000+'],
        ['unknown', ''],
      ] as const)
        near(weight[code] ?? 0, expected.weight_class[published] ?? 0, `weight ${published}`)
      near(
        sumOf(weight, ['0001-0499', '0500-0999', '1000-1499', '1500-2499']),
        expected['low_birth_weight_<2500'],
        'low weight',
      )
      const ages = await by('mother_age_group')
      for (const [published, codes] of [
        ['10-14', ['10-14']],
        ['15-19', ['15-19']],
        ['20-34', ['20-24', '25-29', '30-34']],
        ['35-39', ['35-39']],
        ['40+', ['40-44', '45-49', '50+']],
        ['unknown', ['', '00-09']],
      ] as const)
        near(sumOf(ages, codes), expected.mother_age[published] ?? 0, `mothers ${published}`)
      const gestation = await by('gestation_class_code')
      for (const [published, code] of isOld
        ? ([
            ['1', '00-21'],
            ['2', '22-27'],
            ['3', '28-36'],
            ['4', '37-41'],
            ['5', '42+'],
          ] as const)
        : ([
            ['1', '00-21'],
            ['2', '22-27'],
            ['3', '28-31'],
            ['4', '32-36'],
            ['5', '37-41'],
            ['6', '42+'],
            ['8', '28-36'],
          ] as const))
        near(
          gestation[code] ?? 0,
          expected.gestation_category_GESTACAO[published] ?? 0,
          `gestation ${published}`,
        )
      const visits = await by('prenatal_visits_class_code')
      for (const [published, code] of [
        ['1', '0'],
        ['2', '1-3'],
        ['3', '4-6'],
        ['4', '7+'],
        ['8', '1-6'],
      ] as const)
        near(
          visits[code] ?? 0,
          isOld ? 0 : (expected.prenatal_CONSULTAS[published] ?? 0),
          `visits ${published}`,
        )
      const delivery = await by('delivery_code')
      for (const code of ['1', '2', '3', '4'])
        near(delivery[code] ?? 0, expected.delivery_PARTO[code] ?? 0, `delivery ${code}`)
      const places = await by('residence_municipality_code // 10')
      for (const [code, count] of expected.residence_top10)
        if (!code.startsWith('90')) near(places[code.slice(0, 6)] ?? 0, count, `residence ${code}`)
    }
  },
)
