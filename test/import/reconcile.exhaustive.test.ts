/**
 * The release against the raw files of every month, row by row and cell by cell, in plain code: zip, Latin-1 and a split
 * of lines on one side, on the other only the reading of Parquet. What a value must be is told here a second time, from
 * the published layout, not from the importer's rules.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import type { Manifest } from '../../src/release/manifest.ts'
import { createChance } from '../../tools/demo/random.ts'
import { columnOf, readZip, splitTable } from '../fixtures/raw-base.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

/** The first is a month without QT_SUS of equipment. */
const ALL_MONTHS = [202512, 202601, 202602, 202603, 202604, 202605]
const MONTHS = cases(ALL_MONTHS, [202512, 202605])
const TABLES = [
  ['tbEstabelecimento', 'facilities'],
  ['rlEstabComplementar', 'bed_capacity'],
  ['rlEstabEquipamento', 'equipment_inventory'],
  ['rlEstabServClass', 'specialized_services'],
] as const
/** Cells that may name a person are kept only where they do not: empty in the release, whatever was published. */
const GUARDED: Readonly<Record<string, RegExp>> = {
  NO_RAZAO_SOCIAL: /\d{11}/,
  NO_FANTASIA: /\d{11}/,
  CO_CNPJCPF: /^(\d{11}|0000000|\s*)$/,
}

type Cells = (column: string) => string
type Row = Readonly<Record<string, unknown>>

const small = await makeSmallRelease(ALL_MONTHS.length)
const folder = join(small.releasesDir, small.result.cnes ?? '')
const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const readRows = async (dataset: string, period: number | null): Promise<Row[]> => {
  const path = `${folder}/${dataset}/${period === null ? '' : `reference_period=${period}/`}part-0.parquet`
  return (await connection.runAndReadAll(`SELECT * FROM '${path}'`)).getRowObjectsJson()
}
const setAside = await readRows('set_aside', null)

/** Row number of the file (header = 1) → its cells. */
function published(bytes: Buffer): Map<number, Cells> {
  const table = splitTable(bytes)
  const places = new Map<string, number>()
  const placeOf = (column: string): number => {
    const place = places.get(column) ?? columnOf(table, column)
    places.set(column, place)
    return place
  }
  return new Map(table.rows.map((row, index) => [index + 2, (column) => row[placeOf(column)] ?? '']))
}

const raw = new Map<string, Map<number, Cells>>()
for (const period of MONTHS) {
  const month = `${Math.floor(period / 100)}-${String(period % 100).padStart(2, '0')}`
  const entries = await readZip(join(small.snapshots, 'cnes', month, `BASE_DE_DADOS_CNES_${period}.ZIP`))
  for (const [table] of TABLES)
    raw.set(`${table}${period}.csv`, published(entries.get(`${table}${period}.csv`) ?? Buffer.alloc(0)))
}
const rowsOf = (table: string, period: number): Map<number, Cells> =>
  raw.get(`${table}${period}.csv`) ?? new Map()
const asideOf = (file: string): Row[] => setAside.filter(({ source_file }) => source_file === file)

/** At most a few differences are told: thousands would hide the first. */
const differences: string[] = []
const differ = (text: string): void => {
  if (differences.length < 10) differences.push(text)
}

t.test('each published row is loaded once or set aside once', async (t) => {
  for (const period of MONTHS)
    for (const [table, dataset] of TABLES) {
      const file = `${table}${period}.csv`
      const loaded = (await readRows(`${dataset}_provenance`, period)).map(({ source_row }) =>
        Number(source_row),
      )
      const aside = asideOf(file).map(({ source_row }) => Number(source_row))
      t.same(
        [...loaded, ...aside].sort((left, right) => left - right),
        [...rowsOf(table, period).keys()],
        file,
      )
      t.equal(
        manifest.snapshots.find((snapshot) => snapshot.file === file)?.rows,
        rowsOf(table, period).size,
        `${file}: rows of the manifest`,
      )
    }
})

