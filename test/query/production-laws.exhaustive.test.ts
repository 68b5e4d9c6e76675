/** Laws of outpatient production and of transfers to health funds, drawn: test/fixtures/area-laws.ts says which. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { writePointer } from '../../src/release/writer.ts'
import { financingFiles } from '../../tools/demo/financing.ts'
import { listMunicipalities } from '../../tools/demo/geography.ts'
import { createChance } from '../../tools/demo/random.ts'
import { holdAreaLaws } from '../fixtures/area-laws.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { folder, releasesDir } = await makeSmallRelease('production')
// Transfers beside production, in one release.
const chance = createChance(1)
const all = listMunicipalities(chance)
const { fns } = financingFiles({ all, ufs: new Set(['AC', 'AP', 'RR']), chance })
mkdirSync(join(folder, 'fns'))
for (const [name, bytes] of fns ?? []) writeFileSync(join(folder, 'fns', name), bytes)
const joined = await importPaths([join(folder, 'fns')], { releasesDir, maxRejected: 0 })
writePointer(releasesDir, joined.analytics)

const PLACES = ['state', 'municipality', 'region', 'health_region', 'health_macroregion']
await holdAreaLaws(t, {
  releasesDir,
  release: joined.analytics,
  states: ['AC', 'RR'],
  questions: 24,
  seed: 1994,
  sides: [
    {
      added: ['outpatient_quantity_approved', 'outpatient_quantity_presented', 'outpatient_value_approved'],
      ratios: ['outpatient_approval_share', 'outpatient_value_per_capita'],
      dimensions: [
        ...PLACES,
        'facility',
        'care_period',
        'procedure_group',
        'procedure_subgroup',
        'procedure_form',
        'procedure',
        'complexity',
        'financing_kind',
      ],
      place: 'state',
      months: ['2026-04', '2026-05'],
      // Nobody lives in a facility.
      fits: (metric, used) => metric !== 'outpatient_value_per_capita' || !used.includes('facility'),
    },
    {
      added: ['federal_health_transfers'],
      ratios: ['federal_health_transfers_per_capita'],
      dimensions: PLACES,
      place: 'state',
      months: ['2024-12', '2025-12', '2026-03'],
      // Funds of states lie in no municipality.
      isWhole: (used) =>
        used.every((dimension) => ['state', 'region', 'reference_period'].includes(dimension)),
    },
  ],
})
