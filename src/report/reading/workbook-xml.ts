/**
 * Parses the XML of a workbook's part like a conforming reader: it skips comments, decodes entities, and rejects XML that is not
 * well formed. Input: a stream of bytes. Output: calls for elements and text, with the element's path.
 */
import { SaxesParser } from 'saxes'
import { ReportUnreadable } from './unreadable.ts'

/** Namespaces whose elements have no prefix in paths: workbooks and package relationships. */
const PLAIN = new Set([
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  'http://purl.oclc.org/ooxml/spreadsheetml/main',
  'http://schemas.openxmlformats.org/package/2006/relationships',
])
/** Largest nesting depth. Cells are six levels deep; other programs add a few. */
const DEPTH_MAX = 100
/** Largest number of characters without a tag; a cell holds 32,767. */
const TEXT_MAX = 1 << 20

export type Attributes = Readonly<Record<string, string>>

export interface XmlReader {
  /**
   * @param path local names from the root, such as `worksheet/sheetData/row`; elements of other namespaces as `{uri}name`, the uri without
   * its slashes
   * @param attributes by local name, those of a namespace as `{uri}name`
   */
  open(path: string, attributes: Attributes): void
  text?(path: string, text: string): void
  close?(path: string): void
}

/** @throws ReportUnreadable when the part is not well formed, declares a document type or is not UTF-8 */
export async function readXml(name: string, part: AsyncIterable<Buffer>, reader: XmlReader): Promise<void> {
  const parser = new SaxesParser({ xmlns: true })
  const paths: string[] = []
  const currentPath = (): string => paths.at(-1) ?? ''
  parser.on('error', (error) => {
    throw new ReportUnreadable(`${name} is not well-formed XML: ${error.message}`)
  })
  parser.on('doctype', () => {
    throw new ReportUnreadable(`${name} declares a document type`)
  })
  parser.on('opentag', ({ local, uri, attributes }) => {
    const element = PLAIN.has(uri) ? local : `{${uri.replaceAll('/', '')}}${local}`
    paths.push(paths.length === 0 ? element : `${currentPath()}/${element}`)
    if (paths.length > DEPTH_MAX) throw new ReportUnreadable(`${name} is nested deeper than a workbook`)
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
    paths.pop()
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
  } catch (error) {
    if (error instanceof ReportUnreadable) throw error
    throw new ReportUnreadable(`${name} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}
