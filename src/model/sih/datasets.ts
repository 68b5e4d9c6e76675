/** Datasets of SUS hospital admissions by hospital and by residence, and the code lists of procedures and diagnoses. */
import { codeList, equals, withinPlaces } from '../declare.ts'
import type { FieldName } from '../fields.ts'
import type { Dataset } from '../types.ts'
import { CARE_CHARACTERS } from './code-lists.ts'

const COUNTS = ['admission_records', 'admissions', 'days_of_stay', 'icu_days', 'deaths'] as const
/** Columns that identify the published file whose rows were aggregated. */
const BATCH = ['source_file', 'source_sha256', 'source_rows'] as const

const list = <Name extends string>(
  datasetName: Name,
  stem:
    | 'procedure'
    | 'procedure_group'
    | 'procedure_subgroup'
    | 'procedure_form'
    | 'diagnosis_chapter'
    | 'diagnosis_category',
  description: string,
  more: readonly FieldName[] = [],
) => ({
  ...codeList(datasetName, [`${stem}_code`], [`${stem}_name`, ...more], description),
  area: 'sih' as const,
})

export const DATASETS = {
  hospital_admissions: {
    name: 'hospital_admissions',
    area: 'sih',
    periodic: true,
    // Before 2008 no facility is named, and a hospital may be in the files of two states.
    key: [
      'cnes_code',
      'procedure_code',
      'care_character_code',
      'complexity_code',
      'financing_code',
      'municipality_ibge_code',
      'processing_uf',
    ],
    fields: [
      'reference_period',
      'cnes_code',
      'uf',
      'municipality_ibge_code',
      'municipality_name',
      'procedure_code',
      'procedure_group_code',
      'procedure_subgroup_code',
      'procedure_form_code',
      'care_character_code',
      'complexity_code',
      'financing_code',
      'processing_uf',
      ...COUNTS,
      'value_total_cents',
      'value_hospital_cents',
      'value_professional_cents',
      'discharges_in_month',
      ...BATCH,
    ],
    filters: {
      uf: equals({ uf: true }),
      municipality_ibge_code: { kind: 'municipality', column: 'municipality_ibge_code' },
      ...withinPlaces('municipality_ibge_code'),
      cnes_code: equals({ digits: 7 }),
      procedure_code: { kind: 'prefix', column: 'procedure_code', digits: 10 },
      care_character_code: equals({ list: Object.keys(CARE_CHARACTERS) }),
    },
    sorts: ['uf', 'municipality_name', 'admissions', 'days_of_stay', 'deaths', 'value_total_cents'],
    description:
      'Approved hospital admissions of SUS (AIH) by processing month, hospital, procedure, character, complexity and financing, added up from the monthly files by state (RD).',
  },
  hospital_admissions_by_residence: {
    name: 'hospital_admissions_by_residence',
    area: 'sih',
    periodic: true,
    key: [
      'residence_municipality_code',
      'diagnosis_chapter_code',
      'diagnosis_category_code',
      'icsap_group_code',
      'cause_group_code',
      'age_group',
      'sex',
      'race_code',
      'processing_uf',
    ],
    fields: [
      'reference_period',
      'residence_uf',
      'residence_municipality_code',
      'diagnosis_chapter_code',
      'diagnosis_category_code',
      'icsap_group_code',
      'cause_group_code',
      'age_group',
      'sex',
      'race_code',
      'processing_uf',
      ...COUNTS,
      'icsap_universe_admissions',
      'icsap_admissions',
      'value_total_cents',
      'discharges_in_month',
    ],
    internal: [...BATCH],
    nullable: ['age_group', 'sex'],
    description:
      'The same admissions by processing month, municipality of residence, main diagnosis, age group, sex and race. An unknown value (residence, diagnosis outside CID-10, age, sex) is null.',
  },
  hospital_admission_flows: {
    name: 'hospital_admission_flows',
    area: 'sih',
    periodic: true,
    // Lists compare keys, so the two that can be null have a code instead.
    key: [
      'residence_key',
      'hospital_municipality_code',
      'diagnosis_chapter_key',
      'complexity_code',
      'financing_code',
      'processing_uf',
    ],
    fields: [
      'reference_period',
      'residence_uf',
      'residence_municipality_code',
      'uf',
      'hospital_municipality_code',
      'diagnosis_chapter_code',
      'complexity_code',
      'financing_code',
      'processing_uf',
      ...COUNTS,
      'value_total_cents',
      'distance_km',
      ...BATCH,
    ],
    internal: [
      'residence_key',
      'diagnosis_chapter_key',
      'municipality_ibge_code',
      'admissions_with_distance',
      'distance_km_total',
    ],
    filters: {
      uf: equals({ uf: true }),
      hospital_municipality_code: { kind: 'municipality', column: 'hospital_municipality_code' },
      ...withinPlaces('hospital_municipality_code'),
      residence_uf: equals({ uf: true }),
      residence_municipality_code: { kind: 'municipality', column: 'residence_municipality_code' },
      diagnosis_chapter_code: equals({ digits: 2 }),
    },
    sorts: ['admissions', 'days_of_stay', 'deaths', 'value_total_cents'],
    description:
      'The same admissions by processing month, municipality of residence, municipality of the hospital, chapter of the main diagnosis, complexity and financing: who is admitted where.',
  },
  procedures: list('procedures', 'procedure', 'Procedures of SIGTAP, and those that admissions name.', [
    'procedure_group_code',
    'procedure_subgroup_code',
    'procedure_form_code',
  ]),
  procedure_groups: list('procedure_groups', 'procedure_group', 'Groups of procedures of SIGTAP.'),
  procedure_subgroups: list(
    'procedure_subgroups',
    'procedure_subgroup',
    'Subgroups of procedures of SIGTAP.',
    ['procedure_group_code'],
  ),
  procedure_forms: list('procedure_forms', 'procedure_form', 'Forms of organisation of SIGTAP.', [
    'procedure_group_code',
    'procedure_subgroup_code',
  ]),
  diagnosis_chapters: list('diagnosis_chapters', 'diagnosis_chapter', 'Chapters of CID-10.'),
  diagnosis_categories: list(
    'diagnosis_categories',
    'diagnosis_category',
    'Categories of CID-10, and those that admissions name.',
    ['diagnosis_chapter_code'],
  ),
} as const satisfies Record<string, Dataset>

/** The tables come from the same files, so either all are collected or none is. */
export const ADMISSION_TABLES = [
  'hospital_admissions',
  'hospital_admissions_by_residence',
  'hospital_admission_flows',
] as const
export type AdmissionTable = (typeof ADMISSION_TABLES)[number]
