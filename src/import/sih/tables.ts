/** The tables of hospital admissions, as aggregated/tables.ts stages them, and the checks of a month. */
import { mapMunicipalities, sigtapPrefix } from '../aggregated/area.ts'
import type { FileTotals } from '../aggregated/build.ts'
import type { CodeList } from '../aggregated/code-tables.ts'
import { compareSums, rowsTable, type StagedTable } from '../aggregated/tables.ts'
import type { Session } from '../session.ts'
import type { NamedCheck } from '../write-parquet.ts'
import { FLOW_MEASURES, HOSPITAL_MEASURES, MEASURES, RESIDENCE_MEASURES } from './admission-files.ts'
import { addDistances } from './distances.ts'

export const CODE_LISTS: readonly CodeList[] = [
  'procedures',
  'procedure_groups',
  'procedure_subgroups',
  'procedure_forms',
  'diagnosis_chapters',
  'diagnosis_categories',
]

/** Maps the residence, and leaves the hospital's code as the one to map next. */
function mapResidence(staged: string): string {
  const mapped = `SELECT * EXCLUDE (published6, state_code, place_name) FROM ${mapMunicipalities('sih', staged, 'NULL')}`
  return `(SELECT * RENAME (place_code AS residence_municipality_code, place_uf AS residence_uf, hospital6 AS published6) FROM (${mapped}))`
}

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
    measures: HOSPITAL_MEASURES,
    columns: `cnes_code, place_uf AS uf, place_code AS municipality_ibge_code, any_value(place_name) AS municipality_name, procedure_code,
      ${sigtapPrefix(2)} AS procedure_group_code, ${sigtapPrefix(4)} AS procedure_subgroup_code, ${sigtapPrefix(6)} AS procedure_form_code,
      care_character_code, complexity_code, financing_code`,
    // A hospital without a municipality code gets the state of its file.
    stateWithoutCode: 'file',
  },
  {
    dataset: 'hospital_admissions_by_residence',
    groups: 'byResidence',
    codes: [
      'published6',
      'diagnosis_category_code',
      'diagnosis_chapter_code',
      'icsap_group_code',
      'cause_group_code',
      'age_group',
      'sex',
      'race_code',
    ],
    measures: RESIDENCE_MEASURES,
    columns: `place_uf AS residence_uf, place_code AS residence_municipality_code, diagnosis_chapter_code, diagnosis_category_code,
      icsap_group_code, cause_group_code, age_group, sex, race_code`,
    stateWithoutCode: 'none',
  },
  {
    dataset: 'hospital_admission_flows',
    groups: 'byFlow',
    codes: ['published6', 'hospital6', 'diagnosis_chapter_code', 'complexity_code', 'financing_code'],
    measures: FLOW_MEASURES,
    mapFirst: mapResidence,
    columns: `residence_uf, residence_municipality_code, place_uf AS uf, place_code AS hospital_municipality_code, place_code AS municipality_ibge_code,
      diagnosis_chapter_code, complexity_code, financing_code, coalesce(residence_municipality_code, 0) AS residence_key,
      coalesce(diagnosis_chapter_code, '00') AS diagnosis_chapter_key`,
    stateWithoutCode: 'file',
  },
]
const HOSPITAL_ROWS = rowsTable('sih', 'hospital_admissions')
const RESIDENCE_ROWS = rowsTable('sih', 'hospital_admissions_by_residence')

const FLOW_ROWS = rowsTable('sih', 'hospital_admission_flows')

/** Residents of a municipality that is not known have no distance: the ignored one of a state has no outline. */
export async function addDistancesToFlows(session: Session): Promise<void> {
  await addDistances(
    session,
    `SELECT DISTINCT residence_municipality_code AS residence, hospital_municipality_code AS hospital FROM ${FLOW_ROWS}
     WHERE residence_municipality_code IS NOT NULL`,
  )
  await session.run(
    `CREATE OR REPLACE TABLE ${FLOW_ROWS} AS
     SELECT flows.*, distance_km, CASE WHEN distance_km IS NULL THEN 0 ELSE admissions END AS admissions_with_distance,
       coalesce(distance_km, 0) * admissions AS distance_km_total
     FROM ${FLOW_ROWS} AS flows LEFT JOIN sih_distances AS pair
       ON pair.residence = residence_municipality_code AND pair.hospital = hospital_municipality_code`,
  )
}

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
  for (const table of TABLES) {
    const positions = table.measures.map((measure) => (MEASURES as readonly string[]).indexOf(measure))
    const totals = files.map((file) => positions.map((position) => file.totals[position] ?? 0))
    addCheck(`${table.dataset}_sums_equal_snapshot`, await compareSums(session, 'sih', table, totals))
  }
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
