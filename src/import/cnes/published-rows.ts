/**
 * What facilities and facts of a month share: what a month is made of, the place of a published row, the rule of an attribute
 * and its published cell as SQL, and the few statements over tables of either: repeated keys, rows set aside, ENUMs. Every
 * expression comes from model/cnes/lineage.ts, so that provenance shows what was done.
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
  /** Facts this month has rows of. */
  readonly facts: ReadonlySet<FactName>
}

export interface PeriodInput extends PeriodScope {
  /** The table that maps old municipality codes, where there is one. */
  readonly municipalityTable: string | null
  /** States each fact was collected for; what is not in it, was not. */
  readonly covered: ReadonlyMap<FactName, readonly string[] | 'all'>
  /** Is there a table of names beside the files by state? */
  readonly hasCadger: boolean
  /** Published columns present in the staged facility table (files vary). */
  readonly facilityColumns: readonly string[]
  /** The one file each staged table was read from; null where one table holds rows of several files. */
  readonly files: ReadonlyMap<string, string> | null
}

/** SQL of the file a staged row came from: a literal where the whole table came from one, so that no row carries it. */
export const fileOf = (input: PeriodInput, table: string): string => {
  const file = input.files?.get(table)
  return file === undefined ? 'source_file' : quoteText(file)
}

/** Order of published rows; a literal orders nothing. */
export const placeIn = (file: string): string =>
  file === 'source_file' ? 'source_file, source_row' : 'source_row'

export const ruleOf = (lineage: readonly Lineage[], attribute: string, flag = ''): string => {
  const found = lineage.find((line) => line.attribute === attribute)
  if (found === undefined) return 'NULL::VARCHAR'
  const column = `s.${quoteName(found.column)}`
  return flag === '' ? applyRule(found.rule, column) : applyGuardedRule(found.rule, column, flag)
}

/**
 * Later rows of a key are set aside; which is first is decided by what is known of it, then by file name and row. A row that repeats
 * the first in everything but its place loses nothing and is counted apart.
 *
 * @param repeated SELECT of the keys that are there more than once @param unknown SQL that is true of rows that say less
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
     WINDOW same_key AS (PARTITION BY ${columns} ORDER BY ${unknown}, ${placeIn(file)})
     QUALIFY row_number() OVER same_key > 1`,
  )
  if ((await session.number('SELECT count(*) FROM later')) > 0)
    await session.run(
      `UPDATE ${table} SET reason = later.reason FROM later WHERE ${file === 'source_file' ? `${table}.source_file` : file} = later.source_file AND ${table}.source_row = later.source_row`,
    )
  await session.run('DROP TABLE later')
}

export async function setAside(
  session: Session,
  file: string,
  table: string,
  dataset: string,
): Promise<void> {
  await session.run(
    `INSERT INTO set_aside SELECT '${dataset}', ${file}, source_row, reason FROM ${table} WHERE reason IS NOT NULL`,
  )
}

/** A published cell, or null where its rule guards against a CPF and left no value. */
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

/**
 * Texts of few kinds become an ENUM, a number with a name: rows that carry them are sorted with less to move.
 *
 * @returns the types, to be dropped after the tables that use them
 */
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
