/**
 * The table of outpatient production, as aggregated/tables.ts stages it, the list of months of care and the checks of a month.
 * Each row belongs to one published file, so the parts of a month stay separate.
 */
import { WHOLE_FILE } from '../../model/sia/code-lists.ts'
import { sigtapPrefix } from '../aggregated/area.ts'
import type { FileTotals } from '../aggregated/build.ts'
import { compareSums, rowsTable, type StagedTable } from '../aggregated/tables.ts'
import type { Session } from '../session.ts'
import { type DatasetOutput, type NamedCheck, writeDataset } from '../write-parquet.ts'
import { MEASURES } from './production-files.ts'

export const PRODUCTION_TABLE: StagedTable = {
  dataset: 'outpatient_production',
  groups: 'groups',
  fileAttribute: { attribute: 'part', column: 'file_part' },
  codes: [
    'care_period',
    'cnes_code',
    'procedure_code',
    'financing_code',
    'complexity_code',
    'instrument_code',
    'published6',
  ],
  measures: MEASURES,
  columns: `care_period, cnes_code, place_uf AS uf, place_code AS municipality_ibge_code, any_value(place_name) AS municipality_name,
    procedure_code, ${sigtapPrefix(2)} AS procedure_group_code, ${sigtapPrefix(4)} AS procedure_subgroup_code, ${sigtapPrefix(6)} AS procedure_form_code,
    financing_code, complexity_code, instrument_code, file_part`,
  stateWithoutCode: 'file',
}
const ROWS = rowsTable('sia', 'outpatient_production')

/** SQL of the codes that the rows of a month use, by list. */
export const USED_CODES = `SELECT DISTINCT 'procedures', procedure_code FROM ${ROWS}
  UNION ALL SELECT DISTINCT 'procedure_groups', procedure_group_code FROM ${ROWS} WHERE procedure_group_code IS NOT NULL
  UNION ALL SELECT DISTINCT 'procedure_subgroups', procedure_subgroup_code FROM ${ROWS} WHERE procedure_subgroup_code IS NOT NULL
  UNION ALL SELECT DISTINCT 'procedure_forms', procedure_form_code FROM ${ROWS} WHERE procedure_form_code IS NOT NULL
  UNION ALL SELECT DISTINCT 'care_periods', care_period FROM ${ROWS}`

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

/** Compares the rows of a month with its files and counts unusual rows. */
export async function checkMonth(
  session: Session,
  period: number,
  files: readonly FileTotals<'production'>[],
): Promise<{ checks: NamedCheck[]; counts: Record<string, number> }> {
  const sumFiles = (figureOf: (file: FileTotals<'production'>) => number): number =>
    files.reduce((sum, file) => sum + figureOf(file), 0)
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
      violations: await compareSums(
        session,
        'sia',
        PRODUCTION_TABLE,
        files.map(({ totals }) => totals),
      ),
    },
    {
      name: 'production_has_municipalities',
      violations: await session.number(`SELECT count(*) FROM ${ROWS} WHERE municipality_ibge_code IS NULL`),
    },
  ]
  const countRecords = (condition: string): Promise<number> =>
    session.number(`SELECT coalesce(sum(records), 0) FROM ${ROWS} WHERE ${condition}`)
  const counts: Record<string, number> = {
    production_records: await countRecords('true'),
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
  return {
    checks: checks.map(({ name, violations }) => ({ name: `${name}_${period}`, violations })),
    counts: Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${name}_${period}`, count])),
  }
}
