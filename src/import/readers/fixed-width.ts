/**
 * Reads fixed-width tables with a separate layout file, as SIGTAP publishes them. Cells are returned by column name, with their
 * padding. The tables have no header, so the first record is line 1.
 */
import { ImportError } from '../import-error.ts'
import { decodeText } from './windows-1252.ts'

export interface LayoutColumn {
  readonly name: string
  /** First character of the column, counted from 1. `to` is its last character. */
  readonly from: number
  readonly to: number
}

export interface FixedWidthTable {
  readonly lines: readonly { readonly row: number; readonly cells: Readonly<Record<string, string>> }[]
  /** Line numbers of lines that are too short for a requested column. */
  readonly unread: readonly number[]
}

/** @param bytes header `Coluna,Tamanho,Inicio,Fim,Tipo`, then one line per column; @throws ImportError for other content */
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
  const isValid = columns.every(
    (column) => column.name !== '' && column.from >= 1 && column.to >= column.from && column.to < 10_000,
  )
  if (columns.length === 0 || !isValid)
    throw new ImportError(
      file,
      'is no layout: it does not say where each column begins and ends',
      'Import the layout file as SIGTAP publishes it',
    )
  return columns
}

/** @throws ImportError if the layout lacks a requested column */
export function readFixedWidth(
  bytes: Buffer,
  file: string,
  layout: readonly LayoutColumn[],
  columnNames: readonly string[],
): FixedWidthTable {
  const columns = columnNames.map((name) => {
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
