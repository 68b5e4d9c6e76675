/**
 * Reads a workbook report into manifest, header and cells as common programs show them. Whatever such a program would show
 * differently from the original report (another sheet, hidden rows, a format that prints a constant) becomes a problem.
 */
import { utils } from '@e965/xlsx'
import type { ReportManifest } from '../manifest.ts'
import { describeManifest, readManifestRows } from '../manifest-sheet.ts'
import { type Cell, type Column, exactText } from '../table.ts'
import { describeColumns, SHEETS } from '../writers/xlsx.ts'
import { openPackage, type Package } from './package-parts.ts'
import type { ReadReport } from './report.ts'
import { ReportUnreadable } from './unreadable.ts'
import { checkParts, SMALL_PART_BYTES_MAX } from './workbook-parts.ts'
import { isAmbiguous, readSheet, readStrings, type Sheet, type SheetCell } from './workbook-sheet.ts'
import { type CellStyle, readStyles } from './workbook-styles.ts'
import { NAMESPACES, readXml } from './workbook-xml.ts'

const WORKBOOK_PART = 'xl/workbook.xml'
/** Elements that show nothing themselves. By those of other namespaces, Excel remembers a workbook's folder and revision. */
const ELEMENTS =
  /^workbook(\/(fileVersion|workbookPr|calcPr|workbookProtection|bookViews(\/workbookView)?|sheets(\/sheet)?|definedNames(\/definedName)?|extLst(\/(?!.*AlternateContent).*)?|\{[^}]+\}(revisionPtr|AlternateContent(\/\{[^}]+\}Choice(\/\{[^}]+\}absPath)?)?)))?$/
/** Names of a relationship's id. */
const RELATION_IDS = [
  '{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id',
  '{http://purl.oclc.org/ooxml/officeDocument/relationships}id',
]
/** Formats that show texts unchanged, and numbers unchanged unless the column is too narrow. */
const PLAIN_FORMATS = new Set(['General', '@'])
/** Name of a filter row. Other names could be a print area, which cuts rows from what is printed or exported. */
const FILTER_NAME = '_xlnm._FilterDatabase'
/** Largest number of listed problems of a sheet. */
const PROBLEMS_MAX = 20
const SHEET_NAMES = Object.values(SHEETS)

interface Book {
  readonly parts: Package
  /** Part of each of the three sheets, by sheet name. */
  readonly sheets: ReadonlyMap<string, string>
  readonly strings: readonly string[]
  readonly problems: readonly string[]
}

/** @throws ReportUnreadable */
export async function readWorkbookManifest(bytes: Buffer): Promise<ReportManifest> {
  const book = await openBook(bytes)
  return readManifest(await sheetOf(book, SHEETS.manifest))
}

/** @throws ReportUnreadable */
function readManifest(sheet: Sheet): ReportManifest {
  const texts = textsOf(sheet)
  if (texts.flat().some(isAmbiguous))
    throw new ReportUnreadable(
      `the sheet ${SHEETS.manifest} has a text such as _x0041_ that is not escaped, so programs show different texts. Former versions wrote such titles and names: make the report again.`,
    )
  return readManifestRows(texts)
}

/** @throws ReportUnreadable */
export async function readWorkbook(bytes: Buffer): Promise<ReadReport> {
  const book = await openBook(bytes)
  const [manifestSheet, dictionary] = [
    await sheetOf(book, SHEETS.manifest),
    await sheetOf(book, SHEETS.dictionary),
  ]
  const data = await sheetOf(book, SHEETS.data)
  const manifest = readManifest(manifestSheet)
  const { styles, unexpected } = await readStyles(book.parts)
  const problems = [...book.problems, ...unexpected.map((element) => `the styles have ${element}`)]
  const { columns } = manifest
  for (const [name, sheet] of [
    [SHEETS.data, data],
    [SHEETS.dictionary, dictionary],
    [SHEETS.manifest, manifestSheet],
  ] as const) {
    problems.push(...sheet.oddities.map((oddity) => `the sheet ${name}: ${oddity}`))
    problems.push(...checkCells(name, sheet, styles, name === SHEETS.data ? columns : []))
  }
  problems.push(
    ...compareTexts(SHEETS.dictionary, textsOf(dictionary), describeColumns(columns, manifest.language)),
    ...compareTexts(SHEETS.manifest, textsOf(manifestSheet), describeManifest(manifest)),
  )
  const [header = [], ...rows] = data.rows
  return {
    format: 'xlsx',
    manifest,
    header: Array.from(header, (cell) => cell?.text ?? ''),
    rows: rows.map((row) => columns.map((column, index) => cellText(row[index], column))),
    placeOf: (row, column) => `${SHEETS.data}!${utils.encode_cell({ r: row + 1, c: column })}`,
    tableSha256: null,
    problems,
    others: [],
  }
}

