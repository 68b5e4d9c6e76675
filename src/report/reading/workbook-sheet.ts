/**
 * Reads a worksheet as a person sees it. Input: the sheet's part. Output: texts and numbers of its cells, and oddities: everything
 * that could make a common program show something else (hidden rows, merged cells, formulas, pictures, conditional formats …).
 */
import { utils } from '@e965/xlsx'
import type { Package } from './package-parts.ts'
import { ReportUnreadable } from './unreadable.ts'
import { type Attributes, readXml } from './workbook-xml.ts'

const SHEET_BYTES_MAX = 400 * 2 ** 20
const STRINGS_BYTES_MAX = 64 * 2 ** 20
const STRINGS_PART = 'xl/sharedStrings.xml'
/** Elements that do not change what cells show; all others are oddities. A drawing's content is in a separate part. */
const PLAIN_ELEMENTS = new Set(
  'sheetPr dimension sheetViews sheetFormatPr cols sheetData autoFilter printOptions pageMargins pageSetup headerFooter sheetCalcPr phoneticPr ignoredErrors drawing'.split(
    ' ',
  ),
)
const COLUMN_WIDTH_MIN = 3
const ROW_POINTS_MIN = 6
/** Largest numbers of frozen rows and columns; more could fill the window. */
const FROZEN_MAX = { rows: 1, columns: 3 }
const FIRST_CELL = 'A1'
const ODDITIES_MAX = 20
/** Limits of a worksheet in Excel. */
const ROWS_MAX = 1_048_576
const COLUMNS_MAX = 16_384

export interface SheetCell {
  /** A text, or the digits of a number. */
  readonly text: string
  readonly isNumber: boolean
  readonly style: number
}

export interface Sheet {
  readonly rows: readonly (readonly (SheetCell | undefined)[])[]
  readonly oddities: readonly string[]
}

/** Programs differ in what they take for true: LibreOffice hides a row whose `hidden` is `t`. */
const isOn = (value: string | undefined): boolean => value !== undefined && value !== '0' && value !== 'false'
/** LibreOffice hides rows and columns of collapsed groups even when none is marked as hidden. */
const isGrouped = ({ collapsed, outlineLevel = '0' }: Attributes): boolean =>
  isOn(collapsed) || outlineLevel !== '0'
const isLess = (value: string | undefined, least: number): boolean =>
  value !== undefined && !(Number(value) >= least)
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** @returns the shared strings, which cells refer to by number @throws ReportUnreadable */
export async function readStrings(book: Package): Promise<string[]> {
  if (!book.names.includes(STRINGS_PART)) return []
  const strings: string[] = []
  let current = ''
  await readXml(STRINGS_PART, await book.readPart(STRINGS_PART, STRINGS_BYTES_MAX), {
    open(path) {
      if (path === 'sst/si') current = ''
      // Mark formatted runs, because their fonts could hide some of the text.
      else if (path.startsWith('sst/si/') && path !== 'sst/si/t') current += '\u0000formatted'
    },
    text(path, text) {
      if (path === 'sst/si/t') current += text
    },
    close(path) {
      if (path === 'sst/si') strings.push(decodeText(current))
    },
  })
  return strings
}

