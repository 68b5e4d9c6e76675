/**
 * What a CNPJ is, as DuckDB expressions: fourteen digits, and since July 2026 also letters in the first twelve places. In: SQL
 * of a published text. Out: SQL. Absent on purpose: the columns that hold one (model/cnes/lineage.ts).
 *
 * Check digits of both forms are computed alike: each character counts as its ASCII code − 48, weighted, modulo 11
 * (Instrução Normativa RFB 2.229/2024).
 */

const WEIGHTS = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]
const CPF_WEIGHTS = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]

/** @returns SQL: the weighted characters of a text from a place on, modulo 11, as a check digit */
function checkDigit(text: string, from: number, weights: readonly number[]): string {
  const sum = weights.map((weight, index) => `${weight} * (ascii(${text}[${from + index}]) - 48)`).join(' + ')
  return `CASE WHEN (${sum}) % 11 < 2 THEN 0 ELSE 11 - (${sum}) % 11 END`
}
const endsIn = (text: string, place: number, digit: string): string =>
  `(ascii(${text}[${place}]) - 48) = ${digit}`

/**
 * Both check digits of a CNPJ, computed from its digits as one number: to read each character as a text took a quarter of the
 * import of a national month.
 * @param text SQL of fourteen digits
 */
function digitChecks(text: string): string {
  const digit = (place: number): string => `(n // ${10 ** (14 - place)}) % 10`
  const check = (weights: readonly number[]): string => {
    const sum = weights.map((weight, index) => `${weight} * (${digit(index + 1)})`).join(' + ')
    return `(11 - (${sum}) % 11) % 11 % 10`
  }
  const areRight = `${digit(13)} = ${check(WEIGHTS.slice(1))} AND ${digit(14)} = ${check(WEIGHTS)}`
  // The list of one element names the number, so that it is read once.
  return `list_transform([TRY_CAST(${text} AS BIGINT)], lambda n: ${areRight})[1]`
}

/** The same of letters, too. @param text SQL of fourteen digits or upper-case letters */
const cnpjChecks = (text: string): string =>
  `(${endsIn(text, 13, checkDigit(text, 1, WEIGHTS.slice(1)))} AND ${endsIn(text, 14, checkDigit(text, 1, WEIGHTS))})`

/** Are the last eleven of fourteen characters a CPF? @param text SQL of fourteen characters, the last eleven digits */
const holdsCpfAtEnd = (text: string): string =>
  `(${endsIn(text, 13, checkDigit(text, 4, CPF_WEIGHTS.slice(1)))} AND ${endsIn(text, 14, checkDigit(text, 4, CPF_WEIGHTS))})`

const isDigits = (text: string): string => `regexp_full_match(${text}, '[0-9]{14}')`
/** A CPF in a field of fourteen digits is written with three leading zeros; a CNPJ with three of them has a branch below 1000. */
const isPaddedCnpj = (text: string): string =>
  `(regexp_full_match(${text}, '000[0-9]{5}0[0-9]{5}') AND ${text} <> '00000000000000' AND ${digitChecks(text)})`
/**
 * Letters with right check digits; three characters in front of a CPF are no CNPJ, however its digits come out. They are rare:
 * CASE computes their checks for them alone, where AND may begin with what is dearest.
 */
const isLettered = (text: string): string =>
  `CASE WHEN regexp_full_match(${text}, '[0-9A-Za-z]{12}[0-9]{2}') AND NOT ${isDigits(text)} THEN ${cnpjChecks(`upper(${text})`)} AND NOT (regexp_full_match(${text}, '.{3}[0-9]{11}') AND ${holdsCpfAtEnd(text)}) ELSE false END`

/**
 * The rule `cnpj`. Digits are kept as they are published even where a check digit is wrong, as long as they cannot be a CPF;
 * letters only with right check digits, because any text of fourteen characters looks like them.
 *
 * @param column SQL of the published cell; @returns SQL of the CNPJ in upper case, or null
 */
export function cnpjOf(column: string): string {
  const text = `trim(${column})`
  return `CASE WHEN ${isDigits(text)} AND NOT starts_with(${text}, '000') THEN ${text} WHEN ${isPaddedCnpj(text)} THEN ${text} WHEN ${isLettered(text)} THEN upper(${text}) END`
}

/** SQL: is a text, without blanks around it, a CNPJ whose check digits are right? Null and blank are not. */
export const isCnpj = (text: string): string =>
  `coalesce(length(${text}) = 14 AND ((${isDigits(text)} AND NOT starts_with(${text}, '000') AND ${digitChecks(text)}) OR ${isPaddedCnpj(text)} OR ${isLettered(text)}), false)`

/** SQL: is there something where a CNPJ belongs that is none? Blanks and zeros are "none", not malformed. */
export const isMalformedCnpj = (text: string): string =>
  `(NOT regexp_full_match(coalesce(${text}, ''), '0*') AND NOT ${isCnpj(text)})`
