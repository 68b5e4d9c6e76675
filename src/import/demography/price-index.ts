/**
 * Reads the monthly index of consumer prices (IPCA, SIDRA table 1737) from the "values" API and from the spreadsheet export.
 * In: a file's elements or sheet. Out: one row for each month with the published cell. Other variables of the table, such as
 * the variation in 12 months, are set aside.
 */

import { ImportError } from '../import-error.ts'
import { MONTH_NAMES } from '../readers/month-names.ts'
import type { Session } from '../session.ts'
import type { IbgeSource } from './ibge-sources.ts'
import { foldTitle, type Grid, type IbgeTable, isRecord, SYNTHETIC_MARK } from './ibge-table.ts'

/** SIDRA's code of the index number, whose base is December 1993 = 100. */
const INDEX_VARIABLE = '2266'
const INDEX_TABLE = '1737'
/** Decimals that the table publishes and the dataset stores. */
const INDEX_DECIMALS = 13

export interface PriceRow {
  readonly row: number
  readonly column: string
  readonly raw: string
  /** YYYYMM */
  readonly month: number
  /** Exact decimal digits with a point. */
  readonly index: string
}

/** @returns YYYYMM of a title such as "dezembro 1993"; null for any other text */
function monthOfTitle(title: string): number | null {
  const [, name = '', year = ''] = /^([a-z]+) (\d{4})$/.exec(foldTitle(title)) ?? []
  const month = MONTH_NAMES.indexOf(name)
  return month < 0 ? null : Number(year) * 100 + month + 1
}

export const isPriceTable = (grid: Grid): boolean =>
  new RegExp(`^tabela ${INDEX_TABLE}\\b`).test(foldTitle(grid[0]?.[0] ?? ''))

