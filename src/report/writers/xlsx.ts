/**
 * Writes a report as a workbook of three sheets: Dados, Dicionário, Manifesto. The same report gives the same bytes.
 *
 * write-excel-file creates the workbook (styles, sheets, relations) around sample rows. The real rows are streamed into its first
 * sheet, so memory does not grow with them. fflate compresses in plain JavaScript, because the zlib of Node.js compresses
 * differently from machine to machine. Every time stamp is the earliest that ZIP supports. Texts are inline strings in text format,
 * never formulas.
 */
import { strFromU8, strToU8, unzipSync, Zip, ZipDeflate } from 'fflate'
import writeXlsxFile, { type SheetData } from 'write-excel-file/node'
import type { ReportManifest } from '../manifest.ts'
import { describeManifest } from '../manifest-sheet.ts'
import { type Cell, type Column, TOTAL_COLUMN } from '../table.ts'
import type { FileSink, TableWriter } from './index.ts'

export const SHEETS = { data: 'Dados', dictionary: 'Dicionário', manifest: 'Manifesto' } as const
const DATA_PART = 'xl/worksheets/sheet1.xml'
const WORKBOOK_PART = 'xl/workbook.xml'
/** Characters that are written as _x001F_. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression lists control characters
export const ESCAPED = /[\u0000-\u0008\u000b-\u001f\ufffe\uffff]/
/** Built from local fields, so that the stamp is the same in every time zone. */
const FIRST_STAMP = new Date(1980, 0, 1)
/** Size of each piece pushed to the compressor. It is fixed, because the cuts affect the compressed bytes. */
const PIECE_BYTES = 1 << 16

export function createXlsxWriter(sink: FileSink, columns: readonly Column[]): TableWriter {
  const zip = openZip(sink)
  let styles: CellStyles
  let rows = 0
  /** Rows of the query. Totals come below them, outside the range of the filter row. */
  let filteredRows = 0
  const totalColumn = columns.findIndex(({ name }) => name === TOTAL_COLUMN)
  const isTotal = (cells: readonly Cell[]): boolean => totalColumn >= 0 && cells[totalColumn] !== null
  return {
    async begin(draft) {
      // The draft has the same structure as the manifest, so this workbook has the styles of the final one.
      const parts = await makeParts(columns, draft)
      const sheet = partText(parts, DATA_PART)
      styles = readStyles(sheet, columns.length)
      await zip.start(DATA_PART)
      await zip.text(sheet.slice(0, sheet.indexOf('<sheetData>') + '<sheetData>'.length))
      const names = columns.map(({ name }) => name)
      await zip.text(rowXml(1, names, columns, styles.header, true))
    },
    async rows({ cells }) {
      const lines = cells.map((row, index) =>
        rowXml(rows + index + 2, row, columns, isTotal(row) ? styles.total : styles.data, false),
      )
      rows += cells.length
      filteredRows += cells.filter((row) => !isTotal(row)).length
      await zip.text(lines.join(''))
    },
    async end(manifest) {
      const parts = await makeParts(columns, manifest)
      const sheet = partText(parts, DATA_PART)
      const area = `A1:${columnLetters(columns.length - 1)}${filteredRows + 1}`
      await zip.text(`</sheetData><autoFilter ref="${area}"/>`)
      await zip.text(sheet.slice(sheet.indexOf('</sheetData>') + '</sheetData>'.length))
      await zip.finishPart()
      for (const name of Object.keys(parts).sort()) {
        if (name === DATA_PART) continue
        const text = partText(parts, name)
        await zip.start(name)
        await zip.text(name === WORKBOOK_PART ? addFilterName(text, area) : text)
        await zip.finishPart()
      }
      await zip.close()
    },
  }
}

type Parts = Readonly<Record<string, Uint8Array>>
const partText = (parts: Parts, name: string): string => {
  const part = parts[name]
  if (part === undefined) throw new TypeError(`the workbook lacks ${name}`)
  return strFromU8(part)
}

/** Creates and unpacks a workbook whose sheet Dados has a header and sample rows, one of them for totals. */
async function makeParts(columns: readonly Column[], manifest: ReportManifest): Promise<Parts> {
  const plain = { format: '@', type: String } as const
  const bold = { ...plain, fontWeight: 'bold' } as const
  const header: SheetData[number] = columns.map(({ name }) => ({ ...bold, value: escapeText(name) }))
  const sample: SheetData[number] = columns.map((column) =>
    column.type === 'text'
      ? { ...plain, value: 'x' }
      : { value: 1, type: Number, format: numberFormat(column) },
  )
  const total: SheetData[number] = sample.map((cell) => ({ ...cell, fontWeight: 'bold' }) as const)
  const hasTotals = columns.some(({ name }) => name === TOTAL_COLUMN)
  const asText = (grid: readonly (readonly string[])[]): SheetData =>
    grid.map((row, index) =>
      row.map((value) => ({ ...(index === 0 ? bold : plain), value: escapeText(value) })),
    )
  const sheetOf = (sheet: string, data: SheetData, widths: readonly number[]) => ({
    data,
    sheet,
    stickyRowsCount: 1,
    columns: widths.map((width) => ({ width })),
  })
  const dictionary = asText(describeColumns(columns, manifest.language))
  const workbook = await writeXlsxFile([
    sheetOf(SHEETS.data, [header, sample, ...(hasTotals ? [total] : [])], columns.map(widthOf)),
    sheetOf(SHEETS.dictionary, dictionary, [32, 44, 30, 70, 40]),
    sheetOf(SHEETS.manifest, asText(describeManifest(manifest)), [20, 110]),
  ]).toBuffer()
  return unzipSync(new Uint8Array(workbook))
}

