/**
 * The small demonstration, imported: what is in the release is what the raw files say, cell by cell, and nothing that
 * must not be there. The raw files are read by code that shares nothing with the importer.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { createChance } from '../../src/demo/random.ts'
import { checkRelease } from '../../src/import/check-release.ts'
import { importPaths } from '../../src/import/import.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { columnOf, type RawTable, readZip, splitTable } from '../fixtures/raw-base.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const cnesId = small.result.cnes ?? ''
const cnesFolder = join(small.releasesDir, cnesId)
const manifest = JSON.parse(readFileSync(join(cnesFolder, 'manifest.json'), 'utf8')) as Manifest
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const parquet = (dataset: string): string =>
  `read_parquet('${cnesFolder}/${dataset}/**/*.parquet', hive_partitioning = true, union_by_name = true)`
const query = async (sql: string): Promise<unknown[][]> =>
  (await connection.runAndReadAll(sql)).getRowsJson() as unknown[][]
const number = async (sql: string): Promise<number> => Number((await query(sql))[0]?.[0])

const raw = new Map<string, RawTable>()
for (const month of ['2026-04', '2026-05']) {
  const file = join(small.snapshots, 'cnes', month, `BASE_DE_DADOS_CNES_${month.replace('-', '')}.ZIP`)
  for (const [name, bytes] of await readZip(file)) if (name.endsWith('.csv')) raw.set(name, splitTable(bytes))
}
const table = (name: string): RawTable => raw.get(name) ?? { columns: [], rows: [] }
const sum = (of: RawTable, column: string): number =>
  of.rows.reduce(
    (total, row) =>
      total + (/^\d+$/.test(row[columnOf(of, column)] ?? '') ? Number(row[columnOf(of, column)]) : 0),
    0,
  )

t.test('every published row is loaded or set aside', async (t) => {
  const FACTS: [string, string][] = [
    ['tbEstabelecimento', 'facilities_provenance'],
    ['rlEstabComplementar', 'bed_capacity_provenance'],
    ['rlEstabEquipamento', 'equipment_inventory_provenance'],
    ['rlEstabServClass', 'specialized_services_provenance'],
  ]
  for (const period of [202604, 202605])
    for (const [name, dataset] of FACTS) {
      const file = `${name}${period}.csv`
      const loaded = await number(`SELECT count(*) FROM ${parquet(dataset)} WHERE source_file = '${file}'`)
      const aside = await number(`SELECT count(*) FROM ${parquet('set_aside')} WHERE source_file = '${file}'`)
      t.equal(loaded + aside, table(file).rows.length, file)
      t.equal(
        manifest.snapshots.find((snapshot) => snapshot.file === file)?.rows,
        table(file).rows.length,
        `${file}: rows of the manifest`,
      )
    }
})

t.test('sums are those of the published files, less the rows set aside', async (t) => {
  const beds = table('rlEstabComplementar202605.csv')
  const planted = beds.rows.at(-1) ?? []
  t.equal(
    await number(`SELECT sum(beds_existing) FROM ${parquet('bed_capacity')} WHERE reference_period = 202605`),
    sum(beds, 'QT_EXIST') - Number(planted[columnOf(beds, 'QT_EXIST')]),
  )
  t.equal(
    await number(`SELECT sum(beds_sus) FROM ${parquet('bed_capacity')} WHERE reference_period = 202605`),
    sum(beds, 'QT_SUS') - Number(planted[columnOf(beds, 'QT_SUS')]),
  )
  const equipment = table('rlEstabEquipamento202604.csv')
  t.equal(
    await number(
      `SELECT sum(quantity_existing) FROM ${parquet('equipment_inventory')} WHERE reference_period = 202604`,
    ),
    sum(equipment, 'QT_EXISTENTE'),
  )
  const services = table('rlEstabServClass202605.csv')
  const offered = services.rows.filter((row) => row[columnOf(services, 'CO_AMBULATORIAL_SUS')] === '1').length
  t.equal(
    await number(
      `SELECT count(*) FROM (SELECT unnest(declarations) AS d FROM ${parquet('specialized_services')} WHERE reference_period = 202605) WHERE d.has_ambulatory_sus`,
    ),
    offered,
  )
})

