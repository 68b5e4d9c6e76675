/**
 * The one error an operator sees when a snapshot cannot be imported.
 *
 * In: the file (as the operator named it), what is wrong, what to do about it. Out: one sentence.
 * Absent on purpose: any value of a row. A cell may hold personal data, and messages end in logs.
 */
export class ImportError extends Error {
  readonly file: string
  readonly problem: string
  readonly remedy: string

  /**
   * @param file path or name of the published file
   * @param problem what is wrong, a clause without a full stop
   * @param remedy what the operator can change, a clause without a full stop
   */
  constructor(file: string, problem: string, remedy: string) {
    super(`${file}: ${problem}. ${remedy}.`)
    this.name = 'ImportError'
    this.file = file
    this.problem = problem
    this.remedy = remedy
  }
}

/** This machine lacks memory or disk for an import, whatever file is being read. */
export class LimitReached extends ImportError {}

/** Rows that a message names one by one. */
export const NAMED_ROWS = 3

/** @returns "row 7" or "rows 7, 9, 12 …": the first of some rows, for messages */
export const namedRows = (rows: readonly number[]): string =>
  `${rows.length === 1 ? 'row' : 'rows'} ${rows.slice(0, NAMED_ROWS).join(', ')}${rows.length > NAMED_ROWS ? ' …' : ''}`

/** A file of a general form (a spreadsheet) that holds nothing this importer knows: listed as not known, not an error. */
export class UnknownContent extends ImportError {}
