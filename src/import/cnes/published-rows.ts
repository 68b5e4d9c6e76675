/**
 * Holds what facilities and facts of a month share: the description of a month, the SQL of attributes and published cells,
 * and statements for repeated keys, rejected rows and ENUMs.
 * All expressions come from model/cnes/lineage.ts, so that provenance shows how each value was derived.
 */
import type { FactName, Family } from '../../model/cnes/lineage.ts'
import { GUARDED_RULES } from '../../model/rules.ts'
import type { Lineage } from '../../model/types.ts'
import { isCnpj } from '../cnpj.ts'
import { applyGuardedRule, applyRule, holdsCpf } from '../rules.ts'
import { quoteName, quoteText, type Session } from '../session.ts'

export interface PeriodScope {
  readonly period: number
  readonly family: Family
  readonly facts: ReadonlySet<FactName>
}

export interface PeriodInput extends PeriodScope {
  /** File name of the table that maps old municipality codes, or null without one. */
  readonly municipalityTable: string | null
  /** States for which each fact was collected. A missing state was not collected. */
  readonly covered: ReadonlyMap<FactName, readonly string[] | 'all'>
  /** True if a table of facility names was imported with the state files. */
  readonly hasCadger: boolean
  /** Published columns of the staged facility table, which vary between files. */
  readonly facilityColumns: readonly string[]
  /** File name by staged table, or null if a table holds rows of several files. */
  readonly files: ReadonlyMap<string, string> | null
}

/** SQL of a staged row's file name. It is a literal if the table came from one file, so that rows need not store it. */
export const fileOf = (input: PeriodInput, table: string): string => {
  const file = input.files?.get(table)
  return file === undefined ? 'source_file' : quoteText(file)
}

/** SQL columns that order published rows. A file name that is a literal is left out, because it orders nothing. */
export const positionColumns = (file: string): string =>
  file === 'source_file' ? 'source_file, source_row' : 'source_row'

export const ruleOf = (lineage: readonly Lineage[], attribute: string, flag = ''): string => {
  const found = lineage.find((line) => line.attribute === attribute)
  if (found === undefined) return 'NULL::VARCHAR'
  const column = `s.${quoteName(found.column)}`
  return flag === '' ? applyRule(found.rule, column) : applyGuardedRule(found.rule, column, flag)
}

/**
 * Rejects all rows of a key but the first. Rows with known content come first, then file name and row number decide.
 * A row with the content of the first gets the reason `duplicate_identical`, because nothing is lost with it.
 * @param repeated SELECT of the keys that occur more than once @param unknown SQL condition of rows with unknown content
 */
export async function markDuplicates(
  session: Session,
  file: string,
  table: string,
  key: readonly string[],
  repeated: string,
  content: readonly string[],
  unknown: string,
): Promise<void> {
  const columns = key.map(quoteName).join(', ')
  const values = `row(${content.map(quoteName).join(', ')})`
  await session.run(
    `CREATE TEMP TABLE later AS
     SELECT ${file} AS source_file, source_row,
       CASE WHEN ${values} IS NOT DISTINCT FROM first_value(${values}) OVER same_key THEN 'duplicate_identical' ELSE 'duplicate_key' END AS reason
     FROM ${table} SEMI JOIN (${repeated}) USING (${columns})
     WHERE reason IS NULL
     WINDOW same_key AS (PARTITION BY ${columns} ORDER BY ${unknown}, ${positionColumns(file)})
     QUALIFY row_number() OVER same_key > 1`,
  )
  if ((await session.number('SELECT count(*) FROM later')) > 0)
    await session.run(
      `UPDATE ${table} SET reason = later.reason FROM later WHERE ${file === 'source_file' ? `${table}.source_file` : file} = later.source_file AND ${table}.source_row = later.source_row`,
    )
  await session.run('DROP TABLE later')
}

export async function collectRejectedRows(
  session: Session,
  file: string,
  table: string,
  dataset: string,
): Promise<void> {
  await session.run(
    `INSERT INTO set_aside SELECT '${dataset}', ${file}, source_row, reason FROM ${table} WHERE reason IS NOT NULL`,
  )
}

/** SQL of a published cell. It is null if the cell's rule guards against CPFs and the cell may hold one. */
export const rawColumn = ({ column, rule }: Lineage, flag: string | null = null): string => {
  const cell = `s.${quoteName(column)}`
  if (!GUARDED_RULES.has(rule)) return cell
  if (rule === 'name' || rule === 'house_number' || rule === 'cadger_name')
    return flag === null
      ? `CASE WHEN NOT ${holdsCpf(cell)} THEN ${cell} END`
      : `CASE WHEN NOT ${flag} OR NOT ${holdsCpf(cell)} THEN ${cell} END`
  if (rule === 'provider')
    return `CASE WHEN ${cell} = 'NAO INFORMADO' OR regexp_full_match(trim(${cell}), '[0-9]{7}') OR regexp_full_match(trim(${cell}), '[A-Za-zÀ-ÿ ]*') OR ${isCnpj(`trim(${cell})`)} THEN ${cell} END`
  return `CASE WHEN ${applyRule(rule, cell)} IS NOT NULL THEN ${cell} END`
}

export const published = (lineage: readonly Lineage[]): Lineage[] =>
  lineage.filter(({ column }, index) => lineage.findIndex((other) => other.column === column) === index)

/** Converts columns with few distinct texts to ENUMs, so that sorts move less data. @returns types to drop after the table */
export async function enumerate(
  session: Session,
  table: string,
  columns: readonly string[],
): Promise<string[]> {
  const types = columns.map((column) => `${table}_${column}`)
  for (const [index, column] of columns.entries())
    await session.run(
      `CREATE TYPE ${types[index]} AS ENUM (SELECT DISTINCT ${column} FROM ${table} WHERE ${column} IS NOT NULL ORDER BY ${column});
       ALTER TABLE ${table} ALTER ${column} TYPE ${types[index]}`,
    )
  return types
}
