/** Conditions on cells of published rows, from which published-rows.ts and its neighbours build theirs. Pure. */

/** A condition on one row. The text is the row's cells, each trimmed, joined by a blank. */
export type CellCondition = {
  /** Columns of the file. A bar separates alternatives, of which the first existing column counts. A missing column is empty. */
  readonly columns: string[]
  readonly pattern: string
}

export type PublishedRows = {
  readonly count: number
  readonly where: CellCondition[]
  /** False where other rows may meet the conditions too: an unknown municipality, births (no month). */
  readonly is_exact: boolean
}

export const equals = (columns: string[], code: string): CellCondition => ({ columns, pattern: `^${code}$` })
/** Matches a code. The code for missing values also matches every cell that does not have the form of a code. */
export const hasCode = (columns: string[], code: string, missingCode: string, form: string): CellCondition =>
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
