/**
 * DATASUS's population by municipality, sex and single year of age (POPSBRyy.zip → POPyy.dbf) → groups of five years.
 *
 * In: a dBase file of one year. Out: one row a municipality, sex and age group, with the cells it was added up from. The file
 * is whole or it is refused: a missing age would make its group too small without anybody seeing it. Whether a municipality
 * exists is checked against the list by the caller.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AGE_GROUP_YEARS, AGE_GROUPS, OPEN_AGE } from '../../model/demography/code-lists.ts'
import { sha256Hex } from '../../release/digest.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { type DbfColumn, type DbfTable, openDbf, readDbfColumns } from '../readers/dbf.ts'
import { quoteText, type Session } from '../session.ts'

const COLUMNS = ['COD_MUN', 'ANO', 'SEXO', 'IDADE', 'POP'] as const
/** Codes of SEXO, in the order of the file. */
const PUBLISHED_SEXES = ['M', 'F'] as const
const AGES = OPEN_AGE + 1
const CELLS = PUBLISHED_SEXES.length * AGES
/** All years are computed anew for each edition, whose files are made within days: two editions do not go together. */
const EDITION_DAYS = 31
const REMEDY = 'Fetch the file again'

export interface AgeSource {
  readonly snapshot: Snapshot
  readonly table: AgeTable
}

/** The cells of one file, by municipality. */
export interface AgeTable {
  readonly file: string
  readonly year: number
  /** Day the file says it was made, YYYYMMDD. */
  readonly edition: number
  /** Rows the file publishes. */
  readonly rows: number
  readonly deleted: number
  /** Code of 7 digits → its cells: sex by sex, age by age. */
  readonly municipalities: ReadonlyMap<number, MunicipalityCells>
  /** @returns the published cell of a row, blanks included; @param row as in `rows` */
  cellOf(row: number): string
}

interface MunicipalityCells {
  readonly population: Int32Array
  /** Row of the file, header = 1; 0 where there is none. */
  readonly rows: Int32Array
}

/** @param head first bytes of a file; @returns whether readPopulationByAge may be called */
export function recognisePopulationByAge(fileName: string, head: Buffer): boolean {
  if (!/\.dbf$/i.test(fileName)) return false
  const names = readDbfColumns(head).map(({ name }) => name.toUpperCase())
  return COLUMNS.every((column) => names.includes(column))
}

/** @throws ImportError naming file, row and what is wrong */
export function readPopulationByAge(file: string, bytes: Buffer): AgeTable {
  const table = openDbf(bytes, file)
  const [code, year, sex, age, population] = COLUMNS.map((name) => columnOf(table, name)) as [
    DbfColumn,
    DbfColumn,
    DbfColumn,
    DbfColumn,
    DbfColumn,
  ]
  const municipalities = new Map<number, MunicipalityCells>()
  let onlyYear = 0
  let deleted = 0
  for (let record = 0; record < table.records; record += 1) {
    if (table.isDeleted(record)) {
      deleted += 1
      continue
    }
    const start = table.headerLength + record * table.recordLength
    const read = (column: DbfColumn, digits: number, max: number): number => {
      const value = wholeNumber(bytes, start + column.offset, column.length, digits)
      if (value < 0 || value > max)
        throw new ImportError(
          file,
          `has ${column.name} "${table.text(record, column).trim()}" (row ${record + 2})`,
          REMEDY,
        )
      return value
    }
    const municipality = read(code, 7, 9_999_999)
    const ofYear = read(year, 4, 9999)
    const sexIndex = read(sex, 1, PUBLISHED_SEXES.length) - 1
    const ageIndex = read(age, 3, OPEN_AGE)
    if (sexIndex < 0) throw new ImportError(file, `has SEXO "0" (row ${record + 2})`, REMEDY)
    onlyYear ||= ofYear
    if (ofYear !== onlyYear)
      throw new ImportError(
        file,
        `holds the years ${onlyYear} and ${ofYear} (row ${record + 2})`,
        'Import the files as published, one a year',
      )
    let cells = municipalities.get(municipality)
    if (cells === undefined) {
      cells = { population: new Int32Array(CELLS), rows: new Int32Array(CELLS) }
      municipalities.set(municipality, cells)
    }
    const place = sexIndex * AGES + ageIndex
    if (cells.rows[place] !== 0)
      throw new ImportError(
        file,
        `has a municipality, sex and age twice (rows ${cells.rows[place]} and ${record + 2})`,
        REMEDY,
      )
    cells.population[place] = read(population, 0, 999_999_999)
    cells.rows[place] = record + 2
  }
  for (const [municipality, { rows }] of municipalities) {
    const missing = rows.filter((row) => row === 0).length
    if (missing > 0)
      throw new ImportError(
        file,
        `lacks ${missing} of the ${CELLS} rows of the municipality ${municipality}, one a sex and age`,
        REMEDY,
      )
  }
  if (municipalities.size === 0) throw new ImportError(file, 'has no municipality in it', REMEDY)
  // A slice of one text takes a fifth of the time of a text from bytes, and there are 900,000.
  const text = bytes.toString('latin1')
  return {
    file,
    year: onlyYear,
    edition: editionOf(bytes),
    rows: table.records,
    deleted,
    municipalities,
    cellOf(row) {
      const start = table.headerLength + (row - 2) * table.recordLength + population.offset
      return text.slice(start, start + population.length)
    },
  }
}

/** @throws ImportError as readPopulationByAge */
export async function readAgeSource({ name, path, archive }: FoundFile): Promise<AgeSource> {
  const bytes = await readFile(path)
  const table = readPopulationByAge(name, bytes)
  const { rows } = table
  const snapshot = {
    publisher: 'DATASUS',
    file: name,
    archive,
    bytes: bytes.length,
    sha256: sha256Hex(bytes),
    rows,
  }
  return { snapshot, table }
}

