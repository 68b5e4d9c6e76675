/**
 * Cells of admissions files → values: numbers, codes, age groups, and what the importer keeps of a diagnosis. Pure functions.
 */
import { causeGroupOf } from '../../model/classifications/cause-groups.ts'
import { icsapGroupOf } from '../../model/classifications/icsap.ts'
import { RACE_NOT_INFORMED, RACES } from '../../model/classifications/races.ts'
import { AGE_GROUP_YEARS, AGE_GROUPS, OPEN_AGE } from '../../model/demography/code-lists.ts'
import { chapterOf, NO_FACILITY, NOT_INFORMED } from '../../model/sih/code-lists.ts'
import { CID10_FROM } from '../../model/sih/layout.ts'

const ZERO = 0x30
const BLANK = 0x20
const DOT = 0x2e
const MINUS = 0x2d

/**
 * Parses a dBase number into an integer in units of its last decimal, such as cents. An empty cell is unknown, not 0.
 * @param decimals number of decimals in the result; missing ones are filled with zeros
 * @returns NaN for an empty cell, any other content, or more decimals
 */
export function integerCell(bytes: Buffer, start: number, length: number, decimals: number): number {
  let position = start
  let end = start + length
  while (position < end && bytes[position] === BLANK) position += 1
  while (end > position && (bytes[end - 1] === BLANK || bytes[end - 1] === 0)) end -= 1
  const sign = bytes[position] === MINUS ? -1 : 1
  if (sign < 0) position += 1
  let value = 0
  let decimalDigits = -1
  let digits = 0
  for (; position < end; position += 1) {
    const byte = bytes[position] as number
    if (byte === DOT && decimalDigits < 0) decimalDigits = 0
    else if (byte >= ZERO && byte <= ZERO + 9) {
      value = value * 10 + byte - ZERO
      digits += 1
      if (decimalDigits >= 0) decimalDigits += 1
    } else return Number.NaN
  }
  const missingDecimals = decimals - Math.max(decimalDigits, 0)
  if (digits === 0 || missingDecimals < 0 || !Number.isSafeInteger(value)) return Number.NaN
  return sign * value * 10 ** missingDecimals
}

/** Codes of a diagnosis. A release has all of them but `code`. */
export interface Diagnosis {
  readonly category: string
  readonly chapter: string
  readonly icsapGroup: string
  readonly causeGroup: string
  readonly code: string
  /** Category, chapter, ICSAP group and cause group, joined by bars. */
  readonly key: string
}

/** @returns the digits of a municipality code, or '' for any other content */
export const parseMunicipality = (cell: string): string => /^\s*(\d+)\s*$/.exec(cell)?.[1] ?? ''
export const parseFacility = (cell: string): string =>
  /^\d{7}$/.test(cell.trim()) ? cell.trim() : NO_FACILITY
export const parseCode = (cell: string): string => (/^\d{2}$/.test(cell.trim()) ? cell.trim() : NOT_INFORMED)
/**
 * @param period YYYYMM of the file. CID-9 has codes that look like those of CID-10: V27.0 is an outcome of delivery.
 * @returns empty codes for a diagnosis that is not of CID-10
 */
export function parseDiagnosis(code: string, period: number): Diagnosis {
  if (period < CID10_FROM || !/^[A-Z]\d{2}[0-9A-Z]?$/.test(code))
    return { category: '', chapter: '', icsapGroup: '', causeGroup: '', code, key: '|||' }
  const category = code.slice(0, 3)
  const chapter = chapterOf(category) ?? ''
  const [icsapGroup, causeGroup] = [icsapGroupOf(code), causeGroupOf(code)]
  return {
    category,
    chapter,
    icsapGroup,
    causeGroup,
    code,
    key: `${category}|${chapter}|${icsapGroup}|${causeGroup}`,
  }
}

const SEXES: Readonly<Record<string, string>> = { '1': 'M', '2': 'F', '3': 'F' }

/** @returns '' for an unknown sex */
export const parseSex = (cell: string): string => SEXES[cell] ?? ''
export const parseRace = (cell: string): string => (RACES[cell] === undefined ? RACE_NOT_INFORMED : cell)

/**
 * @param unit 2 days, 3 months, 4 years, 5 years above 100; any other value is unknown
 * @param cell digits; a blank is an unknown number of years
 */
export function ageGroupOf(unit: string, cell: string): string {
  const age = /^\d+$/.test(cell) ? Number(cell) : Number.NaN
  const years = unit === '2' || unit === '3' ? 0 : unit === '4' ? age : unit === '5' ? 100 + age : Number.NaN
  if (Number.isNaN(years)) return ''
  return AGE_GROUPS[Math.floor(Math.min(years, OPEN_AGE) / AGE_GROUP_YEARS)] ?? ''
}