/** @param labels element 0 of a "values" answer @returns whether its dimensions are those of the price index */
export const hasMonths = (labels: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(labels).some(([key, label]) => /^D\dC$/.test(key) && /^mes\b/.test(foldTitle(String(label))))

/** Reads the spreadsheet, whose months stand in a header row or in the first column. */
export function readPriceSheet(file: string, grid: Grid): IbgeTable {
  if (!foldTitle(grid[1]?.[0] ?? '').startsWith('variavel - ipca - numero-indice'))
    throw new ImportError(
      file,
      'is of another variable than the index number of IPCA',
      'Export table 1737 with the variable "IPCA - Número-índice" alone',
    )
  const header = grid.findIndex((cells) => cells.some((cell) => monthOfTitle(cell) !== null))
  const titles = grid[header] ?? []
  const builder = new PriceBuilder(file)
  if (titles.slice(1).some((cell) => monthOfTitle(cell) !== null)) {
    const brazil = grid.findIndex((cells, index) => index > header && foldTitle(cells[0] ?? '') === 'brasil')
    titles.forEach((title, at) => {
      const month = monthOfTitle(title)
      if (month !== null) builder.add(brazil + 1, title, month, grid[brazil]?.[at] ?? '')
    })
  } else
    grid.forEach((cells, index) => {
      const month = monthOfTitle(cells[0] ?? '')
      if (month !== null) builder.add(index + 1, cells[0] ?? '', month, cells[1] ?? '')
    })
  return builder.finish('sidra-prices-table', false)
}

/** Reads the "values" API. Element 0 holds the labels, by which the dimensions are found. */
export function readPriceValues(file: string, value: readonly unknown[]): IbgeTable {
  const [first, ...elements] = value
  const labels = isRecord(first) ? first : {}
  const find = (pattern: RegExp): string =>
    Object.keys(labels).find((key) => /^D\dC$/.test(key) && pattern.test(foldTitle(String(labels[key])))) ??
    ''
  const [month, variable, place] = [find(/^mes\b/), find(/^variavel/), find(/^brasil/)]
  if (variable === '' || place === '')
    throw new ImportError(
      file,
      'lacks the variable or the country among its dimensions',
      'Ask the API for table 1737 with n1 (Brazil), variable 2266 and codes',
    )
  const builder = new PriceBuilder(file)
  elements.forEach((element, index) => {
    const cells = isRecord(element) ? element : {}
    const code = String(cells[month] ?? '')
    if (cells[variable] !== INDEX_VARIABLE) builder.leaveOut(index + 2)
    else builder.add(index + 2, 'V', /^\d{6}$/.test(code) ? Number(code) : 0, String(cells.V ?? ''))
  })
  return builder.finish('sidra-prices-values', String(labels.V ?? '').includes(SYNTHETIC_MARK))
}

class PriceBuilder {
  readonly #file: string
  readonly #prices: PriceRow[] = []
  readonly #setAside: { row: number; column: string; reason: string }[] = []

  constructor(file: string) {
    this.#file = file
  }

  leaveOut(row: number): void {
    this.#setAside.push({ row, column: 'V', reason: 'other_variable' })
  }

  /** @throws ImportError for a cell that is neither a positive number nor a mark, and for a month that is none */
  add(row: number, column: string, month: number, raw: string): void {
    const cell = raw.trim()
    if (month % 100 < 1 || month % 100 > 12)
      throw new ImportError(this.#file, `has a value without a month (row ${row})`, 'Fetch the file again')
    if (cell === '...' || cell === '..' || cell === '-') {
      this.#setAside.push({ row, column, reason: 'mark_not_available' })
      return
    }
    const index = readIndex(cell)
    if (index === null)
      throw new ImportError(
        this.#file,
        `has a cell that is no index number (row ${row}, ${column})`,
        'Fetch the file again',
      )
    this.#prices.push({ row, column, raw: cell, month, index })
  }

  /** @throws ImportError without months, for a month that is there twice, and for a month that lacks between two others */
  finish(family: string, synthetic: boolean): IbgeTable {
    const prices = this.#prices.sort((left, right) => left.month - right.month)
    if (prices.length === 0)
      throw new ImportError(this.#file, 'has no month of the price index', 'Fetch the file again')
    prices.forEach(({ month }, index) => {
      const next = prices[index + 1]?.month
      if (next !== undefined && next !== (month % 100 === 12 ? month + 89 : month + 1))
        throw new ImportError(
          this.#file,
          next === month ? `has the month ${month} twice` : `has no month between ${month} and ${next}`,
          'Fetch the whole series again',
        )
    })
    return {
      family,
      synthetic,
      published: prices.length + this.#setAside.length,
      municipalities: [],
      population: [],
      prices,
      set_aside: this.#setAside,
      totals: [],
    }
  }
}

/** @returns the decimal digits of a positive number, without zeros at its end; null for any other text */
function readIndex(cell: string): string | null {
  const [, units = '', fraction = '', power = '0'] =
    /^(\d{1,12})(?:[.,](\d+))?(?:e-(\d{1,2}))?$/.exec(cell) ?? []
  if (units === '') return null
  const moved = units.padStart(Number(power) + 1, '0')
  const at = moved.length - Number(power)
  const decimals = `${moved.slice(at)}${fraction}`.replace(/0+$/, '')
  const integer = moved.slice(0, at).replace(/^0+(?=\d)/, '')
  if (decimals.length > INDEX_DECIMALS || (integer === '0' && decimals === '')) return null
  return decimals === '' ? integer : `${integer}.${decimals}`
}

/** @returns the source of the series: the longest one, then the publisher's spreadsheet, then the name decides */
export const pickPrices = (sources: readonly IbgeSource[]): IbgeSource | null =>
  sources
    .filter(({ table }) => table.prices !== undefined)
    .sort(
      (left, right) =>
        (right.table.prices?.length ?? 0) - (left.table.prices?.length ?? 0) ||
        (left.table.family < right.table.family ? -1 : left.table.family > right.table.family ? 1 : 0) ||
        (left.snapshot.file < right.snapshot.file ? -1 : 1),
    )[0] ?? null

/** Creates the table price_index_out. @returns the counts that a manifest gets, from which queries know the months */
export async function stagePrices(
  session: Session,
  { snapshot, table: { prices = [] } }: IbgeSource,
): Promise<Readonly<Record<string, number>>> {
  // The release's writer casts the text to a decimal.
  await session.run(
    'CREATE TABLE price_index_out (index_month INTEGER, index_value VARCHAR, source_file VARCHAR, source_row INTEGER, source_column VARCHAR, raw_value VARCHAR)',
  )
  await session.append('price_index_out', (appender) => {
    for (const { row, column, raw, month, index } of prices) {
      appender.appendInteger(month)
      appender.appendVarchar(index)
      appender.appendVarchar(snapshot.file)
      appender.appendInteger(row)
      appender.appendVarchar(column)
      appender.appendVarchar(raw)
      appender.endRow()
    }
  })
  return {
    price_index: prices.length,
    price_index_first: prices[0]?.month ?? 0,
    price_index_last: prices.at(-1)?.month ?? 0,
  }
}
