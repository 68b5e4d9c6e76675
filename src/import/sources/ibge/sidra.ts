/**
 * SIDRA in its four forms: the spreadsheet export (sheet Tabela), the wide CSV, the "values" API, the aggregates API v3.
 * Rows are those a user sees; of JSON, row is the position of the element, the label element being 1.
 */
import { ImportError } from '../../import-error.ts'
import { foldTitle, type Grid, type IbgeTable, SYNTHETIC_MARK, TableBuilder } from './types.ts'

const POPULATION_TABLES = new Set(['202', '793', '6579', '9514'])

/** Header rows vary in number: years stand in the last row above the data that holds years. */
export function readSidraTable(file: string, grid: Grid): IbgeTable {
  const number = /^Tabela (\d+)/.exec(grid[0]?.[0] ?? '')?.[1] ?? ''
  if (!POPULATION_TABLES.has(number))
    throw new ImportError(
      file,
      `is SIDRA table ${number || '?'}, not one of population (${[...POPULATION_TABLES].join(', ')})`,
      'Leave the file out',
    )
  const first = grid.findIndex((row) => /^\d{7}$/.test((row[0] ?? '').trim()))
  if (first < 0)
    throw new ImportError(
      file,
      'has no rows by municipality',
      'Export the table with codes of municipalities',
    )
  let years: { at: number; year: number }[] = []
  for (const row of grid.slice(0, first)) {
    const found = row.flatMap((cell, at) =>
      /^\d{4}$/.test(cell.trim()) ? [{ at, year: Number(cell.trim()) }] : [],
    )
    if (found.length > 0) years = found
  }
  if (years.length === 0)
    throw new ImportError(file, 'has no year in its header', 'Export the table with the year in a column')
  const table = new TableBuilder(file)
  for (let index = first; index < grid.length; index += 1) {
    const cells = grid[index] ?? []
    const code = (cells[0] ?? '').trim()
    if (!/^\d{7}$/.test(code)) break
    for (const { at, year } of years) table.addPopulation(index + 1, `${year}`, code, year, cells[at] ?? '')
  }
  return table.finish('sidra-table', false)
}

export function readSidraWide(file: string, grid: Grid): IbgeTable {
  const years = (grid[0] ?? []).slice(1).map(Number)
  if (years.some((year) => !Number.isInteger(year) || year < 1900))
    throw new ImportError(file, 'has a column that is no year', 'Use code_muni;year;year… as its header')
  const table = new TableBuilder(file)
  grid.forEach((cells, index) => {
    const code = (cells[0] ?? '').trim()
    if (index === 0 || code === '') return
    if (!/^\d{7}$/.test(code))
      throw new ImportError(
        file,
        `has a code that is not of seven digits (row ${index + 1})`,
        'Fetch the file again',
      )
    // An empty cell of this reshaped form is the mark "not available" of the original.
    years.forEach((year, at) => {
      const raw = (cells[at + 1] ?? '').trim()
      table.addPopulation(index + 1, `${year}`, code, year, raw === '' || raw === 'NA' ? '...' : raw)
    })
  })
  return table.finish('sidra-wide', false)
}

/** Which dimension is the place, the variable and the year is found by the labels of element 0. */
export function readSidraValues(file: string, value: readonly unknown[]): IbgeTable {
  const [labels, ...elements] = value as Record<string, string>[]
  const keys = Object.keys(labels ?? {})
  const find = (pattern: RegExp): string | undefined =>
    keys.find((key) => /^D\dC$/.test(key) && pattern.test(foldTitle(labels?.[key] ?? '')))
  const place = find(/^municipio/)
  const year = find(/^ano/)
  if (place === undefined || year === undefined)
    throw new ImportError(
      file,
      'lacks municipality or year among its dimensions',
      'Ask the API for n6 (municipalities) with codes',
    )
  const extra = keys.filter(
    (key) =>
      /^D\dN$/.test(key) &&
      ![place, year].includes(`${key.slice(0, 2)}C`) &&
      !/^variavel/.test(foldTitle(labels?.[key] ?? '')),
  )
  const table = new TableBuilder(file)
  elements.forEach((element, index) => {
    if (extra.some((key) => foldTitle(element[key] ?? '') !== 'total')) return
    const code = element[place] ?? ''
    const row = index + 2
    if (!/^\d{7}$/.test(code))
      throw new ImportError(
        file,
        `has an element without a municipality of seven digits (${row})`,
        'Ask the API for n6 alone',
      )
    table.addPopulation(row, 'V', code, Number(element[year]), String(element.V ?? ''))
  })
  return table.finish('sidra-values', String(labels?.V ?? '').includes(SYNTHETIC_MARK))
}

interface AggregateSeries {
  localidade: { id: string; nivel: { id: string } }
  serie: Record<string, string>
}
interface Aggregate {
  resultados: { classificacoes?: { categoria: Record<string, string> }[]; series: AggregateSeries[] }[]
}

export function readAggregates(file: string, value: readonly unknown[]): IbgeTable {
  const table = new TableBuilder(file)
  let row = 0
  for (const { resultados } of value as Aggregate[]) {
    const total = resultados.find(({ classificacoes = [] }) =>
      classificacoes.every(({ categoria }) =>
        Object.values(categoria).every((label) => foldTitle(label) === 'total'),
      ),
    )
    for (const { localidade, serie } of total?.series ?? []) {
      row += 1
      for (const [year, raw] of Object.entries(serie)) {
        if (localidade.nivel.id === 'N6')
          table.addPopulation(row, `serie.${year}`, localidade.id, Number(year), raw)
        else if (/^\d+$/.test(raw) && (localidade.nivel.id === 'N1' || localidade.nivel.id === 'N3'))
          table.totals.push({
            level: localidade.nivel.id === 'N1' ? 'BR' : 'UF',
            code: localidade.id,
            reference_year: Number(year),
            population: Number(raw),
          })
      }
    }
  }
  return table.finish('ibge-aggregates', false)
}
