/**
 * Filters and pages, run by real DuckDB over rows small enough to check by eye: each case is parameters and the rows
 * that must come back. Values never become SQL text.
 */
import { DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import t from 'tap'
import { foldText as foldSql } from '../../src/import/rules.ts'
import { DATASETS, type Dataset, datasetOf, type Filter } from '../../src/model/datasets.ts'
import { filterConditions, filterSchema, foldText, whereClause } from '../../src/query/lists/filters.ts'
import { orderOf, type PeriodChoice, planCount, planList } from '../../src/query/lists/list.ts'
import { print, type Sql, type SqlValue, sql, table } from '../../src/sql.ts'

const connection = await (await DuckDBInstance.create(':memory:')).connect()
t.teardown(() => connection.closeSync())

/** @returns rows of a statement whose datasets are the tables made here */
async function run(statement: Sql): Promise<Record<string, DuckDBValue>[]> {
  const { text, values } = print(statement, (dataset) => `"${dataset}"`)
  return (await connection.runAndReadAll(text, values as DuckDBValue[])).getRowObjects()
}

/** Tables of the columns the filters and lists of a dataset name; a column not given is NULL. */
async function fill(
  dataset: Dataset,
  types: Readonly<Record<string, string>>,
  rows: string[],
): Promise<void> {
  const columns = new Set<string>([...Object.keys(types), ...dataset.fields, ...(dataset.internal ?? [])])
  const definitions = [...columns].map((column) => `"${column}" ${types[column] ?? 'VARCHAR'}`)
  await connection.run(`CREATE TABLE "${dataset.name}" (${definitions.join(', ')})`)
  const names = Object.keys(types).map((column) => `"${column}"`)
  await connection.run(`INSERT INTO "${dataset.name}" (${names.join(', ')}) VALUES ${rows.join(', ')}`)
}

/** @returns values of one column, in byte order, for rows that meet the filters */
async function select(dataset: Dataset, column: string, given: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(given)) {
    const filter = dataset.filters?.[name]
    if (filter === undefined) throw new TypeError(`${dataset.name} has no filter ${name}`)
    filterSchema(filter).parse(text)
  }
  const where = whereClause(filterConditions(dataset.filters ?? {}, given))
  const rows = await run(sql`SELECT * FROM ${table(dataset.name)}${where}`)
  return rows.map((row) => String(row[column])).sort()
}

const municipalities = datasetOf('municipalities')
const facilities = datasetOf('facilities')
const beds = datasetOf('bed_capacity')
const services = datasetOf('specialized_services')
const population = datasetOf('population')

const NAMES = [
  'São Luís',
  'São Luís do Curu',
  'Boa Vista',
  '100% Saúde_Já',
  "Olho d'Água",
  'MÃE-DO-RIO',
  'a\\b',
]
await fill(
  municipalities,
  { ibge_code: 'INTEGER', uf: 'VARCHAR', territorial_type: 'VARCHAR', search_text: 'VARCHAR' },
  NAMES.map(
    (name, index) =>
      `(${[2111300, 2312601, 1400100, 5300108, 3145604, 1504059, 2100055][index]}, '${index === 2 ? 'RR' : 'MA'}', 'MUNICIPALITY', ${foldSql(`'${name.replaceAll("'", "''")}'`)})`,
  ),
)
await fill(
  facilities,
  {
    reference_period: 'INTEGER',
    cnes_code: 'VARCHAR',
    is_active: 'BOOLEAN',
    municipality_ibge_code: 'INTEGER',
    search_text: 'VARCHAR',
  },
  [202604, 202605].flatMap((period) => [
    `(${period}, '0000001', true, 1400100, 'hospital geral')`,
    `(${period}, '0000002', false, 1400100, 'hospital fechado')`,
    `(${period}, '0012345', true, 1400159, 'posto 0000001')`,
    `(${period}, '9999999', true, 1200401, 'clinica')`,
  ]),
)
await fill(
  beds,
  {
    reference_period: 'INTEGER',
    cnes_code: 'VARCHAR',
    bed_type_code: 'VARCHAR',
    beds_sus: 'INTEGER',
    is_active: 'BOOLEAN',
  },
  [
    "(202605, '0000001', '01', 3, true)",
    "(202605, '0000001', '03', 0, true)",
    "(202605, '0000002', '03', 5, false)",
  ],
)
await fill(
  population,
  { municipality_code: 'VARCHAR', reference_year: 'INTEGER', population_type: 'VARCHAR' },
  [
    "('1400100', 2022, 'CENSUS_POPULATION')",
    "('1400100', 2024, 'ESTIMATED_POPULATION')",
    "('1400159', 2024, 'ESTIMATED_POPULATION')",
  ],
)

