/**
 * Checks the parts of a workbook. Programs find parts by relationships and content types, but the readers here find them by name, so
 * both must lead to the same parts. Input: the package. Output: targets of the workbook's relationships, and problems: everything that
 * neither the report writer nor LibreOffice nor Excel writes.
 */
import { posix } from 'node:path'
import type { Package } from './package-parts.ts'
import { type Attributes, NAMESPACES, readXml, type XmlReader } from './workbook-xml.ts'

const CONTENT_TYPES_PART = '[Content_Types].xml'
const PACKAGE_RELATIONS = '_rels/.rels'
const BOOK_RELATIONS = 'xl/_rels/workbook.xml.rels'
const SHEET_RELATIONS = 'xl/worksheets/_rels/sheet1.xml.rels'
export const SMALL_PART_BYTES_MAX = 1 << 20

interface PartRule {
  /** Name of the part; the number 1 stands for all numbers. */
  readonly part: string
  /** Relationships that lead to the part. */
  readonly from: string
  readonly relation: string
  /** End of the content type when it is not the name of the relationship. */
  readonly contentType?: string
}
const PARTS: readonly PartRule[] = [
  { part: 'xl/workbook.xml', from: PACKAGE_RELATIONS, relation: 'officeDocument', contentType: '.main' },
  { part: 'docProps/core.xml', from: PACKAGE_RELATIONS, relation: 'core-properties' },
  { part: 'docProps/app.xml', from: PACKAGE_RELATIONS, relation: 'extended-properties' },
  { part: 'docProps/custom.xml', from: PACKAGE_RELATIONS, relation: 'custom-properties' },
  { part: 'xl/worksheets/sheet1.xml', from: BOOK_RELATIONS, relation: 'worksheet' },
  { part: 'xl/sharedStrings.xml', from: BOOK_RELATIONS, relation: 'sharedStrings' },
  { part: 'xl/styles.xml', from: BOOK_RELATIONS, relation: 'styles' },
  { part: 'xl/theme/theme1.xml', from: BOOK_RELATIONS, relation: 'theme' },
  { part: 'xl/calcChain.xml', from: BOOK_RELATIONS, relation: 'calcChain' },
  { part: 'xl/drawings/drawing1.xml', from: SHEET_RELATIONS, relation: 'drawing' },
  { part: 'xl/printerSettings/printerSettings1.bin', from: SHEET_RELATIONS, relation: 'printerSettings' },
]
/** Types of relationships, in the transitional and the strict form. */
const RELATION =
  /^http:\/\/(?:schemas\.openxmlformats\.org\/(?:officeDocument|package)\/2006|purl\.oclc\.org\/ooxml\/officeDocument)\/relationships\/(?:metadata\/)?([\w-]+)$/
const PROPERTIES = /^\{[^}]*properties\}(coreP|P)roperties(\/|$)/i
/** The text color of a theme. */
const DARK = /(^|\/)dk1(\/|$)/
const BLACK = new Set(['srgbClr 000000', 'sysClr windowText', 'sysClr windowText 000000'])
/** Fonts that show digits as other symbols. */
export const SYMBOLS = /wing|webd|symbol|dingbat/i

const shapeOf = (name: string): string => name.replace(/\d+/, '1')
const ruleOf = (name: string): PartRule | undefined => PARTS.find(({ part }) => part === shapeOf(name))
const isRelations = (name: string): boolean =>
  [PACKAGE_RELATIONS, BOOK_RELATIONS, SHEET_RELATIONS].includes(shapeOf(name))

export interface CheckedParts {
  /** Parts by the id of the workbook's relationship. */
  readonly targets: ReadonlyMap<string, string>
  readonly problems: readonly string[]
}

