/**
 * Each rule of model/rules.ts as a DuckDB expression. In: the quoted column of a staged table (text, as published).
 * Out: SQL text. The importer runs over its own staging tables only; no request reaches this file.
 */
import type { RuleName } from '../model/rules.ts'
import { cnpjOf } from './cnpj.ts'

/** trim() walks a whole text to find blanks at its ends; most texts have none there. */
const quickTrim = (column: string): string =>
  `CASE WHEN ${[' ', '\u00a0'].map((blank) => `starts_with(${column}, '${blank}') OR ends_with(${column}, '${blank}')`).join(' OR ')} THEN trim(${column}) ELSE ${column} END`
const trimmed = (column: string): string => `nullif(${quickTrim(column)}, '')`
const padded = (column: string, width: number): string =>
  `CASE WHEN length(trim(${column})) BETWEEN 1 AND ${width} THEN lpad(trim(${column}), ${width}, '0') ELSE ${trimmed(column)} END`
/** Eleven digits, with or without the usual points and dash, that are not part of a longer number. */
const CPF_PATTERN = '(^|[^0-9])[0-9]{3}\\.?[0-9]{3}\\.?[0-9]{3}-?[0-9]{2}($|[^0-9])'
const withoutCpf = (text: string): string =>
  `CASE WHEN regexp_matches(${text}, '${CPF_PATTERN}') THEN nullif(trim(regexp_replace(regexp_replace(${text}, '${CPF_PATTERN}', '\\1\\2', 'g'), '${CPF_PATTERN}', '\\1\\2', 'g')), '') ELSE ${text} END`
const wholeNumber = (column: string): string =>
  `CASE WHEN regexp_full_match(trim(${column}), '[0-9]{1,9}') THEN CAST(trim(${column}) AS INTEGER) END`
/** The usual cells need no trim(). */
const isOne = (column: string): string =>
  `CASE WHEN ${column} = '1' THEN true WHEN ${column} IN ('0', '2', '') THEN false ELSE coalesce(trim(${column}) = '1', false) END`
const decimalDegrees = (column: string): string => `TRY_CAST(replace(trim(${column}), ',', '.') AS DOUBLE)`
const degreesBetween = (column: string, low: number, high: number): string =>
  `CASE WHEN ${decimalDegrees(column)} BETWEEN ${low} AND ${high} THEN ${decimalDegrees(column)} END`
const EXPRESSIONS: Readonly<Record<RuleName, (column: string) => string>> = {
  text: trimmed,
  name: (column) => withoutCpf(trimmed(column)),
  cadger_name: (column) =>
    withoutCpf(
      `nullif(trim(regexp_replace(trim(${column}), '^CNPJ ([0-9./-]+|[0-9A-Z]{12}[0-9]{2}) ?-', '')), '')`,
    ),
  code1: (column) => padded(column, 1),
  code2: (column) => padded(column, 2),
  code3: (column) => padded(column, 3),
  code4: (column) => padded(column, 4),
  code7: (column) => padded(column, 7),
  cnpj: cnpjOf,
  postal_code: (column) =>
    `CASE WHEN regexp_full_match(trim(${column}), '[0-9]{8}') THEN trim(${column}) END`,
  phone: (column) => `CASE WHEN regexp_matches(${column}, '([0-9][^0-9]*){8}') THEN trim(${column}) END`,
  house_number: (column) => withoutCpf(trimmed(column)),
  quantity: wholeNumber,
  quantity_optional: wholeNumber,
  yes_no: (column) => `CASE trim(${column}) WHEN 'S' THEN true WHEN 'N' THEN false END`,
  yes_no_1_0: (column) => `CASE trim(${column}) WHEN '1' THEN true WHEN '0' THEN false END`,
  flag_1_2: (column) => isOne(column),
  flag_1_0: (column) => isOne(column),
  tp_sus: (column) => `CASE WHEN trim(${column}) IN ('1', '2', '9') THEN trim(${column}) ELSE '0' END`,
  ind_sus: (column) => `CASE WHEN trim(${column}) = '1' THEN '1' ELSE '2' END`,
  characteristic: (column) => `CASE WHEN trim(${column}) IN ('1', '2', '3') THEN trim(${column}) END`,
  management: (column) =>
    `CASE WHEN trim(${column}) IN ('M', 'E', 'D', 'S') THEN trim(${column}) WHEN trim(${column}) = 'Z' THEN 'S' END`,
  coordinate_latitude: (column) => degreesBetween(column, -34, 6),
  coordinate_longitude: (column) => degreesBetween(column, -74, -28),
  date_dmy: (column) =>
    `CASE WHEN TRY_CAST(try_strptime(trim(${column}), '%d/%m/%Y') AS DATE) >= DATE '1900-01-01' THEN CAST(try_strptime(trim(${column}), '%d/%m/%Y') AS DATE) END`,
  date_ym: (column) => `CAST(try_strptime(trim(${column}) || '01', '%Y%m%d') AS DATE)`,
  municipality: trimmed,
  managing_state: trimmed,
  federal_district_region: (column) =>
    `CASE WHEN regexp_matches(${column}, '^ *53[0-9]{4}') AND left(trim(${column}), 6) NOT IN ('530000', '530010') THEN left(trim(${column}), 6) || '0' END`,
  deactivated: (column) => `${trimmed(column)} IS NULL`,
  provider: trimmed,
}

/** @returns SQL of a rule applied to a quoted column */
export const applyRule = (rule: RuleName, column: string): string => EXPRESSIONS[rule](column)

/** Rules that look for a CPF inside a text, which is costly. */
const SEARCHING: ReadonlySet<RuleName> = new Set(['name', 'house_number'])

/**
 * The same value for less work: where a flag of the row already tells that none of its texts holds a CPF, searching rules
 * only trim. @param rowHoldsCpf SQL of that flag
 */
export const applyGuardedRule = (rule: RuleName, column: string, rowHoldsCpf: string): string =>
  SEARCHING.has(rule)
    ? `CASE WHEN ${rowHoldsCpf} THEN ${applyRule(rule, column)} ELSE ${trimmed(column)} END`
    : applyRule(rule, column)

/** SQL: does any of a row's searched texts hold a CPF? One search a row instead of one a cell and use. */
export function rowHoldsCpf(
  lineage: readonly { readonly column: string; readonly rule: RuleName }[],
  quote: (column: string) => string,
): string {
  const columns = lineage.filter(({ rule }) => SEARCHING.has(rule)).map(({ column }) => quote(column))
  return columns.length === 0 ? 'false' : holdsCpf(`concat_ws(' | ', ${columns.join(', ')})`)
}

/** SQL: names in lower case without accents, what search compares with. */
export const foldText = (text: string): string => `lower(strip_accents(${text}))`

/** SQL: does a text hold eleven digits in a row, the shape of a CPF? */
export const holdsCpf = (text: string): string => `regexp_matches(${text}, '${CPF_PATTERN}')`
