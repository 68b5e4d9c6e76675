/**
 * Recognises IBGE's file formats by content and reads them. In: file name and bytes. Out: municipalities and populations
 * with their source cells. The importer checks that the municipalities exist, because it has the list.
 */

import { type CellObject, read, type WorkSheet } from '@e965/xlsx'
import { ImportError, UnknownContent } from '../import-error.ts'
import { parseJson } from '../readers/json.ts'
import { refuseManyCells, refuseWideGrid } from '../readers/unpack-limits.ts'
import { findEstimatesHeader, readEstimates } from './estimates.ts'
import { foldTitle, type Grid, type IbgeTable, isRecord, numberAsText } from './ibge-table.ts'
import { findDtbHeader, readDtb, readLocalidades } from './municipality-lists.ts'
import { hasMonths, isPriceTable, readPriceSheet, readPriceValues } from './price-index.ts'
import { readAggregates, readSidraTable, readSidraValues, readSidraWide } from './sidra.ts'

export type { IbgeTable } from './ibge-table.ts'

const isXls = (head: Buffer): boolean => head.readUInt32BE(0) === 0xd0cf11e0
const isZip = (head: Buffer): boolean => head.readUInt32BE(0) === 0x504b0304

/** @param head first bytes of the file @returns true if readIbge() can read the file */
export function recogniseIbge(fileName: string, head: Buffer): boolean {
  if (head.length < 8) return false
  if (/\.xlsx?$/i.test(fileName)) return isXls(head) || isZip(head)
  const text = head.toString('utf8').replace(/^\uFEFF/, '')
  if (/\.csv$/i.test(fileName))
    return text.startsWith('code_muni;') || /^"?UF"?,.*Munic/i.test(text.split('\n')[0] ?? '')
  if (/\.json$/i.test(fileName))
    return /^\s*\[\s*\{/.test(text) && /"(D1C|resultados|microrregiao|regiao-imediata)"/.test(text)
  return false
}

export function readIbge(file: string, bytes: Buffer): IbgeTable {
  if (bytes.length === 0) throw new ImportError(file, 'is empty', 'Fetch the file again')
  if (/\.xlsx?$/i.test(file)) return readWorkbook(file, bytes)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ImportError(file, 'is not UTF-8', 'Import the file as IBGE publishes it')
  }
  if (/\.json$/i.test(file)) return readJson(file, bytes)
  const isWide = text.startsWith('code_muni;')
  refuseManyCells(file, bytes, isWide ? ';' : ',')
  const grid = splitCsv(text, isWide ? ';' : ',')
  const columns = grid[0]?.length ?? 0
  const last = grid.at(-1) ?? []
  // The last line may lack its line break. A file that ends inside a cell or before the last cell is truncated.
  const isOpen = /(^|[,;])"([^"]|"")*$/.test(text.slice(text.lastIndexOf('\n') + 1))
  if (!text.endsWith('\n') && (isOpen || last.length < columns))
    throw new ImportError(
      file,
      `is cut: its last line (${grid.length}) has ${last.length} of ${columns} values${isOpen ? ', the last without its end' : ''}`,
      'Fetch the file again',
    )
  grid.forEach((cells, index) => {
    if (cells.length !== columns && cells.some((cell) => cell !== ''))
      throw new ImportError(
        file,
        `has ${cells.length} values under ${columns} columns (row ${index + 1})`,
        'Fetch the file again',
      )
  })
  return isWide ? readSidraWide(file, grid) : readDtb(file, grid)
}

function readJson(file: string, bytes: Buffer): IbgeTable {
  const value = parseJson(bytes, file)
  const first: unknown = Array.isArray(value) ? value[0] : undefined
  if (!isRecord(first))
    throw new ImportError(file, 'is not an answer of the IBGE API', 'Fetch the file again')
  if ('resultados' in first) return readAggregates(file, value as unknown[])
  if (hasMonths(first)) return readPriceValues(file, value as unknown[])
  if ('D1C' in first) return readSidraValues(file, value as unknown[])
  return readLocalidades(file, value as unknown[])
}

function readWorkbook(file: string, bytes: Buffer): IbgeTable {
  const sheets = new Map<string, Grid>()
  try {
    const workbook = read(bytes, {
      type: 'buffer',
      dense: true,
      cellHTML: false,
      cellFormula: false,
      cellText: false,
    })
    for (const name of workbook.SheetNames) sheets.set(foldTitle(name), toGrid(file, workbook.Sheets[name]))
  } catch (error) {
    if (error instanceof ImportError) throw error
    throw new ImportError(file, 'is not a whole spreadsheet', 'Fetch the file again')
  }
  const table = sheets.get('tabela')
  if (table !== undefined)
    return isPriceTable(table) ? readPriceSheet(file, table) : readSidraTable(file, table)
  for (const grid of sheets.values()) {
    if (findEstimatesHeader(grid) >= 0) return readEstimates(file, grid, sheets.get('brasil e ufs') ?? null)
    if (findDtbHeader(grid) >= 0) return readDtb(file, grid)
  }
  throw new UnknownContent(
    file,
    'has no sheet this importer knows',
    'Import a municipality list, an estimate or a SIDRA table',
  )
}

/** Converts cells to text. Numbers come from the cell's value, never from its display format. */
function toGrid(file: string, sheet: WorkSheet | undefined): Grid {
  const rows = (sheet?.['!data'] ?? []) as (CellObject | undefined)[][]
  refuseWideGrid(file, rows)
  return Array.from(rows, (row) => Array.from(row ?? [], cellText))
}

function cellText(cell: CellObject | undefined): string {
  if (cell?.v === undefined || cell.v === null) return ''
  // An error cell (#N/A) holds an error number, such as 42, which must not be read as a population.
  if (cell.t === 'e') return '#'
  return typeof cell.v === 'number' ? numberAsText(cell.v) : String(cell.v)
}

/** Splits CSV with quoted cells. Line breaks inside cells are not supported, because IBGE's files have none. */
function splitCsv(text: string, separator: string): Grid {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line) => {
      if (!line.includes('"')) return line.split(separator)
      const cells =
        line.match(separator === ',' ? /("([^"]|"")*"|[^,]*)(,|$)/g : /("([^"]|"")*"|[^;]*)(;|$)/g) ?? []
      return cells.slice(0, line.endsWith(separator) ? undefined : -1).map((cell) =>
        cell
          .replace(/[,;]$/, '')
          .replace(/^"(.*)"$/s, '$1')
          .replaceAll('""', '"'),
      )
    })
}
