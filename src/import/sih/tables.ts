/**
 * Stages aggregated hospital admissions in DuckDB, writes and checks the partitions of a month, and writes code lists. Published
 * municipality codes are mapped (aggregated/area.ts), and rows that get the same code are summed, so keys are unique.
 */
import {
  type AggregatedAreaName,
  createMunicipalityTables,
  fileStateCode,
  mapMunicipalities,
  readSums,
  SOURCE_FILE_COLUMNS,
  SOURCE_FILE_SELECT,
  sigtapPrefix,
  sumMeasures,
} from '../aggregated/area.ts'
import type { AppendedFile, FileTotals } from '../aggregated/build.ts'
import type { Session } from '../session.ts'
import { type DatasetOutput, type NamedCheck, writeDataset } from '../write-parquet.ts'
import { MEASURES } from './admission-files.ts'
import { builtInCodes, type CodeList, DERIVED_COLUMNS, type NamedCode } from './code-tables.ts'

const MEASURE_COLUMNS = MEASURES.map((measure) => `${measure} BIGINT`).join(', ')
export const CODE_LISTS: readonly CodeList[] = [
  'procedures',
  'procedure_groups',
  'procedure_subgroups',
  'procedure_forms',
  'diagnosis_chapters',
  'diagnosis_categories',
]

export async function createTables(session: Session, municipalities: string): Promise<void> {
  await createMunicipalityTables(session, 'sih', municipalities)
  await session.run(
    `CREATE TABLE sih_hospitals (${SOURCE_FILE_COLUMNS}, cnes_code VARCHAR, published6 VARCHAR, procedure_code VARCHAR, care_character_code VARCHAR,
       complexity_code VARCHAR, financing_code VARCHAR, ${MEASURE_COLUMNS});
     CREATE TABLE sih_residences (${SOURCE_FILE_COLUMNS}, published6 VARCHAR, diagnosis_category_code VARCHAR, diagnosis_chapter_code VARCHAR,
       age_group VARCHAR, sex VARCHAR, ${MEASURE_COLUMNS})`,
  )
}

export async function appendAdmissions(session: Session, read: AppendedFile<'admissions'>): Promise<void> {
  for (const [table, groups] of [
    ['sih_hospitals', read.byHospital],
    ['sih_residences', read.byResidence],
  ] as const) {
    await session.append(table, (appender) => {
      for (const { codes, values } of groups) {
        for (const text of [read.uf, read.file, read.sha256]) appender.appendVarchar(text)
        appender.appendInteger(read.rows)
        for (const code of codes)
          if (code === '') appender.appendNull()
          else appender.appendVarchar(code)
        for (const value of values) appender.appendBigInt(BigInt(value))
        appender.endRow()
      }
    })
  }
}

/** A hospital without a municipality code gets the state of its file. */
const HOSPITAL_ROWS = `
  SELECT cnes_code, place_uf AS uf, place_code AS municipality_ibge_code, any_value(place_name) AS municipality_name, procedure_code,
    ${sigtapPrefix(2)} AS procedure_group_code, ${sigtapPrefix(4)} AS procedure_subgroup_code, ${sigtapPrefix(6)} AS procedure_form_code,
    care_character_code, complexity_code, financing_code, ${SOURCE_FILE_SELECT}, ${sumMeasures(MEASURES)}
  FROM ${mapMunicipalities('sih', 'sih_hospitals', fileStateCode('sih'))}
  GROUP BY ALL`
const RESIDENCE_ROWS = `
  SELECT place_uf AS residence_uf, place_code AS residence_municipality_code, diagnosis_chapter_code, diagnosis_category_code,
    age_group, sex, ${SOURCE_FILE_SELECT}, ${sumMeasures(MEASURES)}
  FROM ${mapMunicipalities('sih', 'sih_residences', 'NULL')}
  GROUP BY ALL`

export async function writeMonth(
  session: Session,
  staging: string,
  period: number,
): Promise<DatasetOutput[]> {
  await session.run(
    `CREATE TABLE sih_hospital_rows AS ${HOSPITAL_ROWS}; CREATE TABLE sih_residence_rows AS ${RESIDENCE_ROWS};
     INSERT INTO sih_codes SELECT DISTINCT 'procedures', procedure_code FROM sih_hospital_rows;
     INSERT INTO sih_codes SELECT DISTINCT 'diagnosis_categories', diagnosis_category_code FROM sih_residence_rows WHERE diagnosis_category_code IS NOT NULL`,
  )
  return [
    await writeDataset(session, staging, 'hospital_admissions', period, 'FROM sih_hospital_rows'),
    await writeDataset(
      session,
      staging,
      'hospital_admissions_by_residence',
      period,
      'FROM sih_residence_rows',
    ),
  ]
}

