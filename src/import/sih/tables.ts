/** The tables of hospital admissions, as aggregated/tables.ts stages them, and the checks of a month. */
import { sigtapPrefix } from '../aggregated/area.ts'
import type { FileTotals } from '../aggregated/build.ts'
import type { CodeList } from '../aggregated/code-tables.ts'
import { compareSums, rowsTable, type StagedTable } from '../aggregated/tables.ts'
import type { Session } from '../session.ts'
import type { NamedCheck } from '../write-parquet.ts'
import { MEASURES } from './admission-files.ts'

export const CODE_LISTS: readonly CodeList[] = [
  'procedures',
  'procedure_groups',
  'procedure_subgroups',
  'procedure_forms',
  'diagnosis_chapters',
  'diagnosis_categories',
]

export const TABLES: readonly StagedTable[] = [
  {
    dataset: 'hospital_admissions',
    groups: 'byHospital',
    codes: [
      'cnes_code',
      'published6',
      'procedure_code',
      'care_character_code',
      'complexity_code',
      'financing_code',
    ],
    measures: MEASURES,
    columns: `cnes_code, place_uf AS uf, place_code AS municipality_ibge_code, any_value(place_name) AS municipality_name, procedure_code,
      ${sigtapPrefix(2)} AS procedure_group_code, ${sigtapPrefix(4)} AS procedure_subgroup_code, ${sigtapPrefix(6)} AS procedure_form_code,
      care_character_code, complexity_code, financing_code`,
    // A hospital without a municipality code gets the state of its file.
    stateWithoutCode: 'file',
  },
  {
    dataset: 'hospital_admissions_by_residence',
    groups: 'byResidence',
    codes: ['published6', 'diagnosis_category_code', 'diagnosis_chapter_code', 'age_group', 'sex'],
    measures: MEASURES,
    columns: `place_uf AS residence_uf, place_code AS residence_municipality_code, diagnosis_chapter_code, diagnosis_category_code,
      age_group, sex`,
    stateWithoutCode: 'none',
  },
]
const HOSPITAL_ROWS = rowsTable('sih', 'hospital_admissions')
const RESIDENCE_ROWS = rowsTable('sih', 'hospital_admissions_by_residence')

/** SQL of the codes that the rows of a month use, by list. */
export const USED_CODES = `SELECT DISTINCT 'procedures', procedure_code FROM ${HOSPITAL_ROWS}
  UNION ALL SELECT DISTINCT 'diagnosis_categories', diagnosis_category_code FROM ${RESIDENCE_ROWS} WHERE diagnosis_category_code IS NOT NULL`

/** Compares the rows of a month with its files and counts unusual rows. */
export async function checkMonth(
  session: Session,
  period: number,
  files: readonly FileTotals<'admissions'>[],
): Promise<{ checks: NamedCheck[]; counts: Record<string, number> }> {
  const sumFiles = (figureOf: (file: FileTotals<'admissions'>) => number): number =>
    files.reduce((sum, file) => sum + figureOf(file), 0)
  const checks: NamedCheck[] = []
  const addCheck = (name: string, violations: number): number =>
    checks.push({ name: `${name}_${period}`, violations })
  // This always holds here: rows of another state or month stop the import earlier.
  addCheck('admissions_are_of_their_month', 0)
  addCheck(
    'admissions_are_first_or_continued',
    sumFiles(({ otherKinds }) => otherKinds),
  )
  const measuredFiles = files.filter(({ unequalValues }) => unequalValues !== null)
  if (measuredFiles.length > 0)
    addCheck(
      'admission_values_are_sums_of_parts',
      measuredFiles.reduce((sum, { unequalValues }) => sum + (unequalValues ?? 0), 0),
    )
  addCheck(
    'admission_records_equal_snapshot',
    Math.abs(sumFiles(({ rows, setAside }) => rows - setAside) - sumFiles(({ totals }) => totals[0] ?? 0)),
  )
  const totals = files.map((file) => file.totals)
  for (const table of TABLES)
    addCheck(`${table.dataset}_sums_equal_snapshot`, await compareSums(session, 'sih', table, totals))
  addCheck(
    'admissions_have_municipalities',
    await session.number(`SELECT count(*) FROM ${HOSPITAL_ROWS} WHERE municipality_ibge_code IS NULL`),
  )
  const counts: Record<string, number> = {}
  const addCount = async (name: string, sql: string): Promise<void> => {
    counts[`${name}_${period}`] = await session.number(
      `SELECT coalesce(sum(admission_records), 0) FROM ${sql}`,
    )
  }
  await addCount('admission_records', HOSPITAL_ROWS)
  await addCount('admission_records_without_facility', `${HOSPITAL_ROWS} WHERE cnes_code = '0000000'`)
  await addCount('admission_records_of_hospitals_elsewhere', `${HOSPITAL_ROWS} WHERE uf <> processing_uf`)
  await addCount('admission_records_without_residence', `${RESIDENCE_ROWS} WHERE residence_uf IS NULL`)
  await addCount(
    'admission_records_without_diagnosis',
    `${RESIDENCE_ROWS} WHERE diagnosis_category_code IS NULL`,
  )
  return { checks, counts }
}
