/** Rows of workbooks, cell by cell: as SheetJS reads them, and what other programs write differently. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CellObject, read, utils, write } from '@e965/xlsx'
import { strToU8, zipSync } from 'fflate'
import t, { type Test } from 'tap'
import { openWorkbook } from '../../src/import/financing/workbook-rows.ts'
import { ImportError } from '../../src/import/import-error.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('workbooks')
const path = join(folder, 'book.xlsx')

/** Rows of every sheet; a row that the file lacks is an empty one. */
async function rowsOf(file: string): Promise<Record<string, string[][]>> {
  const sheets: Record<string, string[][]> = {}
  for (const sheet of await openWorkbook(file, 'book.xlsx')) {
    const rows: string[][] = []
    for await (const { row, cells } of sheet.rows()) {
      while (rows.length < row - 1) rows.push([])
      rows.push([...cells])
    }
    sheets[sheet.name] = rows
  }
  return sheets
}

const textOf = (cell: CellObject | undefined): string =>
  cell?.v === undefined || cell.v === null ? '' : cell.t === 'e' ? '#' : String(cell.v).trim()

/** The same by SheetJS, which reads a workbook as a whole. */
function rowsBySheetJs(bytes: Buffer): Record<string, string[][]> {
  const book = read(bytes, {
    type: 'buffer',
    dense: true,
    cellText: false,
    cellFormula: false,
    cellHTML: false,
  })
  return Object.fromEntries(
    book.SheetNames.map((name) => {
      const rows = (book.Sheets[name]?.['!data'] ?? []) as (CellObject | undefined)[][]
      return [name, Array.from(rows, (row) => Array.from(row ?? [], textOf))]
    }),
  )
}

/** Without empty cells and rows at the ends, which programs write or leave out. */
const trimmed = (sheets: Record<string, string[][]>): Record<string, string[][]> => {
  const cut = <Item>(items: readonly Item[], isEmpty: (item: Item) => boolean): Item[] =>
    items.slice(0, items.findLastIndex((item) => !isEmpty(item)) + 1)
  return Object.fromEntries(
    Object.entries(sheets).map(([name, rows]) => [
      name,
      cut(
        rows.map((row) => cut(row, (cell) => cell === '')),
        (row) => row.length === 0,
      ),
    ]),
  )
}

const PARTS = {
  'xl/_rels/workbook.xml.rels':
    '<Relationships><Relationship Id="rId7" Target="/xl/worksheets/one.xml"/></Relationships>',
  'xl/workbook.xml':
    '<x:workbook xmlns:x="s"><x:sheets><x:sheet name="A &amp; B" r:id="rId7"/></x:sheets></x:workbook>',
}
/** @param rows content of sheetData @param others more parts, or others in place of these */
async function rowsOfXml(rows: string, others: Readonly<Record<string, string>> = {}): Promise<string[][]> {
  const parts = {
    ...PARTS,
    'xl/worksheets/one.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    ...others,
  }
  writeFileSync(
    path,
    zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)]))),
  )
  return (await rowsOf(path))['A & B'] ?? []
}
const refuses = (t: Test, made: Promise<unknown>, message: RegExp): Promise<unknown> =>
  t.rejects(made, { name: ImportError.name, message })

t.test('a workbook that SheetJS writes, with shared texts or without', async (t) => {
  const book = utils.book_new()
  const grid = [
    ['BLOCO', 'VL_BRUTO', 'UF'],
    ['Atenção & "saúde" <1>', 7708340.4400000004, 'AC'],
    [null, -0.5, true],
    ['', 45925, '  aparado '],
    ['=1+1', 1e21, 'fim'],
  ]
  utils.book_append_sheet(book, utils.aoa_to_sheet(grid), 'Dados')
  utils.book_append_sheet(book, utils.aoa_to_sheet([['outra'], [], ['linha 3']]), 'Outra')
  for (const bookSST of [true, false]) {
    const bytes = write(book, { type: 'buffer', bookType: 'xlsx', bookSST }) as Buffer
    writeFileSync(path, bytes)
    const rows = trimmed(await rowsOf(path))
    t.same(rows, trimmed(rowsBySheetJs(bytes)))
    t.same(rows.Dados?.[1], ['Atenção & "saúde" <1>', '7708340.44', 'AC'])
    t.same(rows.Outra, [['outra'], [], ['linha 3']])
  }
})

