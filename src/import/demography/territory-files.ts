/**
 * Files that say which health region and macro-region a municipality lies in: DATASUS's territorial base (tables in CSV) and
 * TabWin's conversion tables (.cnv). In: the files of an import, by name. Out: one edition's files by what each says, and the
 * rows of a table.
 *
 * Header names, delimiters and encodings change from edition to edition, and one package holds several tables that claim to be
 * the health regions and disagree. So a table is read by sets of names, and two files that say the same thing are refused: a
 * release has one edition, and which one only the operator can say.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256Hex } from '../../release/digest.ts'
import type { Snapshot } from '../../release/manifest.ts'
import type { FoundFile } from '../discover.ts'
import { ImportError } from '../import-error.ts'
import { readTextFile } from '../readers/unpack-limits.ts'
import { decodeText } from '../readers/windows-1252.ts'
import { quoteText, type Session } from '../session.ts'

/** What a file of an edition says. */
export type TerritoryRole =
  | 'regions of municipalities'
  | 'macro-regions of municipalities'
  | 'names of regions'
  | 'names of macro-regions'

const ROLES: readonly (readonly [TerritoryRole, RegExp])[] = [
  ['regions of municipalities', /^(rl_municip_regsaud\w*\.csv|(br_regsaud\w*|cirbr|cgrbr|rsaudbr)\.cnv)$/i],
  ['macro-regions of municipalities', /^(rl_municip_macsaud\w*\.csv|(br_macsaud\w*|msaudbr)\.cnv)$/i],
  ['names of regions', /^tb_regsaud\w*\.csv$/i],
  ['names of macro-regions', /^tb_macsaud\w*\.csv$/i],
]
/** Tables of the territorial base, in any of the formats it holds them in. */
const BASE_TABLE =
  /^(tb_(uf|terrcid|regsaud|regmetr|regiao|pndr|municip|mis|micibge|macsaud|dsei|divadm|divadmant)|rl_(municip|regsaud)_\w+)(_layout)?\.(csv|txt|dbf|xml)$/i
const MONTHS = ['jan', 'fev', 'mar', 'abr', 'mai', 'jun', 'jul', 'ago', 'set', 'out', 'nov', 'dez']

/** @returns what a file of this name says of health regions; null for other files */
export const territoryRole = (name: string): TerritoryRole | null =>
  ROLES.find(([, form]) => form.test(name))?.[0] ?? null

/** Tables of the base that nobody reads (metropolitan regions, other formats of the same tables): left in the archive. */
export const isUnreadTable = (entry: string): boolean => {
  const name = entry.split(/[\\/]/).at(-1) ?? ''
  return BASE_TABLE.test(name) && territoryRole(name) === null
}

/** The files of one edition. */
export interface TerritoryFiles {
  /** `2025-10` by the name of the archive or file; else that name. */
  readonly edition: string
  readonly files: ReadonlyMap<TerritoryRole, FoundFile>
}

/**
 * @returns null where there is no file of health regions
 * @throws ImportError where two files say the same, where they are of two editions, or where the regions are lacking
 */
export function chooseEdition(found: readonly FoundFile[]): TerritoryFiles | null {
  const [first] = found
  if (first === undefined) return null
  const files = new Map<TerritoryRole, FoundFile>()
  for (const [role] of ROLES) {
    const claiming = found.filter(({ name }) => territoryRole(name) === role)
    if (claiming.length > 1)
      throw new ImportError(
        claiming.map(shownName).sort().join(' and '),
        `claim, each of them, to be the health ${role}, and editions disagree`,
        'Import one of them: a release has one edition of the territory',
      )
    if (claiming[0] !== undefined) files.set(role, claiming[0])
  }
  const main = files.get('regions of municipalities')
  if (main === undefined)
    throw new ImportError(
      shownName(first),
      'comes without the health regions of municipalities',
      'Import the whole territorial base (base_territorial_*.zip), or rl_municip_regsaud.csv or br_regsaud.cnv beside it',
    )
  const editions = new Map([...files.values()].map((file) => [editionOf(file), file]))
  const isMixed =
    new Set([...files.values()].map(({ archive }) => archive?.sha256 ?? null)).size > 1 ||
    (editions.size > 1 && [...editions.keys()].some((edition) => /^\d{4}(-\d{2})?$/.test(edition)))
  if (isMixed)
    throw new ImportError(
      [...files.values()].map(shownName).sort().join(' and '),
      'are of different editions of the territory',
      'Import the files of one edition: all of one archive, or all of one package',
    )
  return { edition: editionOf(main), files }
}

/** A file with the archive it came in. */
const shownName = ({ name, archive }: FoundFile): string =>
  archive === null ? name : `${archive.file}/${name}`

