/** File names that end in a state and a month, as DATASUS writes them: UFAAMM. In: letters and digits of a name. Out: state and month. */
import { STATES } from '../model/territory/states.ts'

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
