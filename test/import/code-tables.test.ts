/**
 * Code tables as sources: which table names a code in which month, where the name was read, what a table may not name. With
 * invented tables, and with the published ones where they are here.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { readManifest } from '../../src/release/verify.ts'
import { writeCnv, writeFacilityNames, writeSigtap } from '../fixtures/code-tables.ts'
import { secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { writeStateFile } from '../fixtures/state-month.ts'

const connection = await (await DuckDBInstance.create(':memory:')).connect()
const small = await makeSmallRelease()
const ibge = join(small.snapshots, 'ibge')

interface Made {
  readonly rows: (dataset: string, columns: string, where?: string) => Promise<unknown[][]>
  readonly manifest: Awaited<ReturnType<typeof readManifest>>
}

async function make(name: string, paths: readonly string[]): Promise<Made> {
  const releasesDir = join(temporaryFolder(name), 'releases')
  const { cnes } = await importPaths([ibge, ...paths], { releasesDir, maxRejected: 0.001 })
  return {
    manifest: await readManifest(releasesDir, cnes ?? ''),
    async rows(dataset, columns, where = 'true') {
      const reader = await connection.runAndReadAll(
        `SELECT ${columns} FROM read_parquet('${releasesDir}/${cnes}/${dataset}/**/*.parquet', hive_partitioning = true) WHERE ${where} ORDER BY ALL`,
      )
      return reader.getRowsJson()
    },
  }
}

const folder = temporaryFolder('code-tables')
const files = join(folder, 'files')
mkdirSync(files)
const services = [
  { SERV_ESP: '101', CLASS_SR: '001' },
  { SERV_ESP: '150', CLASS_SR: '099' },
  { SERV_ESP: '151', CLASS_SR: '098' },
  { SERV_ESP: '999', CLASS_SR: '001' },
]
for (const month of [200802, 202205, 202306, 202511]) writeStateFile(files, 'SR', month, services)
writeStateFile(files, 'LT', 202306, [
  { TP_LEITO: '1', CODLEITO: '01' },
  { TP_LEITO: '3', CODLEITO: '75' },
])
writeSigtap(join(files, 'older'), 202301, {
  tb_servico: [['101', 'Serviço de 2023']],
  tb_servico_classificacao: [
    ['101', '001', 'Classificação de 2023'],
    ['150', '099', 'Só em 2023'],
  ],
})
writeSigtap(join(files, 'newer'), 202510, {
  tb_servico: [['101', 'Serviço de 2025']],
  tb_servico_classificacao: [
    ['101', '001', 'Classificação de 2025'],
    ['151', '098', 'Só em 2025'],
  ],
  tb_tipo_leito: [
    ['01', 'Cirúrgico das internações'],
    ['75', 'Terapia intensiva da tabela'],
  ],
})
writeCnv(join(files, 'natjur.cnv'), 4, [
  ['1000-1999,', '1. Grupo inventado'],
  ['1023', 'Natureza inventada'],
])
writeFacilityNames(join(files, 'TCNESRR.DBF'), {
  '2000001': 'Hospital Inventado',
  '2000002': 'Não está aqui',
})