t.test('published workbooks, as SheetJS reads them', { skip: skipWithoutShared }, async (t) => {
  const files = ['ibge', 'financing/siops'].flatMap((name) =>
    readdirSync(sharedPath(name))
      .filter((file) => file.endsWith('.xlsx'))
      .map((file) => sharedPath(`${name}/${file}`)),
  )
  t.ok(files.length >= 7, `${files.length} workbooks`)
  for (const file of files)
    t.same(trimmed(await rowsOf(file)), trimmed(rowsBySheetJs(readFileSync(file))), file)
})

t.test('what programs write differently', async (t) => {
  const shared = {
    'xl/sharedStrings.xml':
      '<sst><si><t>um</t></si><si><r><t>do</t></r><r><rPr/><t xml:space="preserve">is </t></r><rPh><t>leitura</t></rPh></si><si><t>a_x000D_b</t></si></sst>',
  }
  t.same(
    await rowsOfXml('<row r="2"><c r="B2" t="s"><v>1</v></c><c r="AA2" t="s"><v>2</v></c></row>', shared),
    [[], ['', 'dois', ...Array(24).fill(''), 'a\rb']],
    'shared texts by number, in runs, without how they are read aloud',
  )
  t.same(await rowsOfXml('<row><c><v>1.50</v></c><c/><c><v>2E3</v></c></row><row><c><v>3</v></c></row>'), [
    ['1.5', '', '2000'],
    ['3'],
  ])
  t.same(
    await rowsOfXml(
      '<row><c t="inlineStr"><is><t>x</t></is></c><c t="str"><f>A1&amp;"z"</f><v>xz</v></c><c t="b"><v>0</v></c><c t="e"><v>#N/A</v></c><c t="s"><v></v></c></row>',
      shared,
    ),
    [['x', 'xz', 'false', '#', '']],
    'the result of a formula, not the formula',
  )
  t.same(await rowsOfXml('<x:row><x:c><x:v>1</x:v></x:c></x:row>'), [['1']], 'elements with a prefix')
  t.same(
    await rowsOfXml('<row><c><v>1</v></c></row>', {
      'xl/workbook.xml': PARTS['xl/workbook.xml'].replace('r:id', 'ns1:id'),
      'xl/_rels/workbook.xml.rels': PARTS['xl/_rels/workbook.xml.rels'].replaceAll('Relation', 'p:Relation'),
    }),
    [['1']],
    'another prefix of the relation',
  )
})

t.test('what is no whole workbook', async (t) => {
  await refuses(t, rowsOfXml('<row><c t="s"><v>5</v></c></row>'), /not a whole spreadsheet/)
  await refuses(t, rowsOfXml('<row><c><v>1</v></row>'), /not a whole spreadsheet/)
  await refuses(t, rowsOfXml('<row r="2000000"><c><v>1</v></c></row>'), /not a whole spreadsheet/)
  await refuses(t, rowsOfXml('<row><c r="XFD1"><v>1</v></c></row>'), /more than 500 columns/)
  await refuses(t, rowsOfXml('<row><c r="1A"><v>1</v></c></row>'), /not a whole spreadsheet/)
  await refuses(
    t,
    rowsOfXml('', { 'xl/workbook.xml': '<workbook><sheets/></workbook>' }),
    /not a whole spreadsheet/,
  )
  await refuses(
    t,
    rowsOfXml('', { 'xl/workbook.xml': `<!DOCTYPE x [<!ENTITY a "b">]>${PARTS['xl/workbook.xml']}` }),
    /not a whole spreadsheet/,
  )
  await refuses(
    t,
    rowsOfXml('', {
      'xl/_rels/workbook.xml.rels': PARTS['xl/_rels/workbook.xml.rels'].replace('one', 'two'),
    }),
    /two\.xml: is missing/,
  )
  writeFileSync(path, 'PK no archive')
  await refuses(t, rowsOf(path), /not a whole zip archive/)
})
