/** A parsed report of any format, and helpers that all readers share. */
import type { ReportFormat } from '../formats.ts'
import type { ReportManifest } from '../manifest.ts'
import { type Cell, type Column, exactText } from '../table.ts'

export interface ReadReport {
  readonly format: ReportFormat
  readonly manifest: ReportManifest
  readonly header: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
  /** Names the position of a cell for people; row and column count from 0. */
  readonly placeOf: (row: number, column: number) => string
  /** SHA-256 of the table in a CSV file; null for other formats. */
  readonly tableSha256: string | null
  /** Problems outside the table, such as formulas or a dictionary that contradicts the manifest. */
  readonly problems: readonly string[]
  /** All other content of the file, as position and text. Files with the same content have the same list. */
  readonly others: readonly (readonly [position: string, text: string])[]
}

export interface ReportHead {
  readonly format: ReportFormat
  readonly manifest: ReportManifest
}

/** Converts a value to text, a number with the decimals of its column. */
export const cellOf = (value: unknown, { decimals }: Column): Cell =>
  value === null || value === undefined
    ? null
    : typeof value === 'number'
      ? exactText(value, decimals)
      : String(value)

/** Creates the parsed report of a format whose files hold nothing but the table and the manifest. */
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
