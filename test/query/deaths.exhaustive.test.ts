/**
 * Drawn questions on deaths against plain SQL over an independent decode: the invented cells as text, with the rules written again
 * in SQL. One state has a file of CID-9, both have one of CID-10. What no file covers is null, and what has no deaths is 0.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { findPublishedRows } from '../../src/import/published-rows.ts'
import { STATES } from '../../src/model/territory/states.ts'
import { writePointer } from '../../src/release/writer.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient } from '../fixtures/client.ts'
import { makeDbf } from '../fixtures/dbf-builder.ts'
import { prepareImports } from '../fixtures/file-imports.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

type Cells = Readonly<Record<string, string>>
const chance = createChance(38)
let turn = 0
const pick = <Value>(values: readonly Value[]): Value => {
  turn += 1
  return values[Math.floor(chance(turn, 1) * values.length)] as Value
}
const twoDigits = (number: number): string => String(number).padStart(2, '0')
const MONTHS = Array.from({ length: 12 }, (_, month) => twoDigits(month + 1))
const AGES = [
  '',
  '000',
  '030',
  '105',
  '200',
  '206',
  '207',
  '227',
  '228',
  '301',
  '400',
  '401',
  '429',
  '430',
  '469',
  '470',
  '485',
  '503',
  '999',
]
const CAUSES = [
  'I219',
  'C509',
  'R99',
  'X954',
  'O159',
  'O961',
  'B24',
  'F53',
  'A34',
  'J440',
  'E149',
  'P369',
  '',
]

/** Cells that must stand in no release, answer, log or error. */
const PERSONAL: Cells = {
  DTNASC: '23091947',
  HORAOBITO: '2347',
  NUMSUS: '898001160660761',
  NUMERODO: '76543219',
  REGISTRO: '99887766554',
  ESTABDESCR: 'HOSPITAL PLANTADO',
}

function drawRow(uf: '14' | '12', year: number): Cells {
  // A month of 00 or 13 is unknown: the death counts in the year and in no month.
  const month = pick([...MONTHS, ...MONTHS, '00', '13'])
  const places = uf === '14' ? ['140010', '140002', '140000'] : ['120040', '120001', '120000']
  const shared = {
    ...PERSONAL,
    TIPOBITO: pick(['2', '2', '2', '2', '2', '2', '2', '2', '2', '1']),
    IDADE: pick(AGES),
    SEXO: pick(['1', '2', '0', '']),
    LOCOCOR: pick(['1', '2', '3', '4', '6', '9', '']),
  }
  return year < 1996
    ? {
        ...shared,
        DATAOBITO: `${twoDigits(year % 100)}${month}00`,
        MUNIRES: `${pick(places)}7`,
        MUNIOCOR: '1400100',
        CAUSABAS: pick(['8199', '410X', '436X']),
      }
    : {
        ...shared,
        DTOBITO: `15${month}${year}`,
        CODMUNRES: pick(places),
        CODMUNOCOR: '140010',
        CAUSABAS: pick(CAUSES),
        RACACOR: pick(['1', '2', '3', '4', '5', '']),
        OBITOGRAV: pick(['1', '2', '9']),
        OBITOPUERP: pick(['1', '2', '3']),
      }
}
const FILES: readonly (readonly [name: string, uf: '14' | '12', year: number])[] = [
  ['DORRR90.dbf', '14', 1990],
  ['DORR2021.dbf', '14', 2021],
  ['DOAC2021.dbf', '12', 2021],
]
/** Residents abroad: every second death of the file is fetal. */
const ABROAD = Array.from({ length: 40 }, (_, index) => ({
  ...drawRow('14', 2021),
  DTOBITO: '15032021',
  CODMUNRES: '900126',
  TIPOBITO: index % 2 === 0 ? '1' : '2',
}))
const rowsByFile = Object.fromEntries(
  FILES.map(([name, uf, year]) => [name, Array.from({ length: 2_000 }, () => drawRow(uf, year))]),
)
const dbf = (rows: readonly Cells[]): Buffer =>
  makeDbf({ columns: Object.keys(rows[0] ?? {}).map((name) => [name, 20] as const), rows })

const small = await makeSmallRelease('admissions')
const { importRows, refused } = await prepareImports<Cells>(small.snapshots, 'sim', dbf)
const { releasesDir, result, manifest } = await importRows({ ...rowsByFile, 'DOREXT21.dbf': ABROAD })
await writePointer(releasesDir, result.analytics)
const logged: string[] = []
const client = await openClient(releasesDir, 1, { log: { write: (line) => logged.push(line) } })
t.teardown(() => client.close())

