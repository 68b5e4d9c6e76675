/** Reads IBGE's municipality lists: DTB (spreadsheet of 2024, CSV of 2022) and the Localidades API. In: grid or JSON. */
import { ADMINISTRATIVE_REGIONS } from '../../model/cnes/codes/index.ts'
import { ImportError } from '../import-error.ts'
import { quoteText } from '../session.ts'
import { foldTitle, type Grid, type IbgeTable, isRecord, TableBuilder } from './ibge-table.ts'

const CODE_TITLE = 'codigo municipio completo'
const NAME_TITLE = 'nome_municipio'

/** @returns row index of the header, or -1. The spreadsheet has six title lines above it. */
export const findDtbHeader = (grid: Grid): number =>
  grid.findIndex((row, index) => index < 20 && row.some((cell) => foldTitle(cell) === CODE_TITLE))

export function readDtb(file: string, grid: Grid): IbgeTable {
  const header = findDtbHeader(grid)
  const titles = (grid[header] ?? []).map(foldTitle)
  const codeAt = titles.indexOf(CODE_TITLE)
  const nameAt = titles.indexOf(NAME_TITLE)
  if (codeAt < 0)
    throw new ImportError(file, 'lacks the column Código Município Completo', 'Fetch the file again')
  if (nameAt < 0) throw new ImportError(file, 'lacks the column Nome_Município', 'Fetch the file again')
  const table = new TableBuilder(file)
  const column = grid[header]?.[codeAt] ?? ''
  const nameColumn = grid[header]?.[nameAt] ?? ''
  grid.forEach((cells, index) => {
    if (index <= header || cells.every((cell) => cell.trim() === '')) return
    addMunicipality(file, table, index + 1, [column, nameColumn], cells[codeAt] ?? '', cells[nameAt] ?? '')
  })
  return table.finish('ibge-dtb', false)
}

/** @param value array of JSON objects with id (number) and nome; a row number is the element's index + 1 */
export function readLocalidades(file: string, value: readonly unknown[]): IbgeTable {
  const table = new TableBuilder(file)
  value.forEach((element, index) => {
    const { id, nome } = isRecord(element) ? element : {}
    addMunicipality(file, table, index + 1, ['id', 'nome'], String(id), typeof nome === 'string' ? nome : '')
  })
  return table.finish('ibge-localidades', false)
}

function addMunicipality(
  file: string,
  table: TableBuilder,
  row: number,
  [column, name_column]: readonly [code: string, name: string],
  code: string,
  name: string,
): void {
  if (!/^\d{7}$/.test(code.trim()) || name.trim() === '')
    throw new ImportError(
      file,
      `has a municipality without a code of seven digits and a name (row ${row})`,
      'Fetch the file again',
    )
  const ibge_code = Number(code.trim())
  if (table.hasMunicipality(ibge_code))
    throw new ImportError(file, `lists a municipality twice (row ${row})`, 'Fetch the file again')
  table.addMunicipality({ row, column, ibge_code, name: name.trim(), name_column, name_raw: name })
}

const REGION_COUNT = 19

/** SELECT of administrative regions 2 to 19 of the Federal District, in the registry's coding, as rows of the municipality list. */
export function administrativeRegions(): string {
  const nameRows = ADMINISTRATIVE_REGIONS.map(
    ([code = '', name = '']) => `(${Number(code)}, ${quoteText(name)})`,
  )
  return `SELECT (530000 + 10 * n) * 10, coalesce(named.name, 'Região administrativa ' || (530000 + 10 * n)), 53, 'ADMINISTRATIVE_REGION', NULL, NULL, NULL, NULL
       FROM range(2, ${REGION_COUNT + 1}) AS regions(n)
       LEFT JOIN (VALUES ${nameRows.join(', ')}) AS named(code, name) ON named.code = (530000 + 10 * n) * 10`
}
