/**
 * Production added up file by file, in DuckDB → the partition of a month, its checks, and the months of care.
 *
 * Published municipality codes are mapped (added-up.ts); codes that become one are added up, so a row is what its key says. A row is
 * of one published file: the parts of a state's month are told apart.
 */
import { WHOLE_FILE } from '../../model/sia/code-lists.ts'
import {
  addUp,
  BATCH,
  BATCH_COLUMNS,
  createPlaces,
  ofSigtap,
  placed,
  stateOfFile,
  sumsOf,
} from '../aggregated/area.ts'
import type { AppendedFile, FileTotals } from '../aggregated/build.ts'
import type { Session } from '../session.ts'
import { type DatasetOutput, type NamedCheck, writeDataset } from '../write-parquet.ts'
import { MEASURES } from './production-files.ts'

const MEASURE_COLUMNS = MEASURES.map((measure) => `${measure} BIGINT`).join(', ')

/** @param municipalities Parquet of the municipality list */
export async function createTables(session: Session, municipalities: string): Promise<void> {
  await createPlaces(session, 'sia', municipalities)
  await session.run(
    `CREATE TABLE sia_production (${BATCH}, file_part VARCHAR, care_period VARCHAR, cnes_code VARCHAR, procedure_code VARCHAR,
       financing_code VARCHAR, complexity_code VARCHAR, instrument_code VARCHAR, published6 VARCHAR, ${MEASURE_COLUMNS})`,
  )
}

export async function appendProduction(session: Session, read: AppendedFile<'production'>): Promise<void> {
  const appender = await session.connection.createAppender('sia_production')
  for (const { codes, values } of read.groups) {
    for (const text of [read.uf, read.file, read.sha256]) appender.appendVarchar(text)
    appender.appendInteger(read.rows)
    for (const text of [read.part, ...codes]) appender.appendVarchar(text)
    for (const value of values) appender.appendBigInt(BigInt(value))
    appender.endRow()
  }
  appender.closeSync()
}

const ROWS = `
  SELECT care_period, cnes_code, place_uf AS uf, place_code AS municipality_ibge_code, any_value(place_name) AS municipality_name,
    procedure_code, ${ofSigtap(2)} AS procedure_group_code, ${ofSigtap(4)} AS procedure_subgroup_code, ${ofSigtap(6)} AS procedure_form_code,
    financing_code, complexity_code, instrument_code, file_part, ${BATCH_COLUMNS}, ${addUp(MEASURES)}
  FROM ${placed('sia', 'sia_production', stateOfFile('sia'))}
  GROUP BY ALL`

/** Writes the month whose files were appended. */
export async function writeMonth(
  session: Session,
  staging: string,
  period: number,
): Promise<DatasetOutput[]> {
  await session.run(
    `CREATE TABLE sia_rows AS ${ROWS};
     INSERT INTO sia_codes SELECT DISTINCT 'procedures', procedure_code FROM sia_rows
       UNION ALL SELECT DISTINCT 'procedure_groups', procedure_group_code FROM sia_rows WHERE procedure_group_code IS NOT NULL
       UNION ALL SELECT DISTINCT 'procedure_subgroups', procedure_subgroup_code FROM sia_rows WHERE procedure_subgroup_code IS NOT NULL
       UNION ALL SELECT DISTINCT 'procedure_forms', procedure_form_code FROM sia_rows WHERE procedure_form_code IS NOT NULL
       UNION ALL SELECT DISTINCT 'care_periods', care_period FROM sia_rows`,
  )
  return [await writeDataset(session, staging, 'outpatient_production', period, 'FROM sia_rows')]
}

/** Writes the months of care that production is of. */
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

/** Compares the rows of a month with its files, counts what is unusual, and empties the tables for the next month. */
export async function checkMonth(
  session: Session,
  period: number,
  files: readonly FileTotals<'production'>[],
): Promise<{ checks: NamedCheck[]; counts: Record<string, number> }> {
  const total = (of: (file: FileTotals<'production'>) => number): number =>
    files.reduce((sum, file) => sum + of(file), 0)
  const found = await sumsOf(session, 'sia_rows', MEASURES)
  const measured = files.flatMap(({ unequalValues }) => unequalValues ?? [])
  const checks = [
    // Rows of another month and gaps between parts end the import where they are read.
    { name: 'production_is_of_its_month', violations: 0 },
    { name: 'production_has_every_part_between', violations: 0 },
    ...(measured.length === 0
      ? []
      : [
          {
            name: 'production_values_are_sums_of_parts',
            violations: measured.reduce((sum, rows) => sum + rows, 0),
          },
        ]),
    {
      name: 'production_records_equal_snapshot',
      violations: Math.abs(
        total(({ rows, setAside }) => rows - setAside) - total(({ totals }) => totals[0] ?? 0),
      ),
    },
    {
      name: 'production_sums_equal_snapshot',
      violations: found.reduce(
        (sum, value, index) => sum + Math.abs(value - total(({ totals }) => totals[index] ?? 0)),
        0,
      ),
    },
    {
      name: 'production_has_municipalities',
      violations: await session.number('SELECT count(*) FROM sia_rows WHERE municipality_ibge_code IS NULL'),
    },
  ]
  const recordsWhere = (condition: string): Promise<number> =>
    session.number(`SELECT coalesce(sum(records), 0) FROM sia_rows WHERE ${condition}`)
  const counts: Record<string, number> = {
    production_records: found[0] ?? 0,
    production_records_not_approved: total(({ counts: own }) => own.notApproved),
    production_records_of_earlier_months_of_care: total(({ counts: own }) => own.ofEarlierMonths),
    production_records_approved_above_presented: total(({ counts: own }) => own.approvedAbovePresented),
    production_records_without_facility: await recordsWhere("cnes_code = '0000000'"),
    production_records_of_facilities_elsewhere: await recordsWhere('uf <> processing_uf'),
  }
  // How many parts there are nothing in the files says: which were read stands here.
  for (const { uf, part } of files)
    if (part !== WHOLE_FILE) counts[`production_parts_${uf}`] = (counts[`production_parts_${uf}`] ?? 0) + 1
  await session.run('DROP TABLE sia_rows; DELETE FROM sia_production')
  return {
    checks: checks.map(({ name, violations }) => ({ name: `${name}_${period}`, violations })),
    counts: Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${name}_${period}`, count])),
  }
}
