/**
 * Reads the sheets of an .xlsx workbook row by row, so that a national file with millions of cells needs little memory. In: a file.
 * Out: the cells of each row as text, by value and never by display format. Only the texts that cells share are held in memory.
 */
import { SaxesParser, type SaxesTagPlain } from 'saxes'
import { ImportError } from '../import-error.ts'
import { listZip, readEntry } from '../readers/zip.ts'

export interface SheetRow {
  /** Row number in the sheet, from 1 on. */
  readonly row: number
  /** Trimmed texts; '' for empty cells, '#' for errors. */
  readonly cells: readonly string[]
}

export interface Sheet {
  readonly name: string
  /** Rows that have cells, in the order of the file. */
  rows(): AsyncGenerator<SheetRow>
}

const REMEDY = 'Fetch the file again'
/** Maximum number of rows of a worksheet in Excel. */
const ROWS_MAX = 1_048_576
/** Maximum number of columns. Published tables have up to 400, and each row has as many cells as its last column says. */
const COLUMNS_MAX = 500
/** Maximum number of characters in all shared texts. A national file of transfers repeats a few thousand names. */
const SHARED_CHARACTERS_MAX = 64 * 2 ** 20

/** @returns the sheets in the order of the workbook @throws ImportError if the file is no whole workbook or unpacks to too much */
export async function openWorkbook(path: string, file: string): Promise<Sheet[]> {
  const parts = new Set((await listZip(path, file)).map(({ name }) => name))
  const targets = new Map<string, string>()
  await readPart(path, file, 'xl/_rels/workbook.xml.rels', {
    open({ name, attributes: { Id, Target } }) {
      // A target is relative to the folder xl, unless it begins with a slash.
      if (localName(name) === 'Relationship' && Id !== undefined && Target !== undefined)
        targets.set(Id, Target.startsWith('/') ? Target.slice(1) : `xl/${Target}`)
    },
  })
  const sheets: { name: string; part: string }[] = []
  await readPart(path, file, 'xl/workbook.xml', {
    open({ name, attributes }) {
      const part = targets.get(relationOf(attributes))
      if (localName(name) === 'sheet' && part !== undefined)
        sheets.push({ name: attributes.name ?? '', part })
    },
  })
  if (sheets.length === 0) throw broken(file)
  const shared = parts.has('xl/sharedStrings.xml') ? await readSharedTexts(path, file) : []
  return sheets.map(({ name, part }) => ({ name, rows: () => readRows(path, file, part, shared) }))
}

async function readSharedTexts(path: string, file: string): Promise<string[]> {
  const texts: string[] = []
  let characters = 0
  let text: TextOfCell | null = null
  await readPart(path, file, 'xl/sharedStrings.xml', {
    open({ name }) {
      if (localName(name) === 'si') text = new TextOfCell()
      text?.open(localName(name))
    },
    text: (piece) => text?.add(piece),
    close({ name }) {
      text?.close(localName(name))
      if (localName(name) !== 'si') return
      const value = text?.value ?? ''
      characters += value.length
      if (characters > SHARED_CHARACTERS_MAX)
        throw new ImportError(
          file,
          `shares more than ${SHARED_CHARACTERS_MAX / 2 ** 20} MiB of texts`,
          REMEDY,
        )
      texts.push(value)
      text = null
    },
  })
  return texts
}

