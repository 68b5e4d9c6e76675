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

/** A file of a general format (a spreadsheet) without known content. The import lists it as unknown instead of failing. */
export class UnknownContent extends ImportError {}

export const NAMED_ROWS = 3
const PLURALS = { row: 'rows', feature: 'features', municipality: 'municipalities' } as const

/** Numbers that a message names: rows of a table, features of a mesh, or codes of municipalities. */
export interface NamedNumbers {
  readonly noun: keyof typeof PLURALS
  readonly numbers: readonly number[]
}

/** @returns the first numbers for a message: "feature 7" or "rows 7, 9, 12 …" */
export const nameFirst = ({ noun, numbers }: NamedNumbers): string =>
  `${numbers.length === 1 ? noun : PLURALS[noun]} ${numbers.slice(0, NAMED_ROWS).join(', ')}${numbers.length > NAMED_ROWS ? ' …' : ''}`

export const namedRows = (rows: readonly number[]): string => nameFirst({ noun: 'row', numbers: rows })

const CLASSES = { ImportError, LimitReached, UnknownContent } as const

/** An ImportError as a message between processes. */
export type PackedError = readonly [
  className: keyof typeof CLASSES,
  file: string,
  problem: string,
  remedy: string,
]

export function packError(error: ImportError): PackedError {
  const className =
    error instanceof LimitReached
      ? 'LimitReached'
      : error instanceof UnknownContent
        ? 'UnknownContent'
        : 'ImportError'
  return [className, error.file, error.problem, error.remedy]
}

/** @returns an error of the same class and text */
export const unpackError = ([className, ...texts]: PackedError): ImportError =>
  new CLASSES[className](...texts)