t.test('200 random cells are found at their file, row and column', async (t) => {
  const chance = createChance(7)
  const places: [string, string, string[]][] = [
    [
      'tbEstabelecimento202605.csv',
      'facilities_provenance',
      [
        'CO_CNES',
        'TP_UNIDADE',
        'CO_MUNICIPIO_GESTOR',
        'NU_LATITUDE',
        'NO_FANTASIA',
        'CO_MOTIVO_DESAB',
        'DT_ATUALIZACAO',
      ],
    ],
    [
      'rlEstabComplementar202604.csv',
      'bed_capacity_provenance',
      ['CO_LEITO', 'CO_TIPO_LEITO', 'QT_EXIST', 'QT_SUS'],
    ],
    [
      'rlEstabEquipamento202605.csv',
      'equipment_inventory_provenance',
      ['CO_TIPO_EQUIPAMENTO', 'QT_EXISTENTE', 'TP_SUS', 'QT_SUS'],
    ],
    [
      'rlEstabServClass202605.csv',
      'specialized_services_provenance',
      ['CO_SERVICO', 'CO_CLASSIFICACAO', 'CO_HOSPITALAR_SUS', 'CO_END_COMPL'],
    ],
  ]
  let checked = 0
  for (const [index, [file, dataset, columns]] of places.entries()) {
    const published = table(file)
    for (let draw = 0; draw < 50; draw += 1) {
      const place = Math.floor(chance(draw, index) * (published.rows.length - 3))
      const column = columns[draw % columns.length] ?? ''
      const [[found] = []] = await query(
        `SELECT "${column}" FROM ${parquet(dataset)} WHERE source_file = '${file}' AND source_row = ${place + 2}`,
      )
      const cell = published.rows[place]?.[columnOf(published, column)] ?? ''
      if ((found ?? '') !== cell) t.fail(`${file} row ${place + 2} ${column}: ${String(found)} for ${cell}`)
      checked += 1
    }
  }
  t.equal(checked, 200)
})

t.test('planted bad rows are set aside with file, row and reason', async (t) => {
  const rows = await query(
    `SELECT source_file, source_row, reason FROM ${parquet('set_aside')} WHERE source_file LIKE '%202605.csv' ORDER BY ALL`,
  )
  t.same(rows, [
    ['rlEstabComplementar202605.csv', 601, 'unknown_facility'],
    ['rlEstabEquipamento202605.csv', 9000, 'invalid_quantity_existing'],
    ['tbEstabelecimento202605.csv', 4002, 'duplicate_key'],
  ])
  t.same(
    manifest.set_aside.map(({ rows }) => rows),
    [1, 1, 1, 1, 1, 1],
  )
})

t.test('the traps of real months are mapped by their rules', async (t) => {
  t.equal(
    await number(
      `SELECT count(*) FROM ${parquet('facilities')} WHERE latitude NOT BETWEEN -34 AND 6 OR longitude NOT BETWEEN -74 AND -28`,
    ),
    0,
  )
  t.ok(
    (await number(`SELECT count(*) FROM ${parquet('facilities')} WHERE NOT is_active AND has_beds`)) > 0,
    'closed facilities keep their beds',
  )
  t.ok(
    (await number(
      `SELECT count(*) FROM ${parquet('facilities')} WHERE municipality_ibge_code % 100000 = 0`,
    )) > 0,
    'ignored municipalities',
  )
  t.equal(
    await number(`SELECT count(*) FROM ${parquet('equipment_inventory')} WHERE length(category_code) <> 2`),
    0,
  )
  t.ok(
    (await number(`SELECT count(*) FROM ${parquet('equipment_inventory')} WHERE equipment_name IS NULL`)) > 0,
    'a code the catalog lacks is kept',
  )
  t.ok(
    (await number(
      `SELECT count(*) FROM ${parquet('facilities')} WHERE trade_name LIKE '%"Anexo"%' OR starts_with(trade_name, '=')`,
    )) > 0,
    'names are text',
  )
  t.same(
    Object.fromEntries(
      [
        'bed_types',
        'bed_categories',
        'equipment_categories',
        'equipment_types',
        'specialized_service_types',
        'specialized_service_classifications',
      ].map((name) => [name, manifest.datasets[name]?.rows]),
    ),
    {
      bed_types: 69,
      bed_categories: 7,
      equipment_categories: 16,
      equipment_types: 224,
      specialized_service_types: 73,
      specialized_service_classifications: 459,
    },
  )
})

