/**
 * Facilities whose municipality code names no municipality: none of them is lost, and each goes to the ignored municipality of
 * the state that another cell names, or to the municipality that DATASUS's table of codes maps an old code to.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { promoteRelease } from '../../src/release/promote.ts'
import { changeBase, importChanged } from '../fixtures/changed-base.ts'
import { openClient } from '../fixtures/client.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

interface Entry {
  attribute: string
  value: unknown
  raw_value: string | null
  rule: string
  source: { file: string; row: number; column: string } | null
}

/** Published code, managing state, first six digits of the unit code → municipality. */
const CASES: readonly (readonly [code: string, state: string, unit: string, municipality: number | null])[] =
  [
    ['', '14', '140010', 1_400_000],
    ['000000', '12', '140010', 1_200_000],
    ['999999', '14', '140010', 1_400_000],
    ['990000', '', '160030', 1_600_000],
    ['ABCDEF', '99', '120040', 1_200_000],
    ['14', '16', '140010', 1_600_000],
    ['', '', '530010', 5_300_108],
    ['   ', '53', '140010', 5_300_108],
    ['149998', '12', '120040', 1_400_000],
    ['140010', '12', '120040', 1_400_100],
    ['1400100', '12', '120040', 1_400_100],
    ['530020', '53', '530010', 5_300_108],
    ['', '', '999999', null],
    ['200010', '14', '140010', 1_400_000],
    ['358001', '35', '350000', 3_500_000],
  ]

const line = (order: number, label: string, codes: string): string =>
  `   ${String(order).padStart(4)}  ${label.padEnd(50)} ${codes}`
const TABLE = [
  '      4  6',
  line(1, '260545 Fernando de Noronha', '260545,200010'),
  line(2, '355030 São Paulo', '355030,358001-358058'),
  line(3, '260000 Município ignorado - PE', '260000,269999'),
  line(4, '000000 Ignorado ou exterior', '000000,000001-009999,999999'),
  '',
].join('\r\n')

/** A month whose first facilities are the cases, each with beds and equipment of its own. */
function makeCases(): { folder: string; cnes: string[] } {
  const cnes: string[] = []
  const folder = changeBase({
    tbEstabelecimento(table) {
      CASES.forEach(([code, state, unit], index) => {
        const own = table.cell(10 + index, 'CO_CNES')
        cnes.push(own)
        table.set(10 + index, {
          CO_UNIDADE: `${unit}${own}`,
          CO_MUNICIPIO_GESTOR: code,
          CO_ESTADO_GESTOR: state,
          CO_MOTIVO_DESAB: '',
        })
      })
    },
    rlEstabComplementar(table) {
      CASES.forEach(([, , unit], index) => {
        table.add(2, {
          CO_UNIDADE: `${unit}${cnes[index]}`,
          CO_LEITO: '99',
          CO_TIPO_LEITO: '2',
          QT_EXIST: '7',
          QT_SUS: '1',
        })
      })
    },
    rlEstabEquipamento(table) {
      CASES.forEach(([, , unit], index) => {
        table.add(2, { CO_UNIDADE: `${unit}${cnes[index]}`, CO_TIPO_EQUIPAMENTO: '7', CO_EQUIPAMENTO: '99' })
      })
    },
  })
  return { folder, cnes }
}