/** A declaration: characteristic, provider kind, and the four flags in the order of the dataset. */
const declare = (characteristic: string, provider: string, flags: string): string => {
  const names = ['has_ambulatory', 'has_ambulatory_sus', 'has_hospital', 'has_hospital_sus']
  const members = names.map((name, index) => `'${name}': ${flags[index] === '1'}`)
  return `{'characteristic_code': '${characteristic}', 'provider_kind': '${provider}', ${members.join(', ')}}`
}
await fill(
  services,
  {
    cnes_code: 'VARCHAR',
    is_active: 'BOOLEAN',
    declarations:
      'STRUCT(characteristic_code VARCHAR, provider_kind VARCHAR, has_ambulatory BOOLEAN, has_ambulatory_sus BOOLEAN, has_hospital BOOLEAN, has_hospital_sus BOOLEAN)[]',
  },
  [
    // own without SUS, third party with: no one declaration is both own and SUS
    `('split', true, [${declare('1', 'NOT_APPLICABLE', '1000')}, ${declare('2', 'CNPJ', '0100')}])`,
    `('whole', true, [${declare('1', 'NOT_APPLICABLE', '0100')}])`,
    `('hospital', true, [${declare('2', 'CNES', '0011')}])`,
    `('nothing', true, [${declare('1', 'NOT_INFORMED', '0000')}])`,
    `('closed', false, [${declare('1', 'NOT_APPLICABLE', '1111')}])`,
  ],
)

t.test('search folds case and accents on both sides, and % _ \\ are text', async (t) => {
  const cases: [search: string, codes: string[]][] = [
    ['sao luis', ['2111300', '2312601']],
    ['SÃO LUÍS DO', ['2312601']],
    ['Sa\u0303o Lui\u0301s d', ['2312601']],
    ['luis', ['2111300', '2312601']],
    ['LUIS são', ['2111300', '2312601']],
    ['  curu   luis ', ['2312601']],
    ['uis sa', ['2111300', '2312601']],
    ['luis vista', []],
    [' 21 ', ['2100055', '2111300']],
    ['21 11', []],
    ['mae-do', ['1504059']],
    ["d'agua", ['3145604']],
    ['%', ['5300108']],
    ['_', ['5300108']],
    ['100%', ['5300108']],
    ['s_o', []],
    ['s%o', []],
    ['\\', ['2100055']],
    ['*', []],
    ["' OR true --", []],
    ['2', ['2100055', '2111300', '2312601']],
    ['21', ['2100055', '2111300']],
    ['1400100', ['1400100']],
    ['400100', []],
  ]
  for (const [search, codes] of cases)
    t.same(await select(municipalities, 'ibge_code', { search }), codes, search)
  t.same(await select(municipalities, 'ibge_code', { search: 'luis', state: 'RR' }), [], 'joined by AND')
})

t.test('codes match by prefix, names anywhere', async (t) => {
  t.same(await select(facilities, 'cnes_code', { search: '00000', status: 'active' }), [
    '0000001',
    '0000001',
    '0012345',
    '0012345',
  ])
  t.same(await select(facilities, 'cnes_code', { search: '2345' }), [])
})

