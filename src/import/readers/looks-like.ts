/**
 * What a file looks like, for the message about one that is not recognised. In: its first bytes and its name. Out: a clause.
 *
 * Names of columns are shown where they cannot be anything else; no other text of the file is, as it may be personal.
 */
import { isUtf8 } from 'node:buffer'
import { readDbfColumns } from './dbf.ts'
import { kindOfColumns, remedyOf } from './table-kinds.ts'

export interface Looks {
  /** "a dBase table with the columns …" */
  readonly what: string
  /** What the operator can do, where the bytes tell; else null. */
  readonly remedy: string | null
}

const MAX_COLUMNS = 8

/** Beginnings of files. */
const MARKS: readonly (readonly [mark: string, what: string])[] = [
  ['504b0304', 'a zip archive or a workbook (.xlsx)'],
  ['d0cf11e0', 'a workbook of Excel 97 (.xls) or another Office document'],
  ['25504446', 'a PDF document'],
  ['1f8b', 'a gzip archive'],
  ['377abcaf', 'a 7-Zip archive'],
  ['52617221', 'a RAR archive'],
  ['50415231', 'a Parquet file'],
  ['89504e47', 'a picture'],
  ['ffd8ff', 'a picture'],
  ['fffe', 'text in UTF-16'],
  ['feff', 'text in UTF-16'],
]

/** @param head first bytes of the file, all of a short one */
export function looksLike(head: Buffer): Looks {
  if (head.length === 0) return { what: 'an empty file', remedy: 'Fetch the file again' }
  const marked = MARKS.find(([mark]) => head.toString('hex', 0, mark.length / 2) === mark)
  if (marked !== undefined) return { what: marked[1], remedy: null }
  const columns = isDbase(head) ? readDbfColumns(head).map(({ name }) => name) : []
  if (columns.length > 0) return describeTable('a dBase table (.dbf or .dbc)', columns)
  return looksLikeText(head)
}

/** Does a file begin like a dBase table, packed (.dbc) or not? */
export const isDbase = (head: Buffer): boolean =>
  head.length >= 33 &&
  (head[0] as number) % 16 === 3 &&
  head.readUInt16LE(8) > 32 &&
  /^[A-Z]\w{0,9}\0/i.test(head.toString('latin1', 32, 43))

function looksLikeText(head: Buffer): Looks {
  const text = head.toString(isUtf8(head) ? 'utf8' : 'latin1').replace(/^\uFEFF/, '')
  if (/^\s*(<!doctype html|<html)/i.test(text))
    return {
      what: 'a web page, such as a server sends instead of a file that is not there',
      remedy: 'Fetch the file again',
    }
  if (/^\s*<\?xml/i.test(text)) return { what: 'XML', remedy: null }
  if (/^\s*[[{]/.test(text))
    return { what: 'JSON, but none of the answers of IBGE that are read', remedy: null }
  const controls = [...head.subarray(0, 1024)].filter((byte) => byte < 9 || (byte > 13 && byte < 32)).length
  if (controls > 0) return { what: 'binary data of a kind that is not known', remedy: null }
  const [line = ''] = text.split(/\r?\n/)
  const separator = [';', ',', '\t', '|'].find((mark) => line.includes(mark))
  if (separator === undefined) return { what: 'text without columns', remedy: null }
  const columns = line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))
  return describeTable(`text separated by ${separator === '\t' ? 'tabs' : `'${separator}'`}`, columns)
}

/** A name of a column is a word; a number in it has at most four digits. */
const isColumnName = (cell: string): boolean => /^[A-Za-z]\w{1,30}$/.test(cell) && !/\d{5}/.test(cell)

function describeTable(kind: string, columns: readonly string[]): Looks {
  const known = kindOfColumns(columns)
  const shown =
    columns.every(isColumnName) || known !== null
      ? ` with the columns ${columns.filter(isColumnName).slice(0, MAX_COLUMNS).join(', ')}${columns.length > MAX_COLUMNS ? ' …' : ''}`
      : ` with ${columns.length} columns`
  return known === null
    ? { what: `${kind}${shown}`, remedy: null }
    : { what: `${known.what}: ${kind}${shown}`, remedy: remedyOf(known) }
}
