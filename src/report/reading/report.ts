/** A report as it was read, whatever its format, and what its readers share. */
import type { ReportFormat } from '../formats.ts'
import type { ReportManifest } from '../manifest.ts'
import { type Cell, type Column, exactText } from '../table.ts'

export interface ReadReport {
  readonly format: ReportFormat
  readonly manifest: ReportManifest
  readonly header: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
  /** Where a cell of the table is, as a reader would say it: row and column count from 0. */
  readonly placeOf: (row: number, column: number) => string
  /** SHA-256 of the table as it stands in a CSV file; null for the other formats. */
  readonly tableSha256: string | null
  /** What is wrong around the table: formulas, a dictionary that is not that of the manifest. */
  readonly problems: readonly string[]
  /** All else that the file says, as position and text; the same of two files that say the same. */
  readonly others: readonly (readonly [position: string, text: string])[]
}

export interface ReportHead {
  readonly format: ReportFormat
  readonly manifest: ReportManifest
}

/** A value as text: a number with the decimals its column has. */
export const cellOf = (value: unknown, { decimals }: Column): Cell =>
  value === null || value === undefined
    ? null
    : typeof value === 'number'
      ? exactText(value, decimals)
      : String(value)

/** A report of a format that holds nothing but the table and the manifest. */
export const recordReport = (
  format: ReportFormat,
  manifest: ReportManifest,
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
): ReadReport => ({
  format,
  manifest,
  header,
  rows,
  placeOf: (row, column) => `row ${row + 1}, ${header[column] ?? column}`,
  tableSha256: null,
  problems: [],
  others: [],
})