t.test('each cell of provenance is the cell of its file and row', async (t) => {
  const cells: [string, string, string][] = []
  let compared = 0
  for (const period of MONTHS)
    for (const [table, dataset] of TABLES) {
      const rows = rowsOf(table, period)
      for (const row of await readRows(`${dataset}_provenance`, period)) {
        const cell = rows.get(Number(row.source_row))
        for (const [column, value] of Object.entries(row)) {
          if (!/^[A-Z]/.test(column)) continue
          const expected = cell?.(column) ?? ''
          const place = `${String(row.source_file)} row ${String(row.source_row)} ${column}`
          compared += 1
          if ((value ?? '') !== expected && !(value === null && GUARDED[column]?.test(expected) === true))
            differ(place)
          if (value !== null && GUARDED[column]?.test(String(value)) === true && /\d{11}/.test(String(value)))
            differ(`${place} keeps a CPF`)
          if (compared % 97 === 0) cells.push([String(row.source_file), String(row.source_row), column])
        }
      }
    }
  t.same(differences, [])
  t.ok(compared > 200_000 * MONTHS.length, `${compared} cells`)
  t.ok(cells.length > 200)
})

t.test('200 random cells of the raw files are found in the release', async (t) => {
  const chance = createChance(7)
  const columns: Readonly<Record<string, readonly string[]>> = {
    facilities: [
      'CO_UNIDADE',
      'CO_CNES',
      'TP_UNIDADE',
      'NU_LATITUDE',
      'NU_ENDERECO',
      'CO_MOTIVO_DESAB',
      'DT_ATUALIZACAO',
    ],
    bed_capacity: ['CO_UNIDADE', 'CO_LEITO', 'CO_TIPO_LEITO', 'QT_EXIST', 'QT_SUS'],
    equipment_inventory: ['CO_EQUIPAMENTO', 'CO_TIPO_EQUIPAMENTO', 'QT_EXISTENTE', 'QT_USO', 'TP_SUS'],
    specialized_services: [
      'CO_SERVICO',
      'CO_CLASSIFICACAO',
      'TP_CARACTERISTICA',
      'CO_HOSPITALAR_SUS',
      'CO_END_COMPL',
    ],
  }
  let found = 0
  for (let draw = 0; draw < 200; draw += 1) {
    const [table, dataset] = TABLES[draw % TABLES.length] ?? TABLES[0]
    const period = MONTHS[Math.floor(chance(draw, 1) * MONTHS.length)] ?? 202605
    const file = `${table}${period}.csv`
    const rows = rowsOf(table, period)
    const names = columns[dataset] ?? []
    const column = names[Math.floor(chance(draw, 2) * names.length)] ?? ''
    const row = 2 + Math.floor(chance(draw, 3) * rows.size)
    const [record] = (
      await connection.runAndReadAll(
        `SELECT "${column}" AS cell FROM '${folder}/${dataset}_provenance/reference_period=${period}/part-0.parquet'
         WHERE source_file = '${file}' AND source_row = ${row}`,
      )
    ).getRowObjectsJson()
    if (record === undefined) {
      t.ok(
        asideOf(file).some(({ source_row }) => source_row === row),
        `${file} row ${row} is set aside`,
      )
      continue
    }
    found += 1
    if ((record.cell ?? '') !== rows.get(row)?.(column)) t.fail(`${file} row ${row} ${column}`)
  }
  t.ok(found > 190, `${found} found`)
})

