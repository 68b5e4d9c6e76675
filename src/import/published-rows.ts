/**
 * Finds the rows of a published admissions, production, deaths or births file that match the conditions of a lineage response. It returns
 * row numbers and only the cells that the importer reads. Dates of discharge, death and birth are excluded, because the importer uses
 * only their month; conditions may test a date of death.
 */
import { READ_COLUMNS } from '../model/sia/layout.ts'
import { OPTIONAL_COLUMNS, REQUIRED_COLUMNS } from '../model/sih/layout.ts'
import { READ_COLUMNS as DEATH_COLUMNS, COLUMN_NAMES as OF_DEATHS } from '../model/sim/layout.ts'
import { READ_COLUMNS as BIRTH_COLUMNS, COLUMN_NAMES as OF_BIRTHS } from '../model/sinasc/layout.ts'
import { type DbfHeader, readDbfRecords } from './readers/dbf-records.ts'

const DATES: readonly string[] = [...OF_DEATHS.date, ...OF_BIRTHS.date]
const VISIBLE_COLUMNS: readonly string[] = [
  ...REQUIRED_COLUMNS.filter((column) => column !== 'DT_SAIDA'),
  ...OPTIONAL_COLUMNS,
  ...READ_COLUMNS,
  ...[...DEATH_COLUMNS, ...BIRTH_COLUMNS].filter((column) => !DATES.includes(column)),
]
/** Columns that conditions may test. */
const TESTED_COLUMNS: readonly string[] = [...VISIBLE_COLUMNS, ...OF_DEATHS.date]

export interface FoundRow {
  /** Row number as in a spreadsheet: the header is row 1. */
  readonly row: number
  readonly cells: Readonly<Record<string, string>>
}
export interface FoundRows {
  readonly sha256: string
  readonly count: number
  readonly rows: readonly FoundRow[]
}
interface Condition {
  readonly columns: readonly string[]
  readonly pattern: string
}

/** @throws ImportError for an invalid file; Error if a condition names a column that is not read */
export async function findPublishedRows(
  path: string,
  where: readonly Condition[],
  page: { readonly limit: number; readonly offset: number },
): Promise<FoundRows> {
  for (const name of where.flatMap(({ columns }) => columns.flatMap((column) => column.split('|'))))
    if (!TESTED_COLUMNS.includes(name)) throw new Error(`${name} is no column that the importer reads`)
  const rows: FoundRow[] = []
  let count = 0
  const { sha256 } = await readDbfRecords(path, path, ({ columns }: DbfHeader) => {
    const byName = new Map(columns.map((column) => [column.name, column]))
    const visibleColumns = columns.filter(({ name }) => VISIBLE_COLUMNS.includes(name))
    const tests = where.map(({ columns: columnNames, pattern }) => ({
      places: columnNames.map((names) => names.split('|').flatMap((name) => byName.get(name) ?? [])[0]),
      pattern: new RegExp(pattern),
    }))
    const cell = (bytes: Buffer, start: number, column: (typeof columns)[number] | undefined): string =>
      column === undefined
        ? ''
        : bytes.toString('latin1', start + column.offset, start + column.offset + column.length).trim()
    return (bytes, start, record) => {
      const matches = tests.every(({ places, pattern }) =>
        pattern.test(places.map((column) => cell(bytes, start, column)).join(' ')),
      )
      if (!matches) return
      count += 1
      if (count > page.offset && rows.length < page.limit)
        rows.push({
          row: record + 2,
          cells: Object.fromEntries(
            visibleColumns.map((column) => [column.name, cell(bytes, start, column)]),
          ),
        })
    }
  })
  return { sha256, count, rows }
}
