/**
 * Reports that somebody edited, each with its verdict: what a usual program would show otherwise than the report that was made is
 * `differs`, and nothing but the file that was made is `reproduced`. In the first ring a few of them, in the second all.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import {
  type DataType,
  Decimal,
  DurationSecond,
  Table,
  tableFromIPC,
  tableToIPC,
  Vector,
  vectorFromArray,
} from 'apache-arrow'
import { strFromU8, strToU8, unzipSync, type Zippable, zipSync } from 'fflate'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import t from 'tap'
import { ReportUnreadable } from '../../src/report/reading/unreadable.ts'
import { MANIFEST_KEY } from '../../src/report/writers/arrow.ts'
import { readSettings } from '../../src/settings.ts'
import { createReportVerifier, type ReportVerifier } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const folder = temporaryFolder('forgeries')
const nowhere = join(folder, 'no-releases')
const QUERY = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
  group_by: ['municipality'],
  filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
  totals: [[]],
  title: 'Leitos',
}
const reports = new Map<string, Buffer>()
for (const format of ['xlsx', 'csv', 'json', 'json-stat', 'arrow', 'parquet']) {
  const { status, bytes } = await client.post(`/v1/analytics/export?format=${format}`, QUERY)
  if (status !== 200) throw new Error(`${format}: ${status}`)
  reports.set(format, bytes)
}
/** A cube with cells that no row has. */
const SPARSE = {
  ...QUERY,
  group_by: ['municipality', 'bed_type'],
  metrics: ['bed_capacity_existing'],
  totals: [],
}
reports.set('sparse JSON-stat', (await client.post('/v1/analytics/export?format=json-stat', SPARSE)).bytes)
const report = (format: string): Buffer => reports.get(format) as Buffer

let files = 0
const save = (bytes: Buffer | string): string => {
  files += 1
  const path = join(folder, `report-${files}`)
  writeFileSync(path, bytes)
  return path
}

type Forgery = readonly [name: string, make: () => Buffer | string, says: RegExp | null, verdict?: string]
const AGREE = 'cells agree; not the file that was made'

type Parts = Record<string, string>
const partsOf = (bytes: Buffer): Parts =>
  Object.fromEntries(Object.entries(unzipSync(bytes)).map(([name, part]) => [name, strFromU8(part)]))
const packed = (parts: Parts): Buffer =>
  Buffer.from(
    zipSync(
      Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])) as Zippable,
    ),
  )
const DATA = 'xl/worksheets/sheet1.xml'
const MANIFEST = 'xl/worksheets/sheet3.xml'
const BOOK = 'xl/workbook.xml'
const STYLES = 'xl/styles.xml'
/** The workbook with one part changed. */
const edited = (part: string, change: (text: string) => string) => (): Buffer => {
  const parts = partsOf(report('xlsx'))
  const text = change(parts[part] ?? '')
  if (text === parts[part]) throw new Error('nothing was changed')
  return packed({ ...parts, [part]: text })
}
const replaced = (part: string, from: string | RegExp, to: string) =>
  edited(part, (text) => text.replace(from, to))
const textCell = (address: string): string => `<c r="${address}" s="1" t="inlineStr"><is><t>x</t></is></c>`
/** First number of the table. */
const NUMBER = /(<c r="E3" s="\d+">)<v>([\d.]+)<\/v>/

/** Two parts of one name: the true one, then another, as fflate packs them under names of one length. */
function doubled(): Buffer {
  const parts = partsOf(report('xlsx'))
  const other = 'xl/worksheets/sheetX.xml'
  const bytes = packed({ ...parts, [other]: (parts[DATA] ?? '').replace(NUMBER, '$1<v>1</v>') })
  for (let at = bytes.indexOf(other); at >= 0; at = bytes.indexOf(other, at + 1)) bytes.write(DATA, at)
  return bytes
}

/** The local header of a part names another one than the directory of the package. */
function renamedInside(): Buffer {
  const bytes = packed(partsOf(report('xlsx')))
  bytes.write('xl/worksheets/sheet9.xml', bytes.indexOf(DATA))
  return bytes
}

const RELATIONS = 'xl/_rels/workbook.xml.rels'
/** A sheet with another number, under a name that a part of a workbook may have. */
const withOtherSheet = (change: (parts: Parts) => Parts) => (): Buffer => {
  const parts = partsOf(report('xlsx'))
  return packed({
    ...parts,
    'xl/worksheets/sheet4.xml': (parts[DATA] ?? '').replace(NUMBER, '$1<v>1</v>'),
    ...change(parts),
  })
}

/** Joins the headers of two columns in one cell and moves the headers after them one cell to the left. */
function moveHeaders(sheet: string, left: string, right: string): string {
  const [, row = ''] = /<row r="1">(.*?)<\/row>/.exec(sheet) ?? []
  const cells = row.split(/(?=<c )/)
  const at = cells.findIndex((cell) => cell.includes(`>${left}<`))
  const texts = cells.map((cell) => /<t [^>]*>(.*?)<\/t>/.exec(cell)?.[1] ?? '')
  const moved = texts.with(at, `${left},${right}`).toSpliced(at + 1, 1)
  const headers = moved.map((text, column) => cells[column]?.replace(/(<t [^>]*>).*?(?=<\/t>)/, `$1${text}`))
  return sheet.replace(row, headers.join(''))
}

const STRINGS = 'xl/sharedStrings.xml'
const SHEET_RELATIONS = 'xl/worksheets/_rels/sheet1.xml.rels'
const RELATIONS_SPACE = 'http://schemas.openxmlformats.org/package/2006/relationships'
const relation = (id: string, type: string, target: string): string =>
  `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/>`
