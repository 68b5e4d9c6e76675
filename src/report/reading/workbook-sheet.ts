/**
 * Reads a worksheet as a person sees it. Input: the sheet's part. Output: texts and numbers of its cells, and oddities: everything
 * that could make a common program show something else (hidden rows, merged cells, formulas, pictures, conditional formats …).
 */
import { utils } from '@e965/xlsx'
import { ESCAPED } from '../writers/xlsx.ts'
import type { Package } from './package-parts.ts'
import { ReportUnreadable } from './unreadable.ts'
import { type Attributes, NAMESPACES, readIndex, readSize, readXml } from './workbook-xml.ts'

const SHEET_BYTES_MAX = 400 * 2 ** 20
const STRINGS_BYTES_MAX = 64 * 2 ** 20
const STRINGS_PART = 'xl/sharedStrings.xml'
/** Marks a text of several fonts, which could hide some of it. */
const FORMATTED = '\u0000formatted'
/** Stands for an escape that not all programs decode. No text of a report has this character. */
const AMBIGUOUS = '\u0000'
const ROW = 'worksheet/sheetData/row'
const CELL = `${ROW}/c`
/**
 * Elements that do not change what cells show; all others are oddities. Those in cells are checked one by one. A drawing's content is
 * in a separate part.
 */
const ELEMENTS =
  /^worksheet(\/(sheetData(\/row(\/c(\/.+)?)?)?|(sheetPr|headerFooter|ignoredErrors)(\/\w+)?|sheetViews(\/sheetView(\/(pane|selection))?)?|cols(\/col)?|dimension|sheetFormatPr|autoFilter|printOptions|pageMargins|pageSetup|sheetCalcPr|phoneticPr|drawing))?$/
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
  value !== undefined && !(readSize(value) >= least)
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** @returns the shared strings, which cells refer to by number, and elements that they do not have @throws ReportUnreadable */
export async function readStrings(book: Package): Promise<{ strings: string[]; unexpected: string[] }> {
  if (!book.names.includes(STRINGS_PART)) return { strings: [], unexpected: [] }
  const strings: string[] = []
  let current = ''
  const unexpected = await readXml(STRINGS_PART, await book.readPart(STRINGS_PART, STRINGS_BYTES_MAX), {
    namespaces: NAMESPACES.workbook,
    elements: /^sst(\/si(\/\w+)*)?$/,
    open(path) {
      if (path === 'sst/si') current = ''
      else if (path.startsWith('sst/si/') && (path !== 'sst/si/t' || current !== '')) current += FORMATTED
    },
    text(path, text) {
      if (path === 'sst/si/t') current += text
    },
    close(path) {
      if (path === 'sst/si') strings.push(decodeText(current))
    },
  })
  return { strings, unexpected }
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
      const content = type === 's' ? strings[readIndex(text)] : decodeText(text)
      if (content === undefined) addOddity(`${address} names a text that is not there`)
      else if (content !== '') line[column] = { text: content, isNumber: false, style }
    } else addOddity(`${address} is neither a number nor a text`)
  }
  const openRow = (attributes: Attributes): void => {
    const number = readIndex(attributes.r ?? `${row + 1}`)
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
    const style = readIndex(attributes.s ?? '0')
    cell = { address, column: c, type: attributes.t ?? 'n', style, text: '' }
    cellElements = 0
  }
  const openContent = (content: string): void => {
    cellElements += 1
    if (content === 'f') addOddity(`${cell?.address} is a formula`)
    else if (content.startsWith('is') !== (cell?.type === 'inlineStr'))
      addOddity(`${cell?.address} has ${content}, which its type does not show`)
    else if (content !== 'v' && content !== 'is' && content !== 'is/t')
      addOddity(`${cell?.address} has ${content}`)
    else if (cellElements > (content === 'is/t' ? 2 : 1)) addOddity(`${cell?.address} has two values`)
  }
  const unexpected = await readXml(part, await book.readPart(part, SHEET_BYTES_MAX), {
    namespaces: NAMESPACES.workbook,
    elements: ELEMENTS,
    open(path, attributes) {
      if (path === ROW) openRow(attributes)
      else if (path === CELL) openCell(attributes)
      else if (path.startsWith(`${CELL}/`)) openContent(path.slice(CELL.length + 1))
      else if (path === 'worksheet/cols/col' && isHiddenColumn(attributes)) addOddity('has a hidden column')
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
      if (cell !== null && (path === `${CELL}/v` || path === `${CELL}/is/t`)) cell.text += text
      // LibreOffice writes empty headers and footers.
      else if (path.startsWith('worksheet/headerFooter/') && text.trim() !== '')
        addOddity(`has the ${path.split('/').at(-1)} ${text}`)
    },
    close(path) {
      if (path !== CELL) return
      closeCell()
      cell = null
    },
  })
  return { rows, oddities: [...unexpected.map((element) => `has ${element}`), ...oddities] }
}

/** @param firstCell first visible cell of the frozen part, which does not scroll */
const hidesCells = (
  { state = 'split', xSplit = '0', ySplit = '0' }: Attributes,
  firstCell: string,
): boolean =>
  state !== 'split' &&
  (firstCell !== FIRST_CELL ||
    !(readSize(ySplit) <= FROZEN_MAX.rows && readSize(xSplit) <= FROZEN_MAX.columns))

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

/**
 * Decodes what the writer escapes (ECMA-376, 22.9.2.19): characters that XML cannot contain, written as _x001F_, and the first
 * underscore of a text that looks like an escape. Programs differ in whether they decode others, so those become AMBIGUOUS.
 */
const decodeText = (text: string): string =>
  text.replaceAll(/_x([0-9A-Fa-f]{4})_(?=(x[0-9A-Fa-f]{4}_)?)/g, (_, hex: string, next?: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    const isEscaped = character === '_' ? next !== undefined : ESCAPED.test(character)
    return isEscaped ? character : AMBIGUOUS
  })

export const isAmbiguous = (text: string): boolean => text.replaceAll(FORMATTED, '').includes(AMBIGUOUS)
