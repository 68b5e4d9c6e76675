/**
 * Tables of fixed width with a layout file beside them, as SIGTAP publishes them → cells by the names of the layout.
 *
 * In: the bytes of both. Out: the cells with the blanks that fill them, and the line of each record; the first line of the
 * table is 1, because such a table has no header.
 */
import { ImportError } from '../import-error.ts'
import { decodeText } from './windows-1252.ts'

export interface LayoutColumn {
  readonly name: string
  /** Characters of a line, counted from 1, both included. */
  readonly from: number
  readonly to: number
}

export interface FixedWidthTable {
  readonly lines: readonly { readonly row: number; readonly cells: Readonly<Record<string, string>> }[]
  /** Lines that end before a wanted column begins. */
  readonly unread: readonly number[]
}

/** @param bytes `Coluna,Tamanho,Inicio,Fim,Tipo` and a line a column; @throws ImportError where it is not */
export function readLayout(bytes: Buffer, file: string): LayoutColumn[] {
  const [header = '', ...lines] = decodeText(bytes).split(/\r?\n/)
  const titles = header.split(',').map((title) => title.trim().toLowerCase())
  const [name, from, to] = ['coluna', 'inicio', 'fim'].map((title) => titles.indexOf(title))
  const columns = lines
    .filter((line) => line.trim() !== '')
    .map((line) => line.split(',').map((cell) => cell.trim()))
    .map((cells) => ({
      name: cells[name ?? -1] ?? '',
      from: Number(cells[from ?? -1]),
      to: Number(cells[to ?? -1]),
    }))
  const isWhole = columns.every(
    (column) => column.name !== '' && column.from >= 1 && column.to >= column.from && column.to < 10_000,
  )
  if (columns.length === 0 || !isWhole)
    throw new ImportError(
      file,
      'is no layout: it does not say where each column begins and ends',
      'Import the layout file as SIGTAP publishes it',
    )
  return columns
}

/** @throws ImportError where the layout lacks a wanted column */
export function readFixedWidth(
  bytes: Buffer,
  file: string,
  layout: readonly LayoutColumn[],
  wanted: readonly string[],
): FixedWidthTable {
  const columns = wanted.map((name) => {
    const found = layout.find((column) => column.name === name)
    if (found === undefined)
      throw new ImportError(
        file,
        `has no column ${name} in its layout file`,
        'Import the table and its layout of one edition',
      )
    return found
  })
  const lines: { row: number; cells: Record<string, string> }[] = []
  const unread: number[] = []
  for (const [index, line] of decodeText(bytes).split('\n').entries()) {
    const text = line.replace(/\r$/, '')
    if (text.trim() === '') continue
    if (columns.some(({ from }) => text.length < from)) unread.push(index + 1)
    else
      lines.push({
        row: index + 1,
        cells: Object.fromEntries(columns.map(({ name, from, to }) => [name, text.slice(from - 1, to)])),
      })
  }
  return { lines, unread }
}