/** Several parts changed, each by a function of its text. */
const revised = (changes: Readonly<Record<string, (text: string) => string>>) => (): Buffer => {
  const parts = partsOf(report('xlsx'))
  const texts = Object.entries(changes).map(([name, change]) => [name, change(parts[name] ?? '')])
  if (texts.some(([name, text]) => text === parts[name as string])) throw new Error('nothing was changed')
  return packed({ ...parts, ...Object.fromEntries(texts) })
}
const before = (mark: string, added: string) => (text: string) => text.replace(mark, `${added}${mark}`)
/** Elements for programs that do not know the namespace of the first choice. */
const otherwise = (xml: string): string =>
  `<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice xmlns:z="urn:z" Requires="z"/><mc:Fallback>${xml}</mc:Fallback></mc:AlternateContent>`
const otherTable = (): string => (partsOf(report('xlsx'))[DATA] ?? '').replace(NUMBER, '$1<v>1</v>')
const TEXT_CELL = /<c r="(C3)" s="(\d+)" t="inlineStr"><is><t [^>]*>([^<]*)<\/t><\/is><\/c>/
/** The text of a cell as the shared string after those of the report. */
const sharedText = (index: (count: number) => string, strings: string) =>
  revised({
    [STRINGS]: before('</sst>', strings),
    [DATA]: (text) => text.replace(TEXT_CELL, `<c r="$1" s="$2" t="s"><v>${index(countOfStrings())}</v></c>`),
  })
const countOfStrings = (): number => (partsOf(report('xlsx'))[STRINGS] ?? '').split('<si>').length - 1
const nameOfText = (): string => TEXT_CELL.exec(partsOf(report('xlsx'))[DATA] ?? '')?.[3] ?? ''
/** The number format 150, which prints a constant. */
const withConstantFormat = (change: (text: string) => string) => (text: string) =>
  change(text).replace('<numFmt ', '<numFmt numFmtId="150" formatCode="&quot;9&quot;"/><numFmt ')
const NUMBER_STYLE = '<xf numFmtId="101" applyNumberFormat="1">'
const theme = (dark: string, fonts = ''): string =>
  `<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:themeElements><a:clrScheme name="x"><a:dk1>${dark}</a:dk1></a:clrScheme>${fonts}</a:themeElements></a:theme>`
const withTheme = (dark: string, fonts = '') =>
  revised({
    [RELATIONS]: before('</Relationships>', relation('rId8', 'theme', 'theme/theme1.xml')),
    'xl/theme/theme1.xml': () => theme(dark, fonts),
  })
const withSheetRelation = (type: string, target: string) =>
  revised({
    [SHEET_RELATIONS]: before('</Relationships>', relation('rId1', type, target)),
    'docProps/app.xml': () => '<Properties/>',
  })
const declaring = (encoding: string) =>
  replaced(DATA, /^<\?xml[^>]*\?>/, `<?xml version="1.0" encoding="${encoding}"?>`)

/** Dados under a name of no sheet in the directory, and under its name in an extra field, which only some programs read. */
function renamedByExtraField(): Buffer {
  const other = 'docProps/xxxxxxxxxxx.xml'
  const extra = Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), Buffer.from(DATA)])
  extra.writeUInt32LE(crc32(other), 1)
  const files = Object.entries(partsOf(report('xlsx'))).map(([name, text]) => [
    name,
    name === DATA ? [strToU8(text), { extra: { 28789: extra } }] : strToU8(text),
  ])
  const bytes = Buffer.from(zipSync(Object.fromEntries(files) as Zippable))
  // The last name is that of the extra field in the directory.
  bytes.write(other, bytes.lastIndexOf(DATA, bytes.lastIndexOf(DATA) - 1))
  return bytes
}

/** The report with the parts, attributes and elements that Excel adds when it saves a workbook. */
const asExcelSaves = revised({
  'xl/theme/theme1.xml': () => theme('<a:sysClr val="windowText" lastClr="000000"/>'),
  'xl/printerSettings/printerSettings1.bin': () => 'x',
  'xl/calcChain.xml': () => '<calcChain/>',
  'docProps/app.xml': () =>
    '<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"><Application>Microsoft Excel</Application></Properties>',
  'docProps/core.xml': () =>
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"><cp:lastModifiedBy>x</cp:lastModifiedBy></cp:coreProperties>',
  '_rels/.rels': before(
    '</Relationships>',
    `<Relationship Id="rId7" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" Target="docProps/core.xml"/>${relation('rId8', 'extended-properties', 'docProps/app.xml')}`,
  ),
  [RELATIONS]: before(
    '</Relationships>',
    relation('rId8', 'theme', 'theme/theme1.xml') + relation('rId9', 'calcChain', 'calcChain.xml'),
  ),
  [SHEET_RELATIONS]: before(
    '</Relationships>',
    relation('rId1', 'printerSettings', '../printerSettings/printerSettings1.bin'),
  ),
  '[Content_Types].xml': before(
    '</Types>',
    '<Default Extension="bin" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.printerSettings"/><Override PartName="/xl/theme/theme1.xml" ContentType="application/vnd.openxmlformats-officedocument.theme+xml"/><Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>',
  ),
  [BOOK]: (text) =>
    text
      .replace(
        '<workbookPr/>',
        '<fileVersion appName="xl"/><workbookPr defaultThemeVersion="166925"/><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice Requires="x15"><x15ac:absPath xmlns:x15ac="http://schemas.microsoft.com/office/spreadsheetml/2010/11/ac" url="x"/></mc:Choice></mc:AlternateContent><xr:revisionPtr xmlns:xr="http://schemas.microsoft.com/office/spreadsheetml/2014/revision" revIDLastSave="0"/>',
      )
      .replace(
        '</workbook>',
        '<extLst><ext uri="x"><xcalcf:calcFeatures xmlns:xcalcf="http://schemas.microsoft.com/office/spreadsheetml/2018/calcfeatures"><xcalcf:feature name="x"/></xcalcf:calcFeatures></ext></extLst></workbook>',
      ),
  [STYLES]: before(
    '</styleSheet>',
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles><dxfs count="0"/><tableStyles count="0"/><extLst><ext uri="x"><x14:slicerStyles xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"/></ext></extLst>',
  ),
  [DATA]: (text) =>
    text
      .replace('<worksheet ', '<worksheet mc:Ignorable="x14ac xr" ')
      .replace('<row r="3">', '<row r="3" spans="1:6" x14ac:dyDescent="0.25">')
      .replace(
        '</worksheet>',
        '<pageMargins left="0.7"/><pageSetup orientation="portrait" r:id="rId1"/></worksheet>',
      ),
})