t.test('records hold what their rows say', async (t) => {
  const code = (text: string, width: number): string => text.trim().padStart(width, '0')
  differences.length = 0
  for (const period of MONTHS) {
    const units = new Map<string, string>()
    const facilities = new Map<string, Cells>()
    for (const cell of rowsOf('tbEstabelecimento', period).values())
      if (!facilities.has(cell('CO_CNES'))) {
        facilities.set(cell('CO_CNES'), cell)
        units.set(cell('CO_UNIDADE'), cell('CO_CNES'))
      }
    const records = new Map((await readRows('facilities', period)).map((row) => [String(row.cnes_code), row]))
    t.equal(records.size, facilities.size, `${period}: facilities`)
    for (const [cnes, cell] of facilities) {
      const record = records.get(cnes)
      const place = `${period} facility ${cnes}`
      if (record?.is_active !== (cell('CO_MOTIVO_DESAB') === '')) differ(`${place} is_active`)
      if (record?.facility_type_code !== code(cell('TP_UNIDADE'), 2)) differ(`${place} type`)
      if (record?.management_type !== cell('TP_GESTAO')) differ(`${place} management`)
      if ((record?.cnpj ?? '') !== cell('NU_CNPJ')) differ(`${place} cnpj`)
      if (
        String(record?.municipality_ibge_code).slice(0, 6) !== cell('CO_MUNICIPIO_GESTOR') &&
        !cell('CO_MUNICIPIO_GESTOR').startsWith('53')
      )
        differ(`${place} municipality`)
      const latitude = Number(cell('NU_LATITUDE').replace(',', '.'))
      const isPlace = cell('NU_LATITUDE') !== '' && latitude >= -34 && latitude <= 6
      if (record?.latitude !== (isPlace ? latitude : null)) differ(`${place} latitude`)
      const [day, month, year] = cell('DT_ATUALIZACAO').split('/')
      if (record?.source_updated_on !== (Number(year) >= 1900 ? `${year}-${month}-${day}` : null))
        differ(`${place} date`)
    }

    /** Records by key with the sums of their rows, once from the raw file, once from the release. */
    const compare = (
      name: string,
      rows: Iterable<[string, readonly number[]]>,
      release: Iterable<[string, readonly unknown[]]>,
    ): void => {
      const expected = new Map(rows)
      const found = new Map(release)
      t.equal(found.size, expected.size, `${period}: ${name}`)
      for (const [key, values] of expected)
        if (JSON.stringify(found.get(key)) !== JSON.stringify(values)) differ(`${period} ${name} ${key}`)
    }
    const loaded = (table: string): Cells[] => {
      const away = new Set(asideOf(`${table}${period}.csv`).map(({ source_row }) => Number(source_row)))
      return [...rowsOf(table, period)].filter(([row]) => !away.has(row)).map(([, cell]) => cell)
    }
    compare(
      'beds',
      loaded('rlEstabComplementar').map((cell) => [
        `${units.get(cell('CO_UNIDADE'))} ${code(cell('CO_LEITO'), 2)} ${code(cell('CO_TIPO_LEITO'), 1)}`,
        [Number(cell('QT_EXIST')), Number(cell('QT_SUS')), Number(cell('QT_EXIST')) - Number(cell('QT_SUS'))],
      ]),
      (await readRows('bed_capacity', period)).map((row) => [
        `${row.cnes_code} ${row.bed_type_code} ${row.bed_category_code}`,
        [row.beds_existing, row.beds_sus, row.beds_non_sus],
      ]),
    )
    compare(
      'equipment',
      loaded('rlEstabEquipamento').map((cell) => [
        `${units.get(cell('CO_UNIDADE'))} ${code(cell('CO_TIPO_EQUIPAMENTO'), 2)} ${code(cell('CO_EQUIPAMENTO'), 2)}`,
        [
          Number(cell('QT_EXISTENTE')),
          Number(cell('QT_USO')),
          period >= 202601 && cell('QT_SUS') !== ''
            ? Number(cell('QT_SUS'))
            : cell('TP_SUS') === '1'
              ? Number(cell('QT_EXISTENTE'))
              : 0,
        ],
      ]),
      (await readRows('equipment_inventory', period)).map((row) => [
        `${row.cnes_code} ${row.category_code} ${row.equipment_code}`,
        [row.quantity_existing, row.quantity_in_use, row.quantity_sus],
      ]),
    )
    const offerings = new Map<string, number[]>()
    for (const cell of loaded('rlEstabServClass')) {
      const key = `${units.get(cell('CO_UNIDADE'))} ${cell('CO_SERVICO')} ${cell('CO_CLASSIFICACAO')}`
      const [declarations = 0, ambulatory = 0, hospital = 0] = offerings.get(key) ?? []
      offerings.set(key, [
        declarations + 1,
        Math.max(ambulatory, cell('CO_AMBULATORIAL_SUS') === '1' ? 1 : 0),
        Math.max(hospital, cell('CO_HOSPITALAR_SUS') === '1' ? 1 : 0),
      ])
    }
    compare(
      'services',
      offerings,
      (await readRows('specialized_services', period)).map((row) => [
        `${row.cnes_code} ${row.service_code} ${row.classification_code}`,
        [
          (row.declarations as unknown[]).length,
          row.has_ambulatory_sus === true ? 1 : 0,
          row.has_hospital_sus === true ? 1 : 0,
        ],
      ]),
    )
    t.ok(
      [...offerings.values()].some(([declarations = 0]) => declarations > 1),
      'some are declared twice',
    )
  }
  t.same(differences, [])
})