/** Rows of the sheet Dicionário, header first. */
export const describeColumns = (
  columns: readonly Column[],
  language: ReportManifest['language'],
): string[][] => [
  language === 'en'
    ? ['column', 'label', 'unit', 'formula', 'source']
    : ['coluna', 'rótulo', 'unidade', 'fórmula', 'fonte'],
  ...columns.map(({ name, label, unit, formula, source }) => [name, label, unit, formula, source]),
]

const numberFormat = ({ decimals }: Column): string => (decimals === 0 ? '0' : `0.${'0'.repeat(decimals)}`)

const widthOf = ({ name, type }: Column): number =>
  Math.max(name.length + 4, type === 'text' && name.endsWith('_name') ? 40 : 12)

type CellStyles = Readonly<Record<'header' | 'data' | 'total', readonly string[]>>

/** Reads the style of each column's cells from the sample rows. */
function readStyles(sheet: string, count: number): CellStyles {
  const read = (row: number): string[] =>
    Array.from({ length: count }, (_, index) => {
      const found = new RegExp(`<c r="${columnLetters(index)}${row}" s="(\\d+)"`).exec(sheet)?.[1]
      if (found === undefined) throw new TypeError('a sample cell has no style')
      return found
    })
  const data = read(2)
  return { header: read(1), data, total: sheet.includes('<row r="3"') ? read(3) : data }
}

function rowXml(
  row: number,
  cells: readonly Cell[],
  columns: readonly Column[],
  styles: readonly string[],
  isHeader: boolean,
): string {
  let xml = `<row r="${row}">`
  cells.forEach((cell, index) => {
    if (cell === null) return
    const cellStart = `<c r="${columnLetters(index)}${row}" s="${styles[index]}"`
    xml +=
      isHeader || columns[index]?.type === 'text'
        ? `${cellStart} t="inlineStr"><is><t xml:space="preserve">${escapeXml(cell)}</t></is></c>`
        : `${cellStart}><v>${cell}</v></c>`
  })
  return `${xml}</row>`
}

/**
 * Escapes a text as OOXML does. Characters that XML cannot contain, and the carriage return, which readers turn into a line feed,
 * become _x001F_. A text that already looks like such an escape is escaped, too. write-excel-file escapes only what XML needs.
 */
const escapeText = (text: string): string =>
  text
    .replaceAll(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
    .replaceAll(
      new RegExp(ESCAPED, 'g'),
      (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    )

const escapeXml = (text: string): string =>
  escapeText(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** 0 → A, 26 → AA. */
function columnLetters(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26))
  return index < 26 ? letter : columnLetters(Math.floor(index / 26) - 1) + letter
}

/** Adds the hidden name that a filter row requires. */
function addFilterName(workbook: string, area: string): string {
  const absolute = area.replaceAll(/([A-Z]+)(\d+)/g, '$$$1$$$2')
  const name = `<definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">${SHEETS.data}!${absolute}</definedName>`
  if (!workbook.includes('<definedNames/>')) throw new TypeError('the workbook has names of its own')
  return workbook.replace('<definedNames/>', `<definedNames>${name}</definedNames>`)
}

interface ZipSink {
  start(name: string): Promise<void>
  text(text: string): Promise<void>
  finishPart(): Promise<void>
  close(): Promise<void>
}

function openZip(sink: FileSink): ZipSink {
  let output: Uint8Array[] = []
  let failure: Error | null = null
  const zip = new Zip((error, bytes) => {
    if (error !== null) failure = error
    else output.push(bytes)
  })
  let part: ZipDeflate
  let pending = new Uint8Array(0)
  const drain = async (): Promise<void> => {
    if (failure !== null) throw failure
    const bytes = output
    output = []
    for (const piece of bytes) await sink.write(piece)
  }
  return {
    async start(name) {
      part = new ZipDeflate(name, { level: 6 })
      part.mtime = FIRST_STAMP
      zip.add(part)
      pending = new Uint8Array(0)
    },
    async text(text) {
      const bytes = Buffer.concat([pending, strToU8(text)])
      let from = 0
      for (; bytes.length - from > PIECE_BYTES; from += PIECE_BYTES)
        part.push(new Uint8Array(bytes.subarray(from, from + PIECE_BYTES)))
      pending = new Uint8Array(bytes.subarray(from))
      await drain()
    },
    async finishPart() {
      part.push(pending, true)
      await drain()
    },
    async close() {
      zip.end()
      await drain()
    },
  }
}