const WORKBOOKS: Forgery[] = [
  ['a sheet that no program shows', withOtherSheet(() => ({})), /sheet4.xml, which is none of its sheets/],
  [
    'a sheet named by another prefix',
    withOtherSheet((parts) => ({
      [BOOK]: (parts[BOOK] ?? '').replace(
        /<sheet (name="Dados".*?)r:id="(\w+)"/,
        '<sheet $1xmlns:r="urn:x" xmlns:q="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="$2" q:id="rId9"',
      ),
      [RELATIONS]: (parts[RELATIONS] ?? '').replace(
        '</Relationships>',
        '<Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet4.xml"/></Relationships>',
      ),
    })),
    /Dados!E3|is none of its sheets/,
  ],
  [
    'another workbook inside',
    withOtherSheet((parts) => ({
      'xl/worksheets/sheet9.xml': parts[BOOK] ?? '',
      '_rels/.rels': (parts['_rels/.rels'] ?? '').replace('xl/workbook.xml', 'xl/worksheets/sheet9.xml'),
    })),
    /sheet9.xml in the place of xl\/workbook.xml/,
  ],
  [
    'another table for programs that understand it',
    replaced(
      DATA,
      '</sheetData>',
      '</sheetData><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice Requires="a"><sheetData><row r="3"><c r="E3"><v>1</v></c></row></sheetData></mc:Choice></mc:AlternateContent>',
    ),
    /AlternateContent/,
  ],
  ['a text where a number is', replaced(DATA, NUMBER, '$1<is><t>$2</t></is>'), /E3 has is/],
  ['a row hidden in LibreOffice', replaced(DATA, '<row r="3">', '<row r="3" hidden="t">'), /row 3 is hidden/],
  [
    'rows that are low unless they say otherwise',
    replaced(DATA, '<sheetData>', '<sheetFormatPr defaultRowHeight="0.1" customHeight="1"/><sheetData>'),
    /hides rows/,
  ],
  ['packed anew', () => packed(partsOf(report('xlsx'))), null, AGREE],
  [
    'a true value in an XML comment',
    replaced(DATA, NUMBER, '$1<!--<v>$2</v>--><v>1</v>'),
    /^Dados!E3 .* is "1"/,
  ],
  ['a false value in an XML comment', replaced(DATA, NUMBER, '$1<!--<v>1</v>--><v>$2</v>'), null, AGREE],
  ['a digit', replaced(DATA, NUMBER, '$1<v>9$2</v>'), /^Dados!E3 /],
  ['a billionth', replaced(DATA, NUMBER, '$1<v>$20000001</v>'), /^Dados!E3 /],
  ['two values in a cell', replaced(DATA, NUMBER, '$1<v>$2</v><v>1</v>'), /E3/],
  ['a value as an entity', replaced(DATA, NUMBER, '$1<v>&#49;</v>'), /^Dados!E3 /],
  ['a value in CDATA', replaced(DATA, NUMBER, '$1<v><![CDATA[1]]></v>'), /^Dados!E3 /],
  ['a formula', replaced(DATA, NUMBER, '$1<f>1+0</f><v>$2</v>'), /E3 is a formula/],
  [
    'a number as a text',
    replaced(DATA, NUMBER, '$1<v>$2</v>'.replace('$1', '<c r="E3" t="str">')),
    /E3 is a text/,
  ],
  ['a cell twice', replaced(DATA, /(<c r="E3" s="(\d+)">)/, '$1<v>7</v></c><c r="E3" s="$2">'), /E3/],
  ['a row twice', replaced(DATA, /(<row r="3">.*?<\/row>)/, '$1$1'), /row 3 stands out of order/],
  ['a hidden row', replaced(DATA, '<row r="3">', '<row r="3" hidden="1">'), /row 3 is hidden/],
  ['a low row', replaced(DATA, '<row r="3">', '<row r="3" ht="0.5" customHeight="1">'), /row 3 is too low/],
  ['a hidden column', replaced(DATA, /<col ([^>]*?)\/>/, '<col $1 hidden="1"/>'), /hidden column/],
  [
    'a merged cell',
    replaced(DATA, /<autoFilter/, '<mergeCells count="1"><mergeCell ref="D3:E3"/></mergeCells><autoFilter'),
    /mergeCells/,
  ],
  [
    'a conditional format',
    replaced(
      DATA,
      '</worksheet>',
      '<conditionalFormatting sqref="E3"><cfRule type="expression" dxfId="0" priority="1"><formula>TRUE</formula></cfRule></conditionalFormatting></worksheet>',
    ),
    /conditionalFormatting/,
  ],
  ['no zeros shown', replaced(DATA, '<sheetView ', '<sheetView showZeros="0" '), /zeros/],
  [
    'a value in a column without a header',
    replaced(DATA, /(<row r="3">.*?)<\/row>/, '$1<c r="H3"><v>5</v></c></row>'),
    /H3 stands in a column without a header/,
  ],
  [
    'a row below the table',
    edited(DATA, (text) =>
      text.replace('</sheetData>', '<row r="900"><c r="A900" t="str"><v>Total</v></c></row></sheetData>'),
    ),
    /rows|row/,
  ],
  ['a row removed', replaced(DATA, /<row r="3">.*?<\/row>/, ''), /Dados!/],
  ['a header', replaced(DATA, 'beds_existing_per_100k', 'beds_existing_per_100'), /columns/],
  ['a name', replaced(DATA, 'Boa Vista', 'Boa Visto'), /Boa Visto/],
  ['a part twice', doubled, /twice/, 'unreadable'],
  ['another name inside', renamedInside, /another name/, 'unreadable'],
  ['bytes in front', () => Buffer.concat([Buffer.from('PK'), report('xlsx')]), /./, 'unreadable'],
  ['a hidden Dados', replaced(BOOK, 'name="Dados"', 'state="hidden" name="Dados"'), /Dados is hidden/],
  [
    'another sheet in front',
    edited(BOOK, (text) => text.replace(/(<sheet [^>]*>)(<sheet [^>]*>)/, '$2$1')),
    /the sheets are/,
  ],
  [
    'a sheet more',
    replaced(BOOK, '</sheets>', '<sheet name="Resumo" sheetId="99" r:id="rId2"/></sheets>'),
    /the sheets are/,
  ],
  [
    'a format that prints a constant',
    edited(STYLES, (text) => text.replaceAll(/formatCode="0\.00"/g, 'formatCode="&quot;1&quot;"')),
    /format|Dados!/,
  ],
  [
    'white letters',
    edited(STYLES, (text) => text.replaceAll('<font>', '<font><color rgb="FFFFFFFF"/>')),
    /colored font/,
  ],
  [
    'white letters by the theme',
    () =>
      packed({
        ...partsOf(report('xlsx')),
        'xl/theme/theme1.xml':
          '<a:theme xmlns:a="x"><a:clrScheme><a:dk1><a:srgbClr val="FFFFFF"/></a:dk1></a:clrScheme></a:theme>',
      }),
    /letters of the theme/,
  ],
  [
    'a picture',
    () => packed({ ...partsOf(report('xlsx')), 'xl/media/image1.png': 'x' }),
    /xl\/media\/image1.png/,
  ],
  [
    'a document type',
    replaced(DATA, /^(<\?xml[^>]*\?>)?/, '<!DOCTYPE worksheet [<!ENTITY a "1">]>'),
    /document type/,
    'unreadable',
  ],
  ['the title', replaced('xl/sharedStrings.xml', 'Leitos</t>', 'Leitas</t>'), /manifest/],
  [
    'the dictionary',
    replaced('xl/sharedStrings.xml', 'Leitos existentes', 'Leitos existente'),
    /Dicionário|manifest/,
  ],
  [
    'headers of two columns in one cell',
    edited(DATA, (text) => moveHeaders(text, 'municipality_code', 'municipality_name')),
    /the report has total, "municipality_code,municipality_name", municipality_uf/,
  ],
  [
    'a collapsed group of rows',
    edited(DATA, (text) =>
      text
        .replace('<row r="3">', '<row r="3" outlineLevel="1">')
        .replace('<row r="4">', '<row r="4" collapsed="1">'),
    ),
    /row 3 is in a group[\s\S]*row 4 is in a group/,
  ],
  [
    'a group of columns',
    replaced(DATA, /<col ([^>]*?)\/>/, '<col $1 outlineLevel="1"/>'),
    /columns in a group/,
  ],
  [
    'a column more in Manifesto',
    replaced(MANIFEST, /(<row r="2">.*?)<\/row>/, `$1${textCell('C2')}</row>`),
    /Manifesto!C2 is not what the manifest says/,
  ],
  [
    'another header of Manifesto',
    replaced(MANIFEST, /<row r="1">.*?<\/row>/, `<row r="1">${textCell('A1')}${textCell('B1')}</row>`),
    /Manifesto!A1 is not what the manifest says/,
  ],
  [
    'a print area',
    replaced(
      BOOK,
      '</definedNames>',
      '<definedName name="_xlnm.Print_Area" localSheetId="0">Dados!$A$1:$E$2</definedName></definedNames>',
    ),
    /the workbook has the name _xlnm.Print_Area/,
  ],
  [
    'a header of printed pages',
    replaced(
      DATA,
      '</worksheet>',
      '<headerFooter><oddHeader>&amp;C RETIFICADO</oddHeader></headerFooter></worksheet>',
    ),
    /has the oddHeader &C RETIFICADO/,
  ],
  [
    'frozen rows above which nothing can be reached',
    replaced(DATA, '<sheetView ', '<sheetView topLeftCell="A3" '),
    /has frozen rows or columns that hide others/,
  ],
  [
    'more frozen rows than a window shows',
    replaced(DATA, 'ySplit="1"', 'ySplit="100"'),
    /has frozen rows or columns that hide others/,
  ],
  ...(['101', '0101', '1', '9'] as const).map(
    (number): Forgery => [
      `the number format ${number} twice`,
      edited(STYLES, (text) =>
        text
          .replace(
            '<numFmts ',
            `<numFmts><numFmt numFmtId="${number}" formatCode="&quot;9&quot;"/></numFmts><numFmts `,
          )
          .replace('<xf numFmtId="101"', `<xf numFmtId="${number}"`),
      ),
      RegExp(`is shown in the format ${Number(number)}, which is declared twice`),
    ],
  ),
  ['saved by Excel', asExcelSaves, null, AGREE],
  ...(
    [
      [
        'Relationships',
        `<Relationships>${relation('rId1', 'worksheet', '../docProps/app.xml')}</Relationships>`,
      ],
      [
        'Relationship',
        relation('rId7', 'worksheet', '../docProps/app.xml').replace(
          '<Relationship',
          '<Relationship xmlns="urn:x"',
        ),
      ],
    ] as const
  ).map(
    ([element, added]): Forgery => [
      `a relationship in an unexpected ${element}`,
      revised({
        [RELATIONS]: before('<Relationship Id="rId1"', added),
        'docProps/app.xml': otherTable,
      }),
      RegExp(`workbook.xml.rels has ${element}`),
    ],
  ),
  [
    'a sheet among the properties',
    revised({
      [RELATIONS]: (text) => text.replace('worksheets/sheet1.xml', '../docProps/app.xml'),
      'docProps/app.xml': otherTable,
    }),
    /docProps\/app.xml in the place of xl\/worksheets\/sheet1.xml/,
  ],
  [
    'a part as another content type',
    replaced('[Content_Types].xml', 'sharedStrings+xml', 'styles+xml'),
    /as .*styles\+xml/,
  ],
  ...(
    [
      [STRINGS, '<si><t>total</t>', '<si><t>x</t></si>'],
      [STYLES, '<numFmt ', '<numFmt numFmtId="101" formatCode="&quot;9&quot;"/>'],
      [STYLES, NUMBER_STYLE, '<xf numFmtId="150"/>'],
      [STYLES, '<font>', '<font><color rgb="FFFFFFFF"/></font>'],
      [BOOK, '<sheet ', '<sheet r:id="rId1" sheetId="9" name="Resumo"/>'],
      [
        BOOK,
        '<definedName ',
        '<definedName name="_xlnm.Print_Area" localSheetId="0">Dados!$A$1:$C$3</definedName>',
      ],
      [DATA, '<col ', '<col min="5" max="5" hidden="1"/>'],
      [DATA, '<c r="E3"', '<c r="D3"><v>1</v></c>'],
    ] as const
  ).map(
    ([part, mark, xml]): Forgery => [
      `${/\w+/.exec(xml)?.[0]} for other programs`,
      edited(part, before(mark, otherwise(xml))),
      /has?v?e? .*AlternateContent/,
    ],
  ),
  ['the index of a text', sharedText(String, `<si><t>${nameOfText()}</t></si>`), null, AGREE],
  [
    'the index of a text in other digits',
    sharedText((count) => `0x${count.toString(16)}`, `<si><t>${nameOfText()}</t></si>`),
    /C3 .*is empty|C3 names a text/,
  ],
  [
    'a text of another namespace',
    sharedText(String, `<si xmlns="${RELATIONS_SPACE}"><t>${nameOfText()}</t></si><si><t>x</t></si>`),
    /shared strings have si/,
  ],
  [
    'rows of another namespace',
    replaced(DATA, '<row r="3">', `<row xmlns="${RELATIONS_SPACE}" r="3">`),
    /has row/,
  ],
  [
    'a relationship of another namespace',
    replaced(
      RELATIONS,
      '<Relationship ',
      '<Relationship xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ',
    ),
    /has Relationship|no sheet/,
    'unreadable',
  ],
  ...['<c r="A1" s="1" t="s"/>', '<c r="A1" s="1" t="s"><v></v></c>'].map(
    (cell): Forgery => [
      `a header without an index: ${cell}`,
      replaced(DATA, /<c r="A1".*?<\/c>/, cell),
      /A1 names a text that is not there/,
    ],
  ),
  ...['0x3', '0.3e1'].map(
    (style): Forgery => [
      `the style ${style}`,
      revised({
        [STYLES]: withConstantFormat((text) => text.replace('<xf ></xf>', '<xf numFmtId="150"></xf>')),
        [DATA]: (text) => text.replace(/<c r="E3" s="\d+">/, `<c r="E3" s="${style}">`),
      }),
      /E3 has a style that is not there/,
    ],
  ),
  [
    'a number format beyond 32 bits',
    edited(STYLES, (text) => text.replaceAll('numFmtId="101"', 'numFmtId="4294967396"')),
    /is shown in the format number NaN/,
  ],
  ['a height in other digits', replaced(DATA, '<row r="3">', '<row r="3" ht="0x14">'), /row 3 is too low/],
  ['a font size in other digits', replaced(STYLES, '<font>', '<font><sz val="0x8"/>'), /font of 0x8 points/],
  [
    'a drawing among the properties',
    withSheetRelation('drawing', '../../docProps/app.xml'),
    /in the place of xl\/drawings/,
  ],
  [
    'comments among the properties',
    withSheetRelation('comments', '../../docProps/app.xml'),
    /relationship of the type .*comments/,
  ],
  ['black letters by the theme', withTheme('<a:srgbClr val="000000"/>'), null, AGREE],
  ...(
    [
      ['<a:sysClr val="window" lastClr="000000"/>', ''],
      ['<a:srgbClr val="000000"><a:lumOff val="100000"/></a:srgbClr>', ''],
      ['<a:prstClr val="white"/>', ''],
      ['<a:srgbClr val="000000"/>', '<a:minorFont><a:latin typeface="Wingdings"/></a:minorFont>'],
    ] as const
  ).map(
    ([dark, fonts]): Forgery => [
      `the theme ${dark}${fonts}`,
      withTheme(dark, fonts),
      /of the theme|the theme has the font/,
    ],
  ),
  ...['ISO-8859-1', 'UTF-7'].map(
    (encoding): Forgery => [
      `the encoding ${encoding}`,
      declaring(encoding),
      /declares the encoding/,
      'unreadable',
    ],
  ),
  [
    'a text escaped without need',
    edited(DATA, (text) => text.replace('>Boa Vista<', '>_x0042_oa Vista<')),
    /oa Vista/,
  ],
  ['another name in an extra field', renamedByExtraField, /a second name/, 'unreadable'],
]