t.test('sums of the release are those of the files less the rows set aside', async (t) => {
  const sum = (rows: readonly number[]): number => rows.reduce((total, value) => total + value, 0)
  const quantities = (table: string, period: number, column: string): number => {
    const away = new Set(asideOf(`${table}${period}.csv`).map(({ source_row }) => Number(source_row)))
    return sum([...rowsOf(table, period)].map(([row, cell]) => (away.has(row) ? 0 : Number(cell(column)))))
  }
  for (const period of MONTHS) {
    const beds = await readRows('bed_capacity', period)
    const equipment = await readRows('equipment_inventory', period)
    const of = (rows: readonly Row[], field: string): number => sum(rows.map((row) => Number(row[field])))
    t.equal(of(beds, 'beds_existing'), quantities('rlEstabComplementar', period, 'QT_EXIST'))
    t.equal(of(beds, 'beds_sus'), quantities('rlEstabComplementar', period, 'QT_SUS'))
    t.equal(of(equipment, 'quantity_existing'), quantities('rlEstabEquipamento', period, 'QT_EXISTENTE'))
    t.equal(of(equipment, 'quantity_in_use'), quantities('rlEstabEquipamento', period, 'QT_USO'))
    if (period >= 202601) {
      const [row] = (
        await connection.runAndReadAll(
          `SELECT CAST(sum(quantity_sus) AS INTEGER) AS total FROM '${folder}/equipment_inventory/reference_period=${period}/part-0.parquet' WHERE quantity_sus_basis = 'published'`,
        )
      ).getRowObjectsJson()
      t.equal(row?.total, quantities('rlEstabEquipamento', period, 'QT_SUS'))
    } else
      t.ok(
        equipment.every(({ quantity_sus_basis }) => quantity_sus_basis === 'flag'),
        'no month before knows QT_SUS',
      )
  }
})

t.test('every planted bad row is set aside with its row and reason, and nothing else', (t) => {
  for (const period of MONTHS) {
    const lastOf = (table: string): number => rowsOf(table, period).size + 1
    t.same(
      setAside
        .filter(({ source_file }) => String(source_file).endsWith(`${period}.csv`))
        .map(({ dataset, source_file, source_row, reason }) => [dataset, source_file, source_row, reason]),
      [
        [
          'bed_capacity',
          `rlEstabComplementar${period}.csv`,
          lastOf('rlEstabComplementar'),
          'unknown_facility',
        ],
        [
          'equipment_inventory',
          `rlEstabEquipamento${period}.csv`,
          lastOf('rlEstabEquipamento') - 1,
          'invalid_quantity_existing',
        ],
        ['facilities', `tbEstabelecimento${period}.csv`, lastOf('tbEstabelecimento'), 'duplicate_key'],
      ],
      String(period),
    )
  }
  t.equal(setAside.length, 3 * ALL_MONTHS.length)
  t.same(
    manifest.set_aside.map(({ file, reason, rows }) => [file, reason, rows]).sort(),
    setAside.map(({ source_file, reason }) => [source_file, reason, 1]).sort(),
    'the manifest tells the same',
  )
  t.end()
})

const parquet = (dataset: string): string =>
  `read_parquet('${folder}/${dataset}/**/*.parquet', hive_partitioning = true, union_by_name = true)`
const count = async (from: string): Promise<number> =>
  Number((await connection.runAndReadAll(`SELECT count(*) FROM ${from}`)).getRowsJson()[0]?.[0])

t.test('the traps of real months are mapped by their rules', async (t) => {
  t.equal(
    await count(
      `${parquet('facilities')} WHERE latitude NOT BETWEEN -34 AND 6 OR longitude NOT BETWEEN -74 AND -28`,
    ),
    0,
  )
  t.ok(
    (await count(`${parquet('facilities')} WHERE NOT is_active AND has_beds`)) > 0,
    'closed facilities keep their beds',
  )
  t.ok(
    (await count(`${parquet('facilities')} WHERE municipality_ibge_code % 100000 = 0`)) > 0,
    'ignored municipalities',
  )
  t.equal(await count(`${parquet('equipment_inventory')} WHERE length(category_code) <> 2`), 0)
  t.ok(
    (await count(`${parquet('equipment_inventory')} WHERE equipment_name IS NULL`)) > 0,
    'a code the catalog lacks is kept',
  )
  t.ok(
    (await count(
      `${parquet('facilities')} WHERE trade_name LIKE '%"Anexo"%' OR starts_with(trade_name, '=')`,
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
