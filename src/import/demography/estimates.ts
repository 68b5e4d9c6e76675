/** Reads spreadsheets of IBGE's estimates (DOU) and of the population sent to the audit court (TCU). In: grids by sheet. */
import { STATES } from '../../model/territory/states.ts'
import { ImportError } from '../import-error.ts'
import {
  CENSUS_YEARS,
  foldTitle,
  type Grid,
  type IbgeTable,
  readPopulationCell,
  TableBuilder,
} from './ibge-table.ts'

const TITLES = ['uf', 'cod. uf', 'cod. munic', 'nome do municipio'] as const

/** @returns row index of the header of a municipal sheet, or -1 */
export const findEstimatesHeader = (grid: Grid): number =>
  grid.findIndex(
    (row, index) => index < 10 && TITLES.every((title, column) => foldTitle(row[column] ?? '') === title),
  )

/**
 * Reads one sheet. A code joins two digits of the state and five of the municipality.
 * The year is in the title line of an estimate, or in the title of a census's population column.
 */
export function readEstimates(file: string, grid: Grid, national: Grid | null): IbgeTable {
  const header = findEstimatesHeader(grid)
  const titles = grid[header] ?? []
  const column = (titles[4] ?? '').replaceAll(/\s+/g, ' ').trim()
  if (!foldTitle(column).startsWith('populacao'))
    throw new ImportError(file, 'lacks the column of the population', 'Fetch the file again')
  const title = foldTitle(
    grid
      .slice(0, header + 1)
      .flat()
      .join(' '),
  )
  const census = findCensusYear(file, title)
  const year = census ?? Number(/20\d\d|19\d\d/.exec(title)?.[0])
  if (!Number.isInteger(year))
    throw new ImportError(file, 'does not say the year in its title', 'Fetch the file again')
  const table = new TableBuilder(file)
  for (let index = header + 1; index < grid.length; index += 1) {
    const [, state = '', municipality = '', name = '', value = ''] = grid[index] ?? []
    // Skip the source and footnotes, which fill only the first column.
    if ([state, municipality, name, value].every((cell) => cell.trim() === '')) continue
    if (!/^\d{1,2}$/.test(state.trim()) || !/^\d{1,5}$/.test(municipality.trim()))
      throw new ImportError(
        file,
        `has a municipality without a code (row ${index + 1})`,
        'Fetch the file again',
      )
    table.addPopulation(
      index + 1,
      column,
      state.trim().padStart(2, '0') + municipality.trim().padStart(5, '0'),
      year,
      value,
    )
  }
  for (const row of national ?? []) addTotal(table, row, year)
  return table.finish(census === null ? 'ibge-estimates' : 'ibge-tcu', false)
}

/**
 * Finds the census year of a table, or null for an estimate. Tables for the audit court name several years: of publication,
 * of boundaries and of the census. IBGE made no estimate for 2023, so the table of 2023 holds the census of 2022.
 * @param title folded title of the sheet and its columns
 */
function findCensusYear(file: string, title: string): number | null {
  const census = /censo(?: demografico)?(?: de)? (\d{4})/.exec(title)?.[1]
  if (census !== undefined) return Number(census)
  if (/estimativa|estimada/.test(title)) return null
  const yearInName = /tcu.*pop(\d{4})/i.exec(file)?.[1]
  if (yearInName !== undefined && CENSUS_YEARS.has(Number(yearInName))) return Number(yearInName)
  return /lei complementar n\S* 143/.test(title) && /\b2023\b/.test(title) ? 2022 : null
}

function addTotal(table: TableBuilder, row: readonly string[], year: number): void {
  // Names may end in a footnote mark. Regions are skipped, because their states are read.
  const label = foldTitle((row[0] ?? '').split('(')[0] ?? '')
  const population = readPopulationCell(row[1] ?? '')
  if (typeof population !== 'number') return
  const state = STATES.find(({ name }) => foldTitle(name) === label)
  if (label === 'brasil') table.totals.push({ level: 'BR', code: '0', reference_year: year, population })
  else if (state !== undefined)
    table.totals.push({ level: 'UF', code: String(state.ibge_code), reference_year: year, population })
}