const connection = await (await DuckDBInstance.create(':memory:')).connect()
await connection.run(
  'CREATE TABLE cells (kind VARCHAR, period VARCHAR, uf VARCHAR, residence VARCHAR, age VARCHAR, sex VARCHAR, place VARCHAR, cause VARCHAR, race VARCHAR, pregnancy VARCHAR, puerperium VARCHAR)',
)
for (const [name, uf, year] of FILES) {
  const tuples = (rowsByFile[name] ?? []).map((row) => {
    const cell = row.DTOBITO?.slice(2, 4) ?? row.DATAOBITO?.slice(2, 4) ?? ''
    const month = cell === '13' ? '00' : cell
    const residence = (row.CODMUNRES ?? row.MUNIRES ?? '').slice(0, 6)
    const texts = [
      row.TIPOBITO,
      `${year}${month}`,
      uf === '14' ? 'RR' : 'AC',
      residence,
      row.IDADE,
      row.SEXO,
      row.LOCOCOR,
      row.CAUSABAS,
      row.RACACOR,
      row.OBITOGRAV,
      row.OBITOPUERP,
    ]
    return `(${texts.map((text) => (text === undefined ? 'NULL' : `'${text}'`)).join(', ')})`
  })
  await connection.run(`INSERT INTO cells VALUES ${tuples.join(', ')}`)
}
/** Rules again, in SQL: years of an age, its five-year group, its part of the first year, chapter and race. */
await connection.run(`CREATE VIEW deaths AS
  WITH aged AS (SELECT *, CASE WHEN age = '' OR age IN ('000', '999') THEN NULL WHEN age[1] = '4' THEN CAST(age[2:3] AS INTEGER)
      WHEN age[1] = '5' THEN 100 + CAST(age[2:3] AS INTEGER) ELSE 0 END AS years FROM cells WHERE kind <> '1')
  SELECT period AS reference_period, left(period, 4) AS reference_year, uf AS residence_state,
    CASE WHEN years IS NULL THEN NULL WHEN years >= 80 THEN '80+' ELSE lpad(CAST(years // 5 * 5 AS VARCHAR), 2, '0') || '-' || lpad(CAST(years // 5 * 5 + 4 AS VARCHAR), 2, '0') END AS age_group,
    CASE WHEN years IS NULL OR years > 0 THEN NULL WHEN age = '400' THEN 'unknown' WHEN age[1] = '3' OR age BETWEEN '228' AND '299' THEN 'post_neonatal'
      WHEN age BETWEEN '207' AND '227' THEN 'late_neonatal' ELSE 'early_neonatal' END AS infant_age,
    CASE sex WHEN '1' THEN 'M' WHEN '2' THEN 'F' END AS sex, CASE WHEN period < '1996' THEN coalesce(map {'1': '1', '2': '4', '3': '3', '4': '5'}[place], '9')
      WHEN place IN ('1', '2', '3', '4', '6') THEN place ELSE '9' END AS place_of_death,
    CASE WHEN period < '1996' THEN left(cause, 3) ELSE nullif(left(cause, 3), '') END AS cause_category,
    CASE WHEN period < '1996' THEN NULL ELSE map {'I': '09', 'C': '02', 'R': '18', 'X': '20', 'O': '15', 'B': '01', 'F': '05', 'A': '01', 'J': '10', 'E': '04', 'P': '16'}[cause[1]] END AS cause_chapter,
    CASE WHEN race IS NULL THEN NULL ELSE coalesce(map {'1': '01', '2': '02', '3': '04', '4': '03', '5': '05'}[race], '99') END AS race,
    (period >= '1996' AND sex = '2' AND (cause IN ('O159', 'A34') OR (cause IN ('B24', 'F53') AND (pregnancy = '1' OR puerperium = '1')))) AS is_maternal,
    (period >= '1996' AND years BETWEEN 30 AND 69 AND cause IN ('I219', 'C509', 'J440', 'E149')) AS is_ncd
  FROM aged`)

const METRICS: Readonly<Record<string, string>> = {
  deaths: 'count(*)',
  maternal_deaths: 'count(*) FILTER (WHERE is_maternal)',
  premature_ncd_deaths: 'count(*) FILTER (WHERE is_ncd)',
  external_cause_deaths: "count(*) FILTER (WHERE cause_chapter = '20')",
  ill_defined_deaths: "count(*) FILTER (WHERE cause_chapter = '18')",
}
const DIMENSIONS = [
  'reference_period',
  'reference_year',
  'residence_state',
  'sex',
  'age_group',
  'infant_age',
  'race',
  'cause_chapter',
  'cause_category',
  'place_of_death',
] as const

