/**
 * Parses the XML of a workbook's part like a conforming reader: it skips comments, decodes entities, and rejects XML that is not
 * well formed. Input: a stream of bytes. Output: calls for elements and text, with the element's path.
 */
import { SaxesParser } from 'saxes'
import { ReportUnreadable } from './unreadable.ts'

/** Namespaces of parts, most of them in the transitional and the strict form. */
export const NAMESPACES = {
  workbook: [
    'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
    'http://purl.oclc.org/ooxml/spreadsheetml/main',
  ],
  relationships: ['http://schemas.openxmlformats.org/package/2006/relationships'],
  contentTypes: ['http://schemas.openxmlformats.org/package/2006/content-types'],
  drawing: [
    'http://schemas.openxmlformats.org/drawingml/2006/main',
    'http://purl.oclc.org/ooxml/drawingml/main',
  ],
  sheetDrawing: [
    'http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing',
    'http://purl.oclc.org/ooxml/drawingml/spreadsheetDrawing',
  ],
} as const
/** Largest nesting depth. Cells are six levels deep; other programs add a few. */
const DEPTH_MAX = 100
/** Largest number of characters without a tag; a cell holds 32,767. */
const TEXT_MAX = 1 << 20
const UNEXPECTED_MAX = 20
/** Largest number of different paths that are built and checked only once; a report has fewer. */
const STEPS_MAX = 1000

export type Attributes = Readonly<Record<string, string>>

/** An element at its path, with the elements in it that were found so far. */
interface Step {
  readonly path: string
  readonly inner: Map<string, Step>
}

export interface XmlReader {
  /** Namespaces whose elements have no prefix in paths. */
  readonly namespaces: readonly string[]
  /** Paths of the elements that the part may have. */
  readonly elements: RegExp
  /**
   * @param path local names from the root, such as `worksheet/sheetData/row`; elements of other namespaces as `{uri}name`, the uri without
   * its slashes
   * @param attributes by local name, those of a namespace as `{uri}name`
   */
  open(path: string, attributes: Attributes): void
  text?(path: string, text: string): void
  close?(path: string): void
}

/**
 * Reads the number of an item. Programs differ in how they read other notations, such as `0x10`, `1e1` and numbers beyond 32 bits.
 *
 * @returns NaN for other notations
 */
export const readIndex = (text: string): number => (/^\d{1,9}$/.test(text) ? Number(text) : Number.NaN)

/** Reads a width, height or font size, as strictly as an index. */
export const readSize = (text: string): number => (/^\d{1,9}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN)

/**
 * @returns names of elements that the part may not have, the first of them
 * @throws ReportUnreadable when the part is not well formed, declares a document type or is not UTF-8
 */
export async function readXml(
  name: string,
  part: AsyncIterable<Buffer>,
  reader: XmlReader,
): Promise<string[]> {
  const parser = new SaxesParser({ xmlns: true })
  const root: Step = { path: '', inner: new Map() }
  const open: Step[] = []
  const unexpected = new Set<string>()
  const currentPath = (): string => open.at(-1)?.path ?? ''
  let steps = 0
  const enter = (outer: Step, element: string): Step => {
    const found = outer.inner.get(element)
    if (found !== undefined) return found
    const step = { path: outer === root ? element : `${outer.path}/${element}`, inner: new Map() }
    if (unexpected.size < UNEXPECTED_MAX && !reader.elements.test(step.path))
      unexpected.add(element.replace(/^.*}/, ''))
    steps += 1
    if (steps <= STEPS_MAX) outer.inner.set(element, step)
    return step
  }
  parser.on('error', (error) => {
    throw new ReportUnreadable(`${name} is not well-formed XML: ${error.message}`)
  })
  parser.on('doctype', () => {
    throw new ReportUnreadable(`${name} declares a document type`)
  })
  parser.on('opentag', ({ local, uri, attributes }) => {
    // A handler of declarations would make the parser half as fast.
    const { encoding = 'UTF-8' } = parser.xmlDecl
    if (open.length === 0 && !/^utf-8$/i.test(encoding))
      throw new ReportUnreadable(`${name} declares the encoding ${encoding}`)
    const element = reader.namespaces.includes(uri) ? local : `{${uri.replaceAll('/', '')}}${local}`
    open.push(enter(open.at(-1) ?? root, element))
    if (open.length > DEPTH_MAX) throw new ReportUnreadable(`${name} is nested deeper than a workbook`)
    const values: Record<string, string> = Object.create(null)
    for (const { local: name, uri: space, value } of Object.values(attributes))
      values[space === '' ? name : `{${space}}${name}`] = value
    reader.open(currentPath(), values)
  })
  const takeText = (text: string): void => reader.text?.(currentPath(), text)
  parser.on('text', takeText)
  parser.on('cdata', takeText)
  parser.on('closetag', () => {
    reader.close?.(currentPath())
    open.pop()
  })
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let sinceTag = 0
  const write = (text: string): void => {
    const lastTag = Math.max(text.lastIndexOf('<'), text.lastIndexOf('>'))
    sinceTag = lastTag < 0 ? sinceTag + text.length : text.length - lastTag
    if (sinceTag > TEXT_MAX) throw new ReportUnreadable(`${name} holds a text that no cell can hold`)
    parser.write(text)
  }
  try {
    for await (const chunk of part) write(decoder.decode(chunk, { stream: true }))
    write(decoder.decode())
    parser.close()
    return [...unexpected]
  } catch (error) {
    if (error instanceof ReportUnreadable) throw error
    throw new ReportUnreadable(`${name} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}