t.test('no CPF of the raw files is anywhere in the release', async (t) => {
  const facilities = table('tbEstabelecimento202605.csv')
  const services = table('rlEstabServClass202605.csv')
  const invented = new Set<string>()
  for (const row of facilities.rows)
    for (const cell of row) for (const match of cell.matchAll(/(?<!\d)\d{11}(?!\d)/g)) invented.add(match[0])
  for (const row of services.rows)
    if (/^\d{11}$/.test(row[columnOf(services, 'CO_CNPJCPF')] ?? ''))
      invented.add(row[columnOf(services, 'CO_CNPJCPF')] ?? '')
  t.ok(invented.size > 3000, `${invented.size} invented CPFs`)
  await connection.run(`CREATE TABLE invented AS SELECT unnest(['${[...invented].join("','")}']) AS cpf`)
  for (const dataset of Object.keys(manifest.datasets)) {
    const columns = (manifest.datasets[dataset]?.fields ?? []).map(({ name }) => `CAST("${name}" AS VARCHAR)`)
    const found = await number(
      `SELECT count(*) FROM (SELECT DISTINCT unnest(regexp_extract_all(concat_ws(' | ', ${columns.join(', ')}), '[0-9]{11,}')) AS digits FROM ${parquet(dataset)}) SEMI JOIN invented ON digits = cpf OR digits = '000' || cpf`,
    )
    t.equal(found, 0, dataset)
  }
  t.equal(
    await number(
      `SELECT count(*) FROM ${parquet('facilities')} WHERE legal_name LIKE '%@%' OR trade_name LIKE '%@%'`,
    ),
    0,
  )
})

t.test('the same snapshots give the same release, with 1 and 2 threads', async (t) => {
  const ids: unknown[] = []
  for (const threads of [1, 2]) {
    const releasesDir = join(temporaryFolder('again'), 'releases')
    const { cnes, demography, analytics } = await importPaths([small.snapshots], {
      releasesDir,
      maxRejected: 0.001,
      threads,
    })
    ids.push({ cnes, demography, analytics })
  }
  t.same(ids[0], ids[1])
  t.equal((ids[0] as { cnes: string }).cnes, cnesId)
})

t.test('a new month shares the files of the month before', async (t) => {
  const releasesDir = join(temporaryFolder('months'), 'releases')
  const paths = (months: string[]): string[] => [
    join(small.snapshots, 'ibge'),
    ...months.map((month) => join(small.snapshots, 'cnes', month)),
  ]
  const first = await importPaths(paths(['2026-04']), { releasesDir, maxRejected: 0.001 })
  const second = await importPaths(paths(['2026-04', '2026-05']), { releasesDir, maxRejected: 0.001 })
  const inode = (id: string | null, path: string): number => statSync(join(releasesDir, id ?? '', path)).ino
  for (const dataset of ['facilities', 'bed_capacity', 'equipment_inventory_provenance']) {
    const path = `${dataset}/reference_period=202604/part-0.parquet`
    t.equal(inode(second.cnes, path), inode(first.cnes, path), path)
  }
  t.same(
    readdirSync(releasesDir).filter((name) => name.startsWith('.')),
    [],
    'nothing is left behind',
  )
})

t.test('verify reads every file', async (t) => {
  const scratch = temporaryFolder('verify')
  for (const id of [small.result.demography, small.result.cnes, small.result.analytics])
    t.ok(await checkRelease(small.releasesDir, id ?? '', scratch))
})
