/** Dimensions by which admissions are pre-aggregated. See model/pre-aggregates.ts. Values only. */
import type { DimensionCode } from '../dimensions.ts'
import type { AdmissionTable } from './datasets.ts'

const PLACE = ['state', 'municipality'] as const
const RESIDENCE = ['residence_state', 'residence_municipality'] as const

export const PRE_AGGREGATES = {
  admissions_by_municipality: { dataset: 'hospital_admissions', keys: PLACE },
  admissions_by_facility: { dataset: 'hospital_admissions', keys: [...PLACE, 'facility'] },
  admissions_by_procedure: {
    dataset: 'hospital_admissions',
    keys: [
      'state',
      'procedure_group',
      'procedure_subgroup',
      'care_character',
      'complexity',
      'financing_kind',
    ],
  },
  admissions_by_procedure_code: {
    dataset: 'hospital_admissions',
    keys: ['state', 'procedure_group', 'procedure_subgroup', 'procedure_form', 'procedure'],
  },
  admissions_by_municipality_and_group: {
    dataset: 'hospital_admissions',
    keys: [...PLACE, 'procedure_group', 'care_character'],
  },
  resident_admissions_by_municipality: { dataset: 'hospital_admissions_by_residence', keys: RESIDENCE },
  resident_admissions_by_age: {
    dataset: 'hospital_admissions_by_residence',
    keys: ['residence_state', 'diagnosis_chapter', 'age_group', 'sex'],
  },
  resident_admissions_by_municipality_and_age: {
    dataset: 'hospital_admissions_by_residence',
    keys: [...RESIDENCE, 'age_group', 'sex'],
  },
  resident_admissions_by_diagnosis: {
    dataset: 'hospital_admissions_by_residence',
    keys: ['residence_state', 'diagnosis_chapter', 'diagnosis_category'],
  },
  resident_admissions_by_municipality_and_icsap: {
    dataset: 'hospital_admissions_by_residence',
    keys: [...RESIDENCE, 'icsap_group'],
  },
  resident_admissions_by_cause_and_race: {
    dataset: 'hospital_admissions_by_residence',
    keys: ['residence_state', 'cause_group', 'sex', 'race'],
  },
  admission_flows_by_municipality: {
    dataset: 'hospital_admission_flows',
    keys: [...PLACE, ...RESIDENCE],
  },
  resident_admissions_by_municipality_and_chapter: {
    dataset: 'hospital_admissions_by_residence',
    keys: [...RESIDENCE, 'diagnosis_chapter'],
  },
} as const satisfies Record<
  string,
  { readonly dataset: AdmissionTable; readonly keys: readonly DimensionCode[] }
>
