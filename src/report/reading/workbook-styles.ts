/**
 * Reads how a workbook shows the cells of each style. Input: styles.xml. Output: for each style its number format, and what could
 * hide or change the content (a color, a tiny font, repeated or rotated text).
 */
import type { Package } from './package-parts.ts'
import { SYMBOLS } from './workbook-parts.ts'
import { type Attributes, NAMESPACES, readIndex, readSize, readXml } from './workbook-xml.ts'

const STYLES_PART = 'xl/styles.xml'
const STYLES_BYTES_MAX = 4 * 2 ** 20
/** Built-in formats that reports use, by number (ECMA-376, 18.8.30). */
const BUILT_IN: Readonly<Record<string, string>> = { '0': 'General', '1': '0', '2': '0.00', '49': '@' }
/** Formats with lower numbers are built in (ECMA-376 and languages of Excel); programs differ in whether a file can change them. */
const CUSTOM_FORMAT_MIN = 100
/** Notations of black in different programs. */
const BLACK = new Set(['rgb FF000000', 'rgb 00000000', 'theme 1', 'indexed 8', 'indexed 64', 'auto 1'])
/** Elements of styles; those of other namespaces only stand in extensions, which reports do not use. */
const ELEMENTS =
  /^(?!.*AlternateContent)styleSheet(\/(numFmts(\/numFmt)?|fonts(\/font(\/\w+)?)?|fills(\/fill(\/\w+)*)?|borders(\/border(\/\w+)*)?|(cellStyleXfs|cellXfs)(\/xf(\/\w+)?)?|cellStyles(\/cellStyle)?|colors(\/\w+)*|(dxfs|tableStyles|extLst)(\/.*)?))?$/
const POINTS_MIN = 6
const POINTS_MAX = 24
const ALIGNMENTS = new Set(['general', 'left', 'right', 'center'])
/** Attributes of an alignment that do not change the content; all others must be off. */
const HARMLESS_ALIGNMENT = new Set([
  'vertical',
  'wrapText',
  'readingOrder',
  'justifyLastLine',
  'relativeIndent',
])

export interface CellStyle {
  readonly format: string
  /** Describes what could hide or change a cell's content; null for an ordinary style. */
  readonly oddity: string | null
}

/** @returns styles by number, and elements that styles do not have @throws ReportUnreadable */
export async function readStyles(book: Package): Promise<{ styles: CellStyle[]; unexpected: string[] }> {
  const formats = new Map(Object.entries(BUILT_IN))
  const fonts: string[] = []
  const fills: string[] = []
  const found: { formatId: string; oddities: string[] }[] = []
  let hasPalette = false
  const part = await book.readPart(STYLES_PART, STYLES_BYTES_MAX)
  const addTo = (list: string[], text: string): void => void list.push(text)
  const mark = (list: string[], text: string | null): void => {
    if (text !== null && list.length > 0) list[list.length - 1] = text
  }
  const unexpected = await readXml(STYLES_PART, part, {
    namespaces: NAMESPACES.workbook,
    elements: ELEMENTS,
    open(path, attributes) {
      if (path === 'styleSheet/numFmts/numFmt') {
        const id = formatIdOf(attributes)
        const isDeclared = formats.has(id) || !(Number(id) >= CUSTOM_FORMAT_MIN)
        if (id !== 'NaN')
          formats.set(id, isDeclared ? `${id}, which is declared twice` : (attributes.formatCode ?? ''))
      } else if (path === 'styleSheet/fonts/font') addTo(fonts, '')
      else if (path.startsWith('styleSheet/fonts/font/')) mark(fonts, checkFont(path, attributes))
      else if (path === 'styleSheet/fills/fill') addTo(fills, '')
      else if (path.startsWith('styleSheet/fills/fill/')) mark(fills, checkFill(path, attributes))
      else if (path === 'styleSheet/colors/indexedColors') hasPalette = true
      else if (path === 'styleSheet/cellXfs/xf')
        found.push({
          formatId: formatIdOf(attributes),
          oddities: [
            fonts[readIndex(attributes.fontId ?? '0')] ?? 'has a font that is not there',
            fills[readIndex(attributes.fillId ?? '0')] ?? 'has a background that is not there',
          ],
        })
      else if (path === 'styleSheet/cellXfs/xf/alignment')
        found.at(-1)?.oddities.push(checkAlignment(attributes))
    },
  })
  const styles = found.map(({ formatId, oddities }) => ({
    format: formats.get(formatId) ?? `number ${formatId}`,
    oddity: hasPalette ? 'has colors of another palette' : (oddities.find((text) => text !== '') ?? null),
  }))
  return { styles, unexpected }
}

/** Reads `0101` as 101, as programs do. @returns NaN for what is no number of a format */
const formatIdOf = ({ numFmtId = '0' }: Attributes): string => String(readIndex(numFmtId))

function checkFont(path: string, attributes: Attributes): string | null {
  const element = path.slice('styleSheet/fonts/font/'.length)
  if (element === 'sz') {
    const points = readSize(attributes.val ?? '')
    return points >= POINTS_MIN && points <= POINTS_MAX ? null : `has a font of ${attributes.val} points`
  }
  if (element === 'name') return SYMBOLS.test(attributes.val ?? '') ? `has the font ${attributes.val}` : null
  if (element !== 'color') return null
  const colors = Object.entries(attributes).map(([name, value]) => `${name} ${value}`)
  return colors.every((color) => BLACK.has(color)) ? null : 'has a colored font'
}

function checkFill(path: string, { patternType }: Attributes): string | null {
  const isEmpty = patternType === undefined || patternType === 'none' || patternType === 'gray125'
  return path === 'styleSheet/fills/fill/patternFill' && isEmpty ? null : 'has a colored background'
}

function checkAlignment(attributes: Attributes): string {
  const isOrdinary = Object.entries(attributes).every(([name, value]) =>
    name === 'horizontal'
      ? ALIGNMENTS.has(value)
      : HARMLESS_ALIGNMENT.has(name) || value === '0' || value === 'false',
  )
  return isOrdinary ? '' : 'is turned, shrunk or repeated by its alignment'
}
