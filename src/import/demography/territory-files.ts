/**
 * Chooses and reads the files that assign municipalities to health regions and macro-regions: DATASUS's territorial base
 * (CSV) and TabWin's conversion tables (.cnv). In: the files of an import. Out: one edition's files by role, and table rows.
 *
 * Header names, delimiters and encodings differ between editions, so each column has several accepted names.
 * Some packages hold several tables of health regions that disagree. Two files with the same role are rejected, because
 * a release has one edition and only the operator can choose it.
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
const BASE_TABLE =
  /^(tb_(uf|terrcid|regsaud|regmetr|regiao|pndr|municip|mis|micibge|macsaud|dsei|divadm|divadmant)|rl_(municip|regsaud)_\w+)(_layout)?\.(csv|txt|dbf|xml)$/i
const MONTHS = ['jan', 'fev', 'mar', 'abr', 'mai', 'jun', 'jul', 'ago', 'set', 'out', 'nov', 'dez']

/** @returns the role of a file by its name, or null for other files */
export const territoryRole = (name: string): TerritoryRole | null =>
  ROLES.find(([, form]) => form.test(name))?.[0] ?? null

/** True for tables of the base that are not read, such as metropolitan regions and other formats of the same tables. */
export const isUnreadTable = (entry: string): boolean => {
  const name = entry.split(/[\\/]/).at(-1) ?? ''
  return BASE_TABLE.test(name) && territoryRole(name) === null
}

export interface TerritoryFiles {
  /** Edition such as `2025-10` from the name of the archive or file, else that name. */
  readonly edition: string
  readonly files: ReadonlyMap<TerritoryRole, FoundFile>
}

/**
 * @returns null without files
 * @throws ImportError if two files have the same role, if editions are mixed, or if the regions of municipalities are missing
 */
export function chooseEdition(found: readonly FoundFile[]): TerritoryFiles | null {
  const [first] = found
  if (first === undefined) return null
  const files = new Map<TerritoryRole, FoundFile>()
  for (const [role] of ROLES) {
    const candidates = found.filter(({ name }) => territoryRole(name) === role)
    if (candidates.length > 1)
      throw new ImportError(
        candidates.map(shownName).sort().join(' and '),
        `claim, each of them, to be the health ${role}, and editions disagree`,
        'Import one of them: a release has one edition of the territory',
      )
    if (candidates[0] !== undefined) files.set(role, candidates[0])
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

const shownName = ({ name, archive }: FoundFile): string =>
  archive === null ? name : `${archive.file}/${name}`

/** Derives the edition from the archive's or file's name: year and month, else the year, else the name itself. */
function editionOf({ name, archive }: FoundFile): string {
  const stem = (archive?.file.split('/').at(-1) ?? name).replace(/\.\w+$/, '').toLowerCase()
  const month = new RegExp(`(${MONTHS.join('|')})_?(20)?(\\d{2})(?!\\d)`).exec(stem)
  if (month !== null) return `20${month[3]}-${String(MONTHS.indexOf(month[1] ?? '') + 1).padStart(2, '0')}`
  return /(?<!\d)20\d{2}(?!\d)/.exec(stem)?.[0] ?? stem.replace(/^base_territorial_/, '')
}

export interface ReadFile {
  readonly name: string
  readonly bytes: Buffer
}

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

/** Names of one column in the various editions. */
export type ColumnNames = readonly string[]

export interface TerritoryRow {
  /** Line on which the row begins. The header is on line 1. */
  readonly row: number
  readonly cells: readonly string[]
}

/**
 * Reads some columns of a published table, with cells trimmed.
 * @param columns accepted names of each requested column; cells of a missing column are empty
 * @param required number of leading columns that must exist; a table without a header (2020) has exactly these, in this order
 * @throws ImportError with the file and the missing column
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
  const hasHeader = titles.some((title) => /[A-Z]/.test(title))
  const positions = columns.map((names, index) =>
    hasHeader ? titles.findIndex((title) => names.includes(title)) : index < required ? index : -1,
  )
  const missing = positions
    .slice(0, required)
    .findIndex((position) => position < 0 || position >= titles.length)
  if (missing >= 0)
    throw new ImportError(
      name,
      `lacks the column ${(columns[missing] ?? []).join(' or ')}`,
      'Fetch the file again; if the publisher renamed the column, this version cannot read the edition',
    )
  const grid = await parseCsv(session, name, text, delimiter, titles.length)
  // Count line breaks inside cells, because a record may span several lines.
  let line = 1
  const rows = grid.map((cells): TerritoryRow => {
    const row = line
    line += cells.reduce((lines, cell) => lines + cell.split('\n').length - 1, 1)
    return { row, cells: positions.map((position) => cleanText(cells[position] ?? '')) }
  })
  return rows.slice(hasHeader ? 1 : 0)
}

export const cleanText = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** Parses CSV with DuckDB, which supports quotes and line breaks inside them. */
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
