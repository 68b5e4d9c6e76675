/**
 * Adds facility names and addresses, which state files lack. CADGER is the main source; TCNES…DBF names the other facilities.
 * In: opened files. Out: cad (one row per facility) and facility_names_provenance (the source rows and cells).
 */
import { CADGER_LINEAGE, FACILITY_NAME_LINEAGE } from '../../model/cnes/lineage.ts'
import type { Lineage } from '../../model/types.ts'
import { applyRule } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'
import { type DatasetOutput, writeParquet } from '../write-parquet.ts'
import type { FacilityName } from './code-tables.ts'
import { published, rawColumn } from './published-rows.ts'
import { appendRows, createTextTable, type OpenedState } from './staged-rows.ts'

const columnsOf = (lineage: readonly Lineage[]): string[] => published(lineage).map(({ column }) => column)

function firstRows(table: string, lineage: readonly Lineage[]): string {
  const values = lineage.map(
    ({ attribute, column, rule }) =>
      `${applyRule(rule, `s.${quoteName(column)}`)} AS ${quoteName(attribute)}`,
  )
  const cells = published(lineage).map((line) => `${rawColumn(line)} AS ${quoteName(`raw_${line.column}`)}`)
  return `SELECT DISTINCT ON (cnes_code) * FROM (
     SELECT source_file, source_row, ${[...values, ...cells].join(', ')} FROM ${table} AS s
   ) ORDER BY cnes_code, source_file, source_row`
}

/** Makes cad and its source rows, cad_first and names_first. @returns false if there is no source of names */
export async function stageFacilityNames(
  session: Session,
  cadger: readonly OpenedState[],
  names: readonly FacilityName[],
): Promise<boolean> {
  if (cadger.length === 0 && names.length === 0) return false
  const columns = columnsOf(CADGER_LINEAGE)
  await createTextTable(session, 'cadger_rows', columns)
  for (const opened of cadger) await appendRows(session, 'cadger_rows', opened, columns)
  await createTextTable(session, 'name_rows', columnsOf(FACILITY_NAME_LINEAGE))
  await session.append('name_rows', (appender) => {
    for (const { cnes, name, file, row } of names) {
      appender.appendVarchar(file)
      appender.appendInteger(row)
      appender.appendVarchar(cnes)
      appender.appendVarchar(name)
      appender.endRow()
    }
  })
  const attributes = CADGER_LINEAGE.map(({ attribute }) => attribute).filter((name) => name !== 'cnes_code')
  const values = attributes.map((attribute) =>
    attribute === 'trade_name'
      ? 'coalesce(cad_first.trade_name, names_first.trade_name) AS trade_name'
      : `cad_first.${quoteName(attribute)}`,
  )
  await session.run(
    `CREATE TABLE cad_first AS ${firstRows('cadger_rows', CADGER_LINEAGE)};
     CREATE TABLE names_first AS ${firstRows('name_rows', FACILITY_NAME_LINEAGE)};
     CREATE TABLE cad AS SELECT coalesce(cad_first.cnes_code, names_first.cnes_code) AS cnes_code, ${values.join(', ')}
     FROM cad_first FULL JOIN names_first ON names_first.cnes_code = cad_first.cnes_code;
     DROP TABLE cadger_rows; DROP TABLE name_rows`,
  )
  return true
}

/** Writes facility_names_provenance: the published rows that name a facility of the release. */
export function writeFacilityNames(session: Session, staging: string): Promise<DatasetOutput> {
  const columns = [...new Set([...columnsOf(CADGER_LINEAGE), ...columnsOf(FACILITY_NAME_LINEAGE)])]
  const rows = (table: string, lineage: readonly Lineage[], where: string): string => {
    const tableColumns = columnsOf(lineage)
    const cells = columns.map((column) =>
      tableColumns.includes(column)
        ? `${quoteName(`raw_${column}`)} AS ${quoteName(column)}`
        : `NULL::VARCHAR AS ${quoteName(column)}`,
    )
    return `SELECT cnes_code, source_file, source_row, ${cells.join(', ')} FROM ${table} ${where}`
  }
  const inRelease = `cnes_code IN (SELECT cnes_code FROM read_parquet(${quoteText(`${staging}/facilities/*/*.parquet`)}, hive_partitioning = false))`
  return writeParquet(
    session,
    staging,
    {
      name: 'facility_names_provenance',
      key: ['cnes_code', 'source_file'],
      order: ['cnes_code', 'source_file', 'source_row'],
      columns: [
        { name: 'cnes_code', type: 'VARCHAR' },
        { name: 'source_file', type: 'VARCHAR' },
        { name: 'source_row', type: 'INTEGER' },
        ...columns.map((name) => ({ name, type: 'VARCHAR' })),
      ],
    },
    null,
    `${rows('cad_first', CADGER_LINEAGE, `WHERE ${inRelease}`)}
     UNION ALL ${rows(
       'names_first',
       FACILITY_NAME_LINEAGE,
       `WHERE ${inRelease} AND trade_name IS NOT NULL AND cnes_code NOT IN (SELECT cnes_code FROM cad_first WHERE trade_name IS NOT NULL)`,
     )}`,
  )
}