t.test('rows of the release are the rows that are not fetal', async (t) => {
  const [row] = (await connection.runAndReadAll('SELECT count(*) AS n FROM deaths')).getRowObjectsJson()
  t.equal(
    FILES.reduce(
      (sum, [, , year]) => (year === 2021 ? sum : sum + (manifest.counts[`deaths_${year}`] ?? 0)),
      manifest.counts.deaths_2021 ?? 0,
    ),
    Number(row?.n) + ABROAD.length / 2,
    'DOREXT: fetal rows are no deaths, the others are',
  )
})

t.test('drawn questions', async (t) => {
  for (let index = 0; index < countOf(40, 20); index += 1) {
    const year = pick(['1990', '2021', '2021', '2021'])
    const states = year === '1990' ? ['RR'] : pick([['RR'], ['AC'], ['AC', 'RR']])
    const group_by = [...new Set([pick(DIMENSIONS), pick(DIMENSIONS)])].filter(
      // CID-9 files carry neither chapter nor race: their groups are tested below.
      (code) => year !== '1990' || !['race', 'cause_chapter'].includes(code),
    )
    const metric = pick(year === '1990' ? ['deaths'] : Object.keys(METRICS))
    const { status, body } = await client.query({
      metrics: [metric],
      group_by,
      filters: [
        { dimension: 'residence_state', operator: 'IN', value: states },
        { dimension: 'reference_year', operator: 'EQ', value: Number(year) },
      ],
      limit: 10_000,
    })
    const name = `${metric} by ${group_by.join()} of ${states.join()} in ${year}`
    t.equal(status, 200, `${name} ${JSON.stringify(body.errors ?? '')}`)
    const found = new Map<string, number | null>()
    for (const { dimensions, metrics } of body.data ?? [])
      found.set(
        JSON.stringify(
          group_by.map((code) =>
            dimensions[code].code === null
              ? null
              : String(dimensions[code].code).replace(/^(\d{4})-(\d\d)$/, '$1$2'),
          ),
        ),
        metrics[metric],
      )
    const rows = (
      await connection.runAndReadAll(
        `SELECT ${[...group_by, `${METRICS[metric]} AS value`].join(', ')} FROM deaths WHERE reference_year = '${year}' ${group_by.includes('reference_period') ? "AND reference_period NOT LIKE '%00'" : ''} AND residence_state IN (${states.map((uf) => `'${uf}'`).join(', ')}) ${group_by.length === 0 ? '' : 'GROUP BY ALL'}`,
      )
    ).getRowObjectsJson()
    const wrong = rows
      .map((row) => [JSON.stringify(group_by.map((code) => row[code] ?? null)), Number(row.value)] as const)
      .filter(([key, value]) => (found.get(key) ?? 0) !== value)
    t.same(
      wrong.slice(0, 3).map(([key, value]) => [key, value, found.get(key)]),
      [],
      name,
    )
    const sum = [...found.values()].reduce<number>((total, value) => total + (value ?? 0), 0)
    t.equal(
      sum,
      rows.reduce((total, row) => total + Number(row.value), 0),
      `sum of ${name}`,
    )
  }
})

t.test('counts by cause of CID-9 years, and years without files, are null', async (t) => {
  const ask = async (uf: string, year: number): Promise<Record<string, number | null>> => {
    const { body } = await client.query({
      metrics: Object.keys(METRICS),
      group_by: ['residence_state'],
      filters: [
        { dimension: 'residence_state', operator: 'EQ', value: uf },
        { dimension: 'reference_year', operator: 'EQ', value: year },
      ],
    })
    return body.data[0]?.metrics ?? {}
  }
  const old = await ask('RR', 1990)
  t.ok((old.deaths ?? 0) > 0)
  for (const metric of Object.keys(METRICS)) if (metric !== 'deaths') t.equal(old[metric], null, metric)
  t.equal((await ask('AC', 1990)).deaths ?? null, null)
})

t.test('the list has the rows of a month with their file', async (t) => {
  const { status, body } = await client.get(
    '/v1/sim/monthly?uf=AC&reference_period=2021-03&limit=100&count=true',
  )
  t.equal(status, 200)
  t.ok(body.data.length > 0)
  for (const { residence_uf, source_file, source_rows } of body.data)
    t.same([residence_uf, source_file, source_rows], ['AC', 'DOAC2021.dbf', 2_000])
})

