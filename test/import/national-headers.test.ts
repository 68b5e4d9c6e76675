/**
 * The national base with the headers of each month: columns come and go and move, each is matched by its name, and the manifest says
 * which ones nothing is read from.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { type Manifest, manifestSchema } from '../../src/release/manifest.ts'
import { readManifest } from '../../src/release/verify.ts'
import { type Headers, PLAIN_HEADERS, writeNationalBase } from '../fixtures/national-base.ts'
import { secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const ibge = join((await makeSmallRelease()).snapshots, 'ibge')
const connection = await (await DuckDBInstance.create(':memory:')).connect()
/** Personal data: a test that a month brings them, and that nothing reads them. */
const PERSONAL = ['NU_CPF', 'CO_CPFDIRETORCLN', 'REG_DIRETORCLN', 'CO_USUARIO', 'NO_USUARIO_GEO', 'NO_EMAIL']

async function importMonth(t: Test, month: string, headers: Headers): Promise<Manifest> {
  const folder = temporaryFolder('headers')
  writeNationalBase(join(folder, 'base'), month, headers)
  const releasesDir = join(folder, 'releases')
  const { cnes, rejected, rows } = await importPaths([ibge, join(folder, 'base')], {
    releasesDir,
    maxRejected: 0,
  })
  const { mark_not_available: _population, ...ofMonth } = rejected
  t.same(ofMonth, {}, `${month}: every row is loaded`)
  t.same(
    ['facilities', 'bed_capacity', 'equipment_inventory', 'specialized_services'].map(
      (dataset) => rows[dataset],
    ),
    [3, 2, 1, 1],
    month,
  )
  const read = async (columns: string, dataset: string): Promise<unknown[][]> =>
    (
      await connection.runAndReadAll(
        `SELECT ${columns} FROM read_parquet('${releasesDir}/${cnes}/${dataset}/*/*.parquet') ORDER BY cnes_code LIMIT 1`,
      )
    ).getRowsJson()
  t.same(
    await read(
      'facility_type_name, management_type_name, establishment_type_name, coverage_type_name, state_name',
      'facilities',
    ),
    [
      [
        'Tipo inventado',
        'Gestão inventada',
        'Estabelecimento inventado',
        'Abrangência inventada',
        'ESTADO INVENTADO',
      ],
    ],
  )
  const hasQuantity = headers.get('rlEstabEquipamento')?.includes('QT_SUS')
  const hasRenem = headers.get('tbEquipamento')?.some((column) => /RENEM/.test(column))
  t.same(await read('quantity_sus, quantity_sus_basis, renem_code', 'equipment_inventory'), [
    hasQuantity ? [1, 'published', hasRenem ? '77' : null] : [3, 'flag', hasRenem ? '77' : null],
  ])
  const manifest = await readManifest(releasesDir, cnes ?? '')
  manifestSchema.parse(manifest)
  for (const [table, columns] of headers) {
    const header = manifest.headers?.find(({ files }) => files.includes(`${table}${month}.csv`))
    t.same(header?.columns, columns, `${table}: the header as published`)
    t.same(
      header?.unread.filter((column) => !columns.includes(column)),
      [],
      `${table}: unread columns are published ones`,
    )
    t.same(
      PERSONAL.filter((column) => columns.includes(column) && !header?.unread.includes(column)),
      [],
      `${table}: personal columns are not read`,
    )
  }
  return manifest
}

const unreadOf = (manifest: Manifest, table: string): readonly string[] =>
  manifest.headers?.find(({ files }) => files.some((file) => file.startsWith(table)))?.unread ?? []

t.test('columns in another order, new ones, and ones that are not there yet', secondRing, async (t) => {
  const first = await importMonth(t, '202406', PLAIN_HEADERS)
  t.same(unreadOf(first, 'tbEstado'), ['CO_UF'])
  const changed = new Map(
    [...PLAIN_HEADERS].map(([table, columns]) => [
      table,
      table === 'rlEstabEquipamento'
        ? ['QT_NOVA', ...columns.filter((column) => column !== 'QT_SUS')]
        : ['CO_NOVA_COLUNA', ...columns.toReversed()],
    ]),
  )
  const second = await importMonth(t, '202407', changed)
  t.same(unreadOf(second, 'rlEstabEquipamento'), ['QT_NOVA'])
  t.same(unreadOf(second, 'tbTipoUnidade'), ['CO_NOVA_COLUNA'])
  const header = second.headers?.find(({ files }) => files.includes('tbEstabelecimento202407.csv'))
  t.same(header?.renamed, { DT_ATUALIZACAO: "TO_CHAR(DT_ATUALIZACAO,'DD/MM/YYYY')" })
})

t.test('the headers DATASUS published', { skip: skipWithoutShared }, async (t) => {
  const lines = readFileSync(sharedPath('cnes/national_base/headers.csv'), 'utf8')
    .trim()
    .split(/\r?\n/)
    .slice(1)
  const months = new Map<string, Map<string, string[]>>()
  for (const line of lines) {
    const [table = '', of = '', , column = ''] = line.split(';')
    for (const month of of.split(' ')) {
      const headers = months.get(month) ?? new Map<string, string[]>()
      months.set(month, headers)
      headers.set(table, [...(headers.get(table) ?? []), column])
    }
  }
  t.same([...months.keys()].sort(), ['202406', '202506', '202607'])
  for (const [month, headers] of months) {
    t.equal(headers.size, 18, month)
    const manifest = await importMonth(t, month, headers)
    const unread = unreadOf(manifest, 'tbEstabelecimento')
    for (const column of [...PERSONAL, 'NU_ALVARA', "TO_CHAR(DT_ATU_GEO,'DD/MM/YYYY')"])
      t.ok(unread.includes(column), `${month} ${column}`)
    t.notOk(unread.includes("TO_CHAR(DT_ATUALIZACAO,'DD/MM/YYYY')"))
    t.ok(unreadOf(manifest, 'tbMunicipio').includes('NU_POPULACAO'))
  }
})
