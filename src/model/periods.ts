/**
 * The dimensions of time: the month, and the periods that consist of months. Values and pure functions only.
 *
 * A period has an integer code inside the service: YYYYMM for a month, YYYYN for the N-th quarter or quadrimester of a year, YYYY for a
 * year. Requests and answers show it as `2025-05`, `2025-Q2`, `2025-C1` and 2025.
 */
import type { DimensionDeclaration } from './types.ts'

/** Number of months of a period, from the shortest on. */
const LENGTHS = {
  reference_period: 1,
  reference_quarter: 3,
  reference_quadrimester: 4,
  reference_year: 12,
} as const
export type TimeDimension = keyof typeof LENGTHS
export const TIME_DIMENSIONS = Object.keys(LENGTHS) as TimeDimension[]
export const isTime = (code: string): code is TimeDimension => Object.hasOwn(LENGTHS, code)
export const lengthOf = (dimension: TimeDimension): number => LENGTHS[dimension]

const coarse = (label: string, label_en: string, column: TimeDimension): DimensionDeclaration => ({
  label,
  label_en,
  column,
  integer: true,
  member: null,
  order: 'code',
  tier: 'extended',
})
export const DIMENSIONS = {
  reference_year: coarse('Ano', 'Year', 'reference_year'),
  reference_quarter: coarse('Trimestre', 'Quarter', 'reference_quarter'),
  reference_quadrimester: coarse('Quadrimestre', 'Quadrimester', 'reference_quadrimester'),
} as const satisfies Record<string, DimensionDeclaration>
/** Periods coarser than a month, which every fact with months has. */
export const COARSE_PERIODS = ['reference_year', 'reference_quarter', 'reference_quadrimester'] as const

const MONTHS = 12
/** Number of periods since year 0. */
function indexOf(dimension: TimeDimension, code: number): number {
  const perYear = MONTHS / LENGTHS[dimension]
  const base = baseOf(dimension)
  return Math.floor(code / base) * perYear + (code % base) - (base === 1 ? 0 : 1)
}
/** Number that the year of a code is multiplied by. */
const baseOf = (dimension: TimeDimension): number =>
  dimension === 'reference_period' ? 100 : dimension === 'reference_year' ? 1 : 10
function codeAt(dimension: TimeDimension, index: number): number {
  const perYear = MONTHS / LENGTHS[dimension]
  const base = baseOf(dimension)
  return Math.floor(index / perYear) * base + (base === 1 ? 0 : (index % perYear) + 1)
}

/** @param month YYYYMM @returns the period that the month lies in */
export const periodOf = (dimension: TimeDimension, month: number): number =>
  codeAt(dimension, Math.floor(indexOf('reference_period', month) / LENGTHS[dimension]))

/** @returns the months of a period, YYYYMM, ascending */
export function monthsOfPeriod(dimension: TimeDimension, code: number): number[] {
  const first = indexOf(dimension, code) * LENGTHS[dimension]
  return Array.from({ length: LENGTHS[dimension] }, (_, month) => codeAt('reference_period', first + month))
}

/** @param count number of periods; negative for earlier ones */
export const shiftPeriod = (dimension: TimeDimension, code: number, count: number): number =>
  codeAt(dimension, indexOf(dimension, code) + count)

/** @returns number of months from the beginning of one period to the beginning of another */
export const monthsApart = (dimension: TimeDimension, from: number, to: number): number =>
  (indexOf(dimension, to) - indexOf(dimension, from)) * LENGTHS[dimension]

const LETTERS: Readonly<Partial<Record<TimeDimension, string>>> = {
  reference_quarter: 'Q',
  reference_quadrimester: 'C',
}

/** @returns a period as requests and answers show it */
export function showPeriod(dimension: TimeDimension, code: number): string | number {
  if (dimension === 'reference_year') return code
  const base = baseOf(dimension)
  const part = code % base
  return `${Math.floor(code / base)}-${LETTERS[dimension] ?? ''}${dimension === 'reference_period' ? String(part).padStart(2, '0') : part}`
}

const PATTERNS: Readonly<Record<TimeDimension, RegExp>> = {
  reference_period: /^(\d{4})-?(0[1-9]|1[0-2])$/,
  reference_quarter: /^(\d{4})-?Q([1-4])$/i,
  reference_quadrimester: /^(\d{4})-?C([1-3])$/i,
  reference_year: /^(\d{4})$/,
}
/** How a period is written, in an error. */
export const PERIOD_FORMS: Readonly<Record<TimeDimension, { readonly pt: string; readonly en: string }>> = {
  reference_period: { pt: 'AAAA-MM', en: 'YYYY-MM' },
  reference_quarter: { pt: 'AAAA-Q1 a AAAA-Q4', en: 'YYYY-Q1 to YYYY-Q4' },
  reference_quadrimester: { pt: 'AAAA-C1 a AAAA-C3', en: 'YYYY-C1 to YYYY-C3' },
  reference_year: { pt: 'AAAA', en: 'YYYY' },
}

/** @returns the code of a period as a request writes it; null when the text is no such period */
export function readPeriod(dimension: TimeDimension, text: string): number | null {
  const match = PATTERNS[dimension].exec(text)
  return match === null ? null : Number(match[1]) * baseOf(dimension) + Number(match[2] ?? 0)
}

/** @returns the finest dimension of time among the groups; null when they have none */
export const finestTime = (groups: readonly string[]): TimeDimension | null =>
  TIME_DIMENSIONS.find((code) => groups.includes(code)) ?? null
