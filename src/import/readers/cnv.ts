/**
 * Reads TabWin conversion tables (.cnv): labels, their codes, and the row of each line. The format has no column names; fields
 * are character positions, the only thing that all DATASUS tables share. The caller knows what a label means: a municipality, a
 * health region, a legal nature. The files contain no date.
 */
import { ImportError } from '../import-error.ts'
import { decodeText } from './windows-1252.ts'

/** Character ranges of a line, 0-based, end excluded: number of the parent category, number of the category, label, codes. */
const SUBTOTAL = [0, 3] as const
const ORDER = [3, 7] as const
const LABEL = [9, 59] as const
const CODES_START = 60

/** Name of the label column in provenance, with 1-based positions as in an editor. */
export const CNV_LABEL_COLUMN = `characters ${LABEL[0] + 1}–${LABEL[1]}`

/** A code or a range of codes. A single code has equal `from` and `to`. The code '' stands for an empty cell. */
export interface CnvCodes {
  readonly from: string
  readonly to: string
}

export interface CnvLine {
  /** Line number in the file; the header is line 1. */
  readonly row: number
  /** Category number. Lines with the same number continue one list of codes. */
  readonly order: number
  /** Number of the parent category, or null. */
  readonly subtotal: number | null
  /** Label without padding, otherwise unchanged. */
  readonly label: string
  readonly codes: readonly CnvCodes[]
}

export interface CnvTable {
  readonly codeWidth: number
  readonly lines: readonly CnvLine[]
  /** Line numbers that do not match the layout and were skipped. */
  readonly unread: readonly number[]
}

export const looksLikeCnv = (head: Buffer): boolean =>
  /^ *\d+ +\d+[^\n\r]*\r?\n[ \d]{7} {2}\S/.test(head.toString('latin1'))

/**
 * @param bytes valid UTF-8, or else Windows-1252
 * @throws ImportError if the first line does not state the number of categories and the width of a code
 */
export function readCnv(bytes: Buffer, file: string): CnvTable {
  const text = decodeText(bytes)
  // Ignore everything after 0x1A, which old tools write at the end of a text.
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
    // Skip comments, which begin with a semicolon.
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
  const matchesLayout =
    /^\d*$/.test(subtotal) &&
    /^\d+$/.test(order) &&
    label !== '' &&
    line.slice(ORDER[1], LABEL[0]).trim() === '' &&
    line.slice(LABEL[1], CODES_START).trim() === ''
  if (!matchesLayout) return null
  const codeTexts = line.slice(CODES_START).split(',')
  const codes: CnvCodes[] = []
  for (const [index, codeText] of codeTexts.entries()) {
    const code = codeText.trim()
    if (code === '') {
      // Blanks between two commas mean the empty cell. Blanks after the last comma are padding.
      if (codeText.length >= codeWidth && index < codeTexts.length - 1) codes.push({ from: '', to: '' })
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
 * Looks codes up as TabWin does: the last line that contains a code wins, so a later line can remove a code from an earlier
 * range.
 * @returns function from a code, which is trimmed, to its line or null
 */
export function cnvLookup(table: CnvTable): (code: string) => CnvLine | null {
  const indexByCode = new Map<string, number>()
  const ranges: (CnvCodes & { readonly index: number })[] = []
  for (const [index, { codes }] of table.lines.entries())
    for (const { from, to } of codes)
      if (from === to) indexByCode.set(from, index)
      else ranges.push({ from, to, index })
  ranges.reverse()
  return (published) => {
    const code = published.trim()
    const range = ranges.find(({ from, to }) => code.length === from.length && code >= from && code <= to)
    const index = Math.max(indexByCode.get(code) ?? -1, range?.index ?? -1)
    return table.lines[index] ?? null
  }
}
