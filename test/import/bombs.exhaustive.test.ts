/**
 * Small files that unpack, nest or count to many times their size: `import` refuses each within bounds of memory, disk and time, says
 * which file it is, and leaves nothing. Files of IBGE stand beside each, so that nothing else is missing.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type Filled, gzipOf, type Packed, pack, runMeasured, zipOf } from '../fixtures/bombs.ts'
import { IBGE, MONTH_ARCHIVE, tableOf } from '../fixtures/changed-base.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { PLAIN_PRODUCTION, productionDbf } from '../fixtures/production-files.ts'
import { readZip } from '../fixtures/raw-base.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const folder = temporaryFolder('import-bombs')
const releasesDir = join(folder, 'releases')
mkdirSync(releasesDir)
const month = await readZip(MONTH_ARCHIVE)
const MEBIBYTE = 2 ** 20
const BLANKS = Buffer.alloc(MEBIBYTE, ' ')
const FACILITIES = 'tbEstabelecimento202605.csv'
const BASE = 'BASE_DE_DADOS_CNES_202605.ZIP'

/** An entry of bytes that hardly pack, so that the archive as a whole unpacks to few times its size. */
const ballast = (mebibytes: number): Filled => ({
  name: 'leia-me.bin',
  filler: randomBytes(mebibytes * MEBIBYTE),
  times: 1,
})
/** The month with one table replaced, and other entries. */
const baseWith = (...changed: readonly (Filled | Packed)[]): Buffer =>
  zipOf([
    ...[...month]
      .filter(([name]) => changed.every((entry) => entry.name !== name))
      .map(([name, bytes]) => pack({ name, filler: bytes, times: 1 })),
    ...changed.map((entry) => ('packed' in entry ? entry : pack(entry))),
  ])
const header = tableOf('tbEstabelecimento').toString('latin1').split('\n')[0] ?? ''
const COLUMNS = header.split(';').length
/** The facility table with rows that fill 200 MiB. */
const facilities = (row: string): Filled => ({
  name: FACILITIES,
  before: `${header}\n`,
  filler: row.repeat(Math.ceil(MEBIBYTE / row.length)),
  times: 200,
})

/** A table of records that are all alike: header of `makeDbf`, and its record many times. */
function records(table: Buffer, times: number): { head: Buffer; filler: Buffer; times: number } {
  const [start, length] = [table.readUInt16LE(8), table.readUInt16LE(10)]
  const record = table.subarray(start, start + length)
  const each = Math.ceil(MEBIBYTE / length)
  const head = Buffer.from(table.subarray(0, start))
  head.writeUInt32LE(each * times, 4)
  return { head, filler: Buffer.alloc(each * length, record), times }
}
const equipment = (cells: Readonly<Record<string, string>> = {}, deleted = false): Buffer =>
  makeDbf({
    columns: EQ_COLUMNS,
    rows: [{ ...EQ_ROW, ...cells }],
    ...(deleted ? { deleted: new Set([0]) } : {}),
  })
const packRecords = (name: string, table: Buffer, times: number): Packed => {
  const { head, ...filled } = records(table, times)
  return pack({ name, before: head.toString('latin1'), ...filled }, 'latin1')
}
/** Header that says 1 GiB of records, and a packed stream of one. */
function boastfulDbc(): Buffer {
  const bytes = Buffer.from(makeDbc(equipment()))
  bytes.writeUInt32LE(2 ** 24, 4)
  return bytes
}
/** A packed stream of many records under a header of one. */
function longDbc(): Buffer {
  const { head, filler } = records(equipment(), 1)
  const bytes = makeDbc(Buffer.concat([head, filler, filler, filler]))
  const changed = Buffer.from(bytes)
  changed.writeUInt32LE(1, 4)
  return changed
}

const WORKBOOK_PARTS: Readonly<Record<string, string>> = {
  '[Content_Types].xml':
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
  '_rels/.rels':
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
  'xl/workbook.xml':
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Tabela" sheetId="1" r:id="rId1"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels':
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}
const TRANSFERS = 'REPASSE-FAF-COM-POPULACAO-2025.xlsx'
const SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
const workbook = (
  filler: Buffer | string,
  times: number,
  lies = false,
  others: readonly Filled[] = [],
): Buffer => {
  const sheet = pack({
    name: 'xl/worksheets/sheet1.xml',
    before: SHEET,
    filler,
    times,
    after: '</sheetData></worksheet>',
  })
  return zipOf([
    ...Object.entries(WORKBOOK_PARTS).map(([name, text]) => pack({ name, filler: text, times: 1 })),
    lies ? { ...sheet, bytes: 1000 } : sheet,
    ...others.map((other) => pack(other)),
  ])
}
const farRows = (count: number): string =>
  Array.from(
    { length: count },
    (_, row) => `<row r="${row + 1}"><c r="XFD${row + 1}"><v>1</v></c></row>`,
  ).join('')

const filled = (before: string, piece: string, times: number, after = ''): Buffer =>
  Buffer.concat([Buffer.from(before), Buffer.alloc(piece.length * times, piece), Buffer.from(after)])