/** @throws ReportUnreadable */
export async function checkParts(parts: Package): Promise<CheckedParts> {
  const problems: string[] = []
  const related = new Set<string>()
  const targets = new Map<string, string>()
  for (const name of parts.names)
    if (isRelations(name))
      for (const [id, target] of await readRelations(parts, name, problems)) {
        related.add(target)
        if (name === BOOK_RELATIONS) targets.set(id, target)
      }
  for (const name of parts.names) {
    if (isRelations(name) || name === CONTENT_TYPES_PART) continue
    if (ruleOf(name) === undefined) problems.push(`the workbook has the part ${name}`)
    else if (!related.has(name)) problems.push(`no relationship leads to the part ${name}`)
    problems.push(...(await checkContent(parts, name)))
  }
  await readPart(parts, CONTENT_TYPES_PART, problems, {
    namespaces: NAMESPACES.contentTypes,
    elements: /^Types(\/(Default|Override))?$/,
    open(_path, { ContentType = '', PartName }) {
      if (PartName === undefined) return
      const part = PartName.slice(1)
      const rule = ruleOf(part)
      const type = isRelations(part) ? 'relationships' : (rule?.contentType ?? rule?.relation)
      if (!ContentType.endsWith(`${type}+xml`)) problems.push(`the workbook has ${part} as ${ContentType}`)
    },
  })
  return { targets, problems }
}

/** Adds unexpected elements to the problems. */
async function readPart(parts: Package, name: string, problems: string[], reader: XmlReader): Promise<void> {
  const unexpected = await readXml(name, await parts.readPart(name, SMALL_PART_BYTES_MAX), reader)
  problems.push(...unexpected.map((element) => `the part ${name} has ${element}`))
}

/** @returns targets by id */
async function readRelations(
  parts: Package,
  name: string,
  problems: string[],
): Promise<ReadonlyMap<string, string>> {
  const targets = new Map<string, string>()
  const folder = posix.join(posix.dirname(name), '..')
  const open = (path: string, { Id = '', Type = '', Target = '', TargetMode = 'Internal' }: Attributes) => {
    if (path !== 'Relationships/Relationship') return
    const target = Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target)
    const relation = RELATION.exec(Type)?.[1]?.replace('Properties', '-properties')
    const rule = PARTS.find((rule) => rule.relation === relation && rule.from === shapeOf(name))
    if (targets.has(Id)) problems.push(`${name} has two relationships ${Id}`)
    if (TargetMode !== 'Internal') problems.push(`the workbook refers to ${Target}`)
    if (rule === undefined) problems.push(`${name} has a relationship of the type ${Type}`)
    else if (rule.part !== shapeOf(target))
      problems.push(`the workbook has ${target} in the place of ${rule.part}`)
    targets.set(Id, target)
  }
  await readPart(parts, name, problems, {
    namespaces: NAMESPACES.relationships,
    elements: /^Relationships(\/Relationship)?$/,
    open,
  })
  return targets
}

/** Finds drawings and themes that change the display. LibreOffice writes empty drawings; a theme defines the text color. */
async function checkContent(parts: Package, name: string): Promise<string[]> {
  const problems: string[] = []
  const read = (reader: XmlReader): Promise<void> => readPart(parts, name, problems, reader)
  if (name.startsWith('docProps/')) await read({ namespaces: [], elements: PROPERTIES, open() {} })
  if (name.startsWith('xl/drawings/'))
    await read({ namespaces: NAMESPACES.sheetDrawing, elements: /^wsDr$/, open() {} })
  if (!name.startsWith('xl/theme/')) return problems
  const dark: string[] = []
  await read({
    namespaces: NAMESPACES.drawing,
    elements: /^theme(\/(?!.*AlternateContent).*)?$/,
    open(path, { val, lastClr, typeface = '' }) {
      if (SYMBOLS.test(typeface) && path.endsWith('/latin'))
        problems.push(`the theme has the font ${typeface}`)
      if (!DARK.test(path)) return
      const element = path.replace('theme/themeElements/clrScheme/dk1', '').slice(1)
      if (element !== '') dark.push([element, val, lastClr].filter((word) => word !== undefined).join(' '))
    },
  })
  if (!BLACK.has(dark.join())) problems.push(`the letters of the theme are ${dark.join()}`)
  return problems
}
