/**
 * Every attribute of records of every family of files: each entry of provenance names a column that its file has, and what stands
 * there is the published cell of the entry. The files are read by test/fixtures/published-cells.ts.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { writeCnv, writeFacilityNames, writeSigtap } from '../fixtures/code-tables.ts'
import { openPublished, type PublishedFile } from '../fixtures/published-cells.ts'
import { cases } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { writeStateFile } from '../fixtures/state-month.ts'

interface Entry {
  readonly attribute: string
  readonly value: unknown
  readonly raw_value: string | null
  readonly rule: string
  readonly source: { file: string; sha256: string; row: number; column: string } | null
}
type Row = Readonly<Record<string, unknown>>

/** Rules whose cell is withheld where it holds a CPF: they may show no cell although there is one. */
const WITHHOLDS = /CPF|fourteen digits|provider/
const RECORDS = cases(8, 6)

const LISTS: readonly (readonly [
  list: string,
  record: ((row: Row) => string) | null,
  link: (row: Row) => string,
])[] = [
  [
    '/v1/facilities',
    (row) => `/v1/facilities/${row.cnes_code}`,
    (row) => `/v1/facilities/${row.cnes_code}/provenance`,
  ],
  [
    '/v1/bed-capacity',
    null,
    (row) => `/v1/facilities/${row.cnes_code}/bed-capacity/${row.bed_type_code}/provenance`,
  ],
  [
    '/v1/equipment-inventory',
    null,
    (row) =>
      `/v1/facilities/${row.cnes_code}/equipment-inventory/${row.category_code}/${row.equipment_code}/provenance`,
  ],
  [
    '/v1/specialized-service-offerings',
    null,
    (row) =>
      `/v1/facilities/${row.cnes_code}/specialized-services/${row.service_code}/${row.classification_code}/provenance`,
  ],
]

function checkEntry(
  t: Test,
  files: ReadonlyMap<string, PublishedFile>,
  { attribute, value, raw_value, rule, source }: Entry,
  at: string,
): void {
  if (source === null) {
    const needsNoCell =
      value === null || value === false || attribute === 'reference_period' || /own list|added up/.test(rule)
    if (!needsNoCell || raw_value !== null)
      t.fail(`${at} ${attribute}: ${JSON.stringify(value)} comes from nowhere (${rule})`)
    return
  }
  const file = files.get(source.file)
  if (file === undefined) return void t.fail(`${at} ${attribute}: no file ${source.file}`)
  if (file.sha256 !== source.sha256) t.fail(`${at}: digest of ${source.file}`)
  if (!file.columns.includes(source.column))
    return void t.fail(`${at} ${attribute}: ${source.file} has no column ${source.column}`)
  const cell = file.cell(source.row, source.column)
  const isSame = raw_value === null ? cell?.trim() === '' || WITHHOLDS.test(rule) : cell === raw_value
  if (!isSame)
    t.fail(
      `${at} ${attribute}: ${source.file} ${source.row} ${source.column} is ${cell}, not ${raw_value} (${rule})`,
    )
}

/** Few facilities have beds: some of those that do. */
const withBeds = async (client: Client, month: string): Promise<Row[]> => {
  const page = await client.get(`/v1/bed-capacity?status=all&limit=3&reference_period=${month}`)
  return page.status === 200 ? page.body.data : []
}

