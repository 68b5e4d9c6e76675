/**
 * Rows that say odd things: of one facility in different ways, more equipment in use than there is, blank flags. What is known is
 * preferred and the rest is counted; a refusal names the rows to look at, and no cell.
 */
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { ImportError } from '../../src/import/import-error.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { IBGE, importChanged } from '../fixtures/changed-base.ts'
import { openClient } from '../fixtures/client.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'
import { writeStateFile } from '../fixtures/state-month.ts'

const BOA_VISTA = 1400100

t.test('rows of one facility that contradict each other', async (t) => {
  const folder = temporaryFolder('odd-rows')
  // One row names no municipality, eight do; of another facility all rows agree.
  const beds = Array.from({ length: 9 }, (_, index) => ({
    CODUFMUN: index === 0 ? '149999' : '140010',
    CODLEITO: String(30 + index),
  }))
  writeStateFile(folder, 'LT', 202309, [...beds, { CNES: '2000002' }, { CNES: '2000002', CODLEITO: '34' }])
  writeStateFile(folder, 'EQ', 202309, [
    { QT_EXIST: '   2', QT_USO: '   3' },
    { CODEQUIP: '02', IND_SUS: ' ' },
    { CODEQUIP: '03', IND_SUS: '0' },
  ])
  writeStateFile(folder, 'ST', 202310, [
    { CODUFMUN: '149999' },
    { CODUFMUN: '140010', VINC_SUS: ' ' },
    { CNES: '2000003', VINC_SUS: ' ' },
  ])
  const { select, cnes, result, releasesDir } = await importChanged([folder], { maxRejected: 1 })
  t.same(
    await select(
      'reference_period AS period, cnes_code AS cnes, municipality_ibge_code AS municipality',
      'facilities',
      'ORDER BY 1, 2',
    ),
    [
      { period: 202309, cnes: '2000001', municipality: BOA_VISTA },
      { period: 202309, cnes: '2000002', municipality: BOA_VISTA },
      { period: 202310, cnes: '2000001', municipality: BOA_VISTA },
      { period: 202310, cnes: '2000003', municipality: BOA_VISTA },
    ],
  )
  t.same(cnes.set_aside, [{ file: 'STRR2310.dbf', reason: 'duplicate_key', rows: 1 }])
  const odd = {
    facilities_of_contradicting_rows_202309: 1,
    equipment_in_use_above_existing_202309: 1,
    equipment_sus_flag_blank_202309: 1,
    facilities_sus_link_blank_202310: 2,
  }
  t.match(cnes.counts, { ...odd, facilities_of_contradicting_rows_202310: 0 })
  t.same(result.odd, odd, 'those above 0 are printed by the import')

  await promoteRelease(releasesDir, result.analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  /** States and metrics of the note that says what totals are of. */
  const scopeOf = async (...metrics: string[]): Promise<unknown[]> =>
    (await client.query({ metrics })).body.meta.notes.flatMap(
      ({ code, state, metrics }: { code: string; state: string; metrics: string[] }) =>
        code === 'single_state_release' ? [[state, metrics]] : [],
    )
  t.same(await scopeOf('bed_capacity_existing'), [['RR', []]], 'all metrics')
  t.same(await scopeOf('bed_capacity_existing', 'population_census'), [['RR', ['bed_capacity_existing']]])
  t.same(await scopeOf('population_census'), [], 'residents are those of the country')
})

t.test('a refusal names the first rows of each reason, and no cell', async (t) => {
  const folder = temporaryFolder('refused-rows')
  const secret = '9x9'
  const rows = Array.from({ length: 12 }, (_, index) => ({
    CODLEITO: String(30 + index),
    QT_EXIST: index % 2 === 1 ? secret : '   1',
    TP_LEITO: index === 10 ? ' ' : '2',
  }))
  writeStateFile(folder, 'LT', 202309, rows)
  const releasesDir = join(temporaryFolder('refused'), 'releases')
  const thrown = await importPaths([IBGE, folder], { releasesDir, maxRejected: 0.001 }).then(
    () => null,
    (error: unknown) => error,
  )
  t.ok(thrown instanceof ImportError)
  const text = String(thrown)
  t.match(
    text,
    'sets aside 7 of 12 rows (LTRR2309.dbf: invalid_beds_existing 6, rows 3, 5, 7 …; LTRR2309.dbf: missing_bed_category_code 1, row 12)',
  )
  t.notMatch(text, secret)
})

t.test('real files: what is odd in them is counted', { skip: skipWithoutShared }, async (t) => {
  const { cnes } = await importChanged([sharedPath('cnes/dbc/EQRR0509.dbc')])
  t.match(cnes.counts, {
    equipment_in_use_above_existing_200509: 0,
    equipment_sus_flag_blank_200509: 0,
    facilities_of_contradicting_rows_200509: 0,
  })
})