/** What an archive's or file's name says of its edition: month and year, a year, else the name itself. */
function editionOf({ name, archive }: FoundFile): string {
  const stem = (archive?.file.split('/').at(-1) ?? name).replace(/\.\w+$/, '').toLowerCase()
  const month = new RegExp(`(${MONTHS.join('|')})_?(20)?(\\d{2})(?!\\d)`).exec(stem)
  if (month !== null) return `20${month[3]}-${String(MONTHS.indexOf(month[1] ?? '') + 1).padStart(2, '0')}`
  return /(?<!\d)20\d{2}(?!\d)/.exec(stem)?.[0] ?? stem.replace(/^base_territorial_/, '')
}

/** A file of an edition, read whole. */
export interface ReadFile {
  readonly name: string
  readonly bytes: Buffer
}

/** @param rows data rows the file publishes */
export const snapshotOf = ({ name, archive }: FoundFile, bytes: Buffer, rows: number): Snapshot => ({
  publisher: 'DATASUS',
  file: name,
  archive,
  bytes: bytes.length,
  sha256: sha256Hex(bytes),
  rows,
})

export const readTerritoryFile = async ({ name, path, shown }: FoundFile): Promise<ReadFile> => ({
  name,
  bytes: await readTextFile(path, shown),
})

/** A column of a table: the names that editions give it. */
export type ColumnNames = readonly string[]

/** Rows of a table, with the line of the file that they begin on: the header's is 1. */
export interface TerritoryRow {
  readonly row: number
  readonly cells: readonly string[]
}

/**
 * The rows of a published table: the cells of some columns, without the blanks around them.
 *
 * @param columns the names of each column that is wanted; an empty cell stands for one that the table lacks
 * @param required how many of them it must have; a table without a header (2020) has just these, in this order
 * @throws ImportError naming the file and what it lacks
 */
export async function readTable(
  session: Session,
  { name, bytes }: ReadFile,
  columns: readonly ColumnNames[],
  required: number,
): Promise<TerritoryRow[]> {
  const text = decodeText(bytes)
  const head = (text.split('\n', 1)[0] ?? '').replace(/\r$/, '')
  const [delimiter = ''] = [';', ',', '\t']
    .filter((mark) => head.includes(mark))
    .sort((left, right) => head.split(right).length - head.split(left).length)
  if (delimiter === '')
    throw new ImportError(
      name,
      'has no table in its first line: no semicolon, comma or tab',
      'Import the file as DATASUS publishes it',
    )
  const titles = head.split(delimiter).map((cell) => cell.replaceAll('"', '').trim().toUpperCase())
  const isHeaded = titles.some((title) => /[A-Z]/.test(title))
  const places = columns.map((names, index) =>
    isHeaded ? titles.findIndex((title) => names.includes(title)) : index < required ? index : -1,
  )
  const lacking = places.slice(0, required).findIndex((place) => place < 0 || place >= titles.length)
  if (lacking >= 0)
    throw new ImportError(
      name,
      `lacks the column ${(columns[lacking] ?? []).join(' or ')}`,
      'Fetch the file again; if the publisher renamed the column, this version cannot read the edition',
    )
  const grid = await parseCsv(session, name, text, delimiter, titles.length)
  // A record begins on the line after those of the records before it, whose cells may hold line breaks.
  let line = 1
  const rows = grid.map((cells): TerritoryRow => {
    const row = line
    line += cells.reduce((lines, cell) => lines + cell.split('\n').length - 1, 1)
    return { row, cells: places.map((place) => cleanText(cells[place] ?? '')) }
  })
  return rows.slice(isHeaded ? 1 : 0)
}

/** Blanks around a text go, and runs of blanks and line breaks inside it become one. */
export const cleanText = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** DuckDB reads quotes, and line breaks inside of them. */
async function parseCsv(
  session: Session,
  name: string,
  text: string,
  delimiter: string,
  width: number,
): Promise<string[][]> {
  const path = join(session.scratch, `territory-${sha256Hex(Buffer.from(name)).slice(0, 16)}.csv`)
  await writeFile(path, text.replace(/^\uFEFF/, ''))
  const columns = Array.from({ length: width }, (_, index) => `c${index}`)
  try {
    const rows = await session.rows(
      `SELECT * FROM read_csv(${quoteText(path)}, delim = ${quoteText(delimiter)}, quote = '"', escape = '"', header = false,
         auto_detect = false, strict_mode = true, null_padding = false, nullstr = '',
         columns = {${columns.map((column) => `${column}: 'VARCHAR'`).join(', ')}})`,
    )
    return rows.map((row) => columns.map((column) => String(row[column] ?? '')))
  } catch {
    throw new ImportError(
      name,
      `has rows that do not fit its first line of ${width} columns`,
      'Fetch the file again; a table that was cut does not read',
    )
  }
}
