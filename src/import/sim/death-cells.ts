/** Meaning of published cells of deaths, fetal or not. Pure. Rules: sources of model/sim/layout.ts; unknown is never 0. */
import { causeGroupOf } from '../../model/classifications/cause-groups.ts'
import { RACE_NOT_INFORMED, RACE_OF_VITAL_RECORDS } from '../../model/classifications/races.ts'
import { chapterOf } from '../../model/sih/code-lists.ts'
import {
  type InfantAge,
  OLD_PLACES_OF_DEATH,
  PLACE_NOT_INFORMED,
  PLACES_OF_DEATH,
} from '../../model/sim/code-lists.ts'
import { CID10_FROM } from '../../model/sim/layout.ts'
import { monthOrUnknown } from '../aggregated/months-of-year.ts'

type Cell = string | null | undefined

/** TIPOBITO of a fetal death, which counts among no other deaths. */
export const FETAL = '1'

/** First year of the system; smaller two-digit years belong to this century. */
const FIRST_YEAR = 79
/** @param digits four, or the last two @returns a year from 1979 on */
export const yearOf = (digits: string): number =>
  digits.length === 4 ? Number(digits) : (Number(digits) >= FIRST_YEAR ? 1900 : 2000) + Number(digits)

/** @param month of the death by `monthOfDate` @returns YYYY00 of the year of the file where the month is not known */
export const periodOf = (month: Cell, year: number): string =>
  month === null || month === undefined || month === '' ? `${year}00` : month

export const sexOf = (cell: Cell): string => (cell === '1' ? 'M' : cell === '2' ? 'F' : '')
/** @param cell null where the file has no column of race @returns '' for such a file */
export const raceOf = (cell: Cell): string =>
  cell === null || cell === undefined ? '' : (RACE_OF_VITAL_RECORDS[cell] ?? RACE_NOT_INFORMED)
/** @param year of the file, whose codes are others before 1996 */
export function placeOf(cell: Cell, year: number): string {
  const code = (year < CID10_FROM ? OLD_PLACES_OF_DEATH[cell ?? ''] : cell) ?? ''
  return Object.hasOwn(PLACES_OF_DEATH, code) ? code : PLACE_NOT_INFORMED
}

export interface Cause {
  /** As published, without the filler X. */
  readonly code: string
  readonly isCid10: boolean
  /** Category, chapter and group; '' if unknown, and chapter and group also by CID-9. */
  readonly codes: readonly [category: string, chapter: string, group: string]
}
/** @param year of the file, which decides between CID-9 and CID-10 */
export function causeOf(cell: Cell, year: number): Cause {
  const code = (cell ?? '').replace(/X$/, '')
  const isCid10 = year >= CID10_FROM && /^[A-Z]\d{2}/.test(code)
  const isCid9 = year < CID10_FROM && /^\d{3}/.test(code)
  const category = isCid10 || isCid9 ? code.slice(0, 3) : ''
  const chapter = isCid10 ? (chapterOf(category) ?? '') : ''
  return { code, isCid10, codes: [category, chapter, isCid10 ? causeGroupOf(code) : ''] }
}

/** @param cell 7 digits to about 2005, 6 later @returns the 6 digits without the check digit; '' if unknown */
export const municipalityOf = (cell: Cell): string =>
  /^\d{6,7}$/.test(cell ?? '') ? (cell ?? '').slice(0, 6) : ''

/** @param cell DDMMAAAA, or AAMMDD before 1996 @returns YYYYMM; '' if the month or year is missing or impossible */
export function monthOfDate(cell: string): string {
  const isDayFirst = /^\d{8}$/.test(cell)
  if (!isDayFirst && !/^\d{6}$/.test(cell)) return ''
  const [year, month] = isDayFirst ? [cell.slice(4), cell.slice(2, 4)] : [cell.slice(0, 2), cell.slice(2, 4)]
  return monthOrUnknown(`${yearOf(year)}${month}`)
}

/** @param cell unit and two digits: 0 minutes, 1 hours, 2 days, 3 months, 4 years, 5 years above 100 @returns years, or null if unknown */
export function yearsOf(cell: string): number | null {
  if (!/^[0-5]\d{2}$/.test(cell) || cell === '000') return null
  const number = Number(cell.slice(1))
  if (cell[0] === '4') return number
  return cell[0] === '5' ? 100 + number : 0
}

/** Days of the first week, and of the first four weeks. */
const [EARLY_DAYS, NEONATAL_DAYS] = [7, 28]

/** @returns part of the first year of life, or null from one year on or if the age is unknown */
export function infantAgeOf(cell: string): InfantAge | null {
  const years = yearsOf(cell)
  if (years !== 0) return null
  const number = Number(cell.slice(1))
  if (cell[0] === '4') return 'unknown'
  if (cell[0] === '3') return 'post_neonatal'
  if (cell[0] !== '2' || number < EARLY_DAYS) return 'early_neonatal'
  return number < NEONATAL_DAYS ? 'late_neonatal' : 'post_neonatal'
}

/** Causes that are maternal when the woman was pregnant, or gave birth at most 42 days before. */
const MATERNAL_IF_PREGNANT = /^(B2[0-4]|D392|E230|F53|M830)/

/**
 * Applies the official rule: chapter XV and obstetric tetanus (A34), without late deaths (O96) and sequelae (O97); HIV, malignant
 * mole, necrosis of the pituitary, mental disorders of the puerperium and puerperal osteomalacia only in pregnancy or within 42 days.
 */
export function isMaternalDeath(
  cause: string,
  { pregnancy, puerperium, moment }: Readonly<Partial<Record<string, string | null>>>,
): boolean {
  if (/^(O9[67])/.test(cause)) return false
  if (/^(O|A34)/.test(cause)) return true
  const isWithin = pregnancy === '1' || puerperium === '1' || /^[1-4]$/.test(moment ?? '')
  return MATERNAL_IF_PREGNANT.test(cause) && isWithin
}

/** @returns whether a category is one of the four chronic groups: circulatory, cancer, diabetes, chronic respiratory */
export const isNcd = (category: string): boolean =>
  /^(I\d\d|C\d\d|E1[0-4]|J[3-9]\d)$/.test(category) && category <= 'J98' && !/^C9[89]$/.test(category)
