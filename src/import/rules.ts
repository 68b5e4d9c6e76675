/**
 * Translates each rule of model/rules.ts into a DuckDB expression over a quoted text column of a staged table. Only the importer
 * uses this file; no request reaches it.
 */
import type { RuleName } from '../model/rules.ts'
import { cnpjOf } from './cnpj.ts'

/** Calls trim() only if a text begins or ends with a blank. trim() scans the whole text, and most texts do not need it. */
const trimIfNeeded = (column: string): string =>
  `CASE WHEN ${[' ', '\u00a0'].map((blank) => `starts_with(${column}, '${blank}') OR ends_with(${column}, '${blank}')`).join(' OR ')} THEN trim(${column}) ELSE ${column} END`
const trimToNull = (column: string): string => `nullif(${trimIfNeeded(column)}, '')`
const padCode = (column: string, width: number): string =>
  `CASE WHEN length(trim(${column})) BETWEEN 1 AND ${width} THEN lpad(trim(${column}), ${width}, '0') ELSE ${trimToNull(column)} END`
/** Matches eleven digits, with or without points and dash, that are not part of a longer number. */
const CPF_PATTERN = '(^|[^0-9])[0-9]{3}\\.?[0-9]{3}\\.?[0-9]{3}-?[0-9]{2}($|[^0-9])'
const removeCpf = (text: string): string =>
  `CASE WHEN regexp_matches(${text}, '${CPF_PATTERN}') THEN nullif(trim(regexp_replace(regexp_replace(${text}, '${CPF_PATTERN}', '\\1\\2', 'g'), '${CPF_PATTERN}', '\\1\\2', 'g')), '') ELSE ${text} END`
const integer = (column: string): string =>
  `CASE WHEN regexp_full_match(trim(${column}), '[0-9]{1,9}') THEN CAST(trim(${column}) AS INTEGER) END`
/** Tests the usual values first, because they need no trim(). */
const equalsOne = (column: string): string =>
  `CASE WHEN ${column} = '1' THEN true WHEN ${column} IN ('0', '2', '') THEN false ELSE coalesce(trim(${column}) = '1', false) END`
const decimalDegrees = (column: string): string => `TRY_CAST(replace(trim(${column}), ',', '.') AS DOUBLE)`
const degreesBetween = (column: string, low: number, high: number): string =>
  `CASE WHEN ${decimalDegrees(column)} BETWEEN ${low} AND ${high} THEN ${decimalDegrees(column)} END`
const EXPRESSIONS: Readonly<Record<RuleName, (column: string) => string>> = {
  text: trimToNull,
  name: (column) => removeCpf(trimToNull(column)),
  cadger_name: (column) =>
    removeCpf(
      `nullif(trim(regexp_replace(trim(${column}), '^CNPJ ([0-9./-]+|[0-9A-Z]{12}[0-9]{2}) ?-', '')), '')`,
    ),
  code1: (column) => padCode(column, 1),
  code2: (column) => padCode(column, 2),
  code3: (column) => padCode(column, 3),
  code4: (column) => padCode(column, 4),
  code7: (column) => padCode(column, 7),
  cnpj: cnpjOf,
  postal_code: (column) =>
    `CASE WHEN regexp_full_match(trim(${column}), '[0-9]{8}') THEN trim(${column}) END`,
  phone: (column) => `CASE WHEN regexp_matches(${column}, '([0-9][^0-9]*){8}') THEN trim(${column}) END`,
  house_number: (column) => removeCpf(trimToNull(column)),
  quantity: integer,
  quantity_optional: integer,
  yes_no: (column) => `CASE trim(${column}) WHEN 'S' THEN true WHEN 'N' THEN false END`,
  yes_no_1_0: (column) => `CASE trim(${column}) WHEN '1' THEN true WHEN '0' THEN false END`,
  flag_1_2: (column) => equalsOne(column),
  flag_1_0: (column) => equalsOne(column),
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
  municipality: trimToNull,
  managing_state: trimToNull,
  federal_district_region: (column) =>
    `CASE WHEN regexp_matches(${column}, '^ *53[0-9]{4}') AND left(trim(${column}), 6) NOT IN ('530000', '530010') THEN left(trim(${column}), 6) || '0' END`,
  deactivated: (column) => `${trimToNull(column)} IS NULL`,
  provider: trimToNull,
}

export const applyRule = (rule: RuleName, column: string): string => EXPRESSIONS[rule](column)

/** Rules that search a text for a CPF, which is expensive. */
const RULES_THAT_SEARCH: ReadonlySet<RuleName> = new Set(['name', 'house_number'])

/**
 * Applies a rule, but skips the search for a CPF if the row is known to hold none.
 * @param rowHoldsCpf SQL of a flag that tells whether any searched text of the row holds a CPF
 */
export const applyGuardedRule = (rule: RuleName, column: string, rowHoldsCpf: string): string =>
  RULES_THAT_SEARCH.has(rule)
    ? `CASE WHEN ${rowHoldsCpf} THEN ${applyRule(rule, column)} ELSE ${trimToNull(column)} END`
    : applyRule(rule, column)

/** @returns SQL that is true if any searched text of a row holds a CPF: one search per row instead of one per cell */
export function rowHoldsCpf(
  lineage: readonly { readonly column: string; readonly rule: RuleName }[],
  quote: (column: string) => string,
): string {
  const columns = lineage.filter(({ rule }) => RULES_THAT_SEARCH.has(rule)).map(({ column }) => quote(column))
  return columns.length === 0 ? 'false' : holdsCpf(`concat_ws(' | ', ${columns.join(', ')})`)
}

/** @returns SQL of the text in lower case without accents, for search */
export const foldText = (text: string): string => `lower(strip_accents(${text}))`

/** @returns SQL that is true if a text holds eleven digits in the form of a CPF */
export const holdsCpf = (text: string): string => `regexp_matches(${text}, '${CPF_PATTERN}')`