t.test('the request folds as the importer does', async (t) => {
  // Latin, Greek and Cyrillic letters, one by one; the names of the publishers are Latin-1.
  const rows = await run(
    sql`SELECT chr(CAST(i AS INTEGER)) AS letter FROM range(32, 1152) steps(i) WHERE i < 127 OR i > 159`,
  )
  const folded = await connection.runAndReadAll(
    `SELECT ${foldSql('chr(CAST(i AS INTEGER))')} AS folded FROM range(32, 1152) steps(i) WHERE i < 127 OR i > 159`,
  )
  const differ = rows
    .map(({ letter }, index) => ({ letter: String(letter), folded: folded.getRowObjects()[index]?.folded }))
    .filter(({ letter, folded }) => foldText(letter) !== folded)
  t.ok(rows.length > 1000)
  t.same(differ, [])
  t.equal(foldText(foldText('ÀÉÎÕÜÇÑ Nº 1ª')), foldText('ÀÉÎÕÜÇÑ Nº 1ª'), 'twice is once')
})

t.test('municipalities by 6 or 7 digits, codes as numbers or as text', async (t) => {
  const where = { status: 'all' }
  t.equal((await select(facilities, 'cnes_code', { ...where, municipality_ibge_code: '1400100' })).length, 4)
  t.equal((await select(facilities, 'cnes_code', { ...where, municipality_ibge_code: '140010' })).length, 4)
  t.equal((await select(facilities, 'cnes_code', { ...where, municipality_ibge_code: '1400101' })).length, 0)
  t.equal((await select(facilities, 'cnes_code', { ...where, municipality_ibge_code: '014001' })).length, 0)
  t.same(await select(population, 'reference_year', { municipality: '1400100' }), ['2022', '2024'])
  t.same(await select(population, 'reference_year', { municipality: '140010' }), ['2022', '2024'])
  t.same(await select(population, 'municipality_code', { municipality: '140015' }), ['1400159'])
  t.same(await select(population, 'municipality_code', { reference_year: '2022' }), ['1400100'])
})

t.test('several codes, separated by commas: any of them', async (t) => {
  const normal = (filter: Filter, text: string): string => filterSchema(filter).parse(text)
  t.equal(normal({ kind: 'equals', values: { uf: true } }, 'sp,RR,sp'), 'RR,SP', 'in one form')
  t.equal(
    normal({ kind: 'municipality', column: 'municipality_ibge_code' }, '1400159,140010'),
    '140010,1400159',
  )
  const places = await select(municipalities, 'ibge_code', { state: 'MA,RR' })
  t.equal(places.length, NAMES.length)
  t.equal((await select(municipalities, 'ibge_code', { state: 'RR,SP' })).length, 1)
  const where = { status: 'all' }
  const facilitiesOf = (codes: string) =>
    select(facilities, 'cnes_code', { ...where, municipality_ibge_code: codes })
  t.equal((await facilitiesOf('1400100,1400159')).length, 6)
  t.equal((await facilitiesOf('140010,1400159')).length, 6, '6 and 7 digits')
  t.equal((await facilitiesOf('140010,140015')).length, 6)
  t.same(await select(population, 'reference_year', { reference_year: '2022,2024' }), [
    '2022',
    '2024',
    '2024',
  ])
  t.equal((await select(population, 'reference_year', { municipality: '140010,1400159' })).length, 3)
  t.equal((await select(beds, 'bed_type_code', { ...where, bed_type_code: '01,03,07' })).length, 3)
  t.equal((await select(beds, 'bed_type_code', { ...where, cnes_code: '0000001,0000002' })).length, 3)
  t.same(await select(services, 'cnes_code', { status: 'active', provider_kind: 'CNES,CNPJ' }), [
    'hospital',
    'split',
  ])
  t.same(
    await select(services, 'cnes_code', {
      status: 'active',
      characteristic_code: '1,3',
      provider_kind: 'CNPJ,CNES',
    }),
    [],
    'one declaration meets both',
  )
})

