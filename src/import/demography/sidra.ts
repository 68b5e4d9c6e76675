/**
 * Reads SIDRA in four formats: the spreadsheet export (sheet Tabela), the wide CSV, the "values" API, the aggregates API v3.
 * Row numbers are those that a user sees. In JSON, a row number is the element's position, and the label element is 1.
 */
import { ImportError } from '../import-error.ts'
import {
  countedYear,
  foldTitle,
  type Grid,
  type IbgeTable,
  isRecord,
  numberAsText,
  SYNTHETIC_MARK,
  TableBuilder,
} from './ibge-table.ts'

/** Variables of the resident population: 93 in a census or count, 9324 in an estimate. Other variables are shares of it. */
const POPULATION_VARIABLES = new Set(['93', '9324'])
const POPULATION_TABLES = new Set(['202', '793', '6579', '9514'])

/** Reads a spreadsheet. Years are in the last header row that has any. All categories, of columns and rows, must be the total. */
export function readSidraTable(file: string, grid: Grid): IbgeTable {
  const number = /^Tabela (\d+)/.exec(grid[0]?.[0] ?? '')?.[1] ?? ''
  if (!POPULATION_TABLES.has(number))
    throw new ImportError(
      file,
      `is SIDRA table ${number || '?'}, not one of population (${[...POPULATION_TABLES].join(', ')})`,
      'Leave the file out',
    )
  if (!/^variavel - populacao residente( estimada)? \(pessoas\)$/.test(foldTitle(grid[1]?.[0] ?? '')))
    throw new ImportError(
      file,
      'is of another variable than the resident population in persons',
      'Export the table with that variable alone',
    )
  const first = grid.findIndex((row) => /^\d+$/.test((row[0] ?? '').trim()))
  if (first < 0)
    throw new ImportError(
      file,
      'has no rows by municipality',
      'Export the table with codes of municipalities',
    )
  const yearRow = grid.findLastIndex((row, index) => index < first && row.some(isYear))
  const years = (grid[yearRow] ?? []).flatMap((cell, at) =>
    isYear(cell) ? [{ at, year: Number(cell.trim()) }] : [],
  )
  if (years.length === 0)
    throw new ImportError(file, 'has no year in its header', 'Export the table with the year in a column')
  const notTotalError = new ImportError(
    file,
    'is split by sex, age or situation',
    'Export the table with the category Total alone',
  )
  const firstYearAt = years[0]?.at ?? 0
  const categories = grid.slice(yearRow + 1, first).flatMap((row) => row.slice(firstYearAt))
  if (categories.some((cell) => !['', 'total'].includes(foldTitle(cell)))) throw notTotalError
  const hasCodeColumn = foldTitle(grid[2]?.[0] ?? '').startsWith('cod')
  const table = new TableBuilder(file)
  for (let index = first; index < grid.length; index += 1) {
    const cells = grid[index] ?? []
    const code = (cells[0] ?? '').trim()
    // Skip the source and notes, which fill only the first column.
    if (cells.every((cell, at) => at === 0 || cell.trim() === '') && !/^\d+$/.test(code)) continue
    if (cells.slice(hasCodeColumn ? 2 : 1, firstYearAt).some((cell) => foldTitle(cell) !== 'total'))
      throw notTotalError
    for (const { at, year } of years) table.addPopulation(index + 1, `${year}`, code, year, cells[at] ?? '')
  }
  return table.finish('sidra-table', false)
}

const isYear = (cell: string): boolean => /^(19|20)\d\d$/.test(cell.trim())

export function readSidraWide(file: string, grid: Grid): IbgeTable {
  const titles = (grid[0] ?? []).slice(1)
  const years = titles.map(Number)
  if (!titles.every(isYear))
    throw new ImportError(file, 'has a column that is no year', 'Use code_muni;year;year… as its header')
  const table = new TableBuilder(file)
  grid.forEach((cells, index) => {
    const code = (cells[0] ?? '').trim()
    if (index === 0 || cells.every((cell) => cell.trim() === '')) return
    // An empty cell stands for the mark "not available" of the original table.
    years.forEach((year, at) => {
      const raw = (cells[at + 1] ?? '').trim()
      const censusYear = countedYear(file, year)
      table.addPopulation(index + 1, `${year}`, code, censusYear, raw === '' || raw === 'NA' ? '...' : raw)
    })
  })
  return table.finish('sidra-wide', false)
}

