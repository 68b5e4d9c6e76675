/**
 * Reads cells of dBase files of deaths and births by the names of their columns, whose order and names differ between years.
 * Columns that are not named here are never read.
 */
import { ImportError } from '../import-error.ts'
import type { DbfColumn } from '../readers/dbf.ts'
import type { DbfHeader } from '../readers/dbf-records.ts'

export type CellNames<Cell extends string> = Readonly<Record<Cell, readonly string[]>>
type Cells<Cell extends string> = Readonly<Record<Cell, string | null>>

/**
 * @param required columns by cell, of which the file must have one each; @param optional columns of which it may have one
 * @param records kind of the records, for messages; @param dateCell cell that becomes a month by `monthOf`, so that its day is not kept
 * @returns a function that reads the trimmed cells of a row; null for a column that the file lacks
 * @throws ImportError if a required column is missing
 */
export function openNamedCells<Required extends string, Optional extends string>(
  file: string,
  { columns }: DbfHeader,
  required: CellNames<Required>,
  optional: CellNames<Optional>,
  records: string,
  dateCell: Required,
  monthOf: (text: string) => string,
): (bytes: Buffer, start: number) => Cells<Required | Optional> {
  const byName = new Map(columns.map((column): [string, DbfColumn] => [column.name.toUpperCase(), column]))
  const find = (names: readonly string[]): DbfColumn | undefined =>
    names.flatMap((name) => byName.get(name) ?? [])[0]
  const missing = Object.values<readonly string[]>(required).filter((names) => find(names) === undefined)
  if (missing.length > 0)
    throw new ImportError(
      file,
      `lacks the column ${missing.map((names) => names.join(' or ')).join(', ')} of a file of ${records}`,
      'Check that the file has its published name, or fetch it again',
    )
  const ranges = Object.entries<readonly string[]>({ ...required, ...optional }).map(
    ([cell, names]) => [cell, find(names)] as const,
  )
  return (bytes, start) => {
    const cells: Record<string, string | null> = {}
    for (const [cell, range] of ranges) {
      if (range === undefined) {
        cells[cell] = null
        continue
      }
      const published = bytes.toString('latin1', start + range.offset, start + range.offset + range.length)
      // NUL bytes fill blank cells of some years.
      const text = published.replaceAll('\u0000', ' ').trim()
      cells[cell] = cell === dateCell ? monthOf(text) : text
    }
    return cells as Cells<Required | Optional>
  }
}

/** @returns one text of all cells, equal for equal rows */
export const keyOfCells = (cells: Readonly<Record<string, string | null>>): string =>
  Object.values(cells)
    .map((cell) => cell ?? '-')
    .join('|')
