/**
 * Rows of one key are added up, as the publisher's own tables do: nothing is set aside for being a second row, every row is
 * in the provenance of its record, and the manifest counts them.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { changeBase, importChanged } from '../fixtures/changed-base.ts'
import { openClient } from '../fixtures/client.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

interface Entry {
  attribute: string
  value: unknown
  raw_value: string | null
  rule: string
  source: { row: number; column: string } | null
}

const EQUIPMENT = { CO_TIPO_EQUIPAMENTO: '7 ', CO_EQUIPAMENTO: '99' }
const OTHER = { CO_TIPO_EQUIPAMENTO: '7 ', CO_EQUIPAMENTO: '98' }
const HUGE = { CO_TIPO_EQUIPAMENTO: '7 ', CO_EQUIPAMENTO: '96' }

t.test('national base', secondRing, async (t) => {
  let cnes = ''
  const rows: Record<'equal' | 'unlike' | 'beds' | 'huge', number[]> = {
    equal: [],
    unlike: [],
    beds: [],
    huge: [],
  }
  const folder = changeBase({
    tbEstabelecimento(table) {
      cnes = table.cell(10, 'CO_CNES')
      table.set(10, { CO_MOTIVO_DESAB: '', CO_UNIDADE: `140010${cnes}`, CO_MUNICIPIO_GESTOR: '140010' })
    },
    rlEstabEquipamento(table) {
      const add = (key: object, existing: string, used: string, sus: string, quantitySus: string): number =>
        table.add(2, {
          ...key,
          CO_UNIDADE: `140010${cnes}`,
          QT_EXISTENTE: existing,
          QT_USO: used,
          TP_SUS: sus,
          QT_SUS: quantitySus,
        })
      rows.unlike.push(add(EQUIPMENT, '1', '1', '2', '0'))
      rows.equal.push(add(OTHER, '1', '1', '1', '1'))
      rows.unlike.push(add(EQUIPMENT, '4', '2', '1', ''))
      rows.equal.push(add(OTHER, '1', '1', '1', '1'))
      for (let place = 0; place < 3; place += 1) rows.huge.push(add(HUGE, '999999999', '0', '2', '0'))
    },
    rlEstabComplementar(table) {
      for (const [category, existing, sus] of [
        ['2', '10', '12'],
        ['1', '5', '5'],
        ['2', '10', '12'],
      ] as const)
        rows.beds.push(
          table.add(2, {
            CO_UNIDADE: `140010${cnes}`,
            CO_LEITO: '99',
            CO_TIPO_LEITO: category,
            QT_EXIST: existing,
            QT_SUS: sus,
          }),
        )
    },
  })
  const { select, cnes: manifest, releasesDir, result } = await importChanged([folder])

  t.same(
    await select(
      'equipment_code, quantity_existing, quantity_in_use, tp_sus_code, quantity_sus, quantity_sus_basis',
      'equipment_inventory',
      `WHERE cnes_code = '${cnes}' AND equipment_code IN ('96', '98', '99') AND category_code = '07' ORDER BY 1`,
    ),
    [
      {
        equipment_code: '98',
        quantity_existing: 2,
        quantity_in_use: 2,
        tp_sus_code: '1',
        quantity_sus: 2,
        quantity_sus_basis: 'published',
      },
      {
        equipment_code: '99',
        quantity_existing: 5,
        quantity_in_use: 3,
        tp_sus_code: '1',
        // 0 is published, and 4 exist where the flag says yes.
        quantity_sus: 4,
        quantity_sus_basis: 'flag',
      },
    ],
  )
  t.same(
    await select(
      'bed_category_code, beds_existing, beds_sus, beds_non_sus',
      'bed_capacity',
      `WHERE cnes_code = '${cnes}' AND bed_type_code = '99'`,
    ),
    [{ bed_category_code: '2', beds_existing: 25, beds_sus: 29, beds_non_sus: -4 }],
  )
  t.equal(manifest.counts.equipment_inventory_rows_added_up_202605, 4)
  t.equal(manifest.counts.bed_capacity_rows_added_up_202605, 3)
  t.equal(manifest.counts.bed_capacity_202605, manifest.datasets.bed_capacity?.rows)
  t.equal(manifest.counts.equipment_inventory_202605, manifest.datasets.equipment_inventory?.rows)
  t.same(
    await select(
      'source_row',
      'set_aside',
      `WHERE reason = 'sum_out_of_range' AND dataset = 'equipment_inventory' ORDER BY 1`,
    ),
    rows.huge.map((source_row) => ({ source_row })),
    'a sum that no column holds is set aside, all of its rows',
  )
  t.same(
    await select(
      'count(*)::INTEGER AS n',
      'set_aside',
      `WHERE reason LIKE 'duplicate%' AND dataset <> 'facilities'`,
    ),
    [{ n: 0 }],
  )

  await promoteRelease(releasesDir, result.analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const entriesOf = async (path: string): Promise<Entry[]> =>
    (await client.get(`/v1/facilities/${cnes}/${path}/provenance`)).body.data.entries
  const unlike = await entriesOf('equipment-inventory/07/99')
  const existing = unlike.filter(({ attribute }) => attribute === 'quantity_existing')
  t.same(
    existing.map(({ value, raw_value, source }) => [value, raw_value, source?.row, source?.column]),
    [
      [1, '1', rows.unlike[0], 'QT_EXISTENTE'],
      [4, '4', rows.unlike[1], 'QT_EXISTENTE'],
    ],
  )
  t.match(existing[0]?.rule, /soma as suas 2 linhas publicadas/)
  t.equal(
    (await entriesOf('equipment-inventory/07/98')).filter(({ attribute }) => attribute === 'tp_sus_code')
      .length,
    2,
  )
  t.same(
    (await entriesOf('bed-capacity/99'))
      .filter(({ attribute }) => attribute === 'beds_sus')
      .map(({ value, source }) => [value, source?.row]),
    [12, 5, 12].map((value, index) => [value, rows.beds[index]]),
  )
  const lineage = await client.post('/v1/analytics/lineage', {
    metrics: ['bed_capacity_existing'],
    filters: [
      { dimension: 'facility', operator: 'EQ', value: cnes },
      { dimension: 'bed_type', operator: 'EQ', value: '99' },
    ],
  })
  t.equal(lineage.status, 200)
  t.equal(lineage.body.meta.value, 25)
  t.same(
    lineage.body.data.map(
      ({
        contribution,
        sources,
      }: {
        contribution: number
        sources: { row: number; raw_value: string }[]
      }) => [contribution, sources.map(({ row, raw_value }) => [row, raw_value])],
    ),
    [[25, ['10', '5', '10'].map((cell, index) => [rows.beds[index], cell])]],
    'lineage of a cell lists every contributing row',
  )

  const open = await select('count(*)::INTEGER AS n', 'bed_capacity', 'WHERE beds_non_sus < 0 AND is_active')
  t.ok(Number(open[0]?.n) > 1)
  const noteOf = async (metric: string): Promise<WrittenNote | undefined> =>
    (await client.query({ metrics: [metric] })).body.meta.notes.find(
      ({ code }: WrittenNote) => code === 'negative_beds',
    )
  t.match(await noteOf('bed_capacity_non_sus'), { records: Number(open[0]?.n), period: '2026-05' })
  t.equal(await noteOf('bed_capacity_existing'), undefined)
})

t.test('files by state', async (t) => {
  const row = { ...EQ_ROW, CNPJ_MAN: '00000000000000' }
  const folder = join(temporaryFolder('twice'), 'state')
  mkdirSync(folder)
  const rows = [row, { ...row, QT_EXIST: '0004', IND_SUS: '1' }, { ...row, CODEQUIP: '03' }]
  writeFileSync(join(folder, 'EQRR2309.dbc'), makeDbc(makeDbf({ columns: EQ_COLUMNS, rows })))
  const { select, cnes, result } = await importChanged([folder])
  t.same(cnes.set_aside, [])
  t.same(
    await select(
      'quantity_existing, quantity_in_use, tp_sus_code, quantity_sus',
      'equipment_inventory',
      'ORDER BY equipment_code',
    ),
    [
      { quantity_existing: 5, quantity_in_use: 2, tp_sus_code: '1', quantity_sus: 4 },
      { quantity_existing: 1, quantity_in_use: 1, tp_sus_code: '2', quantity_sus: 0 },
    ],
  )
  t.equal(cnes.counts.equipment_inventory_rows_added_up_202309, 2)
  t.equal(result.rows.equipment_inventory_provenance, 3)
})

t.test(
  'a real month whose facility declares one type three times',
  { skip: skipWithoutShared },
  async (t) => {
    const { select, cnes, result } = await importChanged([sharedPath('cnes/dbc/EQRR0509.dbc')])
    t.same(
      await select(
        'sum(quantity_existing)::INTEGER AS existing, sum(quantity_in_use)::INTEGER AS used',
        'equipment_inventory',
      ),
      [{ existing: 152, used: 119 }],
      'what the file adds up to, column by column',
    )
    t.equal(result.rows.equipment_inventory_provenance, 27)
    t.ok((cnes.counts.equipment_inventory_rows_added_up_200509 ?? 0) > 1)
    t.same(cnes.set_aside, [])
  },
)