t.test('national base', async (t) => {
  const { folder, cnes } = makeCases()
  const { select, cnes: manifest, releasesDir, result } = await importChanged([folder], { maxRejected: 0.01 })
  const placeOf = async (code: string | undefined, dataset: string, more = ''): Promise<unknown> =>
    (await select('municipality_ibge_code AS place', dataset, `WHERE cnes_code = '${code}' ${more}`))[0]
      ?.place ?? null
  for (const [index, [code, state, unit, expected]] of CASES.entries()) {
    const shown = `'${code}' of state '${state}', unit ${unit}`
    t.equal(await placeOf(cnes[index], 'facilities'), expected, shown)
    t.equal(
      await placeOf(cnes[index], 'bed_capacity', "AND bed_type_code = '99'"),
      expected,
      `${shown}: its beds`,
    )
    t.equal(
      await placeOf(cnes[index], 'equipment_inventory', "AND equipment_code = '99'"),
      expected,
      `${shown}: its equipment`,
    )
  }
  t.same(
    await select('source_row', 'set_aside', "WHERE reason = 'unknown_municipality'"),
    [{ source_row: 10 + 12 }],
    'a facility that names no state at all',
  )
  t.equal(manifest.counts.facilities_without_municipality_code_202605, 9)
  t.equal(manifest.counts.facilities_of_old_municipality_code_202605, 0)

  await promoteRelease(releasesDir, result.analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const entriesOf = async (index: number): Promise<(readonly [unknown, unknown, unknown])[]> =>
    ((await client.get(`/v1/facilities/${cnes[index]}/provenance`)).body.data.entries as Entry[])
      .filter(({ attribute }) => attribute === 'municipality_ibge_code')
      .map(({ value, raw_value, source }) => [value, raw_value, source?.column] as const)
  const named = (entries: readonly (readonly [unknown, unknown, unknown])[]) =>
    new Set(entries.map(([, , column]) => column))
  t.same(named(await entriesOf(0)), new Set(['CO_MUNICIPIO_GESTOR', 'CO_ESTADO_GESTOR']))
  t.same(named(await entriesOf(4)), new Set(['CO_MUNICIPIO_GESTOR', 'CO_ESTADO_GESTOR', 'CO_UNIDADE']))
  t.same(named(await entriesOf(9)), new Set(['CO_MUNICIPIO_GESTOR']))
  t.ok((await entriesOf(0)).every(([value]) => value === 1_400_000))
  const total = await client.query({
    metrics: ['bed_capacity_existing'],
    group_by: ['state'],
    filters: [
      { dimension: 'bed_type', operator: 'EQ', value: '99' },
      { dimension: 'state', operator: 'EQ', value: 'SP' },
    ],
  })
  t.equal(total.body.data[0].metrics.bed_capacity_existing, 7, 'a fact keeps its state')
})

t.test('with the table of codes', async (t) => {
  const { folder, cnes } = makeCases()
  const table = join(temporaryFolder('codes'), 'br_municip.cnv')
  writeFileSync(table, Buffer.from(TABLE, 'latin1'))
  const {
    select,
    cnes: manifest,
    releasesDir,
    result,
  } = await importChanged([folder, table], { maxRejected: 0.01 })
  const [noronha, paulo] = [CASES.length - 2, CASES.length - 1]
  for (const [index, expected] of [
    [noronha, 2_605_459],
    [paulo, 3_550_308],
    [1, 1_200_000],
    [9, 1_400_100],
  ] as const)
    t.same(
      await select('municipality_ibge_code AS place', 'facilities', `WHERE cnes_code = '${cnes[index]}'`),
      [{ place: expected }],
    )
  t.equal(manifest.counts.facilities_of_old_municipality_code_202605, 2)
  t.ok(manifest.snapshots.some(({ file, rows }) => file === 'br_municip.cnv' && rows === 4))
  await promoteRelease(releasesDir, result.analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const entries = (
    (await client.get(`/v1/facilities/${cnes[paulo]}/provenance`)).body.data.entries as Entry[]
  ).filter(({ attribute }) => attribute === 'municipality_ibge_code')
  t.match(entries, [
    { value: 3_550_308, raw_value: '355030 São Paulo', source: { file: 'br_municip.cnv', row: 3 } },
    { value: 3_550_308, raw_value: '358001', source: { column: 'CO_MUNICIPIO_GESTOR' } },
  ])
  const copy = join(temporaryFolder('codes'), 'br_municip.cnv')
  writeFileSync(copy, `${TABLE}\r\n`)
  await t.rejects(importChanged([folder, table, copy]), /br_municip\.cnv: is there twice/)
})

t.test('files by state take the state of the file', async (t) => {
  const codes = ['140010', '', '000000', '999999', '149998']
  const rows = codes.map((code, index) => ({
    ...EQ_ROW,
    CNES: String(2_000_000 + index),
    CODUFMUN: code,
  }))
  const folder = join(temporaryFolder('uncoded'), 'state')
  mkdirSync(folder)
  writeFileSync(join(folder, 'EQRR2309.dbc'), makeDbc(makeDbf({ columns: EQ_COLUMNS, rows })))
  const { select, cnes } = await importChanged([folder])
  t.same(
    (await select('municipality_ibge_code AS place', 'equipment_inventory', 'ORDER BY cnes_code')).map(
      ({ place }) => place,
    ),
    [1_400_100, 1_400_000, 1_400_000, 1_400_000, 1_400_000],
  )
  t.equal(cnes.counts.facilities_without_municipality_code_202309, 3)
  t.same(cnes.set_aside, [])
})

t.test('the published table', { skip: skipWithoutShared }, async (t) => {
  const { folder, cnes } = makeCases()
  const { select } = await importChanged([folder, sharedPath('datasus_tables/br_municip.cnv')], {
    maxRejected: 0.01,
  })
  t.same(
    await select(
      'municipality_ibge_code AS place',
      'facilities',
      `WHERE cnes_code IN ('${cnes.at(-1)}', '${cnes.at(-2)}') ORDER BY 1`,
    ),
    [{ place: 2_605_459 }, { place: 3_550_308 }],
  )
})
