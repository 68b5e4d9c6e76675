/**
 * TabWin conversion table (.cnv) → its lines: which codes stand under which label, with the row of each line.
 *
 * In: the bytes. Out: values. The format has no column names; its fields are places of a line, and DATASUS's tables in
 * it disagree in everything but those places. What a label means (a municipality, a health region, a legal nature) only
 * the caller knows. Files of this kind carry no date.
 */
import { ImportError } from '../import-error.ts'
import { decodeText } from './windows-1252.ts'

/** Places of a line, 0-based and end excluded: number of the line it is a part of, its own number, label, codes. */
const SUBTOTAL = [0, 3] as const
const ORDER = [3, 7] as const
const LABEL = [9, 59] as const
const CODES_START = 60

/** Name of the label for provenance: places of a line as an editor counts them, from 1. */
export const CNV_LABEL_COLUMN = `characters ${LABEL[0] + 1}–${LABEL[1]}`

/** Codes of one line: `from` and `to` are equal but for a range. The code '' is the empty cell. */
export interface CnvCodes {
  readonly from: string
  readonly to: string
}

export interface CnvLine {
  /** Line of the file, the first (header) = 1. */
  readonly row: number
  /** Category of the table. Lines with one number belong together: they continue a long list of codes. */
  readonly order: number
  /** Number of the category that this one is a part of; null where it is of none. */
  readonly subtotal: number | null
  /** Without the blanks that fill its field; nothing else is changed. */
  readonly label: string
  readonly codes: readonly CnvCodes[]
}

export interface CnvTable {
  /** Characters of a code. */
  readonly codeWidth: number
  /** In file order. */
  readonly lines: readonly CnvLine[]
  /** Rows that do not fit the layout; nothing is read from them. */
  readonly unread: readonly number[]
}

/** Do these first bytes look like a conversion table? */
export const looksLikeCnv = (head: Buffer): boolean =>
  /^ *\d+ +\d+[^\n\r]*\r?\n[ \d]{7} {2}\S/.test(head.toString('latin1'))

/**
 * @param bytes UTF-8 where they are valid as such, else Windows-1252
 * @throws ImportError where the first line does not say how many categories there are and how wide a code is
 */
export function readCnv(bytes: Buffer, file: string): CnvTable {
  const text = decodeText(bytes)
  // Old tools end a text with 0x1A.
  const [header = '', ...published] = text.split('\u001a', 1).join('').split('\n')
  const width = /^ *\d+ +(\d{1,2})\b/.exec(header)?.[1]
  if (width === undefined)
    throw new ImportError(
      file,
      'is not a TabWin conversion table: its first line does not say how many categories and how wide a code',
      'Import the .cnv file as DATASUS publishes it',
    )
  const codeWidth = Number(width)
  const lines: CnvLine[] = []
  const unread: number[] = []
  for (const [index, line] of published.entries()) {
    const row = index + 2
    const cells = line.replace(/\r$/, '')
    // A semicolon opens a comment.
    if (cells.trim() === '' || cells.startsWith(';')) continue
    const read = readLine(cells, row, codeWidth)
    if (read === null) unread.push(row)
    else lines.push(read)
  }
  return { codeWidth, lines, unread }
}

function readLine(line: string, row: number, codeWidth: number): CnvLine | null {
  const subtotal = line.slice(...SUBTOTAL).trim()
  const order = line.slice(...ORDER).trim()
  const label = line.slice(...LABEL).trim()
  const isWhole =
    /^\d*$/.test(subtotal) &&
    /^\d+$/.test(order) &&
    label !== '' &&
    line.slice(ORDER[1], LABEL[0]).trim() === '' &&
    line.slice(LABEL[1], CODES_START).trim() === ''
  if (!isWhole) return null
  const pieces = line.slice(CODES_START).split(',')
  const codes: CnvCodes[] = []
  for (const [index, piece] of pieces.entries()) {
    const code = piece.trim()
    if (code === '') {
      // Blanks between two commas are the code of an empty cell; after the last comma they only fill the line.
      if (piece.length >= codeWidth && index < pieces.length - 1) codes.push({ from: '', to: '' })
      continue
    }
    const [from = '', to = from, ...more] = code.split('-').map((end) => end.trim())
    if (from.length > codeWidth || to.length > codeWidth || more.length > 0 || from > to) return null
    codes.push({ from, to })
  }
  return codes.length === 0
    ? null
    : { row, order: Number(order), subtotal: subtotal === '' ? null : Number(subtotal), label, codes }
}

/**
 * What TabWin does with a code: it is under the last line that names it, alone or in a range, so that a line after the
 * range of its group takes a code out of the group.
 *
 * @returns the line of a code, blanks around it not counted; null where no line has it
 */
export function cnvLookup(table: CnvTable): (code: string) => CnvLine | null {
  const single = new Map<string, number>()
  const ranges: (CnvCodes & { readonly index: number })[] = []
  for (const [index, { codes }] of table.lines.entries())
    for (const { from, to } of codes)
      if (from === to) single.set(from, index)
      else ranges.push({ from, to, index })
  ranges.reverse()
  return (published) => {
    const code = published.trim()
    const range = ranges.find(({ from, to }) => code.length === from.length && code >= from && code <= to)
    const index = Math.max(single.get(code) ?? -1, range?.index ?? -1)
    return table.lines[index] ?? null
  }
}