async function* readRows(
  path: string,
  file: string,
  part: string,
  shared: readonly string[],
): AsyncGenerator<SheetRow> {
  let ready: SheetRow[] = []
  let row = 0
  let cells: string[] = []
  let cell: { readonly column: number; readonly type: string; readonly text: TextOfCell } | null = null
  const parser = createParser({
    open({ name, attributes }) {
      const local = localName(name)
      if (local === 'row') {
        row = attributes.r === undefined ? row + 1 : Number(attributes.r)
        if (!(row >= 1 && row <= ROWS_MAX)) throw broken(file)
        cells = []
      } else if (local === 'c') {
        const column = attributes.r === undefined ? cells.length : columnOf(attributes.r)
        if (column >= COLUMNS_MAX) throw new ImportError(file, `has more than ${COLUMNS_MAX} columns`, REMEDY)
        if (column < 0) throw broken(file)
        cell = { column, type: attributes.t ?? 'n', text: new TextOfCell() }
      } else cell?.text.open(local)
    },
    text: (piece) => cell?.text.add(piece),
    close({ name }) {
      const local = localName(name)
      if (local === 'c' && cell !== null) {
        const value = cellValue(cell.type, cell.text.value, shared)
        if (value === undefined) throw broken(file)
        while (cells.length < cell.column) cells.push('')
        cells[cell.column] = value
        cell = null
      } else if (local === 'row' && cells.length > 0) ready.push({ row, cells })
      else cell?.text.close(local)
    },
  })
  for await (const text of textsOf(path, file, part)) {
    parse(file, () => parser.write(text))
    yield* ready
    ready = []
  }
  parse(file, () => parser.close())
}

/** @returns the text of a cell by its type; undefined for a shared text that is missing */
function cellValue(type: string, text: string, shared: readonly string[]): string | undefined {
  if (text === '') return ''
  if (type === 's') return shared[Number(text)]
  if (type === 'e') return '#'
  if (type === 'b') return text === '1' ? 'true' : 'false'
  return type === 'n' ? String(Number(text)) : text
}

/** @returns index of the column in an address such as `B12`, which is 1 */
function columnOf(address: string): number {
  let column = 0
  for (const letter of /^[A-Z]{1,3}/.exec(address)?.[0] ?? '')
    column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}

/** Collects the texts of `v` and `t`, but neither those of formulas nor of phonetic readings. */
class TextOfCell {
  #text = ''
  #isOpen = false
  #inReading = false

  open(element: string): void {
    if (element === 'rPh') this.#inReading = true
    this.#isOpen = (element === 'v' || element === 't') && !this.#inReading
  }
  add(piece: string): void {
    if (this.#isOpen) this.#text += piece
  }
  close(element: string): void {
    if (element === 'rPh') this.#inReading = false
    this.#isOpen = false
  }
  /** Characters that XML cannot contain are written as _x000D_ (ECMA-376, 22.9.2.19). */
  get value(): string {
    return this.#text
      .replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      .trim()
  }
}

interface PartReader {
  open(tag: SaxesTagPlain): void
  text?(piece: string): void
  close?(tag: SaxesTagPlain): void
}

function createParser(reader: PartReader): SaxesParser {
  const parser = new SaxesParser()
  parser.on('error', (error) => {
    throw error
  })
  parser.on('doctype', () => {
    throw new Error('a part of a workbook declares no document type')
  })
  parser.on('opentag', (tag) => reader.open(tag))
  parser.on('text', (piece) => reader.text?.(piece))
  parser.on('cdata', (piece) => reader.text?.(piece))
  parser.on('closetag', (tag) => reader.close?.(tag))
  return parser
}

async function readPart(path: string, file: string, part: string, reader: PartReader): Promise<void> {
  const parser = createParser(reader)
  for await (const text of textsOf(path, file, part)) parse(file, () => parser.write(text))
  parse(file, () => parser.close())
}

async function* textsOf(path: string, file: string, part: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (chunk: Buffer): string => {
    try {
      return decoder.decode(chunk, { stream: true })
    } catch {
      throw broken(file)
    }
  }
  for await (const chunk of readEntry(path, file, part)) yield decode(chunk)
}

function parse(file: string, run: () => void): void {
  try {
    run()
  } catch (error) {
    throw error instanceof ImportError ? error : broken(file)
  }
}

const broken = (file: string): ImportError => new ImportError(file, 'is not a whole spreadsheet', REMEDY)

/** @returns the value of `r:id`; some programs write another prefix */
const relationOf = (attributes: Readonly<Record<string, string>>): string =>
  Object.entries(attributes).find(([name]) => /:id$/.test(name))?.[1] ?? ''

/** Some programs write a prefix before every element. */
const localName = (name: string): string => name.slice(name.indexOf(':') + 1)