t.test('files that repeat deaths of others are refused by name', async (t) => {
  const row = [drawRow('14', 2021)]
  for (const name of ['DOBR2021.dbf', 'DOEXT21.dbf', 'DOINF21.dbf', 'DOMAT21.dbf', 'DORIG21.dbf'])
    t.match(await refused(t, { 'DORR2021.dbf': row, [name]: row }), name)
  t.match(await refused(t, { 'DORR2021.dbf': row, 'DORRR21.dbf': row }), /same year and state/)
})

t.test('deaths without a month count in the year, and a note says how many', async (t) => {
  const unknown = (rowsByFile['DORR2021.dbf'] ?? []).filter(
    ({ DTOBITO = '', TIPOBITO }) => TIPOBITO !== '1' && /^15(00|13)/.test(DTOBITO),
  ).length
  t.ok(unknown > 50)
  const query = (group_by: readonly string[]) =>
    client.query({
      metrics: ['deaths'],
      group_by,
      filters: [
        { dimension: 'reference_year', operator: 'EQ', value: 2021 },
        { dimension: 'residence_state', operator: 'EQ', value: 'RR' },
      ],
    })
  const [year, months] = [await query([]), await query(['reference_period'])]
  const sum = (months.body.data as { metrics: { deaths: number } }[]).reduce(
    (total, { metrics }) => total + metrics.deaths,
    0,
  )
  t.equal(year.body.data[0].metrics.deaths - sum, unknown)
  t.match(
    year.body.meta.notes.filter(({ code }: { code: string }) => code === 'deaths_without_month'),
    [{ states: ['RR'], year: 2021, deaths: unknown }],
  )
  const countsByYear = new Map(
    FILES.filter(([, uf]) => uf === '14').map(([name, , of]) => [
      of,
      (rowsByFile[name] ?? []).filter(({ TIPOBITO }) => TIPOBITO !== '1').length,
    ]),
  )
  // Rows by year have their deaths without a month, so all levels above them have those, too.
  const byYear = await client.query({
    metrics: ['deaths', 'deaths_per_100k'],
    group_by: ['residence_state', 'reference_year'],
    filters: [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }],
    totals: [['residence_state'], []],
    share_of: [],
  })
  const rows = byYear.body.data as { metrics: Record<string, number> }[]
  const sumOf = (name: string): number => rows.reduce((total, { metrics }) => total + (metrics[name] ?? 0), 0)
  t.same(
    rows.map(({ metrics }) => metrics.deaths),
    [1990, 2021].map((of) => countsByYear.get(of)),
  )
  t.ok(Math.abs(sumOf('deaths__share') - 100) < 0.02, `the shares are ${sumOf('deaths__share')} %`)
  const residents = rows.map(({ metrics }) => ((metrics.deaths ?? 0) / (metrics.deaths_per_100k ?? 0)) * 1e5)
  for (const { data } of byYear.body.totals) {
    t.equal(data[0].metrics.deaths, sumOf('deaths'))
    t.ok(Math.abs(data[0].metrics.deaths_per_100k - (sumOf('deaths') / (residents[0] ?? 0)) * 1e5) < 0.1)
  }
  // A filter of periods within a year is of months, also where they are all of a year: rows, totals and the whole leave out what has no month.
  for (const [dimension, value] of [
    ['reference_period', ['2021-01', '2021-12']],
    ['reference_quarter', ['2021-Q1', '2021-Q4']],
    ['reference_quadrimester', ['2021-C1', '2021-C3']],
  ] as const) {
    const inMonths = async (group_by: readonly string[]) => {
      const { body } = await client.query({
        metrics: ['deaths'],
        group_by,
        totals: group_by.length === 0 ? [] : [[]],
        filters: [
          { dimension, operator: 'BETWEEN', value },
          { dimension: 'residence_state', operator: 'EQ', value: 'RR' },
        ],
      })
      return [body.data, ...(body.totals ?? []).map(({ data }: { data: unknown }) => data)].map(
        (level: readonly { metrics: { deaths: number } }[]) =>
          level.reduce((total, { metrics }) => total + metrics.deaths, 0),
      )
    }
    for (const group_by of [['reference_year'], ['reference_quarter'], ['reference_quadrimester']])
      t.same(await inMonths(group_by), [sum, sum], `${dimension} by ${group_by}`)
    t.same(await inMonths([]), [sum], dimension)
  }
  for (const [file, year] of [
    ['DORRR90.dbf', 1990],
    ['DORR2021.dbf', 2021],
  ] as const) {
    const lineage = await client.post('/v1/analytics/lineage', {
      ...{ metrics: ['deaths'], group_by: [], key: {}, rows: true, limit: 1000 },
      filters: [
        { dimension: 'reference_year', operator: 'EQ', value: year },
        { dimension: 'residence_state', operator: 'EQ', value: 'RR' },
      ],
    })
    t.equal(lineage.status, 200, lineage.text.slice(0, 300))
    const path = join(temporaryFolder('published'), file)
    writeFileSync(path, dbf(rowsByFile[file] ?? []))
    for (const { published_rows } of [...lineage.body.data.slice(0, 20), ...lineage.body.data.slice(-20)]) {
      const found = await findPublishedRows(path, published_rows.where, { limit: 5, offset: 0 })
      if (published_rows.is_exact) t.equal(found.count, published_rows.count, JSON.stringify(published_rows))
      t.notMatch(JSON.stringify(found.rows), /DTOBITO|DATAOBITO|DTNASC|NUMSUS/)
    }
  }
})