const gzip = (filled: Filled): Buffer => gzipOf(pack(filled))

/** Archives in archives: each unpacks to 30 times its size. */
function nested(): Buffer {
  let bytes = zipOf([pack({ name: 'STRR2605.csv', filler: BLANKS, times: 30 })])
  for (let level = 0; level < 3; level += 1)
    bytes = zipOf(
      Array.from({ length: 25 }, (_, index) => ({
        ...pack({ name: `${level}-${index}.zip`, filler: bytes, times: 1 }),
      })),
    )
  return bytes
}

/** A mesh whose areas all name one long arc. */
function topology(): Buffer {
  const arcs = JSON.stringify([Array.from({ length: 100_000 }, (_, at) => [at % 7, at % 5])])
  const area = '{"type":"Polygon","arcs":[[0]],"properties":{"CD_MUN":"1400100"}}'
  return Buffer.from(
    `{"type":"Topology","arcs":${arcs},"objects":{"a":{"type":"GeometryCollection","geometries":[${Array.from({ length: 20_000 }, () => area).join()}]}}}`,
  )
}

/** A shapefile of records without a shape. */
function nullShapes(): Buffer {
  const records = 3_000_000
  const bytes = Buffer.alloc(100 + records * 12)
  bytes.writeInt32BE(9994, 0)
  bytes.writeInt32BE(bytes.length / 2, 24)
  bytes.writeInt32LE(1000, 28)
  bytes.writeInt32LE(5, 32)
  for (let record = 0; record < records; record += 1) {
    bytes.writeInt32BE(record + 1, 100 + record * 12)
    bytes.writeInt32BE(2, 104 + record * 12)
  }
  return bytes
}
const attributes = makeDbf({ columns: [['CD_MUN', 7]], rows: [{ CD_MUN: '1400100' }] })

type Bomb = readonly [name: string, files: () => Readonly<Record<string, Buffer>>]
const BOMBS: readonly Bomb[] = [
  [
    'a table of 6 GiB of blanks in a zip',
    () => ({
      [BASE]: baseWith({
        name: FACILITIES,
        before: `${header}\n`,
        filler: Buffer.alloc(16 * MEBIBYTE, ' '),
        times: 255,
      }),
    }),
  ],
  [
    'a table that is larger than the archive says',
    () => ({
      [BASE]: baseWith({ ...pack({ name: FACILITIES, filler: BLANKS, times: 300 }), bytes: 1000 }),
    }),
  ],
  [
    'empty rows of 200 MiB',
    () => ({ [BASE]: baseWith(facilities(`${';'.repeat(COLUMNS - 1)}\n`), ballast(6)) }),
  ],
  ['blank lines of 200 MiB', () => ({ [BASE]: baseWith(facilities('\n'), ballast(6)) })],
  ['rows of too few cells of 200 MiB', () => ({ [BASE]: baseWith(facilities(';\n'), ballast(6)) })],
  ['quotes that do not end, 200 MiB', () => ({ [BASE]: baseWith(facilities('"a\n'), ballast(6)) })],
  ['one line of 200 MiB', () => ({ [BASE]: baseWith(facilities('a'), ballast(6)) })],
  ['archives in archives', () => ({ 'arquivos.zip': nested() })],
  [
    '30,000 files in a zip',
    () => ({
      'arquivos.zip': zipOf(
        Array.from({ length: 30_000 }, (_, index) => pack({ name: `${index}.txt`, filler: 'x', times: 1 })),
      ),
    }),
  ],
  ['a gzip of 2 GiB', () => ({ 'EQRR2605.dbf.gz': gzipOf(packRecords('', equipment(), 2048)) })],
  ['a packed table that says 1 GiB', () => ({ 'EQRR2309.dbc': boastfulDbc() })],
  ['a packed table that is longer than it says', () => ({ 'EQRR2309.dbc': longDbc() })],
  ['admissions that say 1 GiB', () => ({ 'PARR2605.dbc': boastfulDbc() })],
  [
    'two million equal rows of equipment in a zip',
    () => ({
      'estados.zip': zipOf([packRecords('EQRR2309.dbf', equipment(), 110), pack(ballast(4))]),
    }),
  ],
  [
    'two million rows marked as deleted in a zip',
    () => ({
      'estados.zip': zipOf([packRecords('EQRR2309.dbf', equipment({}, true), 110), pack(ballast(4))]),
    }),
  ],
  [
    'production of 200 MiB in a zip',
    () => ({
      'estados.zip': zipOf([
        packRecords(
          'PARR2605.dbf',
          productionDbf([{ ...PLAIN_PRODUCTION, PA_UFMUN: '140010', PA_MVM: '202604' }]),
          200,
        ),
        pack(ballast(6)),
      ]),
    }),
  ],
  ['blanks in a workbook, 1 GiB', () => ({ 'tabela202.xlsx': workbook(BLANKS, 1024) })],
  ['a workbook that is larger than it says', () => ({ 'tabela202.xlsx': workbook(BLANKS, 300, true) })],
  ['empty rows in a workbook, 30 MiB', () => ({ 'tabela202.xlsx': workbook('<row/>'.repeat(170_000), 30) })],
  ['cells in the last column of a workbook', () => ({ 'tabela202.xlsx': workbook(farRows(100_000), 1) })],
  [
    'a million cells of a workbook',
    () => ({ 'tabela202.xlsx': workbook('<row><c><v>1</v></c></row>'.repeat(10_000), 100) }),
  ],
  ['blanks in a workbook of transfers, 1 GiB', () => ({ [TRANSFERS]: workbook(BLANKS, 1024) })],
  [
    'a workbook of transfers that is larger than it says',
    () => ({ [TRANSFERS]: workbook(BLANKS, 300, true) }),
  ],
  [
    'cells in the last column of a workbook of transfers',
    () => ({ [TRANSFERS]: workbook(farRows(100_000), 1) }),
  ],
  [
    'a million empty cells of a workbook of transfers',
    () => ({ [TRANSFERS]: workbook('<row><c r="SF1"><v/></c></row>'.repeat(10_000), 100) }),
  ],
  [
    'a million texts that a workbook of transfers shares',
    () => ({
      [TRANSFERS]: workbook('<row><c><v>1</v></c></row>', 1, false, [
        {
          name: 'xl/sharedStrings.xml',
          before: '<sst>',
          filler: `<si><t>${'x'.repeat(100)}</t></si>`.repeat(10_000),
          times: 100,
          after: '</sst>',
        },
      ]),
    }),
  ],
  [
    '100 million brackets of JSON',
    () => ({ 'municipios.json': filled('[{"microrregiao":', '[', 100_000_000) }),
  ],
  [
    '30 million empty objects of JSON',
    () => ({ 'municipios.json': filled('[{"microrregiao":1},', '{},', 30_000_000, '{}]') }),
  ],
  [
    'two million objects of JSON',
    () => ({ 'municipios.json': filled('[{"microrregiao":1},', '{"a":{}},', 1_400_000, '{}]') }),
  ],
  ['100 million cells of a list', () => ({ 'tabela202.csv': filled('code_muni;2021\n', '1;', 50_000_000) })],
  [
    'a mesh of 1 GiB in gzip',
    () => ({
      'malha.geojson.gz': gzip({
        name: '',
        before: '{"type":"FeatureCollection","features":[',
        filler: BLANKS,
        times: 1024,
        after: ']}',
      }),
    }),
  ],
  ['a mesh whose areas share a long line', () => ({ 'malha.topojson': topology() })],
  ['a shapefile of three million nothings', () => ({ 'BR.shp': nullShapes(), 'BR.dbf': attributes })],
  ['notes of 400 MB', () => ({ 'snapshot.json': Buffer.alloc(400_000_000, ' ') })],
]