const textOf = (format: string): string => report(format).toString()
const changed = (format: string, from: string | RegExp, to: string) => (): string => {
  const text = textOf(format).replace(from, to)
  if (text === textOf(format)) throw new Error('nothing was changed')
  return text
}
function withCellOfNoRow(): string {
  const cube = JSON.parse(textOf('sparse JSON-stat'))
  const free = Array.from({ length: 1000 }, (_, cell) => cell).find((cell) => !(cell in cube.value))
  return textOf('sparse JSON-stat').replace('"value":{', `"value":{"${free}":77777,`)
}
/** Programs differ in which of two titles they read. */
const DOUBLE_TITLE = { from: '"title":"Leitos"', to: '"title":"x","title":"Leitos"' }
const TEXTS: Forgery[] = [
  ['CSV: a digit', changed('csv', /(\r\n,1200013,[^,]*,AC,)(\d)/, '$19$2'), /^line \d+/],
  ['CSV: a cell more', changed('csv', /(\r\n,1200013[^\r]*)/, '$1,7'), /cells/],
  ['CSV: a line without an end', () => `${textOf('csv')}a,b,`, /does not end with CR LF/, 'unreadable'],
  ['CSV: a line more', () => `${textOf('csv')}\r\n`, /./],
  [
    'CSV: headers of two columns in one cell',
    changed('csv', 'municipality_code,municipality_name', '"municipality_code,municipality_name"'),
    /^the query gives the columns .*"municipality_code,municipality_name"[\s\S]*line 2 has \d cells/,
  ],
  [
    'CSV: a member of the manifest twice',
    changed('csv', DOUBLE_TITLE.from, DOUBLE_TITLE.to),
    /cut or changed/,
    'unreadable',
  ],
  ['CSV: a name', changed('csv', 'Boa Vista', 'Boa Visto'), /Boa Visto/],
  ['JSON: indented', () => JSON.stringify(JSON.parse(textOf('json')), null, 2), null, AGREE],
  [
    'JSON: a digit',
    changed('json', /"bed_capacity_existing":(\d)/, '"bed_capacity_existing":9$1'),
    /bed_capacity_existing/,
  ],
  [
    'JSON: more digits than a number has',
    changed('json', /("beds_existing_per_100k":\d+\.\d+)/, '$100000000000000000001'),
    /beds_existing_per_100k/,
  ],
  ['JSON: a member more', changed('json', '"metrics":{', '"metrics":{"bed_capacity":1,'), /bed_capacity/],
  ['JSON: a member beside', changed('json', '{"data":[', '{"warning":"changed","data":['), /warning/],
  [
    'JSON: a member twice',
    changed('json', /"metrics":\{("bed_capacity_existing":)/, '"metrics":{$11,$1'),
    /./,
    'unreadable',
  ],
  ['JSON: a label', changed('json', '"label":"Boa Vista"', '"label":"Manaus"'), /Manaus/],
  ['JSON: the manifest', changed('json', '"title":"Leitos"', '"title":"Leitas"'), /manifest/],
  ['JSON-stat: a digit', changed('json-stat', /"value":\[(\d)/, '"value":[9$1'), /./],
  ['JSON-stat: a label of a place', changed('json-stat', '"Boa Vista"', '"Manaus"'), /Manaus/],
  [
    'JSON-stat: a label of a metric',
    changed('json-stat', /("label":\{"bed_capacity_existing":")/, '$1Não '),
    /Não/,
  ],
  ['JSON-stat: a note', changed('json-stat', '"note":[', '"note":["x",'), /note/],
  ['JSON: a status without a value', changed('json', '"metrics":', '"status":null,"metrics":'), /status/],
  [
    'JSON-stat: a number in a cell of no row',
    withCellOfNoRow,
    /^\/value\/\d+ belongs to no row|no part of the report/m,
  ],
  ['JSON-stat: a status', changed('json-stat', ',"note":', ',"status":"e","note":'), /status/],
]

function arrowWith(value: bigint | null, [key, text]: readonly [string?, string?] = []): Buffer {
  const table: Table = tableFromIPC(report('arrow'))
  const column = [...(table.getChild('bed_capacity_existing') ?? [])] as (bigint | null)[]
  if (value !== null) column[1] = value
  const type = table.schema.fields.find(({ name }) => name === 'bed_capacity_existing')?.type
  const again = table.setChild('bed_capacity_existing', vectorFromArray(column, type as never))
  for (const [name, content] of table.schema.metadata) again.schema.metadata.set(name, content)
  if (key !== undefined && text !== undefined) again.schema.metadata.set(key, text)
  return Buffer.from(tableToIPC(again, 'stream'))
}

/** The bytes of a column under another type. */
function arrowTyped(name: string, type: DataType): Buffer {
  const table: Table = tableFromIPC(report('arrow'))
  const vectors = table.schema.fields.map((field, index): [string, Vector] => {
    const data = table.getChildAt(index)?.data ?? []
    return [field.name, new Vector(field.name === name ? data.map((chunk) => chunk.clone(type)) : data)]
  })
  const again = new Table(Object.fromEntries(vectors))
  for (const [key, content] of table.schema.metadata) again.schema.metadata.set(key, content)
  return Buffer.from(tableToIPC(again, 'stream'))
}
const arrowInPandas =
  (column: object, index: readonly unknown[] = []) =>
  (): Buffer =>
    arrowWith(null, [
      'pandas',
      JSON.stringify({
        index_columns: index,
        columns: [
          {
            name: 'bed_capacity_existing',
            field_name: 'bed_capacity_existing',
            numpy_type: 'int64',
            ...column,
          },
        ],
      }),
    ])

async function parquetWith(
  value: bigint | null,
  other: Record<string, object> = {},
  manifestsOf = (manifest: string): string[] => [manifest],
): Promise<Buffer> {
  const bytes = report('parquet')
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const metadata = parquetMetadata(file)
  const records = await parquetReadObjects({ file, metadata })
  const names = metadata.schema.slice(1).map(({ name }) => name)
  const columnData = names.map((name) => ({ name, data: records.map((record) => record[name]) }))
  const beds = columnData.find(({ name }) => name === 'bed_capacity_existing')
  if (value !== null && beds !== undefined) beds.data[1] = value
  const { value: manifest = '' } = metadata.key_value_metadata?.find(({ key }) => key === MANIFEST_KEY) ?? {}
  const kvMetadata = manifestsOf(manifest).map((value) => ({ key: MANIFEST_KEY, value }))
  return Buffer.from(
    parquetWriteBuffer({
      columnData,
      schema: metadata.schema.map((element) => ({ ...element, ...other[element.name] })),
      kvMetadata,
      codec: 'UNCOMPRESSED',
    }),
  )
}
const parquets = {
  same: await parquetWith(null),
  other: await parquetWith(1n),
  titles: await parquetWith(null, {}, (manifest) => [manifest.replace(DOUBLE_TITLE.from, DOUBLE_TITLE.to)]),
  manifests: await parquetWith(null, {}, (manifest) => [manifest, manifest]),
  scaled: await parquetWith(null, {
    beds_existing_per_100k: { logical_type: { type: 'DECIMAL', precision: 18, scale: 1 } },
  }),
  signed: await parquetWith(null, {
    bed_capacity_existing: { logical_type: { type: 'INTEGER', bitWidth: 64, isSigned: true } },
  }),
  undeclared: await parquetWith(null, { bed_capacity_existing: { converted_type: undefined } }),
  finer: await parquetWith(null, { beds_existing_per_100k: { scale: 3 } }),
  fraction: await parquetWith(null, {
    bed_capacity_existing: { logical_type: { type: 'DECIMAL', precision: 18, scale: 1 } },
  }),
}
const BINARIES: Forgery[] = [
  ['Arrow: with metadata of another program', () => arrowWith(null, ['pandas', '{}']), null, AGREE],
  [
    'Arrow: a member of the manifest twice',
    () => {
      const manifest = tableFromIPC(report('arrow')).schema.metadata.get(MANIFEST_KEY) ?? ''
      return arrowWith(null, [MANIFEST_KEY, manifest.replace(DOUBLE_TITLE.from, DOUBLE_TITLE.to)])
    },
    /cut or changed/,
    'unreadable',
  ],
  ['Parquet: a member of the manifest twice', () => parquets.titles, /cut or changed/, 'unreadable'],
  ['Parquet: two manifests', () => parquets.manifests, /two manifests/, 'unreadable'],
  ['Arrow: a number', () => arrowWith(1n), /bed_capacity_existing/],
  [
    'Arrow: a second stream behind the first',
    () => Buffer.concat([report('arrow'), arrowWith(1n)]),
    null,
    AGREE,
  ],
  ['Parquet: written by another program', () => parquets.same, null, AGREE],
  ['Parquet: an integer that is declared as one', () => parquets.signed, null, AGREE],
  ['Parquet: an integer without a declaration', () => parquets.undeclared, null, AGREE],
  ['Parquet: another scale', () => parquets.finer, /a decimal of scale 3; the manifest says .* scale 2/],
  [
    'Arrow: another scale',
    () => arrowTyped('beds_existing_per_100k', new Decimal(0, 38, 128)),
    /a decimal of scale 0; the manifest says a decimal of scale 2/,
  ],
  [
    'Arrow: an integer as a duration',
    () => arrowTyped('bed_capacity_existing', new DurationSecond()),
    /Duration<SECOND>; the manifest says an integer of 64 bits/,
  ],
  [
    'Arrow: saved by pandas',
    arrowInPandas({}, [{ kind: 'range', name: null, start: 0, stop: 3, step: 1 }]),
    null,
    AGREE,
  ],
  [
    'Arrow: a column that pandas renames',
    arrowInPandas({ name: 'beds_existing_per_100k' }),
    /pandas shows the column bed_capacity_existing as beds_existing_per_100k/,
  ],
  [
    'Arrow: a column that pandas converts',
    arrowInPandas({ numpy_type: 'period[D]' }),
    /pandas shows the column bed_capacity_existing in the type period\[D\]/,
  ],
  [
    'Arrow: a column in the index of pandas',
    arrowInPandas({}, ['bed_capacity_existing']),
    /metadata of pandas has another index_columns/,
  ],
  ['Parquet: a number', () => parquets.other, /bed_capacity_existing/],
  ['Parquet: two scales', () => parquets.scaled, /beds_existing_per_100k is declared in two ways/],
  [
    'Parquet: an integer as a decimal',
    () => parquets.fraction,
    /bed_capacity_existing is declared in two ways/,
  ],
]

const settings = readSettings({})
const here = createReportVerifier(small.releasesDir, settings)
const alone = createReportVerifier(nowhere, settings)
t.teardown(async () => {
  await here.close()
  await alone.close()
})

async function verdictOf(path: string, verifier: ReportVerifier): Promise<{ verdict: string; text: string }> {
  try {
    const { verdict, differences } = await verifier.verify(path, null)
    return { verdict, text: differences.join('\n') }
  } catch (error) {
    if (!(error instanceof ReportUnreadable)) throw error
    return { verdict: 'unreadable', text: error.message }
  }
}

t.test('the files that were made', async (t) => {
  for (const [format, bytes] of reports) {
    const path = save(bytes)
    t.equal((await verdictOf(path, here)).verdict, 'reproduced', format)
    t.equal((await verdictOf(path, alone)).verdict, 'whole, not replayed', format)
  }
})

const ALL = [...WORKBOOKS, ...TEXTS, ...BINARIES]
const FEW = ALL.filter(([name]) => /true value in an XML comment|a part twice|label of a place/.test(name))
for (const [index, [name, make, says, verdict = 'differs']] of cases(ALL, FEW).entries())
  t.test(name, async (t) => {
    const path = save(make())
    const found = await verdictOf(path, here)
    t.equal(found.verdict, verdict, found.text)
    if (says !== null) t.match(found.text, says)
    // Workbooks are read in the same way with and without their release.
    if (index < WORKBOOKS.length && index % 5 > 0) return
    const without = await verdictOf(path, alone)
    const isAgreed = verdict === AGREE
    t.match(without.verdict, isAgreed ? /^whole, not replayed/ : /^(differs|unreadable)$/, without.text)
  })

/** Decimals of 256 bits, whose upper half other programs read. */
const WIDEN = `
import sys, pyarrow as pa
table = pa.ipc.open_stream(sys.argv[1]).read_all()
at = table.schema.get_field_index('beds_existing_per_100k')
wide = pa.decimal256(38, 2)
table = table.set_column(at, pa.field('beds_existing_per_100k', wide), table.column(at).cast(wide))
with pa.ipc.new_stream(sys.argv[2], table.schema) as stream:
    stream.write_table(table)
`
t.test('Arrow: decimals of 256 bits', { skip: withoutPython('pyarrow') }, async (t) => {
  const path = join(folder, 'wide.arrow')
  const { code, stderr } = await runPython(WIDEN, save(report('arrow')), path)
  t.equal(code, 0, stderr)
  for (const verifier of [here, alone])
    t.match(await verdictOf(path, verifier), { verdict: 'unreadable', text: /decimals of 256 bits/ })
})

/** Parquet saved unchanged, and with an Arrow schema by which pyarrow makes durations of integers. */
const RESAVE = `
import sys, pyarrow as pa, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
pq.write_table(table, sys.argv[2])
at = table.schema.get_field_index('bed_capacity_existing')
duration = pa.duration('s')
retyped = table.set_column(at, pa.field('bed_capacity_existing', duration), table.column(at).cast(duration))
pq.write_table(retyped.replace_schema_metadata(table.schema.metadata), sys.argv[3])
`
t.test('Parquet: saved again by pyarrow', { skip: withoutPython('pyarrow') }, async (t) => {
  const [same, retyped] = [join(folder, 'same.parquet'), join(folder, 'retyped.parquet')] as const
  const { code, stderr } = await runPython(RESAVE, save(report('parquet')), same, retyped)
  t.equal(code, 0, stderr)
  t.match(await verdictOf(same, here), { verdict: AGREE })
  t.match(await verdictOf(same, alone), { verdict: 'whole, not replayed; not the file that was made' })
  for (const verifier of [here, alone])
    t.match(await verdictOf(retyped, verifier), { verdict: 'differs', text: /ARROW:schema: .* Duration/ })
})

const hasOffice = spawnSync('soffice', ['--version']).status === 0
t.test(
  'a workbook that LibreOffice saved',
  { skip: hasOffice ? false : 'soffice is not installed (Debian: apt-get install libreoffice-calc)' },
  async (t) => {
    const path = join(folder, 'office.xlsx')
    writeFileSync(path, report('xlsx'))
    const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`
    const out = join(folder, 'saved')
    execFileSync('soffice', [profile, '--headless', '--convert-to', 'xlsx', '--outdir', out, path], {
      stdio: 'ignore',
    })
    const found = await verdictOf(join(out, 'office.xlsx'), here)
    t.equal(found.verdict, AGREE, found.text)
    t.equal(
      (await verdictOf(join(out, 'office.xlsx'), alone)).verdict,
      'whole, not replayed; not the file that was made',
    )
  },
)

t.test('what is no regular file is refused', async (t) => {
  const fifo = join(folder, 'fifo')
  execFileSync('mkfifo', [fifo])
  for (const path of [fifo, '/dev/zero', folder])
    t.match(await verdictOf(path, alone), { verdict: 'unreadable', text: /no regular file/ }, path)
})
