/** Bad input: one clear error that names the file and the remedy, and no release touched. */
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { writeDemonstration } from '../../src/demo/demonstration.ts'
import { importPaths } from '../../src/import/import.ts'
import { ImportError } from '../../src/import/import-error.ts'
import { readZip } from '../fixtures/raw-base.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('bad')
const good = join(folder, 'good')
await writeDemonstration({ out: good, scale: 'small', periods: 1, seed: 1 })
const ibge = join(good, 'ibge')
const zip = join(good, 'cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP')
const csv = join(folder, 'csv')
mkdirSync(csv)
for (const [name, bytes] of await readZip(zip)) writeFileSync(join(csv, name), bytes)
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
  const left = readdirSync(releasesDir, { withFileTypes: true }).filter(
    ({ name }) => name.includes('cnes-') || name.startsWith('.staging'),
  )
  t.same(left, [], 'no release, nothing left behind')
}

t.test('a missing column', (t) =>
  refuses(
    t,
    [
      ibge,
      changed(edit('rlEstabComplementar202605.csv', (text) => text.replace('"QT_EXIST"', '"QT_OTHER"'))),
    ],
    /rlEstabComplementar202605\.csv/,
    /QT_EXIST/,
  ),
)
t.test('another delimiter', (t) =>
  refuses(
    t,
    [ibge, changed(edit('tbLeito202605.csv', (text) => text.replaceAll(';', ',')))],
    /tbLeito202605\.csv/,
    /';'/,
  ),
)
t.test('an empty file', (t) =>
  refuses(
    t,
    [ibge, changed((path) => writeFileSync(join(path, 'rlEstabServClass202605.csv'), ''))],
    /rlEstabServClass202605\.csv/,
    /empty/,
  ),
)
t.test('UTF-8', (t) =>
  refuses(
    t,
    [
      ibge,
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
      ibge,
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
      ibge,
      changed((path) => {
        for (const name of readdirSync(path))
          renameSync(join(path, name), join(path, name.replace('202605', '201501')))
      }),
    ],
    /tbEstabelecimento201501/,
    /another month/,
  ),
)
t.test('a missing table', (t) =>
  refuses(
    t,
    [ibge, changed((path) => rmSync(join(path, 'tbEstabelecimento202605.csv')))],
    /month 202605/,
    /tbEstabelecimento202605/,
  ),
)
t.test('a truncated zip', async (t) => {
  const cut = join(folder, 'BASE_DE_DADOS_CNES_202605.ZIP')
  writeFileSync(cut, readFileSync(zip).subarray(0, 300_000))
  await refuses(t, [ibge, cut], /BASE_DE_DADOS_CNES_202605\.ZIP/, /whole zip/)
})
t.test('a zip with a changed byte', async (t) => {
  const hurt = join(folder, 'hurt', 'BASE_DE_DADOS_CNES_202605.ZIP')
  mkdirSync(join(folder, 'hurt'))
  const bytes = readFileSync(zip)
  bytes.writeUInt8(bytes.readUInt8(100_000) ^ 0x55, 100_000)
  writeFileSync(hurt, bytes)
  await refuses(t, [ibge, hurt], /BASE_DE_DADOS_CNES_202605\.ZIP/, /CRC-32|unpacked/)
})
t.test('too many bad rows', (t) =>
  refuses(
    t,
    [
      ibge,
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
t.test('a row with too few cells is set aside, and the rows after it keep their numbers', async (t) => {
  const path = changed(
    edit('rlEstabComplementar202605.csv', (text) =>
      text
        .split('\r\n')
        .map((line, index) => (index === 10 ? '"broken";"row"' : line))
        .join('\r\n'),
    ),
  )
  const own = join(folder, 'own')
  const { rejected, cnes } = await importPaths([ibge, path], { releasesDir: own, maxRejected: 0.001 })
  t.equal(rejected.unreadable_missing_columns, 1)
  const { DuckDBInstance } = await import('@duckdb/node-api')
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
})
t.test('CNES without a municipality list', (t) =>
  refuses(t, [zip], /CNES files/, /municipality list/).then(() => undefined),
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
  await refuses(t, [ibge, write('LTRR0610.dbc', published.subarray(0, 1500))], /LTRR0610\.dbc/, /unpack/)
  await refuses(t, [ibge, write('LTRR0611.dbc', published)], /LTRR0611\.dbc/, /another month/)
  await refuses(t, [ibge, write('LTAC0610.dbc', published)], /LTAC0610\.dbc/, /another state/)
  await refuses(t, [ibge, write('EQRR0610.dbc', published)], /EQRR0610\.dbc/, /lacks the column/)
  const wrong = Buffer.from(published)
  wrong.writeUInt8(wrong.readUInt8(20) ^ 1, 20)
  await refuses(t, [ibge, write('LTRR0610.dbc', wrong)], /LTRR0610\.dbc/, /CRC-32/)
})