/** Bounds that the command promises for any file. */
const BYTES_MAX = 600 * MEBIBYTE
const DISK_MAX = 1024 * MEBIBYTE
const SECONDS_MAX = 20

const diskOf = (path: string): number => {
  try {
    return readdirSync(path, { recursive: true, encoding: 'utf8' }).reduce(
      (sum, name) => sum + statSync(join(path, name)).size,
      0,
    )
  } catch {
    return 0
  }
}

const only = process.env.SUS_BOMB
for (const [index, [name, files]] of BOMBS.entries())
  if (only === undefined || name.includes(only))
    t.test(name, { skip: process.platform === 'linux' ? false : '/proc is needed' }, async (t) => {
      const bomb = join(folder, `bomb-${index}`)
      for (const [file, bytes] of Object.entries(files())) {
        mkdirSync(dirname(join(bomb, file)), { recursive: true })
        writeFileSync(join(bomb, file), bytes)
      }
      const args = [bin, 'import', IBGE, bomb, '--releases', releasesDir, '--json']
      const { status, stderr, stdout, peakBytes, peakLook, seconds, workSeconds } = await runMeasured(
        args,
        () => diskOf(releasesDir),
      )
      t.equal(status, 1, stderr || stdout)
      t.match(stderr, /^sus-data: \S+\.\w+: /, 'names the file')
      t.ok(peakBytes < BYTES_MAX, `${Math.round(peakBytes / MEBIBYTE)} MiB of memory`)
      t.ok(peakLook < DISK_MAX, `${Math.round(peakLook / MEBIBYTE)} MiB of disk`)
      // A busy machine takes longer, and works as long.
      t.ok(workSeconds < SECONDS_MAX, `${workSeconds.toFixed(1)} s of work, ${seconds.toFixed(1)} s`)
      t.same(readdirSync(releasesDir), [], 'nothing is left')
      t.comment(
        `${name}: ${Math.round(diskOf(bomb) / 1024)} KiB | ${Math.round(peakBytes / MEBIBYTE)} MiB | ${Math.round(peakLook / MEBIBYTE)} MiB disk | ${seconds.toFixed(1)} s (${workSeconds.toFixed(1)} s of work) | ${(stderr || stdout).trim().slice(0, 220)}`,
      )
    })