t.test('who died at one year or later is not of an age that is not informed', async (t) => {
  const { body } = await client.query({
    metrics: ['deaths'],
    group_by: ['infant_age'],
    filters: [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }],
  })
  const names = new Map<unknown, unknown>(
    body.data.map(
      ({ dimensions: { infant_age } }: { dimensions: { infant_age: { code: unknown; name: unknown } } }) => [
        infant_age.code,
        infant_age.name,
      ],
    ),
  )
  t.equal(names.get(null), 'De 1 ano e mais, ou de idade ignorada')
  t.not(names.get('unknown'), names.get(null))
})

t.test('residents abroad count in the country and in no state', async (t) => {
  // The country has a value where the files of all states are there: one death each, with a month.
  const files = STATES.map(({ uf, ibge_code }): [string, Cells[]] => [
    `DO${uf}2021.dbf`,
    [{ ...drawRow('14', 2021), TIPOBITO: '2', DTOBITO: '15032021', CODMUNRES: `${ibge_code}0000` }],
  ])
  const withoutMonth = ABROAD.map((row) => ({ ...row, DTOBITO: '15002021' }))
  const { releasesDir, result } = await importRows({
    ...Object.fromEntries(files),
    'DOREXT21.dbf': [...ABROAD, ...withoutMonth],
  })
  await writePointer(releasesDir, result.analytics)
  const reader = await openClient(releasesDir)
  t.teardown(() => reader.close())
  const filters = [{ dimension: 'reference_period', operator: 'EQ', value: '2021-03' }]
  const valuesBy = async (group_by: readonly string[]): Promise<number[]> => {
    const { status, body, text } = await reader.query({ metrics: ['deaths'], group_by, filters })
    t.equal(status, 200, text.slice(0, 300))
    return body.data.map(({ metrics }: { metrics: { deaths: number } }) => metrics.deaths)
  }
  t.same(await valuesBy([]), [STATES.length + ABROAD.length / 2])
  t.same(
    await valuesBy(['residence_state']),
    [...STATES.map(() => 1), ABROAD.length / 2],
    'the last row is of no state',
  )
  const noted = async (filters: readonly object[]) => {
    const { body } = await reader.query({
      metrics: ['deaths'],
      filters: [{ dimension: 'reference_year', operator: 'EQ', value: 2021 }, ...filters],
    })
    return body.meta.notes.filter(({ code }: { code: string }) => code === 'deaths_without_month')
  }
  t.match(await noted([]), [{ year: 2021, states: ['EX'], deaths: ABROAD.length / 2 }])
  t.same(
    await noted([{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }]),
    [],
    'a state does not have them',
  )
  t.equal(manifest.counts.deaths_of_residents_abroad_2021, ABROAD.length / 2)
  t.same(manifest.coverage.deaths?.['202103']?.states, ['AC', 'RR'])
})

t.test('personal cells stand in no release, answer, log or error', async (t) => {
  const files = readdirSync(releasesDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
  const answers = [
    (await client.get('/v1/sim/monthly?reference_period=all&limit=100')).text,
    (await client.get(`/v1/releases/${result.sim}`)).text,
    (await client.get('/v1/sim/monthly?cause_category_code=*')).text,
    await refused(t, { 'DORR2022.dbf': rowsByFile['DORR2021.dbf'] ?? [] }),
  ]
  for (const planted of [...Object.values(PERSONAL), '15032021'])
    for (const [place, texts] of [
      ['release', files],
      ['answer or error', answers],
      ['log', logged],
    ] as const)
      t.notOk(
        texts.some((text) => text.includes(planted)),
        `${planted} in no ${place}`,
      )
  t.ok(logged.length > 3 && files.length > 20)
})