t.test('status, and flags whose false is the complement of true', async (t) => {
  t.same(await select(beds, 'bed_type_code', {}), ['01', '03', '03'], 'no filter, no condition')
  t.same(await select(beds, 'bed_type_code', { status: 'all' }), ['01', '03', '03'])
  t.same(await select(beds, 'bed_type_code', { status: 'active' }), ['01', '03'])
  t.same(await select(beds, 'cnes_code', { status: 'inactive' }), ['0000002'])
  t.same(await select(beds, 'bed_type_code', { status: 'active', has_sus_capacity: 'true' }), ['01'])
  t.same(await select(beds, 'bed_type_code', { status: 'active', has_sus_capacity: 'false' }), ['03'])
})

t.test('filters on declarations are met together by one declaration', async (t) => {
  const cases: [given: Record<string, string>, found: string[]][] = [
    [{ characteristic_code: '1' }, ['nothing', 'split', 'whole']],
    [{ has_ambulatory_sus: 'true' }, ['split', 'whole']],
    [{ characteristic_code: '1', has_ambulatory_sus: 'true' }, ['whole']],
    [{ characteristic_code: '2', has_ambulatory_sus: 'true' }, ['split']],
    [{ characteristic_code: '1', provider_kind: 'CNPJ' }, []],
    [{ provider_kind: 'CNPJ' }, ['split']],
    [{ has_ambulatory: 'true', has_ambulatory_sus: 'true' }, []],
    [{ offers_any_sus: 'true' }, ['hospital', 'split', 'whole']],
    [{ offers_any_sus: 'false' }, ['nothing']],
    [{ offers_any_sus: 'true', characteristic_code: '1' }, ['whole']],
    [{ has_hospital: 'false' }, ['nothing', 'split', 'whole']],
    [{ has_hospital: 'false', has_ambulatory: 'false' }, ['nothing', 'whole']],
    [{ has_hospital: 'false', characteristic_code: '2' }, ['split']],
    [{ has_ambulatory: 'false', has_hospital_sus: 'true' }, ['hospital']],
  ]
  for (const [given, found] of cases)
    t.same(await select(services, 'cnes_code', { ...given, status: 'active' }), found, JSON.stringify(given))
  const all = await select(services, 'cnes_code', {})
  for (const flag of [
    'has_ambulatory',
    'has_ambulatory_sus',
    'has_hospital',
    'has_hospital_sus',
    'offers_any_sus',
  ])
    t.same(
      [
        ...(await select(services, 'cnes_code', { [flag]: 'true' })),
        ...(await select(services, 'cnes_code', { [flag]: 'false' })),
      ].sort(),
      all,
      `${flag}: true and false part the records`,
    )
})

