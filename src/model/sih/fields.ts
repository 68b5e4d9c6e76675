/** Columns of hospital admissions, and of the code lists of procedures and diagnoses. Values only. */
import { cents, code, name, optionalCode, quantity, wideQuantity } from '../declare.ts'
import type { Field } from '../types.ts'

export const FIELDS = {
  procedure_code: code(
    'Procedure that was done (PROC_REA, PA_PROC_ID): 10 digits of SIGTAP; before 2008, a code of the table of that time.',
  ),
  procedure_name: name(
    'Name of the procedure; null where no table of SIGTAP that was imported has the code.',
  ),
  procedure_group_code: optionalCode(
    'Group of SIGTAP: the first 2 digits of the procedure; null before 2008.',
  ),
  procedure_group_name: name('Name of the group.'),
  procedure_subgroup_code: optionalCode(
    'Subgroup of SIGTAP: the first 4 digits of the procedure; null before 2008.',
  ),
  procedure_subgroup_name: name('Name of the subgroup.'),
  procedure_form_code: optionalCode(
    'Form of organisation of SIGTAP: the first 6 digits of the procedure; null before 2008.',
  ),
  procedure_form_name: name('Name of the form of organisation.'),
  care_character_code: code('Character of the admission: 01 elective, 02 urgent … ; 00 not informed.'),
  complexity_code: code('Complexity of the procedure: 01, 02, 03; 00 none or not informed.'),
  financing_code: code('Kind of financing: 04 FAEC, 06 MAC … ; 00 not informed.'),
  processing_uf: {
    type: 'string',
    description:
      'State whose file of the month the records are in: the one that pays. Facilities of another state may be in it.',
  },

  admission_records: quantity(
    'records',
    'Approved admission authorisations (AIH), continuations of long stays included.',
  ),
  admissions: quantity(
    'admissions',
    'Approved admissions: records that are no continuation (IDENT 1). Transfers and readmissions are admissions of their own, so they are not persons.',
  ),
  days_of_stay: quantity('days', 'Days of stay (DIAS_PERM); of a continuation, those of its month.'),
  icu_days: quantity('days', 'Days in intensive care (UTI_MES_TO; UTI_TOTAL before 2008).'),
  deaths: quantity('deaths', 'Records that ended with death (MORTE).'),
  value_total_cents: cents('Value of the records (VAL_TOT): approved, which is not yet paid.'),
  value_hospital_cents: cents(
    'Hospital services within the total (VAL_SH, VAL_SH_FED, VAL_SH_GES). Before 2008 the total has further parts.',
  ),
  value_professional_cents: cents('Professional services within the total (VAL_SP, VAL_SP_FED, VAL_SP_GES).'),
  discharges_in_month: quantity(
    'admissions',
    'Admissions that ended within the processing month; the others ended before and were presented late.',
  ),
  source_sha256: code('SHA-256 of the published file that the row was added up from.'),
  source_rows: quantity('rows', 'Records of that file.'),

  residence_uf: { type: 'string', nullable: true, description: 'State of residence; null where not known.' },
  residence_municipality_code: {
    type: 'integer',
    nullable: true,
    description:
      'Municipality of residence, IBGE code of 7 digits; the ignored one of the state where the code is none of the list, null where no state is known.',
  },
  diagnosis_chapter_code: optionalCode(
    'Chapter of CID-10 of the main diagnosis, 01 to 22; null where the code is none of CID-10 (CID-9 before 1998).',
  ),
  diagnosis_chapter_name: name('Name of the chapter.'),
  diagnosis_category_code: optionalCode('Category of CID-10 of the main diagnosis: a letter and 2 digits.'),
  icsap_group_code: optionalCode(
    'Group of the list of conditions sensitive to primary care (Portaria SAS/MS 221/2008) of the main diagnosis, 01 to 19; 00 outside the list, null where the diagnosis is none of CID-10.',
  ),
  icsap_universe_admissions: quantity(
    'admissions',
    'Admissions (IDENT 1) with a diagnosis of CID-10 that are no delivery: none of ten obstetric procedures, and no diagnosis O80 to O84. Procedures before 2008 are of another table: deliveries with another diagnosis count there, and metrics are null.',
  ),
  icsap_admissions: quantity(
    'admissions',
    'Admissions among them with a main diagnosis of the list of conditions sensitive to primary care.',
  ),
  hospital_municipality_code: {
    type: 'integer',
    description: 'Municipality of the hospital, IBGE code of 7 digits.',
  },
  residence_key: {
    type: 'integer',
    description: 'Municipality of residence; 0 where it is null. It orders the rows.',
  },
  diagnosis_chapter_key: code('Chapter of the main diagnosis; 00 where it is null. It orders the rows.'),
  distance_km: {
    type: 'integer',
    nullable: true,
    unit: 'km',
    description:
      'Great-circle distance between the centroids of the outlines of both municipalities, rounded to kilometres; 0 within one, null without a known residence or outlines.',
  },
  admissions_with_distance: quantity('admissions', 'Admissions whose distance is known.'),
  distance_km_total: wideQuantity('km', 'Distances of these admissions, added up.'),
  diagnosis_category_name: name('Name of the category; null where no table of CID-10 was imported.'),
} as const satisfies Record<string, Field>
