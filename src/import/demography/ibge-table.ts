/** Defines the table that every IBGE reader returns, with the source cell of each row, and parses single cells. */
import { ImportError } from '../import-error.ts'
import type { PriceRow } from './price-index.ts'

export type PopulationType = 'CENSUS_POPULATION' | 'ESTIMATED_POPULATION'

export interface MunicipalityRow {
  readonly row: number
  readonly column: string
  readonly ibge_code: number
  readonly name: string
  readonly name_column: string
  readonly name_raw: string
}

export interface PopulationRow {
  readonly row: number
  readonly column: string
  readonly raw: string
  readonly municipality_code: string
  readonly reference_year: number
  readonly population_type: PopulationType
  readonly population: number
}

export interface SetAsideCell {
  readonly row: number
  readonly column: string
  readonly reason: string
}

export interface IbgeTable {
  readonly family: string
  readonly synthetic: boolean
  /** Number of cells: municipalities + population + prices + set_aside. */
  readonly published: number
  readonly municipalities: readonly MunicipalityRow[]
  readonly population: readonly PopulationRow[]
  /** Months of the price index; absent in other tables. */
  readonly prices?: readonly PriceRow[]
  /** Cells with a mark in place of a number, and cells of other variables or of a category other than the total. */
  readonly set_aside: readonly SetAsideCell[]
  readonly totals: readonly {
    readonly level: 'BR' | 'UF'
    readonly code: string
    readonly reference_year: number
    readonly population: number
  }[]
}

export const SYNTHETIC_MARK = 'sus-data demonstration'
export const CENSUS_YEARS: ReadonlySet<number> = new Set([2000, 2010, 2022])
/** Census year by year without an estimate. For 2023 IBGE published only the census of 2022, sent to the audit court (TCU). */
const COUNTED_FOR = new Map([[2023, 2022]])
/** @returns the census year that a table for the audit court (by file name) holds for a year; other tables keep the year */
export const countedYear = (file: string, year: number): number =>
  /tcu/i.test(file) ? (COUNTED_FOR.get(year) ?? year) : year
const populationTypeOf = (year: number): PopulationType =>
  CENSUS_YEARS.has(year) ? 'CENSUS_POPULATION' : 'ESTIMATED_POPULATION'

/** Cells of a sheet or CSV as text, in file order. Index 0 is row 1. */
export type Grid = readonly (readonly string[])[]

export class TableBuilder {
  readonly #file: string
  readonly municipalities: MunicipalityRow[] = []
  readonly population: PopulationRow[] = []
  readonly setAside: SetAsideCell[] = []
  readonly totals: IbgeTable['totals'][number][] = []

  constructor(file: string) {
    this.#file = file
  }

  readonly #codes = new Set<number>()

  hasMunicipality(code: number): boolean {
    return this.#codes.has(code)
  }

  addMunicipality(row: MunicipalityRow): void {
    this.#codes.add(row.ibge_code)
    this.municipalities.push(row)
  }

  /**
   * Adds a published population cell, or sets it aside if it holds a mark.
   * Dots separate thousands and a footnote follows in brackets: `460.434(1)` is 460434.
   * @throws ImportError with row and column for any other cell
   */
  addPopulation(row: number, column: string, code: string, year: number, raw: string): void {
    if (!/^\d{7}$/.test(code))
      throw new ImportError(
        this.#file,
        `has a code that is not of seven digits (row ${row}, ${column})`,
        'Export or ask for municipalities alone, with their codes of seven digits',
      )
    if (!Number.isInteger(year))
      throw new ImportError(this.#file, `has a value without a year (row ${row})`, 'Fetch the file again')
    const value = readPopulationCell(raw)
    if (value === null)
      throw new ImportError(
        this.#file,
        `has a cell that is neither a number nor a mark (row ${row}, ${column})`,
        'Fetch the file again',
      )
    const census = COUNTED_FOR.get(year)
    if (census !== undefined && typeof value === 'number')
      throw new ImportError(
        this.#file,
        `has a population of ${year} (row ${row}), a year that IBGE made no estimate of: it is the count of ${census}`,
        'Keep the published name of the file, e.g. POP_TCU_2023_Municipios_POP2022_Malha2023.xls, or leave it out',
      )
    if (typeof value === 'string') this.setAside.push({ row, column, reason: value })
    else
      this.population.push({
        row,
        column,
        raw,
        municipality_code: code,
        reference_year: year,
        population_type: populationTypeOf(year),
        population: value,
      })
  }

  /** Sets aside a cell that is not a municipality's total: another variable, or one sex, age or situation. */
  leaveOut(row: number, column: string, reason: 'other_variable' | 'not_a_total'): void {
    this.setAside.push({ row, column, reason })
  }

  finish(family: string, synthetic: boolean): IbgeTable {
    if (this.municipalities.length + this.population.length === 0)
      throw new ImportError(this.#file, 'has no municipality in it', 'Fetch the file again')
    const seen = new Set<string>()
    for (const { municipality_code, reference_year, row } of this.population) {
      const key = `${municipality_code} ${reference_year}`
      if (seen.has(key))
        throw new ImportError(
          this.#file,
          `has a municipality twice for one year (row ${row})`,
          'Fetch the file again',
        )
      seen.add(key)
    }
    return {
      family,
      synthetic,
      published: this.municipalities.length + this.population.length + this.setAside.length,
      municipalities: this.municipalities,
      population: this.population,
      set_aside: this.setAside,
      totals: this.totals,
    }
  }
}

/** @returns the population, the reason for a mark, or null for any other text */
export function readPopulationCell(raw: string): number | string | null {
  const cell = (raw.split('(')[0] ?? '').trim()
  if (cell === '-') return 0
  if (cell === '...') return 'mark_not_available'
  if (cell === '..') return 'mark_not_applicable'
  if (cell === 'X') return 'mark_suppressed'
  if (/^[A-Z]$/.test(cell)) return 'mark_range'
  const digits = /^\d{1,3}(\.\d{3})+$/.test(cell) ? cell.replaceAll('.', '') : cell
  return /^\d{1,9}$/.test(digits) ? Number(digits) : null
}

/** Formats a number as text. Fractions get a decimal comma, so that 18.834 is never read as 18834. */
export const numberAsText = (value: number): string =>
  Number.isInteger(value) ? String(value) : String(value).replace('.', ',')

/** True for a JSON object, false for arrays and null. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Normalizes a title for comparison: no case, accents, line breaks or repeated blanks. */
export const foldTitle = (title: string): string =>
  title
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