t.test('the newest table that covers the month names its codes', secondRing, async (t) => {
  const made = await make('editions', [files])
  t.same(
    await made.rows(
      'specialized_services',
      'reference_period, service_code, service_name, classification_name',
      "service_code IN ('101', '150', '151', '999')",
    ),
    [
      // The coding until February 2008 is another one: no table of today names it.
      [200802, '101', null, null],
      [200802, '150', null, null],
      [200802, '151', null, null],
      [200802, '999', null, null],
      // Before every edition: the oldest one.
      [202205, '101', 'Serviço de 2023', 'Classificação de 2023'],
      [202205, '150', 'CIRURGIA VASCULAR', 'Só em 2023'],
      [202205, '151', 'MEDICINA NUCLEAR', 'Só em 2025'],
      [202205, '999', null, null],
      [202306, '101', 'Serviço de 2023', 'Classificação de 2023'],
      [202306, '150', 'CIRURGIA VASCULAR', 'Só em 2023'],
      [202306, '151', 'MEDICINA NUCLEAR', 'Só em 2025'],
      [202306, '999', null, null],
      [202511, '101', 'Serviço de 2025', 'Classificação de 2025'],
      [202511, '150', 'CIRURGIA VASCULAR', 'Só em 2023'],
      [202511, '151', 'MEDICINA NUCLEAR', 'Só em 2025'],
      [202511, '999', null, null],
    ],
  )
  t.same(
    await made.rows(
      'code_names_provenance',
      'reference_period, value, source_file, source_row, source_column, trim(raw_value)',
      "code = '101:001' AND reference_period > 200802",
    ),
    [
      [
        202205,
        'Classificação de 2023',
        'older/tb_servico_classificacao.txt',
        1,
        'NO_CLASSIFICACAO',
        'Classificação de 2023',
      ],
      [
        202306,
        'Classificação de 2023',
        'older/tb_servico_classificacao.txt',
        1,
        'NO_CLASSIFICACAO',
        'Classificação de 2023',
      ],
      [
        202511,
        'Classificação de 2025',
        'newer/tb_servico_classificacao.txt',
        1,
        'NO_CLASSIFICACAO',
        'Classificação de 2025',
      ],
    ],
  )
  t.equal(made.manifest.counts.classifications_without_name_202306, 1)
  t.ok(made.manifest.snapshots.some(({ file }) => file === 'newer/tb_servico_layout.txt'))
  t.same(
    await made.rows('specialized_service_types', 'service_name', "service_code = '101'"),
    [['Serviço de 2025']],
    'the list shows the newest',
  )
})

t.test('what a table may name, and names of facilities', secondRing, async (t) => {
  const made = await make('names', [files])
  t.same(
    await made.rows('bed_capacity', 'bed_type_code, bed_type_name, facility_name'),
    [
      ['01', 'BUCO MAXILO FACIAL', 'Hospital Inventado'],
      ['75', 'Terapia intensiva da tabela', 'Hospital Inventado'],
    ],
    "SIGTAP's 01 is another bed than the registry's",
  )
  t.same(
    await made.rows(
      'facilities',
      'legal_nature_name, trade_name, legal_name, management_type_name, activity_name, client_flow_name, state_name, establishment_type_name',
      'reference_period = 202306',
    ),
    [
      [
        'Natureza inventada',
        'Hospital Inventado',
        null,
        'Municipal',
        'Unidade sem atividade de ensino',
        'Atendimento de demanda espontânea e referenciada',
        'Roraima',
        null,
      ],
    ],
  )
  t.same(
    await made.rows(
      'facility_names_provenance',
      'cnes_code, source_file, source_row, trim(NOMEFANT), FANTASIA',
    ),
    [['2000001', 'TCNESRR.DBF', 2, 'Hospital Inventado', null]],
  )
  t.same(
    await made.rows(
      'code_names_provenance',
      'code, value, source_file, source_row, source_column',
      "dataset = 'legal_natures' AND source_file IS NOT NULL AND reference_period = 202306",
    ),
    [
      ['1000', '1. Grupo inventado', 'natjur.cnv', 2, 'characters 10–59'],
      ['1023', 'Natureza inventada', 'natjur.cnv', 3, 'characters 10–59'],
    ],
  )
})

t.test('tables that cannot be read say what to do', secondRing, async (t) => {
  const releasesDir = join(folder, 'releases')
  const refused = async (name: string, problem: RegExp): Promise<void> => {
    writeStateFile(join(folder, name), 'SR', 202306, services)
    await t.rejects(importPaths([ibge, join(folder, name)], { releasesDir, maxRejected: 0.001 }), {
      message: problem,
    })
  }
  writeSigtap(join(folder, 'no-layout'), 202510, { tb_servico: [['101', 'x']] })
  rmSync(join(folder, 'no-layout/tb_servico_layout.txt'))
  await refused(
    'no-layout',
    /tb_servico\.txt: comes without its layout file\. Put tb_servico_layout\.txt beside it/,
  )
  writeSigtap(join(folder, 'other-layout'), 202510, {
    tb_servico: [['101', 'x']],
    tb_tipo_leito: [['01', 'x']],
  })
  renameSync(
    join(folder, 'other-layout/tb_tipo_leito_layout.txt'),
    join(folder, 'other-layout/tb_servico_layout.txt'),
  )
  rmSync(join(folder, 'other-layout/tb_tipo_leito.txt'))
  await refused('other-layout', /tb_servico\.txt: has no column CO_SERVICO in its layout file/)
  mkdirSync(join(folder, 'no-table'))
  writeFileSync(join(folder, 'no-table/natjur.cnv'), 'not a table')
  await refused('no-table', /natjur\.cnv: is not a TabWin conversion table/)
})

