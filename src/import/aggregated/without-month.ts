/** Counts and names the rows of a year whose month is missing or impossible. They are stored in the month 00 of the year. */

interface YearFile {
  readonly uf: string
  readonly withoutMonth: number
}

/** @returns the month YYYYMM; '' where its year or its month is impossible */
export const monthOrUnknown = (month: string): string =>
  /^(19|20)\d\d(0[1-9]|1[0-2])$/.test(month) ? month : ''

/** @returns the month 00 (YYYY00) of a year whose files have rows without a month; otherwise none */
export const monthZero = (period: number, files: readonly YearFile[]): readonly number[] =>
  files.some(({ withoutMonth }) => withoutMonth > 0) ? [Math.floor(period / 100) * 100] : []

/** @returns counts of the manifest by state of the file, for notes of answers */
export const countsWithoutMonth = (
  records: 'deaths' | 'fetal_deaths' | 'births',
  year: number,
  files: readonly YearFile[],
): Record<string, number> =>
  Object.fromEntries(
    files
      .filter(({ withoutMonth }) => withoutMonth > 0)
      .map(({ uf, withoutMonth }) => [`${records}_without_month_${uf}_${year}`, withoutMonth]),
  )
