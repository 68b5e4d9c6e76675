/** Bad input: one clear error that names the file and the remedy, and no release touched. */

import {
  cpSync,
  createWriteStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { ZipFile } from 'yazl'
import { importPaths } from '../../src/import/import.ts'
import { ImportError } from '../../src/import/import-error.ts'
import { readDbfRecords } from '../../src/import/readers/dbf-records.ts'
import { IBGE, MONTH_ARCHIVE } from '../fixtures/changed-base.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { readZip } from '../fixtures/raw-base.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('bad')
const csv = join(folder, 'csv')
mkdirSync(csv)
for (const [name, bytes] of await readZip(MONTH_ARCHIVE)) writeFileSync(join(csv, name), bytes)
const releasesDir = join(folder, 'releases')
let copies = 0

/** A folder of the month's tables with one thing changed. */
function changed(change: (path: string) => void): string {
  copies += 1
  const copy = join(folder, `copy-${copies}`)
  cpSync(csv, copy, { recursive: true })
  change(copy)
  return copy
}
const edit = (file: string, change: (text: string) => string) => (path: string) =>
  writeFileSync(join(path, file), Buffer.from(change(readFileSync(join(path, file), 'latin1')), 'latin1'))

async function refuses(t: Test, paths: readonly string[], file: RegExp, problem: RegExp): Promise<void> {
  const error = await importPaths(paths, { releasesDir, maxRejected: 0.001 }).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  t.ok(error instanceof ImportError, `an ImportError (${String(error).slice(0, 200)})`)
  if (!(error instanceof ImportError)) return
  t.match(error.message, file, 'names the file')
  t.match(error.message, problem, 'says what is wrong')
  t.ok(error.remedy.length > 10, 'says what to do')
  t.same(readdirSync(releasesDir), [], 'no release of any kind, no staging folder')
}

t.test('a missing column', (t) =>
  refuses(
    t,
    [
      IBGE,
      changed(edit('rlEstabComplementar202605.csv', (text) => text.replace('"QT_EXIST"', '"QT_OTHER"'))),
    ],
    /rlEstabComplementar202605\.csv/,
    /QT_EXIST/,
  ),
)
t.test('another delimiter', (t) =>
  refuses(
    t,
    [IBGE, changed(edit('tbLeito202605.csv', (text) => text.replaceAll(';', ',')))],
    /tbLeito202605\.csv/,
    /';'/,
  ),
)
t.test('an empty file', (t) =>
  refuses(
    t,
    [IBGE, changed((path) => writeFileSync(join(path, 'rlEstabServClass202605.csv'), ''))],
    /rlEstabServClass202605\.csv/,
    /empty/,
  ),
)
t.test('UTF-8', (t) =>
  refuses(
    t,
    [
      IBGE,
      changed((path) =>
        writeFileSync(
          join(path, 'tbEstabelecimento202605.csv'),
          readFileSync(join(path, 'tbEstabelecimento202605.csv'), 'latin1'),
          'utf8',
        ),
      ),
    ],
    /tbEstabelecimento202605\.csv/,
    /UTF-8/,
  ),
)
t.test('a table of another month', (t) =>
  refuses(
    t,
    [
      IBGE,
      changed((path) =>
        renameSync(join(path, 'rlEstabEquipamento202605.csv'), join(path, 'rlEstabEquipamento202604.csv')),
      ),
    ],
    /month 20260[45]/,
    /rlEstabEquipamento202605|tbEstabelecimento202604/,
  ),
)
t.test('a month under the name of an older one', (t) =>
  refuses(
    t,
    [
      IBGE,
      changed((path) => {
        for (const name of readdirSync(path))
          renameSync(join(path, name), join(path, name.replace('202605', '201501')))
      }),
    ],
    /tbEstabelecimento201501/,
    /another month/,
  ),
)
t.test('an archive under the name of another month', async (t) => {
  const renamed = join(folder, 'BASE_DE_DADOS_CNES_202604.ZIP')
  cpSync(MONTH_ARCHIVE, renamed)
  await refuses(
    t,
    [IBGE, renamed],
    /BASE_DE_DADOS_CNES_202604\.ZIP/,
    /is of 202605 inside an archive of 202604/,
  )
})
t.test('one table twice', (t) =>
  refuses(t, [IBGE, MONTH_ARCHIVE, join(csv, 'tbLeito202605.csv')], /tbLeito202605\.csv/, /twice/),
)
t.test('one table in two folders of an archive', async (t) => {
  const path = join(folder, 'nested', 'BASE_DE_DADOS_CNES_202605.ZIP')
  mkdirSync(dirname(path))
  const archive = new ZipFile()
  for (const [name, bytes] of await readZip(MONTH_ARCHIVE)) archive.addBuffer(bytes, `a/${name}`)
  archive.addBuffer(readFileSync(join(csv, 'tbLeito202605.csv')), 'b/tbLeito202605.csv')
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(path))
  await refuses(t, [IBGE, path], /b\/tbLeito202605\.csv/, /twice/)
})
t.test('a path that is not there', (t) =>
  refuses(t, [IBGE, join(folder, 'nowhere')], /nowhere/, /does not exist/),
)
t.test('a missing table', (t) =>
  refuses(
    t,
    [IBGE, changed((path) => rmSync(join(path, 'tbEstabelecimento202605.csv')))],
    /month 202605/,
    /tbEstabelecimento202605/,
  ),
)
t.test('a truncated zip', async (t) => {
  const cut = join(folder, 'BASE_DE_DADOS_CNES_202605.ZIP')
  writeFileSync(cut, readFileSync(MONTH_ARCHIVE).subarray(0, 300_000))
  await refuses(t, [IBGE, cut], /BASE_DE_DADOS_CNES_202605\.ZIP/, /whole zip/)
})
t.test('a zip with a changed byte', async (t) => {
  const hurt = join(folder, 'hurt', 'BASE_DE_DADOS_CNES_202605.ZIP')
  mkdirSync(join(folder, 'hurt'))
  const bytes = readFileSync(MONTH_ARCHIVE)
  bytes.writeUInt8(bytes.readUInt8(100_000) ^ 0x55, 100_000)
  writeFileSync(hurt, bytes)
  await refuses(t, [IBGE, hurt], /BASE_DE_DADOS_CNES_202605\.ZIP/, /CRC-32|unpacked/)
})
t.test('too many bad rows', (t) =>
  refuses(
    t,
    [
      IBGE,
      changed(
        edit('rlEstabEquipamento202605.csv', (text) =>
          text
            .split('\n')
            .map((line, index) =>
              index > 0 && index % 50 === 0 ? line.replace(/;"(\d+)";"(\d+)";"/, ';"?";"$2";"') : line,
            )
            .join('\n'),
        ),
      ),
    ],
    /cnes import/,
    /more than the share/,
  ),
)
t.test(
  'a row with too few cells is set aside, and the rows after it keep their numbers',
  secondRing,
  async (t) => {
    const path = changed(
      edit('rlEstabComplementar202605.csv', (text) =>
        text
          .split('\r\n')
          .map((line, index) => (index === 10 ? '"broken";"row"' : line))
          .join('\r\n'),
      ),
    )
    const own = join(folder, 'own')
    const { rejected, cnes } = await importPaths([IBGE, path], { releasesDir: own, maxRejected: 0.001 })
    t.equal(rejected.unreadable_missing_columns, 1)
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const rows = (
      await connection.runAndReadAll(
        `SELECT source_row, reason FROM read_parquet('${own}/${cnes}/set_aside/*.parquet') WHERE source_file LIKE 'rlEstabC%' ORDER BY 1`,
      )
    ).getRowsJson()
    t.same(rows, [
      [11, 'unreadable_missing_columns'],
      [601, 'unknown_facility'],
    ])
    const [[raw] = []] = (
      await connection.runAndReadAll(
        `SELECT "CO_UNIDADE" FROM read_parquet('${own}/${cnes}/bed_capacity_provenance/**/*.parquet') WHERE source_row = 300`,
      )
    ).getRowsJson()
    t.equal(
      raw,
      readFileSync(join(csv, 'rlEstabComplementar202605.csv'), 'latin1')
        .split('\r\n')[299]
        ?.split('";"')[0]
        ?.slice(1),
    )
  },
)
t.test('CNES without a municipality list', (t) =>
  refuses(t, [MONTH_ARCHIVE], /CNES files/, /municipality list/).then(() => undefined),
)
t.test('nothing known', (t) => {
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  writeFileSync(join(empty, 'notes.txt'), 'nothing')
  return refuses(t, [empty], /empty/, /no file this importer knows.*notes\.txt/)
})
t.test('state files', { skip: skipWithoutShared }, async (t) => {
  const published = readFileSync(sharedPath('cnes/dbc/LTRR0610.dbc'))
  const write = (name: string, bytes: Buffer): string => {
    copies += 1
    mkdirSync(join(folder, `state-${copies}`))
    writeFileSync(join(folder, `state-${copies}`, name), bytes)
    return join(folder, `state-${copies}`, name)
  }
  await refuses(t, [IBGE, write('LTRR0610.dbc', published.subarray(0, 1500))], /LTRR0610\.dbc/, /unpack/)
  await refuses(t, [IBGE, write('LTRR0611.dbc', published)], /LTRR0611\.dbc/, /another month/)
  await refuses(t, [IBGE, write('LTAC0610.dbc', published)], /LTAC0610\.dbc/, /another state/)
  await refuses(
    t,
    [IBGE, write('EQRR0610.dbc', published)],
    /EQRR0610\.dbc/,
    /columns are those of a CNES file of beds/,
  )
  const wrong = Buffer.from(published)
  wrong.writeUInt8(wrong.readUInt8(20) ^ 1, 20)
  await refuses(t, [IBGE, write('LTRR0610.dbc', wrong)], /LTRR0610\.dbc/, /CRC-32/)
})
t.test('made-up state files', secondRing, async (t) => {
  const row = {
    ...EQ_ROW,
    CPF_CNPJ: '11222333000181',
    QT_EXIST: '0003',
    QT_USO: '0002',
    IND_SUS: '1',
  }
  const rows = Array.from({ length: 200 }, (_, index) => ({
    ...row,
    CODEQUIP: String(index % 97).padStart(2, '0'),
  }))
  const dbf = makeDbf({ columns: EQ_COLUMNS, rows })
  const dbc = makeDbc(dbf)
  const write = (name: string, bytes: Buffer): string => {
    copies += 1
    mkdirSync(join(folder, `made-${copies}`))
    writeFileSync(join(folder, `made-${copies}`, name), bytes)
    return join(folder, `made-${copies}`, name)
  }
  const changedAt = (place: number): Buffer => {
    const bytes = Buffer.from(dbc)
    bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place)
    return bytes
  }
  const countedFewer = Buffer.from(dbf)
  countedFewer.writeUInt32LE(rows.length - 8, 4)
  const CASES: [name: string, bytes: Buffer, problem: RegExp][] = [
    [
      'EQRR2309.dbf',
      countedFewer,
      new RegExp(`holds 8 records more than the ${rows.length - 8} that its header counts`),
    ],
    ['EQRR2309.dbc', dbc.subarray(0, dbc.length - 40), /unpack/],
    ['EQRR2309.dbc', dbc.subarray(0, 100), /header that cannot be true/],
    ['EQRR2309.dbc', changedAt(dbc.readUInt16LE(8)), /CRC-32/],
    ['EQRR2309.dbc', changedAt(1), /CRC-32/],
    ['EQRR2309.dbc', Buffer.alloc(0), /is empty/],
    ['EQRR2309.dbc', Buffer.from('<html>not found</html>'.repeat(9)), /is not a \.dbc file/],
    ['EQRR2309.dbf', dbf.subarray(0, dbf.length - 40), /is cut/],
    ['EQRR2309.dbf.gz', gzipSync(dbf).subarray(0, 90), /whole gzip/],
    ['EQRR2310.dbc', dbc, /another month/],
    ['EQAC2309.dbc', dbc, /another state/],
    ['LTRR2309.dbc', dbc, /columns are those of a CNES file of equipment/],
    ['EQXX2309.dbc', dbc, /no state/],
    [
      'EQRR2309.dbf',
      makeDbf({ columns: EQ_COLUMNS, rows: [...rows, { ...row, COMPETEN: '202308' }] }),
      /row \(202\) of another month/,
    ],
    [
      'EQRR2309.dbf',
      makeDbf({ columns: EQ_COLUMNS.filter(([name]) => name !== 'QT_EXIST'), rows }),
      /lacks the column QT_EXIST/,
    ],
  ]
  for (const [name, bytes, problem] of cases(
    CASES,
    CASES.filter((_, index) => index % 3 === 0),
  ))
    await refuses(t, [IBGE, write(name, bytes)], new RegExp(name.replaceAll('.', '\\.')), problem)
  await refuses(
    t,
    [IBGE, write('EQRR2309.dbc', dbc), write('EQRR2309.dbf', dbf)],
    /EQRR2309\.db[cf]/,
    /same month and state/,
  )
  const shortened = write('RDRR2309.dbf', countedFewer)
  await t.rejects(
    readDbfRecords(shortened, 'RDRR2309.dbf', () => () => undefined),
    /RDRR2309\.dbf: holds 8 records more than/,
    'where records are streamed',
  )
  const marked = makeDbf({ columns: EQ_COLUMNS, rows, deleted: new Set([0, 5]) })
  const streamed = await readDbfRecords(write('RDRR2309.dbf', marked), 'RDRR2309.dbf', () => () => undefined)
  t.same([streamed.rows, streamed.deleted.map(({ row }) => row)], [rows.length - 2, [2, 7]])
  const { rows: counted, rejected } = await importPaths([IBGE, write('EQRR2309.dbc', makeDbc(marked))], {
    releasesDir: join(folder, 'state-releases'),
    maxRejected: 0.9,
  })
  t.equal(counted.equipment_inventory, 97, 'deleted records are not read')
  t.equal(rejected.deleted, 2, 'but counted')
  t.equal(rejected.duplicate_identical, undefined, 'and rows that repeat another are added up')
})
