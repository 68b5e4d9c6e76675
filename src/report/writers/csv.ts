/**
 * Cells → CSV (RFC 4180): UTF-8, comma, CR LF, a point before decimals. Pure.
 *
 * A text that a spreadsheet would take for a formula gets an apostrophe in front, as OWASP advises; numbers, negative ones
 * too, stay as they are. Nothing is an empty cell, an empty text a pair of quotes.
 */
import type { Cell, Column } from '../table.ts'

/** First characters by which spreadsheets take a text for a formula. */
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

/** @returns a text as a reader of the CSV gets it: an empty text as nothing, a would-be formula behind its apostrophe */
export const csvText = (cell: Cell): Cell =>
  cell === null || cell === '' ? null : FORMULA.test(cell) ? `'${cell}` : cell