/** @returns entries checked by attribute */
async function checkReleases(
  t: Test,
  client: Client,
  files: ReadonlyMap<string, PublishedFile>,
  months: readonly string[],
): Promise<Map<string, number>> {
  const checked = new Map<string, number>()
  for (const month of months)
    for (const [list, record, link] of LISTS) {
      const page = await client.get(`${list}?status=all&limit=100&reference_period=${month}`)
      // A month that did not collect the records has none.
      if (page.status !== 200 && !/month|mês|period/.test(JSON.stringify(page.body)))
        t.fail(`${list} ${month}: ${JSON.stringify(page.body)}`)
      const rows: Row[] = page.status === 200 ? page.body.data : []
      const beds = record === null ? [] : await withBeds(client, month)
      const step = Math.max(1, Math.floor(rows.length / RECORDS))
      const many = rows
        .filter((row) => Array.isArray(row.declarations) && row.declarations.length > 1)
        .slice(0, 3)
      for (const row of [...rows.filter((_, index) => index % step === 0), ...beds, ...many]) {
        const at = `${month} ${link(row)}`
        const shown: Row =
          record === null ? row : (await client.get(`${record(row)}?reference_period=${month}`)).body.data
        const reply = await client.get(`${link(row)}?reference_period=${month}`, {
          'accept-language': 'en',
        })
        if (reply.status !== 200) t.fail(`${at}: ${reply.status}`)
        const entries = reply.body.data.entries as Entry[]
        for (const attribute of Object.keys(shown)) {
          const own = entries.filter((entry) => entry.attribute.split('.')[0] === attribute)
          if (own.length === 0) t.fail(`${at}: nothing on ${attribute}`)
          const one = own.length === 1 && own[0]?.attribute === attribute ? own[0] : null
          if (one !== null && JSON.stringify(one.value) !== JSON.stringify(shown[attribute]))
            t.fail(
              `${at} ${attribute}: ${JSON.stringify(one.value)} is not ${JSON.stringify(shown[attribute])}`,
            )
        }
        for (const entry of entries) {
          checkEntry(t, files, entry, at)
          checked.set(entry.attribute, (checked.get(entry.attribute) ?? 0) + (entry.source === null ? 0 : 1))
        }
      }
    }
  return checked
}

/** Population: the lineage of one cell of an analytics answer leads to file, row and column. */
async function checkPopulation(
  t: Test,
  client: Client,
  files: ReadonlyMap<string, PublishedFile>,
  metric: string,
): Promise<number> {
  const reply = await client.post('/v1/analytics/lineage', { metrics: [metric], limit: RECORDS })
  t.equal(reply.status, 200, metric)
  for (const { sources, key } of reply.body.data)
    for (const source of sources) {
      const file = files.get(source.file)
      const at = `${metric} ${JSON.stringify(key)} ${source.file} ${source.row} ${source.column}`
      if (file === undefined) t.fail(`${at}: no file`)
      else if (!file.columns.includes(source.column)) t.fail(`${at}: no such column`)
      else if (file.cell(source.row, source.column) !== source.raw_value)
        t.fail(`${at}: is ${file.cell(source.row, source.column)}, not ${source.raw_value}`)
    }
  return reply.body.data.length
}

const DERIVED = [
  'uf',
  'municipality_name',
  'is_active',
  'facility_name',
  'beds_non_sus',
  'equipment_type_key',
  'classification_key',
  'provider_kind',
  'has_beds',
  'has_equipment',
  'has_services',
  'offers_any_sus',
  'quantity_sus',
  'quantity_sus_basis',
]

t.test('the national base and IBGE, as the demonstration writes them', async (t) => {
  const small = await makeSmallRelease()
  const client = await openClient(small.releasesDir)
  t.teardown(() => client.close())
  const files = await openPublished([small.snapshots])
  for (const month of ['2026-05']) {
    const own = new Map(
      [...files].filter(([name]) => !/20\d{4}\.csv$/.test(name) || name.includes(month.replace('-', ''))),
    )
    const checked = await checkReleases(t, client, own, [month])
    for (const attribute of [
      ...DERIVED,
      'source_updated_on',
      'establishment_type_name',
      'administrative_region_code',
    ])
      t.ok(
        attribute === 'administrative_region_code' || (checked.get(attribute) ?? 0) > 0,
        `${month} ${attribute}`,
      )
  }
  t.ok((await checkPopulation(t, client, files, 'population_census')) > 0)
  t.ok((await checkPopulation(t, client, files, 'population_estimated')) > 0)
})