t.test('the national base brings its own tables', async (t) => {
  const { cnes } = small.result
  const read = async (sql: string): Promise<unknown[][]> =>
    (await connection.runAndReadAll(sql.replaceAll('$', `${small.releasesDir}/${cnes}`))).getRowsJson()
  t.same(
    await read(
      `SELECT DISTINCT management_type, management_type_name, activity_code, activity_name, client_flow_code, client_flow_name,
         establishment_type_name, main_activity_name, state_name
       FROM '$/facilities/*/*.parquet' WHERE uf = 'AC' AND management_type = 'E' AND activity_code = '04' AND client_flow_code = '01' AND establishment_type_code = '016'`,
    ),
    [
      [
        'E',
        'Gestão demonstrativa E',
        '04',
        'Atividade de ensino demonstrativa 04',
        '01',
        'Clientela demonstrativa 01',
        'Tipo de estabelecimento demonstrativo 016',
        'Atividade principal demonstrativa 001',
        'ACRE',
      ],
    ],
  )
  t.same(
    await read(
      `SELECT code, source_file, source_row, source_column FROM '$/code_names_provenance/*/*.parquet' WHERE dataset = 'establishment_types' ORDER BY code`,
    ),
    [
      // Every record of this table has two lines.
      ['001', 'tbTipoEstabelecimento202605.csv', 2, 'DS_TIPO_ESTABELECIMENTO'],
      ['002', 'tbTipoEstabelecimento202605.csv', 4, 'DS_TIPO_ESTABELECIMENTO'],
      ['016', 'tbTipoEstabelecimento202605.csv', 6, 'DS_TIPO_ESTABELECIMENTO'],
    ],
  )
  const sizes: Record<string, number> = {
    bed_types: 69,
    bed_categories: 7,
    equipment_categories: 16,
    equipment_types: 224,
    specialized_service_types: 73,
    specialized_service_classifications: 459,
  }
  for (const [dataset, size] of Object.entries(sizes)) t.equal(small.result.rows[dataset], size, dataset)
})

t.test('the published tables', { skip: skipWithoutShared }, async (t) => {
  const paths = [
    ...['SRSE2310', 'SRMT1509', 'LTBA2301', 'LTSP2105', 'EQRJ2309'].map((name) =>
      sharedPath(`cnes/dbc/${name}.dbc`),
    ),
    sharedPath('sigtap/202510'),
    sharedPath('datasus_tables/natjur.cnv'),
    sharedPath('datasus_tables/TCNESBR.DBF'),
  ]
  const made = await make('published', paths)
  const [[all, named] = []] = await made.rows(
    'specialized_services',
    'count(*), count(service_name || classification_name)',
    'reference_period >= 202201',
  )
  t.equal(named, all, 'no offering of 2022–2023 without a name')
  t.equal(all, '8421')
  const lines = readFileSync(sharedPath('sigtap/202510/tb_servico_classificacao.txt'), 'latin1').split('\r\n')
  const rows = await made.rows(
    'code_names_provenance',
    'code, raw_value, source_row',
    "reference_period = 202310 AND source_file = 'tb_servico_classificacao.txt'",
  )
  t.equal(rows.length, 432)
  for (const [code, raw, row] of rows) {
    const line = lines[(row as number) - 1] ?? ''
    if (`${line.slice(0, 3)}:${line.slice(3, 6)}` !== code || line.slice(6, 156) !== raw)
      t.fail(`${code} ${row}`)
  }
  t.same(
    await made.rows(
      'bed_capacity',
      'DISTINCT bed_type_name',
      "bed_type_code = '03' AND reference_period = 202301",
    ),
    [['CIRURGIA GERAL']],
  )
})
