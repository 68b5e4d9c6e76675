/** Parses the state and month at the end of DATASUS file names: UFAAMM. */
import { STATES } from '../../model/territory/states.ts'
import { ImportError } from '../import-error.ts'

/** Published files begin in 1992. Smaller two-digit years belong to this century. */
const FIRST_YEAR = 92

/** @returns YYYYMM from a two-digit year and a two-digit month */
export const periodOfDigits = (year: string, month: string): number =>
  ((Number(year) >= FIRST_YEAR ? 1900 : 2000) + Number(year)) * 100 + Number(month)

export function stateMonthOf(
  letters: string,
  year: string,
  month: string,
): { readonly uf: string; readonly period: number } | null {
  const uf = letters.toUpperCase()
  return STATES.some((state) => state.uf === uf) ? { uf, period: periodOfDigits(year, month) } : null
}

/**
 * Creates the error for a row whose state or month contradicts the file name.
 * @param row row number in the file; the header is row 1
 * @param column column that contradicts the name
 * @param isFirst true for the first row of the file
 */
export const rowUnlikeName = (
  file: string,
  { row, column, what, isFirst }: { row: number; column: string; what: 'state' | 'month'; isFirst: boolean },
): ImportError =>
  new ImportError(
    file,
    `has a row (${row}) of another ${what} than its name says (column ${column})`,
    isFirst
      ? 'Give the file its published name, with the state and month of its rows'
      : 'Fetch the file again: the rows before it are as its name says',
  )