t.test('files by state with code tables, invented', async (t) => {
  const small = await makeSmallRelease()
  const folder = temporaryFolder('state-cells')
  writeSigtap(folder, 202510, {
    tb_servico: [['101', 'Serviço']],
    tb_servico_classificacao: [['101', '001', 'Classificação']],
    tb_tipo_leito: [['75', 'Terapia intensiva']],
  })
  writeCnv(join(folder, 'natjur.cnv'), 4, [['1023', 'Natureza inventada']])
  writeFacilityNames(join(folder, 'TCNESRR.DBF'), { '2000001': 'Hospital Inventado' })
  writeStateFile(folder, 'ST', 202306, [{}, { CNES: '2000002', CODUFMUN: '140005' }])
  writeStateFile(folder, 'LT', 202306, [
    {},
    { CODLEITO: '75', TP_LEITO: '3' },
    { CNES: '2000002', QT_SUS: '   0' },
  ])
  writeStateFile(folder, 'EQ', 202306, [{}, { CODEQUIP: '02', IND_SUS: '0' }])
  writeStateFile(folder, 'SR', 202306, [
    {},
    { CNES: '2000003', CARACTER: '2', CNESTERC: '2000001' },
    { CNES: '2000003', CARACTER: '1', AMB_SUS: '0' },
  ])
  // A month without columns that came later.
  writeStateFile(folder, 'ST', 201206, [{}], ['NAT_JUR', 'COD_CEP'])
  const releasesDir = join(folder, 'releases')
  const { analytics } = await importPaths([join(small.snapshots, 'ibge'), folder], {
    releasesDir,
    maxRejected: 0,
  })
  await promoteRelease(releasesDir, analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const files = await openPublished([join(small.snapshots, 'ibge'), folder].map((path) => path))
  const checked = await checkReleases(t, client, files, ['2012-06', '2023-06'])
  for (const attribute of [...DERIVED, 'reference_period', 'trade_name', 'legal_nature_name'])
    t.ok((checked.get(attribute) ?? 0) > 0, attribute)
  const { entries } = (await client.get('/v1/facilities/2000001/provenance?reference_period=2012-06')).body
    .data
  const nature = entries.filter(({ attribute }: Entry) => attribute === 'legal_nature_code')
  t.same(
    nature.map(({ source, rule }: Entry) => [source, rule]),
    [[null, 'não está no arquivo publicado']],
  )
})

t.test('the published files', { skip: skipWithoutShared }, async (t) => {
  const names = [
    ...[
      'LTBA2301',
      'LTRJ1008',
      'LTRR0610',
      'EQAL1509',
      'EQRR0509',
      'SRAP0508',
      'SRDF1511',
      'SRES0609',
      'SRSE2310',
    ],
    ...['STAP0510', 'STPE1608'],
  ].map((name) => sharedPath(`cnes/dbc/${name}.dbc`))
  const paths = [
    ...names,
    sharedPath('cnes/dbc/STSE1912.DBF.gz'),
    sharedPath('cnes/cadger_AC_201609_legal_persons.csv.gz'),
    sharedPath('sigtap/202510'),
    sharedPath('datasus_tables/natjur.cnv'),
    sharedPath('datasus_tables/br_municip.cnv'),
    sharedPath('datasus_tables/TCNESBR.DBF'),
  ]
  const months = [
    '2005-08',
    '2005-09',
    '2005-10',
    '2006-09',
    '2006-10',
    '2010-08',
    '2015-09',
    '2015-11',
    '2016-08',
  ]
  // Each form in which IBGE publishes municipalities and population.
  for (const ibge of [
    ['RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls', 'tabela9514.xlsx', 'estimativa_dou_2024.xls'],
    ['RELATORIO_DTB_BRASIL_MUNICIPIO_2022.csv', 'tabela9514.csv', 'tabela6579.csv'],
    [
      'RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls',
      'POP_TCU_2023_Municipios_POP2022_Malha2023.xls',
      'tabela202.xlsx',
    ],
  ]) {
    const given = ibge.map((name) => sharedPath(`ibge/${name}`))
    const releasesDir = join(temporaryFolder('published-cells'), 'releases')
    const { analytics } = await importPaths([...paths, ...given], { releasesDir, maxRejected: 0.01 })
    await promoteRelease(releasesDir, analytics)
    const client = await openClient(releasesDir)
    const files = await openPublished([...paths, ...given])
    const checked = await checkReleases(t, client, files, [...months, '2019-12', '2023-01', '2023-10'])
    for (const attribute of DERIVED) t.ok((checked.get(attribute) ?? 0) > 0, attribute)
    for (const metric of ['population_census', 'population_estimated'])
      await checkPopulation(t, client, files, metric)
    await client.close()
  }
})
