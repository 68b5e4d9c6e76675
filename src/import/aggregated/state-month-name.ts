/** File names that end in a state and a month, as DATASUS writes them: UFAAMM. In: letters and digits of a name. Out: state and month. */
import { STATES } from '../../model/territory/states.ts'
import { ImportError } from '../import-error.ts'

/** Files begin in 1992: later digits are of this century. */
const FIRST_YEAR = 92

/** @returns YYYYMM of two digits of a year and two of a month */
export const periodOfDigits = (year: string, month: string): number =>
  ((Number(year) >= FIRST_YEAR ? 1900 : 2000) + Number(year)) * 100 + Number(month)

/** @returns state and month (YYYYMM) of a name, or null where the letters are no state */
export function stateMonthOf(
  letters: string,
  year: string,
  month: string,
): { readonly uf: string; readonly period: number } | null {
  const uf = letters.toUpperCase()
  return STATES.some((state) => state.uf === uf) ? { uf, period: periodOfDigits(year, month) } : null
}

/**
 * The error about a row that does not fit the name of its file.
 * @param row of the file, header = 1 @param column that says so @param isFirst all rows before it fit the name
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
