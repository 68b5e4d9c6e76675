/**
 * The rows of a published file of admissions or of production that meet conditions on cells. In: a file, conditions as a lineage
 * answer has them. Out: their numbers, and the cells that the importer reads: no other column has a reader, nor has the date of discharge.
 */
import { READ_COLUMNS } from '../model/sia/layout.ts'
import { OPTIONAL_COLUMNS, REQUIRED_COLUMNS } from '../model/sih/layout.ts'
import { type DbfHeader, readDbfRecords } from './readers/dbf-records.ts'

/** Columns whose cells may be shown. */
const SHOWN: readonly string[] = [
  ...REQUIRED_COLUMNS.filter((column) => column !== 'DT_SAIDA'),
  ...OPTIONAL_COLUMNS,
  ...READ_COLUMNS,
]

export interface FoundRow {
  /** As in a table program: the header is row 1. */
  readonly row: number
  readonly cells: Readonly<Record<string, string>>
}
export interface FoundRows {
  readonly sha256: string
  /** Rows that meet the conditions. */
  readonly count: number
  /** The page of them that was asked for. */
  readonly rows: readonly FoundRow[]
}
interface Condition {
  readonly columns: readonly string[]
  readonly pattern: string
}

/** @throws ImportError where it is no such file; Error where a condition names a column that is not read */
export async function findPublishedRows(
  path: string,
  where: readonly Condition[],
  page: { readonly limit: number; readonly offset: number },
): Promise<FoundRows> {
  for (const name of where.flatMap(({ columns }) => columns.flatMap((column) => column.split('|'))))
    if (!SHOWN.includes(name)) throw new Error(`${name} is no column that the importer reads`)
  const rows: FoundRow[] = []
  let count = 0
  const { sha256 } = await readDbfRecords(path, path, ({ columns }: DbfHeader) => {
    const byName = new Map(columns.map((column) => [column.name, column]))
    const shown = columns.filter(({ name }) => SHOWN.includes(name))
    const tests = where.map(({ columns: named, pattern }) => ({
      places: named.map((names) => names.split('|').flatMap((name) => byName.get(name) ?? [])[0]),
      pattern: new RegExp(pattern),
    }))
    const cell = (bytes: Buffer, start: number, place: (typeof columns)[number] | undefined): string =>
      place === undefined
        ? ''
        : bytes.toString('latin1', start + place.offset, start + place.offset + place.length).trim()
    return (bytes, start, record) => {
      const isMet = tests.every(({ places, pattern }) =>
        pattern.test(places.map((place) => cell(bytes, start, place)).join(' ')),
      )
      if (!isMet) return
      count += 1
      if (count > page.offset && rows.length < page.limit)
        rows.push({
          row: record + 2,
          cells: Object.fromEntries(shown.map((place) => [place.name, cell(bytes, start, place)])),
        })
    }
  })
  return { sha256, count, rows }
}
