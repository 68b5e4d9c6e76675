/**
 * Formats cells as CSV (RFC 4180): UTF-8, comma, CR LF, decimal point. Pure.
 *
 * A text that a spreadsheet would interpret as a formula gets a leading apostrophe, as OWASP advises. Numbers stay unchanged, even
 * negative ones. Null is an empty cell, and an empty text is a pair of quotes.
 */
import type { Cell, Column } from '../table.ts'

/** First characters that make spreadsheets interpret a text as a formula. */
const FORMULA = /^[=+\-@\t\r]/

export const csvLine = (cells: readonly Cell[], columns: readonly Pick<Column, 'type'>[]): string =>
  `${cells.map((cell, index) => csvCell(cell, columns[index]?.type !== 'text')).join(',')}\r\n`

export const csvHeader = (columns: readonly Pick<Column, 'name'>[]): string =>
  `${columns.map(({ name }) => name).join(',')}\r\n`

function csvCell(cell: Cell, isNumber: boolean): string {
  if (cell === null) return ''
  if (isNumber) return cell
  const safe = FORMULA.test(cell) ? `'${cell}` : cell
  return safe === '' || /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** @returns a text as a CSV reader receives it: null for an empty text, with the apostrophe for a formula */
export const csvText = (cell: Cell): Cell =>
  cell === null || cell === '' ? null : FORMULA.test(cell) ? `'${cell}` : cell
