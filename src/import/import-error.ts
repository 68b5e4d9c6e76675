/**
 * The error that an operator sees when a snapshot cannot be imported: the file, the problem and the remedy. Messages never
 * contain cell values, because cells may hold personal data and messages end in logs.
 */
export class ImportError extends Error {
  readonly file: string
  readonly problem: string
  readonly remedy: string

  /**
   * @param file path or name as the operator gave it
   * @param problem clause without a full stop
   * @param remedy clause without a full stop that says what the operator can do
   */
  constructor(file: string, problem: string, remedy: string) {
    super(`${file}: ${problem}. ${remedy}.`)
    this.name = 'ImportError'
    this.file = file
    this.problem = problem
    this.remedy = remedy
  }
}

/** The machine has too little memory or disk for the import. The cause is not a particular file. */
export class LimitReached extends ImportError {}

export const NAMED_ROWS = 3

/** @returns the first rows for a message: "row 7" or "rows 7, 9, 12 …" */
export const namedRows = (rows: readonly number[]): string =>
  `${rows.length === 1 ? 'row' : 'rows'} ${rows.slice(0, NAMED_ROWS).join(', ')}${rows.length > NAMED_ROWS ? ' …' : ''}`

/** A file of a general format (a spreadsheet) without known content. The import lists it as unknown instead of failing. */
export class UnknownContent extends ImportError {}