const columnOf = ({ columns }: DbfTable, wanted: string): DbfColumn => {
  const found = columns.find(({ name }) => name.toUpperCase() === wanted)
  if (found === undefined) throw new TypeError(`${wanted} is recognised before it is read`)
  return found
}

const BLANK = 0x20
/** @param digits how many there must be; 0: any number. @returns −1 for anything but digits between blanks */
function wholeNumber(bytes: Buffer, start: number, length: number, digits: number): number {
  let first = start
  let end = start + length
  while (first < end && bytes[first] === BLANK) first += 1
  while (end > first && bytes[end - 1] === BLANK) end -= 1
  if (end === first || (digits > 0 && end - first !== digits)) return -1
  let value = 0
  for (let at = first; at < end; at += 1) {
    const digit = (bytes[at] as number) - 0x30
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}

/** Day of the header's last change: the year from 1900 on, of which DATASUS writes the last two digits, month, day. */
function editionOf(bytes: Buffer): number {
  const [, year = 0, month = 0, day = 0] = bytes
  return (year < 80 ? 2000 + year : 1900 + year) * 10_000 + month * 100 + day
}

/** @throws ImportError for two files of one year, and for files of two editions */
export function checkEditions(tables: readonly AgeTable[]): void {
  const sorted = [...tables].sort((left, right) => left.edition - right.edition)
  for (const [index, table] of tables.entries()) {
    const other = tables.slice(0, index).find(({ year }) => year === table.year)
    if (other !== undefined)
      throw new ImportError(
        table.file,
        `is of ${table.year}, as ${other.file} is`,
        'Import one file of population by age for each year',
      )
  }
  const [first] = sorted
  const last = sorted.at(-1)
  if (first !== undefined && last !== undefined && dayOf(last.edition) - dayOf(first.edition) > EDITION_DAYS)
    throw new ImportError(
      last.file,
      `was made on ${isoDay(last.edition)}, and ${first.file} on ${isoDay(first.edition)}: each edition computes all years anew`,
      'Import the files of one edition',
    )
}

const isoDay = (day: number): string => String(day).replace(/(\d{4})(\d{2})(\d{2})/, '$1-$2-$3')
const dayOf = (day: number): number => Date.parse(isoDay(day)) / 86_400_000

/** What became of the rows of some files. */
export interface StagedAges {
  /** Rows of municipalities that the list lacks, by file. */
  readonly unknown: ReadonlyMap<string, number>
  /** Residents of the cells that were taken. */
  readonly population: number
}

/**
 * Makes the table population_by_age_in: municipality_code, reference_year, sex, age_group, population, source_file,
 * source_cells. @param listed codes of the municipalities there are
 * @param missing municipalities that a file lacks: their cells are null
 */
export async function stagePopulationByAge(
  session: Session,
  tables: readonly AgeTable[],
  listed: ReadonlySet<string>,
  missing: readonly { readonly file: string; readonly year: number; readonly codes: readonly number[] }[],
): Promise<StagedAges> {
  await session.run(
    `CREATE TABLE population_by_age_in (municipality_code VARCHAR, reference_year INTEGER, sex VARCHAR, age_group VARCHAR,
       population INTEGER, source_file VARCHAR, source_cells STRUCT(source_row INTEGER, raw_value VARCHAR)[])`,
  )
  const unknown = new Map<string, number>()
  let total = 0
  for (const [index, table] of tables.entries()) {
    const lines: string[] = []
    for (const [municipality, cells] of table.municipalities) {
      if (!listed.has(String(municipality))) {
        unknown.set(table.file, (unknown.get(table.file) ?? 0) + CELLS)
        continue
      }
      PUBLISHED_SEXES.forEach((sex, sexIndex) => {
        AGE_GROUPS.forEach((group, groupIndex) => {
          const first = sexIndex * AGES + groupIndex * AGE_GROUP_YEARS
          const end = Math.min(first + AGE_GROUP_YEARS, (sexIndex + 1) * AGES)
          let population = 0
          let published = ''
          for (let place = first; place < end; place += 1) {
            const row = cells.rows[place] as number
            population += cells.population[place] as number
            published += `${place === first ? '' : ','}${row}:${table.cellOf(row)}`
          }
          total += population
          lines.push(`${municipality}|${sex}|${group}|${population}|${published}`)
        })
      })
    }
    const path = join(session.scratch, `population-by-age-${index}.txt`)
    await writeFile(path, `${lines.join('\n')}\n`)
    await session.run(
      `INSERT INTO population_by_age_in
       SELECT municipality_code, ${table.year}, sex, age_group, population, ${quoteText(table.file)},
         list_transform(string_split(cells, ','), lambda cell: {'source_row': CAST(split_part(cell, ':', 1) AS INTEGER), 'raw_value': split_part(cell, ':', 2)})
       FROM read_csv(${quoteText(path)}, delim = '|', header = false, quote = '', escape = '', auto_detect = false,
         columns = {municipality_code: 'VARCHAR', sex: 'VARCHAR', age_group: 'VARCHAR', population: 'INTEGER', cells: 'VARCHAR'})`,
    )
  }
  for (const { file, year, codes } of missing)
    if (codes.length > 0)
      await session.run(
        `INSERT INTO population_by_age_in
         SELECT CAST(code AS VARCHAR), ${year}, sex, age_group, NULL, ${quoteText(file)}, []
         FROM (SELECT unnest([${codes.join(', ')}]) AS code), (SELECT DISTINCT sex, age_group FROM population_by_age_in)`,
      )
  return { unknown, population: total }
}
