/**
 * Stages aggregated outpatient production in DuckDB, then writes and checks the partition of a month and writes the months of
 * care. Published municipality codes are mapped (aggregated/area.ts), and rows that get the same code are summed, so keys are
 * unique. Each row belongs to one published file, so the parts of a month stay separate.
 */
import { WHOLE_FILE } from '../../model/sia/code-lists.ts'
import {
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
import { MEASURES } from './production-files.ts'

const MEASURE_COLUMNS = MEASURES.map((measure) => `${measure} BIGINT`).join(', ')

export async function createTables(session: Session, municipalities: string): Promise<void> {
  await createMunicipalityTables(session, 'sia', municipalities)
  await session.run(
    `CREATE TABLE sia_production (${SOURCE_FILE_COLUMNS}, file_part VARCHAR, care_period VARCHAR, cnes_code VARCHAR, procedure_code VARCHAR,
       financing_code VARCHAR, complexity_code VARCHAR, instrument_code VARCHAR, published6 VARCHAR, ${MEASURE_COLUMNS})`,
  )
}

export async function appendProduction(session: Session, read: AppendedFile<'production'>): Promise<void> {
  await session.append('sia_production', (appender) => {
    for (const { codes, values } of read.groups) {
      for (const text of [read.uf, read.file, read.sha256]) appender.appendVarchar(text)
      appender.appendInteger(read.rows)
      for (const text of [read.part, ...codes]) appender.appendVarchar(text)
      for (const value of values) appender.appendBigInt(BigInt(value))
      appender.endRow()
    }
  })
}

const MONTH_ROWS = `
  SELECT care_period, cnes_code, place_uf AS uf, place_code AS municipality_ibge_code, any_value(place_name) AS municipality_name,
    procedure_code, ${sigtapPrefix(2)} AS procedure_group_code, ${sigtapPrefix(4)} AS procedure_subgroup_code, ${sigtapPrefix(6)} AS procedure_form_code,
    financing_code, complexity_code, instrument_code, file_part, ${SOURCE_FILE_SELECT}, ${sumMeasures(MEASURES)}
  FROM ${mapMunicipalities('sia', 'sia_production', fileStateCode('sia'))}
  GROUP BY ALL`

export async function writeMonth(
  session: Session,
  staging: string,
  period: number,
): Promise<DatasetOutput[]> {
  await session.run(
    `CREATE TABLE sia_rows AS ${MONTH_ROWS};
     INSERT INTO sia_codes SELECT DISTINCT 'procedures', procedure_code FROM sia_rows
       UNION ALL SELECT DISTINCT 'procedure_groups', procedure_group_code FROM sia_rows WHERE procedure_group_code IS NOT NULL
       UNION ALL SELECT DISTINCT 'procedure_subgroups', procedure_subgroup_code FROM sia_rows WHERE procedure_subgroup_code IS NOT NULL
       UNION ALL SELECT DISTINCT 'procedure_forms', procedure_form_code FROM sia_rows WHERE procedure_form_code IS NOT NULL
       UNION ALL SELECT DISTINCT 'care_periods', care_period FROM sia_rows`,
  )
  return [await writeDataset(session, staging, 'outpatient_production', period, 'FROM sia_rows')]
}

export const writeCarePeriods = async (session: Session, staging: string): Promise<DatasetOutput[]> => [
  await writeDataset(
    session,
    staging,
    'care_periods',
    null,
    `SELECT DISTINCT code AS care_period, code AS care_period_name, CAST(NULL AS VARCHAR) AS source_file, CAST(NULL AS INTEGER) AS source_row
     FROM sia_codes WHERE list = 'care_periods'`,
  ),
]

/** Compares the rows of a month with its files, counts unusual rows, and empties the tables for the next month. */
export async function checkMonth(
  session: Session,
  period: number,
  files: readonly FileTotals<'production'>[],
): Promise<{ checks: NamedCheck[]; counts: Record<string, number> }> {
  const sumFiles = (figureOf: (file: FileTotals<'production'>) => number): number =>
    files.reduce((sum, file) => sum + figureOf(file), 0)
  const writtenSums = await readSums(session, 'sia_rows', MEASURES)
  const unequalCounts = files.flatMap(({ unequalValues }) => unequalValues ?? [])
  const checks = [
    // These two always hold here: rows of another month and missing parts stop the import earlier.
    { name: 'production_is_of_its_month', violations: 0 },
    { name: 'production_has_every_part_between', violations: 0 },
    ...(unequalCounts.length === 0
      ? []
      : [
          {
            name: 'production_values_are_sums_of_parts',
            violations: unequalCounts.reduce((sum, rows) => sum + rows, 0),
          },
        ]),
    {
      name: 'production_records_equal_snapshot',
      violations: Math.abs(
        sumFiles(({ rows, setAside }) => rows - setAside) - sumFiles(({ totals }) => totals[0] ?? 0),
      ),
    },
    {
      name: 'production_sums_equal_snapshot',
      violations: writtenSums.reduce(
        (sum, value, index) => sum + Math.abs(value - sumFiles(({ totals }) => totals[index] ?? 0)),
        0,
      ),
    },
    {
      name: 'production_has_municipalities',
      violations: await session.number('SELECT count(*) FROM sia_rows WHERE municipality_ibge_code IS NULL'),
    },
  ]
  const countRecords = (condition: string): Promise<number> =>
    session.number(`SELECT coalesce(sum(records), 0) FROM sia_rows WHERE ${condition}`)
  const counts: Record<string, number> = {
    production_records: writtenSums[0] ?? 0,
    production_records_not_approved: sumFiles(({ counts: rowCounts }) => rowCounts.notApproved),
    production_records_of_earlier_months_of_care: sumFiles(
      ({ counts: rowCounts }) => rowCounts.ofEarlierMonths,
    ),
    production_records_approved_above_presented: sumFiles(
      ({ counts: rowCounts }) => rowCounts.approvedAbovePresented,
    ),
    production_records_without_facility: await countRecords("cnes_code = '0000000'"),
    production_records_of_facilities_elsewhere: await countRecords('uf <> processing_uf'),
  }
  // Record the number of parts that were read, because the files do not state how many exist.
  for (const { uf, part } of files)
    if (part !== WHOLE_FILE) counts[`production_parts_${uf}`] = (counts[`production_parts_${uf}`] ?? 0) + 1
  await session.run('DROP TABLE sia_rows; DELETE FROM sia_production')
  return {
    checks: checks.map(({ name, violations }) => ({ name: `${name}_${period}`, violations })),
    counts: Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${name}_${period}`, count])),
  }
}
