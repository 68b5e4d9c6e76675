/** Conditions on cells of published rows, from which published-rows.ts and its neighbours build theirs. Pure. */

import type { PublishedRows } from '../../answers/analytics.ts'

/** A condition on one row. The text is the row's cells, each trimmed, joined by a blank. */
export type CellCondition = PublishedRows['where'][number]

export const equals = (columns: readonly string[], code: string): CellCondition => ({
  columns,
  pattern: `^${code}$`,
})
/** Matches a code. The code for missing values also matches every cell that does not have the form of a code. */
export const hasCode = (
  columns: readonly string[],
  code: string,
  missingCode: string,
  form: string,
): CellCondition =>
  code === missingCode ? { columns, pattern: `^${missingCode}$|^(?!${form}$)` } : equals(columns, code)

/**
 * Matches the six digits of a municipality code. Every code of the Federal District means Brasília. The "ignored" municipality of a state
 * stands for any unknown code.
 */
export function inMunicipality(column: string, code: string): CellCondition {
  if (code === '') return { columns: [column], pattern: '' }
  if (code.startsWith('53')) return { columns: [column], pattern: '^53' }
  return isIgnored(code) ? { columns: [column], pattern: '' } : equals([column], code.slice(0, 6))
}
export const isIgnored = (code: string): boolean => code === '' || /^(?!53)\d\d0000/.test(code)
