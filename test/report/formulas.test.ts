/** Text is text: what a spreadsheet would take for a formula, and characters XML and CSV cannot hold as they are. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CellObject, read } from '@e965/xlsx'
import t from 'tap'
import { type ReportManifest, sealManifest } from '../../src/report/manifest.ts'
import type { Column } from '../../src/report/table.ts'
import { csvLine } from '../../src/report/writers/csv.ts'
import { FileSink, type TableWriter } from '../../src/report/writers/index.ts'
import { createXlsxWriter } from '../../src/report/writers/xlsx.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const column = (name: string, type: Column['type'], decimals = 0): Column => ({
  name,
  type,
  decimals,
  digested: true,
  label: name,
  unit: '',
  formula: '',
  source: '',
})
const columns = [column('name', 'text'), column('count', 'integer'), column('rate', 'decimal', 2)]
const TEXTS = [
  '=1+1',
  '+55',
  '-2',
  '@sum(A1)',
  "'quoted",
  'a,b',
  'a"b',
  'a\r\nb',
  'a\rb',
  'a\nb',
  '\ttab',
  ' spaces ',
  '<b>&amp;</b>',
  '_x0041_',
  '\u0001control',
  'São Luís 🏥',
  '007',
  '1e5',
]
const rows = TEXTS.map((text, index) => [text, String(-index), `-${index}.50`])

t.test('workbook', async (t) => {
  const file = join(temporaryFolder('formulas'), 'report.xlsx')
  const sink = await FileSink.create(file)
  const writer: TableWriter = createXlsxWriter(sink, columns)
  const manifest: ReportManifest = sealManifest({
    format: 'sus-data-report-1',
    title: '=cmd()',
    language: 'pt',
    release_id: 'x',
    components: {},
    catalog_version: 'v1.1.0',
    reference_period: null,
    synthetic: true,
    query: {},
    columns: [...columns],
    row_count: rows.length,
    rows_sha256: '0'.repeat(64),
    table_sha256: '0'.repeat(64),
    fingerprint: '0'.repeat(64),
    notes: ['n'.repeat(70_000), { code: 'no_share', message: '💥'.repeat(40_000) }],
    signature: null,
    how_to_verify: '',
  })
  await writer.begin(manifest)
  await writer.rows({ rows: [], cells: rows })
  await writer.end(manifest)
  await sink.close()
  const book = read(readFileSync(file), { type: 'buffer', dense: true, cellFormula: true })
  const data = (book.Sheets.Dados?.['!data'] ?? []) as (CellObject | undefined)[][]
  for (const [index, text] of TEXTS.entries()) {
    const [name, count, rate] = data[index + 1] ?? []
    t.equal(name?.t, 's')
    // This reader makes a line feed of the pair.
    t.equal(name?.v, text.replaceAll('\r\n', '\n'), JSON.stringify(text))
    t.equal(count?.v, index === 0 ? 0 : -index)
    t.equal(rate?.v, -(index + 0.5))
  }
  for (const sheet of Object.values(book.Sheets))
    for (const row of (sheet['!data'] ?? []) as (CellObject | undefined)[][])
      for (const cell of row ?? []) if (cell?.f !== undefined) t.fail('a formula')
  const sheet = (book.Sheets.Manifesto?.['!data'] ?? []) as CellObject[][]
  const notes = sheet.filter(([field]) => field?.v === 'notes').map(([, value]) => String(value?.v))
  t.ok(notes.every((text) => text.length <= 32_767))
  t.same(JSON.parse(notes.join('')), manifest.notes, 'a long value goes on in the next rows')
})

t.test('CSV', async (t) => {
  const lineOf = (text: string | null): string => csvLine([text, '-1', '-0.50'], columns)
  t.equal(lineOf('=1+1'), "'=1+1,-1,-0.50\r\n")
  t.equal(lineOf('@x'), "'@x,-1,-0.50\r\n")
  t.equal(lineOf('-2'), "'-2,-1,-0.50\r\n")
  t.equal(lineOf('a"b,c'), '"a""b,c",-1,-0.50\r\n')
  t.equal(lineOf(null), ',-1,-0.50\r\n')
  t.equal(lineOf(''), '"",-1,-0.50\r\n')
})