t.test('what a parameter takes', async (t) => {
  const cases: [filter: Filter, taken: string[], refused: string[]][] = [
    [
      { kind: 'equals', values: { digits: 2 } },
      ['00', '99', '01,02', '01,01'],
      ['', '1', '123', 'ab', '1 ', '1\n', '-1', '١٢', '1.', '01,', ',01', '01,,02', '01, 02', '01;02'],
    ],
    [{ kind: 'equals', values: { digits: 1 } }, ['1'], ['', '12', 'x']],
    [{ kind: 'equals', values: { list: ['M', 'E'] } }, ['M', 'E', 'M,E'], ['', 'm', 'X', 'M,X', '__proto__']],
    [{ kind: 'equals', values: { uf: true } }, ['RR', 'SP', 'rr', 'rr,sP'], ['', 'XX', 'RRR', '14', 'RR,XX']],
    [{ kind: 'equals', values: { year: true } }, ['2022'], ['', '22', '02022', '2022.0', '2e3', '-202']],
    [
      { kind: 'equals', values: { key: [2, 2] } },
      ['01:02'],
      ['', '0102', '1:2', '01:02:03', '01:', '01:02\n', 'a1:02'],
    ],
    [{ kind: 'equals', values: { text: 5 } }, ['a', '%_%', 'abcde'], ['', 'abcdef']],
    [
      { kind: 'municipality', column: 'municipality_ibge_code' },
      ['140010', '1400100', '140010,1400100'],
      ['', '14001', '14001000', '1e6', '140010,14'],
    ],
    [{ kind: 'positive', column: 'beds_sus' }, ['true', 'false'], ['', '1', '0', 'TRUE', 'yes']],
    [{ kind: 'status' }, ['active', 'inactive', 'all'], ['', 'open', 'ALL']],
    [
      { kind: 'search', codes: 'ibge_code', text: 'search_text' },
      ['a', ' a ', '%', '\u0303a', 'x'.repeat(100)],
      ['', ' ', '\u00a0', 'x'.repeat(101), 'a\u0000', '\ud800', '\u0301', '\u0303\u0301'],
    ],
    [
      { kind: 'declaration', column: 'has_hospital', values: { boolean: true } },
      ['true', 'false'],
      ['', '1'],
    ],
  ]
  for (const [filter, taken, refused] of cases) {
    const schema = filterSchema(filter)
    const label = JSON.stringify(filter)
    t.same(
      taken.filter((text) => !schema.safeParse(text).success),
      [],
      `${label} takes`,
    )
    t.same(
      refused.filter((text) => schema.safeParse(text).success),
      [],
      `${label} refuses`,
    )
    t.notOk(schema.safeParse(['a', 'b']).success, `${label} is given once`)
  }
})

t.test('values are parameters, never text', async (t) => {
  const mark = "zz' OR 1=1 --"
  for (const dataset of Object.values<Dataset>(DATASETS))
    for (const [name, filter] of Object.entries(dataset.filters ?? {})) {
      const { text, values } = print(
        whereClause(filterConditions({ [name]: filter }, { [name]: mark })),
        () => 'x',
      )
      t.notMatch(text, /zz|1=1|--/, `${dataset.name}.${name}`)
      t.equal(text.match(/\$\d+/g)?.length ?? 0, values.length)
    }
  t.same(
    filterConditions(facilities.filters ?? {}, { nonsense: 'x', constructor: 'y' }),
    [],
    'only what is declared',
  )
  t.same(whereClause([]).parts, [])
})

t.test('pages laid end to end are the list', async (t) => {
  const walks: [dataset: Dataset, filters: Record<string, string>, period: PeriodChoice, rows: number][] = [
    [municipalities, {}, null, 7],
    [municipalities, { search: 'a' }, null, 7],
    [municipalities, { state: 'SP' }, null, 0],
    [population, {}, null, 3],
    [facilities, { status: 'all' }, 'all', 8],
    [facilities, { status: 'active' }, 'all', 6],
    [beds, { status: 'all' }, 'all', 3],
    [services, { status: 'all' }, null, 5],
  ]
  for (const [dataset, filters, period, expected] of walks)
    for (const limit of [1, 2, 3, 100]) {
      const order = orderOf({ dataset, period })
      const keys: string[] = []
      let after: SqlValue[] | null = null
      for (let page = 0; page < 20; page += 1) {
        const rows: Record<string, DuckDBValue>[] = await run(
          planList({ dataset, filters, period }, limit, after as (string | number)[] | null),
        )
        const shown = rows.slice(0, limit)
        keys.push(...shown.map((row) => JSON.stringify(order.map((column) => row[column]))))
        if (rows.length <= limit) break
        const last = shown.at(-1)
        after = order.map((column) => last?.[column] as SqlValue)
        t.notOk(
          after.some((value) => value === undefined),
          'the whole position is in the row',
        )
      }
      const label = `${dataset.name} ${JSON.stringify(filters)} by ${limit}`
      t.equal(keys.length, expected, `${label}: nothing lost`)
      t.equal(new Set(keys).size, expected, `${label}: nothing twice`)
      t.same(keys, [...keys].sort(), `${label}: in key order`)
      const [count] = await run(planCount({ dataset, filters, period }))
      t.equal(Number(count?.total), expected, `${label}: counted`)
    }
})