/** Compares the rows of a month with its files, counts unusual rows, and empties the tables for the next month. */
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
  for (const [dataset, table] of [
    ['hospital_admissions', 'sih_hospital_rows'],
    ['hospital_admissions_by_residence', 'sih_residence_rows'],
  ] as const) {
    const writtenSums = await readSums(session, table, MEASURES)
    addCheck(
      `${dataset}_sums_equal_snapshot`,
      writtenSums.reduce(
        (sum, value, index) => sum + Math.abs(value - sumFiles(({ totals }) => totals[index] ?? 0)),
        0,
      ),
    )
  }
  addCheck(
    'admissions_have_municipalities',
    await session.number('SELECT count(*) FROM sih_hospital_rows WHERE municipality_ibge_code IS NULL'),
  )
  const counts: Record<string, number> = {}
  const addCount = async (name: string, sql: string): Promise<void> => {
    counts[`${name}_${period}`] = await session.number(
      `SELECT coalesce(sum(admission_records), 0) FROM ${sql}`,
    )
  }
  await addCount('admission_records', 'sih_hospital_rows')
  await addCount('admission_records_without_facility', "sih_hospital_rows WHERE cnes_code = '0000000'")
  await addCount('admission_records_of_hospitals_elsewhere', 'sih_hospital_rows WHERE uf <> processing_uf')
  await addCount('admission_records_without_residence', 'sih_residence_rows WHERE residence_uf IS NULL')
  await addCount(
    'admission_records_without_diagnosis',
    'sih_residence_rows WHERE diagnosis_category_code IS NULL',
  )
  await session.run(
    'DROP TABLE sih_hospital_rows; DROP TABLE sih_residence_rows; DELETE FROM sih_hospitals; DELETE FROM sih_residences',
  )
  return { checks, counts }
}

/** Writes code lists: codes named by tables or by the model, and codes of the area's rows that have no name. */
export async function writeCodeLists(
  session: Session,
  staging: string,
  tables: ReadonlyMap<CodeList, ReadonlyMap<string, NamedCode>>,
  area: AggregatedAreaName,
  lists: readonly CodeList[],
): Promise<DatasetOutput[]> {
  const usedCodes = await session.rows(`SELECT DISTINCT list, code FROM ${area}_codes ORDER BY ALL`)
  const outputs: DatasetOutput[] = []
  for (const list of lists) {
    const codes = new Map<string, NamedCode>(builtInCodes(list).map((code) => [code.code, code]))
    for (const [code, namedCode] of tables.get(list) ?? []) codes.set(code, namedCode)
    for (const row of usedCodes)
      if (row.list === list && !codes.has(String(row.code)))
        codes.set(String(row.code), { code: String(row.code), name: null, file: null, row: null })
    outputs.push(await writeCodeList(session, staging, area, list, [...codes.values()]))
  }
  return outputs
}

async function writeCodeList(
  session: Session,
  staging: string,
  area: AggregatedAreaName,
  list: CodeList,
  codes: readonly NamedCode[],
): Promise<DatasetOutput> {
  const columnPrefix = COLUMN_PREFIXES[list]
  const derivedColumns = Object.entries(DERIVED_COLUMNS[list])
  const table = `${area}_list_${list}`
  await session.run(
    `CREATE TABLE ${table} (${columnPrefix}_code VARCHAR, ${columnPrefix}_name VARCHAR, source_file VARCHAR, source_row INTEGER${derivedColumns.map(([column]) => `, ${column} VARCHAR`).join('')})`,
  )
  await session.append(table, (appender) => {
    const appendText = (text: string | null): void =>
      text === null ? appender.appendNull() : appender.appendVarchar(text)
    for (const { code, name, file, row } of codes) {
      appendText(code)
      appendText(name)
      appendText(file)
      if (row === null) appender.appendNull()
      else appender.appendInteger(row)
      for (const [, derive] of derivedColumns) appendText(derive(code))
      appender.endRow()
    }
  })
  return writeDataset(session, staging, list, null, `FROM ${table}`)
}

const COLUMN_PREFIXES: Readonly<Record<CodeList, string>> = {
  procedures: 'procedure',
  procedure_groups: 'procedure_group',
  procedure_subgroups: 'procedure_subgroup',
  procedure_forms: 'procedure_form',
  diagnosis_chapters: 'diagnosis_chapter',
  diagnosis_categories: 'diagnosis_category',
}