async function openBook(bytes: Buffer): Promise<Book> {
  const parts = await openPackage(bytes)
  const { targets, problems: partProblems } = await checkParts(parts)
  const problems = [...partProblems]
  const sheets = new Map<string, string>()
  const names: string[] = []
  const unexpected = await readXml(WORKBOOK_PART, await parts.readPart(WORKBOOK_PART, SMALL_PART_BYTES_MAX), {
    namespaces: NAMESPACES.workbook,
    elements: ELEMENTS,
    open(path, attributes) {
      if (path === 'workbook/bookViews/workbookView' && (attributes.visibility ?? 'visible') !== 'visible')
        problems.push('the window of the workbook is hidden')
      if (path === 'workbook/definedNames/definedName' && attributes.name !== FILTER_NAME)
        problems.push(`the workbook has the name ${attributes.name}`)
      if (path !== 'workbook/sheets/sheet') return
      const { name = '', state = 'visible' } = attributes
      const ids = RELATION_IDS.flatMap((id) => attributes[id] ?? [])
      const part = targets.get(ids[0] ?? '')
      names.push(name)
      if (ids.length > 1) problems.push(`the sheet ${name} names two parts`)
      if (part !== undefined) sheets.set(name, part)
      if (state !== 'visible') problems.push(`the sheet ${name} is hidden`)
    },
  })
  problems.push(...unexpected.map((element) => `the workbook has ${element}`))
  if (names.join() !== SHEET_NAMES.join())
    problems.push(`the sheets are ${names.join(', ')}; a report has ${SHEET_NAMES.join(', ')}`)
  const shown = new Set(sheets.values())
  for (const name of parts.names)
    if (/^xl\/worksheets\/[^/]+$/.test(name) && !shown.has(name))
      problems.push(`the workbook has the part ${name}, which is none of its sheets`)
  const { strings, unexpected: others } = await readStrings(parts)
  problems.push(...others.map((element) => `the shared strings have ${element}`))
  return { parts, sheets, strings, problems }
}

function sheetOf({ parts, sheets, strings }: Book, name: string): Promise<Sheet> {
  const part = sheets.get(name)
  if (part === undefined) throw new ReportUnreadable(`the workbook has no sheet ${name}`)
  return readSheet(parts, part, strings)
}

const textsOf = ({ rows }: Sheet): string[][] =>
  rows.map((row) => Array.from(row, (cell) => cell?.text ?? ''))

/** @returns a message for the first cells of a sheet whose text does not follow from the manifest */
function compareTexts(
  name: string,
  texts: readonly (readonly string[])[],
  expected: readonly (readonly string[])[],
): string[] {
  const found: string[] = []
  for (let r = 0; r < Math.max(texts.length, expected.length); r += 1)
    for (let c = 0; c < Math.max(texts[r]?.length ?? 0, expected[r]?.length ?? 0); c += 1) {
      if ((texts[r]?.[c] ?? '') === (expected[r]?.[c] ?? '')) continue
      found.push(`${name}!${utils.encode_cell({ r, c })} is not what the manifest says`)
      if (found.length >= PROBLEMS_MAX) return found
    }
  return found
}

/** @param columns of the table; empty for text sheets @returns cells that are not shown as stored */
function checkCells(
  name: string,
  { rows }: Sheet,
  styles: readonly CellStyle[],
  columns: readonly Column[],
): string[] {
  const found: string[] = []
  const isTable = columns.length > 0
  for (const [r, row] of rows.entries())
    for (const [c, cell] of row.entries()) {
      if (cell === undefined) continue
      const problem = checkCell(cell, styles[cell.style], r === 0 || !isTable ? undefined : columns[c])
      const text = isTable && c >= columns.length ? 'stands in a column without a header' : problem
      if (text !== null) found.push(`${name}!${utils.encode_cell({ r, c })} ${text}`)
      if (found.length >= PROBLEMS_MAX) return found
    }
  return found
}

/** @param column undefined when the cell must be a text */
function checkCell(cell: SheetCell, style: CellStyle | undefined, column: Column | undefined): string | null {
  if (style === undefined) return 'has a style that is not there'
  if (style.oddity !== null) return style.oddity
  const isNumber = column !== undefined && column.type !== 'text'
  if (cell.isNumber !== isNumber) return isNumber ? 'is a text, not a number' : 'is a number, not a text'
  const shown = isNumber ? (column.decimals === 0 ? '0' : `0.${'0'.repeat(column.decimals)}`) : '@'
  return style.format === shown || PLAIN_FORMATS.has(style.format)
    ? null
    : `is shown in the format ${style.format}`
}

function cellText(cell: SheetCell | undefined, { type, decimals }: Column): Cell {
  if (cell === undefined) return null
  if (type === 'text' || !cell.isNumber) return cell.text
  const exact = new RegExp(decimals === 0 ? '^-?\\d+$' : `^-?\\d+\\.\\d{${decimals}}$`)
  return exact.test(cell.text) ? cell.text : exactText(Number(cell.text), decimals)
}
