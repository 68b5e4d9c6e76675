/** Laws of admissions by hospital and by residence, drawn: test/fixtures/area-laws.ts says which. */
import t from 'tap'
import { holdAreaLaws } from '../fixtures/area-laws.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const ADDED = [
  'admissions',
  'admission_records',
  'days_of_stay',
  'hospital_deaths',
  'admissions_value',
  'icu_days',
]
const RATIOS = ['average_stay_days', 'hospital_mortality_share', 'average_admission_value']
const OF_BEDS = ['state', 'municipality', 'health_region', 'facility']
const MONTHS = ['2026-03', '2026-04', '2026-05']

await holdAreaLaws(t, {
  releasesDir: small.releasesDir,
  release: small.result.analytics,
  states: ['AC', 'RR'],
  questions: 60,
  seed: 317,
  sides: [
    {
      added: ADDED,
      ratios: [...RATIOS, 'bed_occupancy_share'],
      dimensions: [
        'state',
        'municipality',
        'health_region',
        'procedure_group',
        'procedure_form',
        'procedure',
        'care_character',
        'complexity',
        'financing_kind',
        'facility',
      ],
      place: 'state',
      months: MONTHS,
      fits: (metric, used) =>
        metric !== 'bed_occupancy_share' || used.every((dimension) => OF_BEDS.includes(dimension)),
    },
    {
      added: ADDED,
      ratios: [...RATIOS, 'admissions_per_10k', 'admissions_per_10k_standardized'],
      dimensions: [
        'residence_state',
        'residence_municipality',
        'residence_health_region',
        'diagnosis_chapter',
        'diagnosis_category',
        'sex',
        'age_group',
      ],
      place: 'residence_state',
      months: MONTHS,
      fits: (metric, used) => metric !== 'admissions_per_10k_standardized' || !used.includes('age_group'),
    },
  ],
})
