/** Writes the code lists of aggregated areas: codes named by published tables or by the model, and codes of rows that have no name. */
import type { Session } from '../session.ts'
import { type DatasetOutput, writeDataset } from '../write-parquet.ts'
import type { AggregatedAreaName } from './area.ts'
import { builtInCodes, type CodeList, DERIVED_COLUMNS, type NamedCode } from './code-tables.ts'

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
  cause_categories: 'cause_category',
}