/** Reads the "values" API. The labels in element 0 identify the dimensions of territory, variable and year. */
export function readSidraValues(file: string, value: readonly unknown[]): IbgeTable {
  const [first, ...elements] = value
  const labels = textsOf(first)
  const dimensions = Object.keys(labels).filter((key) => /^D\dC$/.test(key))
  const find = (pattern: RegExp): string | undefined =>
    dimensions.find((key) => pattern.test(foldTitle(labels[key] ?? '')))
  const territory = find(/^municipio/)
  const year = find(/^ano/)
  const variable = find(/^variavel/)
  if (territory === undefined || year === undefined)
    throw new ImportError(
      file,
      'lacks municipality or year among its dimensions',
      'Ask the API for n6 (municipalities) with codes',
    )
  const categories = Object.keys(labels).filter(
    (key) => /^D\dN$/.test(key) && ![territory, year, variable].includes(`${key.slice(0, 2)}C`),
  )
  // Require names, because without them a category such as one sex looks like the total.
  if (
    dimensions.some(
      (key) => ![territory, year, variable].includes(key) && !(`${key.slice(0, -1)}N` in labels),
    )
  )
    throw new ImportError(
      file,
      'has a category by its code alone',
      'Ask the API for the names of the dimensions too',
    )
  const table = new TableBuilder(file)
  elements.forEach((element, index) => {
    const texts = textsOf(element)
    const row = index + 2
    if (variable !== undefined && !POPULATION_VARIABLES.has(texts[variable] ?? ''))
      table.leaveOut(row, 'V', 'other_variable')
    else if (categories.some((key) => foldTitle(texts[key] ?? '') !== 'total'))
      table.leaveOut(row, 'V', 'not_a_total')
    else table.addPopulation(row, 'V', texts[territory] ?? '', yearOf(texts[year]), texts.V ?? '')
  })
  return table.finish('sidra-values', (labels.V ?? '').includes(SYNTHETIC_MARK))
}

/** Reads the aggregates API. A row number counts the series of all variables. Totals of Brazil and states are kept for checks. */
export function readAggregates(file: string, value: readonly unknown[]): IbgeTable {
  const table = new TableBuilder(file)
  let row = 0
  for (const aggregate of recordsOf(value)) {
    const isPopulation = POPULATION_VARIABLES.has(String(aggregate.id))
    for (const result of recordsOf(aggregate.resultados)) {
      const isTotal = recordsOf(result.classificacoes).every(({ categoria }) =>
        Object.values(textsOf(categoria)).every((label) => foldTitle(label) === 'total'),
      )
      for (const { localidade, serie } of recordsOf(result.series)) {
        row += 1
        const territory = isRecord(localidade) ? localidade : {}
        const code = String(territory.id)
        // Without a level, a code of seven digits is a municipality, because no other level has seven.
        const level = textsOf(territory.nivel).id ?? (code.length === 7 ? 'N6' : undefined)
        for (const [year, value] of Object.entries(isRecord(serie) ? serie : {})) {
          const raw = textOf(value) ?? ''
          const column = `serie.${year}`
          if (level === 'N6' && !isPopulation) table.leaveOut(row, column, 'other_variable')
          else if (level === 'N6' && !isTotal) table.leaveOut(row, column, 'not_a_total')
          else if (level === 'N6') table.addPopulation(row, column, code, yearOf(year), raw)
          else if (isPopulation && isTotal && /^\d{1,9}$/.test(raw) && (level === 'N1' || level === 'N3'))
            table.totals.push({
              level: level === 'N1' ? 'BR' : 'UF',
              code,
              reference_year: yearOf(year),
              population: Number(raw),
            })
        }
      }
    }
  }
  return table.finish('ibge-aggregates', false)
}

const yearOf = (text: string | undefined): number => (/^\d{4}$/.test(text ?? '') ? Number(text) : Number.NaN)

const recordsOf = (value: unknown): Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isRecord) : []

/** Returns a string or number as text, or undefined for any other value. The API publishes values as strings. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'number' ? numberAsText(value) : typeof value === 'string' ? value : undefined

const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).flatMap(([key, field]) => {
      const text = textOf(field)
      return text === undefined ? [] : [[key, text]]
    }),
  )
