/**
 * Describes the apparent format of an unrecognised file from its first bytes, for an error message. The description contains no
 * text of the file except certain column names, because other text may be personal data.
 */
import { isUtf8 } from 'node:buffer'
import { hasDbaseMark, readDbfColumns } from './dbf.ts'
import { kindOfColumns, remedyOf } from './table-kinds.ts'

export interface Appearance {
  /** Description such as "a dBase table with the columns …". */
  readonly what: string
  /** Action for the operator, or null if the bytes suggest none. */
  readonly remedy: string | null
}

const MAX_COLUMNS = 8

/** First bytes of known formats, in hexadecimal. */
const SIGNATURES: readonly (readonly [prefix: string, what: string])[] = [
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

export function looksLike(head: Buffer): Appearance {
  if (head.length === 0) return { what: 'an empty file', remedy: 'Fetch the file again' }
  const signature = SIGNATURES.find(([prefix]) => head.toString('hex', 0, prefix.length / 2) === prefix)
  if (signature !== undefined) return { what: signature[1], remedy: null }
  const columns = isDbase(head) ? readDbfColumns(head).map(({ name }) => name) : []
  if (columns.length > 0) return describeTable('a dBase table (.dbf or .dbc)', columns)
  return describeText(head)
}

/** Tells whether a file begins like a dBase table, compressed (.dbc) or not. */
export const isDbase = (head: Buffer): boolean =>
  head.length >= 33 &&
  hasDbaseMark(head) &&
  head.readUInt16LE(8) > 32 &&
  /^[A-Z]\w{0,9}\0/i.test(head.toString('latin1', 32, 43))

function describeText(head: Buffer): Appearance {
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
  const separator = [';', ',', '\t', '|'].find((candidate) => line.includes(candidate))
  if (separator === undefined) return { what: 'text without columns', remedy: null }
  const columns = line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))
  return describeTable(`text separated by ${separator === '\t' ? 'tabs' : `'${separator}'`}`, columns)
}

/** Accepts a word without a number of five or more digits. */
const isColumnName = (cell: string): boolean => /^[A-Za-z]\w{1,30}$/.test(cell) && !/\d{5}/.test(cell)

function describeTable(kind: string, columns: readonly string[]): Appearance {
  const tableKind = kindOfColumns(columns)
  const columnText =
    columns.every(isColumnName) || tableKind !== null
      ? ` with the columns ${columns.filter(isColumnName).slice(0, MAX_COLUMNS).join(', ')}${columns.length > MAX_COLUMNS ? ' …' : ''}`
      : ` with ${columns.length} columns`
  return tableKind === null
    ? { what: `${kind}${columnText}`, remedy: null }
    : { what: `${tableKind.what}: ${kind}${columnText}`, remedy: remedyOf(tableKind) }
}
