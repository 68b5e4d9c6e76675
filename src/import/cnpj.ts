/**
 * DuckDB expressions that validate a CNPJ: fourteen digits, and since July 2026 also letters in the first twelve positions.
 * model/cnes/lineage.ts lists the columns that hold one. Both forms use the same check digits: the weighted sum of each
 * character's ASCII code − 48, modulo 11 (Instrução Normativa RFB 2.229/2024).
 */

const WEIGHTS = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]
const CPF_WEIGHTS = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]

/** @returns SQL of the check digit over the characters that start at position `from` (1-based) */
function checkDigit(text: string, from: number, weights: readonly number[]): string {
  const sum = weights.map((weight, index) => `${weight} * (ascii(${text}[${from + index}]) - 48)`).join(' + ')
  return `CASE WHEN (${sum}) % 11 < 2 THEN 0 ELSE 11 - (${sum}) % 11 END`
}
const hasCheckDigit = (text: string, position: number, digit: string): string =>
  `(ascii(${text}[${position}]) - 48) = ${digit}`

/**
 * Checks both check digits of a numeric CNPJ by integer arithmetic. Reading each character as text took a quarter of the import
 * of a national month.
 * @param text SQL of fourteen digits
 */
function hasNumericCnpjDigits(text: string): string {
  const digit = (position: number): string => `(n // ${10 ** (14 - position)}) % 10`
  const remainder = (weights: readonly number[]): string => {
    const sum = weights.map((weight, index) => `${weight} * (${digit(index + 1)})`).join(' + ')
    return `(11 - (${sum}) % 11) % 11 % 10`
  }
  const bothMatch = `${digit(13)} = ${remainder(WEIGHTS.slice(1))} AND ${digit(14)} = ${remainder(WEIGHTS)}`
  // The one-element list binds the number to a name, so that it is parsed once.
  return `list_transform([TRY_CAST(${text} AS BIGINT)], lambda n: ${bothMatch})[1]`
}

/** Checks both check digits of a CNPJ that may contain letters. @param text SQL of fourteen digits or upper-case letters */
const hasCnpjDigits = (text: string): string =>
  `(${hasCheckDigit(text, 13, checkDigit(text, 1, WEIGHTS.slice(1)))} AND ${hasCheckDigit(text, 14, checkDigit(text, 1, WEIGHTS))})`

/** Checks whether the last eleven characters form a CPF. @param text SQL of fourteen characters that end in eleven digits */
const endsWithCpf = (text: string): string =>
  `(${hasCheckDigit(text, 13, checkDigit(text, 4, CPF_WEIGHTS.slice(1)))} AND ${hasCheckDigit(text, 14, checkDigit(text, 4, CPF_WEIGHTS))})`

const isDigits = (text: string): string => `regexp_full_match(${text}, '[0-9]{14}')`
/** A CPF padded to fourteen digits also begins with 000. A real CNPJ that begins with 000 has a branch number below 1000. */
const isPaddedCnpj = (text: string): string =>
  `(regexp_full_match(${text}, '000[0-9]{5}0[0-9]{5}') AND ${text} <> '00000000000000' AND ${hasNumericCnpjDigits(text)})`
/**
 * Accepts a CNPJ with letters if its check digits match. Three characters followed by a CPF are always rejected. Such texts are
 * rare, and CASE computes the checks only for them, while AND might evaluate the most expensive term first.
 */
const isCnpjWithLetters = (text: string): string =>
  `CASE WHEN regexp_full_match(${text}, '[0-9A-Za-z]{12}[0-9]{2}') AND NOT ${isDigits(text)} THEN ${hasCnpjDigits(`upper(${text})`)} AND NOT (regexp_full_match(${text}, '.{3}[0-9]{11}') AND ${endsWithCpf(text)}) ELSE false END`

/**
 * Implements the rule `cnpj`. Fourteen digits that cannot be a CPF are kept even if a check digit is wrong. Texts with letters
 * need matching check digits, because any fourteen characters look like one.
 * @param column SQL of the published cell
 * @returns SQL of the CNPJ in upper case, or null
 */
export function cnpjOf(column: string): string {
  const text = `trim(${column})`
  return `CASE WHEN ${isDigits(text)} AND NOT starts_with(${text}, '000') THEN ${text} WHEN ${isPaddedCnpj(text)} THEN ${text} WHEN ${isCnpjWithLetters(text)} THEN upper(${text}) END`
}

/** @returns SQL that is true for a trimmed text with matching check digits; null and blank give false */
export const isCnpj = (text: string): string =>
  `coalesce(length(${text}) = 14 AND ((${isDigits(text)} AND NOT starts_with(${text}, '000') AND ${hasNumericCnpjDigits(text)}) OR ${isPaddedCnpj(text)} OR ${isCnpjWithLetters(text)}), false)`

/** @returns SQL that is true for an invalid CNPJ; blanks and zeros mean that there is none, so they give false */
export const isMalformedCnpj = (text: string): string =>
  `(NOT regexp_full_match(coalesce(${text}, ''), '0*') AND NOT ${isCnpj(text)})`
