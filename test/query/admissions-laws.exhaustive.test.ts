/** Laws of admissions by hospital, by residence and by both, drawn: test/fixtures/area-laws.ts says which. */
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
const FLOWS = [
  'admissions_outside_municipality',
  'admissions_of_known_municipality',
  'admissions_outside_health_region',
  'admissions_of_known_health_region',
  'admissions_outside_state',
  'admissions_of_known_state',
  'admissions_with_distance',
  'distance_km_total',
]
const FLOW_RATIOS = [
  'admissions_outside_municipality_share',
  'admissions_outside_health_region_share',
  'admissions_outside_state_share',
  'average_distance_km',
]
/** The population is not imported by race, and a group of avoidable admissions has no other admissions. */
const OF_NO_GROUP: Readonly<Record<string, readonly string[]>> = {
  admissions_per_10k: ['race'],
  icsap_per_10k: ['race'],
  admissions_per_10k_standardized: ['race', 'age_group'],
  icsap_share: ['icsap_group'],
}
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
      added: [...ADDED, 'icsap_admissions', 'icsap_universe_admissions'],
      ratios: [
        ...RATIOS,
        'admissions_per_10k',
        'admissions_per_10k_standardized',
        'icsap_share',
        'icsap_per_10k',
      ],
      dimensions: [
        'residence_state',
        'residence_municipality',
        'residence_health_region',
        'diagnosis_chapter',
        'diagnosis_category',
        'icsap_group',
        'cause_group',
        'sex',
        'age_group',
        'race',
      ],
      place: 'residence_state',
      months: MONTHS,
      fits: (metric, used) => !used.some((dimension) => OF_NO_GROUP[metric]?.includes(dimension)),
    },
    {
      added: [...ADDED, ...FLOWS],
      ratios: [...RATIOS, ...FLOW_RATIOS],
      dimensions: [
        'state',
        'municipality',
        'health_region',
        'residence_state',
        'residence_municipality',
        'residence_health_region',
        'diagnosis_chapter',
        'complexity',
        'financing_kind',
      ],
      place: 'state',
      months: MONTHS,
    },
  ],
})
