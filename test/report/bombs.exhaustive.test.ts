/**
 * Files that nobody vouches for and that unpack, nest or count to many times their size: `verify-report` refuses each within bounds of
 * memory and time. In the first ring one of them, in the second all.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32, inflateRawSync } from 'node:zlib'
import { unzipSync } from 'fflate'
import t from 'tap'
import { type Filled, type Packed, pack, runMeasured, zipOf } from '../fixtures/bombs.ts'
import { openClient } from '../fixtures/client.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const folder = temporaryFolder('report-bombs')
const QUERY = { metrics: ['bed_capacity_existing'], group_by: ['municipality'], filters: [], totals: [[]] }
const exportOf = async (format: string): Promise<Buffer> => {
  const { status, bytes } = await client.post(`/v1/analytics/export?format=${format}`, QUERY)
  if (status !== 200) throw new Error(`${format}: ${status}`)
  return bytes
}
const workbook = Object.entries(unzipSync(await exportOf('xlsx')))
const csv = (await exportOf('csv')).toString()

/** The workbook with some parts replaced or added. */
function workbookWith(...changed: readonly (Filled | Packed)[]): Buffer {
  const others = workbook.filter(([name]) => changed.every((part) => part.name !== name))
  return zipOf([
    ...others.map(([name, bytes]) => pack({ name, filler: Buffer.from(bytes), times: 1 })),
    ...changed.map((part) => ('packed' in part ? part : pack(part))),
  ])
}

const DATA = 'xl/worksheets/sheet1.xml'
const MANIFEST = 'xl/worksheets/sheet3.xml'
const STRINGS = 'xl/sharedStrings.xml'
const BOOK = 'xl/workbook.xml'
const MEBIBYTE = Buffer.alloc(2 ** 20, ' ')
const SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
const SHEET_END = '</sheetData></worksheet>'
const spaces = (name: string, times: number, before = SHEET, after = SHEET_END): Filled => ({
  name,
  before,
  filler: MEBIBYTE,
  times,
  after,
})
const ROWS = '<row r="1"><c r="A1"><v>1</v></c></row>'.repeat(1000)

const BOMBS: readonly (readonly [name: string, make: () => Buffer])[] = [
  ['spaces in Dados, 1 GiB', () => workbookWith(spaces(DATA, 1024))],
  ['spaces in Dados, 300 MiB', () => workbookWith(spaces(DATA, 300))],
  ['spaces in the manifest, 300 MiB', () => workbookWith(spaces(MANIFEST, 300))],
  [
    'empty rows in the manifest, 200 MiB',
    () =>
      workbookWith({
        name: MANIFEST,
        before: SHEET,
        filler: '<row/>'.repeat(170_000),
        times: 200,
        after: SHEET_END,
      }),
  ],
  ['a text of 100 MiB', () => workbookWith(spaces(STRINGS, 100, '<sst><si><t>', '</t></si></sst>'))],
  ['a text of 50 MiB', () => workbookWith(spaces(STRINGS, 50, '<sst><si><t>', '</t></si></sst>'))],
  [
    '6 million texts',
    () =>
      workbookWith({
        name: STRINGS,
        before: '<sst>',
        filler: '<si><t/></si>'.repeat(10_000),
        times: 480,
        after: '</sst>',
      }),
  ],
  [
    'elements in elements, 100 MiB',
    () => workbookWith({ name: STRINGS, before: '<sst>', filler: '<a>'.repeat(100_000), times: 333 }),
  ],
  ['the workbook itself, 200 MiB', () => workbookWith(spaces(BOOK, 200, '<workbook>', '</workbook>'))],
  ['a part that is larger than it says', () => workbookWith({ ...pack(spaces(DATA, 64)), bytes: 100 })],
  [
    'three million cells',
    () => workbookWith({ name: DATA, before: SHEET, filler: ROWS, times: 3000, after: SHEET_END }),
  ],
  [
    'a thousand parts',
    () =>
      workbookWith(
        ...Array.from({ length: 1000 }, (_, index) => ({ name: `xl/${index}.xml`, filler: 'x', times: 1 })),
      ),
  ],
  ['JSON: 100 million brackets', () => filled('{"data":', '[', 100_000_000)],
  ['JSON: 30 million empty objects', () => filled('{"data":[', '{},', 30_000_000, '{}]}')],
  ['JSON: 50 million numbers', () => filled('{"data":[', '1,', 50_000_000, '1]}')],
  ['JSON: two million objects', () => filled('{"data":[', '{"a":{},"b":1,"c":2},', 900_000, '{}]}')],
  ['JSON: 500 MiB', () => filled('{"data":[', ' ', 500 * 2 ** 20, ']}')],
  ['CSV: 100 million cells', () => filled(csv.slice(0, csv.indexOf('\r\n') + 2), ',', 100_000_000)],
  ['CSV: 60 million lines', () => filled(csv.slice(0, csv.indexOf('\r\n') + 2), '\r\n', 60_000_000)],
]
const filled = (before: string, piece: string, times: number, after = ''): Buffer =>
  Buffer.concat([Buffer.from(before), Buffer.alloc(piece.length * times, piece), Buffer.from(after)])

/** Bounds that the command promises for any file. */
const BYTES_MAX = 600 * 2 ** 20
const SECONDS_MAX = 20
const FEW = BOMBS.filter(([name]) => name === 'a text of 50 MiB')
for (const [name, make] of cases(BOMBS, FEW))
  t.test(name, { skip: process.platform === 'linux' ? false : '/proc is needed' }, async (t) => {
    const path = join(folder, 'bomb')
    writeFileSync(path, make())
    const args = [bin, 'verify-report', path, '--releases', small.releasesDir]
    const { status, stderr, stdout, peakBytes, seconds, workSeconds } = await runMeasured(args)
    t.equal(status, 1, stderr || stdout)
    t.ok(peakBytes < BYTES_MAX, `${Math.round(peakBytes / 2 ** 20)} MiB`)
    t.ok(seconds < SECONDS_MAX, `${seconds.toFixed(1)} s`)
    t.comment(
      `${name}: ${Math.round(peakBytes / 2 ** 20)} MiB, ${seconds.toFixed(1)} s (${workSeconds.toFixed(1)} s of work): ${(stderr || stdout).trim().slice(0, 200)}`,
    )
  })

t.test('a bomb unpacks to what it says', async (t) => {
  const { packed, bytes, crc } = pack({ name: 'a', before: '<', filler: 'ab', times: 3, after: '>' })
  t.same([inflateRawSync(packed).toString(), bytes, crc], ['<ababab>', 8, crc32('<ababab>')])
})