/** @throws ReportUnreadable */
export async function readSheet(book: Package, part: string, strings: readonly string[]): Promise<Sheet> {
  const rows: (SheetCell | undefined)[][] = []
  const oddities: string[] = []
  const addOddity = (text: string): void => {
    if (oddities.length < ODDITIES_MAX) oddities.push(text)
  }
  let cell: { address: string; column: number; type: string; style: number; text: string } | null = null
  let row = 0
  let cellElements = 0
  let firstCell = FIRST_CELL
  const closeCell = (): void => {
    if (cell === null) return
    const { address, column, type, style, text } = cell
    const line = rows[row - 1] as (SheetCell | undefined)[]
    if (column < line.length) addOddity(`${address} stands out of order or twice`)
    else if (type === 'n' && cellElements === 0) return
    else if (type === 'n' && NUMBER.test(text)) line[column] = { text, isNumber: true, style }
    else if (type === 's' || type === 'inlineStr' || type === 'str') {
      const content = type === 's' ? strings[Number(text)] : decodeText(text)
      if (content === undefined) addOddity(`${address} names a text that is not there`)
      else if (content !== '') line[column] = { text: content, isNumber: false, style }
    } else addOddity(`${address} is neither a number nor a text`)
  }
  const openRow = (attributes: Attributes): void => {
    const number = Number(attributes.r ?? row + 1)
    if (!Number.isInteger(number) || number < 1 || number > ROWS_MAX)
      throw new ReportUnreadable(`${part} has a row that no workbook has`)
    if (number <= row) addOddity(`row ${attributes.r} stands out of order or twice`)
    while (rows.length < number) rows.push([])
    row = Math.max(number, row)
    if (isOn(attributes.hidden)) addOddity(`row ${number} is hidden`)
    else if (isGrouped(attributes)) addOddity(`row ${number} is in a group, which can hide it`)
    else if (isLess(attributes.ht, ROW_POINTS_MIN)) addOddity(`row ${number} is too low to be seen`)
  }
  const openCell = (attributes: Attributes): void => {
    const address = attributes.r ?? ''
    const { r, c } = utils.decode_cell(address)
    if (!(c >= 0 && c < COLUMNS_MAX)) throw new ReportUnreadable(`${part} has a cell that no workbook has`)
    if (utils.encode_cell({ r, c }) !== address || r !== row - 1) addOddity(`${address} stands in row ${row}`)
    cell = { address, column: c, type: attributes.t ?? 'n', style: Number(attributes.s ?? 0), text: '' }
    cellElements = 0
  }
  await readXml(part, await book.readPart(part, SHEET_BYTES_MAX), {
    open(path, attributes) {
      const [, section = '', ...inner] = path.split('/')
      if (section !== '' && inner.length === 0 && !PLAIN_ELEMENTS.has(section)) addOddity(`has ${section}`)
      else if (path === 'worksheet/sheetData/row') openRow(attributes)
      else if (path === 'worksheet/sheetData/row/c') openCell(attributes)
      else if (section === 'sheetData' && inner.length > 2) {
        cellElements += 1
        const content = inner.slice(2).join('/')
        if (content === 'f') addOddity(`${cell?.address} is a formula`)
        else if (content.startsWith('is') !== (cell?.type === 'inlineStr'))
          addOddity(`${cell?.address} has ${content}, which its type does not show`)
        else if (content !== 'v' && content !== 'is' && content !== 'is/t')
          addOddity(`${cell?.address} has ${content}`)
        else if (content !== 'is/t' && cellElements > 1) addOddity(`${cell?.address} has two values`)
      } else if (path === 'worksheet/cols/col' && isHiddenColumn(attributes)) addOddity('has a hidden column')
      else if (path === 'worksheet/cols/col' && isGrouped(attributes))
        addOddity('has columns in a group, which can hide them')
      else if (path === 'worksheet/sheetFormatPr' && hasSmallSizes(attributes))
        addOddity('hides rows or columns')
      else if (path === 'worksheet/sheetViews/sheetView') {
        if (!['1', 'true'].includes(attributes.showZeros ?? '1')) addOddity('shows no zeros')
        if (isOn(attributes.showFormulas) || isOn(attributes.rightToLeft))
          addOddity('is shown in another way')
        firstCell = attributes.topLeftCell ?? FIRST_CELL
      } else if (path === 'worksheet/sheetViews/sheetView/pane' && hidesCells(attributes, firstCell))
        addOddity('has frozen rows or columns that hide others')
    },
    text(path, text) {
      if (cell !== null && /\/c\/(v|is\/t)$/.test(path)) cell.text += text
      // LibreOffice writes empty headers and footers.
      else if (path.startsWith('worksheet/headerFooter/') && text.trim() !== '')
        addOddity(`has the ${path.split('/').at(-1)} ${text}`)
    },
    close(path) {
      if (path !== 'worksheet/sheetData/row/c') return
      closeCell()
      cell = null
    },
  })
  return { rows, oddities }
}

/** @param firstCell first visible cell of the frozen part, which does not scroll */
const hidesCells = (
  { state = 'split', xSplit = '0', ySplit = '0' }: Attributes,
  firstCell: string,
): boolean =>
  state !== 'split' &&
  (firstCell !== FIRST_CELL || !(Number(ySplit) <= FROZEN_MAX.rows && Number(xSplit) <= FROZEN_MAX.columns))

const isHiddenColumn = ({ hidden, width }: Attributes): boolean =>
  isOn(hidden) || isLess(width, COLUMN_WIDTH_MIN)

/** @returns whether rows or columns that have no size of their own cannot be seen */
const hasSmallSizes = ({
  zeroHeight,
  defaultRowHeight,
  defaultColWidth,
  baseColWidth,
}: Attributes): boolean =>
  isOn(zeroHeight) ||
  isLess(defaultRowHeight, ROW_POINTS_MIN) ||
  isLess(defaultColWidth, COLUMN_WIDTH_MIN) ||
  isLess(baseColWidth, COLUMN_WIDTH_MIN)

/** Decodes characters that XML cannot contain, written as _x001F_ (ECMA-376, 22.9.2.19). */
const decodeText = (text: string): string =>
  text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
