/**
 * Months that files of a year cover, and the rows whose month is missing or impossible, which are stored in the month 00 of the year.
 */
import type { PublicationStatus } from './publication-status.ts'

interface YearFile {
  readonly uf: string
  /** Last month (1 to 12) that has rows; 0 without any. */
  readonly lastMonth: number
  readonly withoutMonth: number
  /** '' where no folder says it. */
  readonly publication_status: PublicationStatus | ''
}

const MONTHS = 12
/**
 * A year under way ends with the last month that has rows. A final file is of all months, and so is one whose rows all lack a month.
 * Without rows, a file is of all months unless its folder is of preliminary ones; January then says that it is empty.
 */
function lastMonthOf({ lastMonth, withoutMonth, publication_status }: Omit<YearFile, 'uf'>): number {
  const isOfAllMonths =
    publication_status === 'final' || (lastMonth === 0 && (publication_status === '' || withoutMonth > 0))
  return isOfAllMonths ? MONTHS : Math.max(1, lastMonth)
}

/** @returns the months (YYYYMM) that files of a year cover */
export const monthsOfYear = (period: number, files: readonly Omit<YearFile, 'uf'>[]): number[] =>
  Array.from(
    { length: Math.max(...files.map(lastMonthOf)) },
    (_, index) => Math.floor(period / 100) * 100 + index + 1,
  )

/** @returns the month YYYYMM; '' where its year or its month is impossible */
export const monthOrUnknown = (month: string): string =>
  /^(19|20)\d\d(0[1-9]|1[0-2])$/.test(month) ? month : ''

/** @returns the month 00 (YYYY00) of a year whose files have rows without a month; otherwise none */
export const monthZero = (
  period: number,
  files: readonly Pick<YearFile, 'withoutMonth'>[],
): readonly number[] =>
  files.some(({ withoutMonth }) => withoutMonth > 0) ? [Math.floor(period / 100) * 100] : []

/** @returns counts of the manifest by state of the file, for notes of answers */
export const countsWithoutMonth = (
  records: 'deaths' | 'fetal_deaths' | 'births',
  year: number,
  files: readonly Pick<YearFile, 'uf' | 'withoutMonth'>[],
): Record<string, number> =>
  Object.fromEntries(
    files
      .filter(({ withoutMonth }) => withoutMonth > 0)
      .map(({ uf, withoutMonth }) => [`${records}_without_month_${uf}_${year}`, withoutMonth]),
  )
