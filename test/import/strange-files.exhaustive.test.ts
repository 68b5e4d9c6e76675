/**
 * Files as they come: without a last line break, with a byte-order mark, under another ending, copied by a browser, zipped
 * twice, cut. What can be read is read whole; what cannot is named, with what it looks like.
 */
import { spawnSync } from 'node:child_process'
import { createWriteStream, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { ZipFile } from 'yazl'
import { ImportError } from '../../src/import/import-error.ts'
import { looksLike } from '../../src/import/readers/looks-like.ts'
import { inventCpf } from '../../tools/demo/random.ts'
import {
  changeBase,
  IBGE,
  type Imported,
  importChanged,
  MONTH,
  MONTH_ARCHIVE,
  tableOf,
} from '../fixtures/changed-base.ts'
import { EQ_COLUMNS, EQ_ROW, makeDbc, makeDbf } from '../fixtures/dbf-builder.ts'
import { cases } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const row = { ...EQ_ROW, QT_EXIST: '0003', QT_USO: '0002', IND_SUS: '1' }
const rows = Array.from({ length: 97 }, (_, index) => ({ ...row, CODEQUIP: String(index).padStart(2, '0') }))
const dbf = makeDbf({ columns: EQ_COLUMNS, rows })
const dbc = makeDbc(dbf)

function write(name: string, bytes: Buffer | string): string {
  const path = join(temporaryFolder('strange'), name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, bytes)
  return path
}
async function makeZip(name: string, entries: Readonly<Record<string, Buffer>>): Promise<Buffer> {
  const path = write(name, '')
  const archive = new ZipFile()
  for (const [entry, bytes] of Object.entries(entries)) archive.addBuffer(bytes, entry)
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(path))
  return readFileSync(path)
}
async function refused(t: Test, paths: readonly string[], ...patterns: RegExp[]): Promise<void> {
  const error = await importChanged(paths).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  t.ok(error instanceof ImportError, String(error).slice(0, 200))
  for (const pattern of patterns) t.match(error instanceof Error ? error.message : '', pattern)
}
/** What the bytes of a file are, whatever its name says. */
type Form = 'dbf' | 'dbc' | 'dbc.gz'
const equipment = async ({ select }: Imported): Promise<unknown> =>
  (await select('sum(quantity_existing)::INTEGER AS n', 'equipment_inventory'))[0]?.n

const PUBLISHED = [
  'tbEstabelecimento',
  'rlEstabComplementar',
  'rlEstabEquipamento',
  'rlEstabServClass',
] as const
const plain = await importChanged([changeBase({})])
const rowsOf = ({ result }: Imported): unknown =>
  ['facilities', 'bed_capacity', 'equipment_inventory', 'specialized_services', 'set_aside'].map(
    (name) => result.rows[name],
  )

t.test('tables of the national base without their last line break, and with a byte-order mark', async (t) => {
  const mark = Buffer.from([0xef, 0xbb, 0xbf])
  const whole = (name: string): Buffer => Buffer.from(tableOf(name).toString('latin1').trimEnd(), 'latin1')
  const tables = (make: (name: string) => Buffer): Record<string, Buffer> =>
    Object.fromEntries(PUBLISHED.map((name) => [`${name}${MONTH}.csv`, make(name)]))
  const utf8 = (name: string): Buffer => Buffer.from(tableOf(name).toString('latin1'), 'utf8')
  const forms: readonly (readonly [string, (name: string) => Buffer])[] = [
    ['no last line break', whole],
    ['a mark before UTF-8', (name) => Buffer.concat([mark, utf8(name)])],
    ['a mark before ISO-8859-1', (name) => Buffer.concat([mark, tableOf(name)])],
  ]
  for (const [what, make] of cases(forms, forms.slice(0, 2))) {
    const imported = await importChanged([changeBase({}, tables(make))])
    t.same(rowsOf(imported), rowsOf(plain), what)
    t.same(
      await imported.select(
        'trade_name, cnes_code',
        'facilities',
        'WHERE strip_accents(trade_name) <> trade_name ORDER BY 2 LIMIT 50',
      ),
      await plain.select(
        'trade_name, cnes_code',
        'facilities',
        'WHERE strip_accents(trade_name) <> trade_name ORDER BY 2 LIMIT 50',
      ),
      `${what}: accents`,
    )
  }
})

t.test('an inner quote costs a cell at most', async (t) => {
  const text = tableOf('tbEstabelecimento').toString('latin1').split('\n')
  const names = ['HOSPITAL "SAO JOSE" LTDA', '"ABC" CLINICA', 'CLINICA "ABC"', 'A "B', 'A"', '"']
  const codes = names.map((name, index) => {
    const cells = (text[20 + index] ?? '').slice(1).split('";"')
    cells[6] = name
    cells[37] = ''
    text[20 + index] = `"${cells.join('";"')}`
    return cells[1] ?? ''
  })
  const bytes = Buffer.from(text.join('\n'), 'latin1')
  const imported = await importChanged([changeBase({}, { [`tbEstabelecimento${MONTH}.csv`]: bytes })])
  t.same(rowsOf(imported), rowsOf(plain), 'no facility and none of its facts is lost')
  const found = await imported.select(
    'cnes_code, trade_name',
    'facilities',
    `WHERE cnes_code IN (${codes.map((code) => `'${code}'`).join(', ')})`,
  )
  t.equal(found.length, names.length)
  for (const [index, code] of codes.slice(0, 4).entries())
    t.equal(found.find(({ cnes_code }) => cnes_code === code)?.trade_name, names[index])
})

t.test('a cut table says that it is cut', async (t) => {
  for (const name of cases<readonly string[]>(PUBLISHED, ['rlEstabComplementar'])) {
    const bytes = tableOf(name)
    const file = `${name}${MONTH}.csv`
    // Without the line end nothing is lost, and without both quotes of an empty cell neither.
    const lineEnd = bytes.at(-2) === 13 ? 2 : 1
    for (const missing of cases([1, 3, 30], [3]).map((content) => lineEnd + content))
      await refused(
        t,
        [changeBase({}, { [file]: bytes.subarray(0, bytes.length - missing) })],
        new RegExp(`${file}: is cut: its last line`),
      )
  }
  await refused(t, [write('EQRR2309.dbc', dbc.subarray(0, dbc.length - 40))], /EQRR2309\.dbc: .*cut/)
  await refused(t, [write('EQRR2309.dbf', dbf.subarray(0, dbf.length - 40))], /EQRR2309\.dbf: is cut/)
  await refused(
    t,
    [write('CADGERRR.csv', 'CNES;FANTASIA;RAZ_SOCI;CODUFMUN\n2000001;A;B')],
    /is cut: its last line has 3 of 4/,
  )
  const list = Buffer.from('"UF","Nome_UF","Nome_Município"\n"11","Rond')
  await refused(t, [write('dtb.csv', list)], /dtb\.csv: is cut/)
})

t.test('a packed table is recognised by its bytes, and a copy by its name', async (t) => {
  // Each form is the file of another state, so that one import reads them all.
  const forms: readonly (readonly [name: string, uf: string, municipality: string, form: Form])[] = [
    ['EQRR2309.csv', 'RR', '140010', 'dbc'],
    ['EQAC2309.dbc', 'AC', '120040', 'dbf'],
    ['EQAP2309 (1).dbc', 'AP', '160030', 'dbc'],
    ['EQRO2309.dbf', 'RO', '110020', 'dbc'],
    ['EQAM2309.csv', 'AM', '130260', 'dbf'],
    ['EQTO2309.csv.gz', 'TO', '172100', 'dbc.gz'],
    ['EQMA2309(12).dbc', 'MA', '211130', 'dbc'],
    ['eqpi2309 - Cópia.dbc', 'PI', '221100', 'dbc'],
    ['EQCE2309 - Copy (2).dbf', 'CE', '230440', 'dbf'],
  ]
  const imported = await importChanged(
    forms.map(([name, , municipality, form], index) => {
      const own = rows.map((cells) => ({
        ...cells,
        CNES: String(2_000_001 + index),
        CODUFMUN: municipality,
      }))
      const plainTable = makeDbf({ columns: EQ_COLUMNS, rows: own })
      const packed = form === 'dbf' ? plainTable : makeDbc(plainTable)
      return write(name, form === 'dbc.gz' ? gzipSync(packed) : packed)
    }),
  )
  const found = await imported.select(
    'uf, sum(quantity_existing)::INTEGER AS pieces',
    'equipment_inventory',
    'GROUP BY uf',
  )
  for (const [name, uf] of forms) {
    t.equal(found.find((state) => state.uf === uf)?.pieces, 97 * 3, name)
    t.ok(
      imported.cnes.snapshots.some(({ file }) => file === name),
      'the manifest has the name as it is',
    )
  }
  const base = changeBase({})
  renameSync(join(base, `tbLeito${MONTH}.csv`), join(base, `tbLeito${MONTH} (1).csv`))
  t.same(rowsOf(await importChanged([base])), rowsOf(plain), 'a table of the national base')
})

t.test('a zip in a zip', async (t) => {
  const inner = await makeZip('inner.zip', { 'a/EQRR2309.dbc': dbc, 'leia-me.txt': Buffer.from('text') })
  const middle = await makeZip('middle.zip', { 'x/inner.zip': inner })
  const path = write('outer.zip', await makeZip('o.zip', { 'middle.zip': middle }))
  const imported = await importChanged([path])
  t.equal(await equipment(imported), 97 * 3)
  t.same(imported.result.unknown, ['leia-me.txt'])
  t.match(
    imported.cnes.snapshots.map(({ archive }) => archive?.file),
    ['outer.zip/middle.zip/inner.zip'],
  )
  const month = readFileSync(MONTH_ARCHIVE)
  const nested = await importChanged([
    write('download.zip', await makeZip('d.zip', { [`BASE_DE_DADOS_CNES_${MONTH} (1).ZIP`]: month })),
  ])
  t.same(rowsOf(nested), rowsOf(plain), 'a national base')
})

t.test('two equal files name their folders', async (t) => {
  const [first, second] = [write('a/EQRR2309.dbc', dbc), write('b/EQRR2309.dbc', dbc)]
  await refused(t, [first, second], new RegExp(first), new RegExp(second), /same month and state/)
  const base = changeBase({})
  const table = write(`tbLeito${MONTH}.csv`, tableOf('tbLeito'))
  await refused(t, [base, table], new RegExp(base), new RegExp(table), /twice/)
  const archive = await makeZip('two.zip', { 'a/EQRR2309.dbc': dbc, 'b/EQRR2309.dbc': dbc })
  await refused(t, [write('two.zip', archive)], /two\.zip\/a\/EQRR2309\.dbc/, /two\.zip\/b\/EQRR2309\.dbc/)
  const people = 'code_muni;2022\n1400100;5\n'
  const [here, there] = [write('a/people.csv', people), write('b/people.csv', people)]
  await refused(t, [here, there], new RegExp(here), new RegExp(there))
})

t.test('a file named on the command line that is not recognised', async (t) => {
  const cpf = inventCpf(123_456_789)
  const CASES: readonly (readonly [name: string, bytes: Buffer | string, looks: RegExp])[] = [
    [
      'equipment.dbc',
      dbc,
      /CNES file of equipment by state: a dBase table.*columns CNES.*Give it its published name, e\.g\. EQRR2309\.dbc/,
    ],
    [
      'beds.csv',
      'CO_UNIDADE;CO_LEITO;QT_EXIST\n1;2;3\n',
      /a table of the national CNES base: text separated by ';' with the columns CO_UNIDADE, CO_LEITO/,
    ],
    ['EQRR2309.csv', 'CNES;CODEQUIP\n1;2\n', /text separated by ';' with the columns CNES, CODEQUIP/],
    ['report.pdf', '%PDF-1.7 …', /a PDF document/],
    ['EQRR2309.zip.txt', '<!DOCTYPE html><html>', /a web page/],
    ['people.json', '{"a": 1}', /JSON/],
    ['people.txt', `${cpf};Maria da Silva\n`, /text separated by ';' with 2 columns/],
    ['nothing.csv', '', /an empty file/],
    ['readme.md', '# About', /text without columns/],
    ['data.bin', Buffer.from([1, 2, 3, 0, 0, 7]), /binary data/],
    ['table.xlsx', Buffer.from('504b030400', 'hex'), /workbook|spreadsheet/],
    [
      'other.zip',
      await makeZip('other.zip', { 'a.txt': Buffer.from('a') }),
      /holds no file this importer knows/,
    ],
  ]
  for (const [name, bytes, looks] of CASES) {
    const path = write(name, bytes)
    await refused(t, [path, changeBase({})], new RegExp(path), looks)
  }
  t.notMatch(
    looksLike(Buffer.from(`${cpf};Maria\n`)).what,
    new RegExp(`${cpf}|Maria`),
    'and no cell of it is shown',
  )
  const listed = await importChanged([changeBase({}), dirname(write('strange/beds.txt', 'a;b'))])
  t.ok(listed.result.unknown.includes('beds.txt'), 'in a folder it is listed')
})

t.test('an import without any population', async (t) => {
  const list = join(IBGE, 'RELATORIO_DTB_BRASIL_MUNICIPIO.csv')
  const { importPaths } = await import('../../src/import/import.ts')
  const releasesDir = join(temporaryFolder('people'), 'releases')
  const options = { releasesDir, maxRejected: 0.001 }
  const steps: string[] = []
  await t.rejects(
    importPaths([list, changeBase({})], { ...options, onProgress: (step) => steps.push(step) }),
    /without any population.*--without-population/,
  )
  t.notOk(steps.includes('cnes'), 'no month is built before')
  t.same(readdirSync(releasesDir), [], 'what was read of it is gone')
  await t.rejects(importPaths([list], options), /--without-population/, 'a list alone')
  const { rows: made } = await importPaths([list, changeBase({})], { ...options, withoutPopulation: true })
  t.equal(made.population, 0)
  t.ok((made.facilities ?? 0) > 0)
})

t.test('the command ends with 1', (t) => {
  const path = write('beds.csv', 'CO_UNIDADE;CO_LEITO\n1;2\n')
  const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
  const { status, stderr } = spawnSync(
    process.execPath,
    [bin, 'import', path, '--releases', temporaryFolder('cli')],
    { encoding: 'utf8' },
  )
  t.equal(status, 1)
  t.match(
    stderr,
    /beds\.csv: is no file this importer knows by this name; it looks like a table of the national CNES base/,
  )
  t.end()
})

t.test('the published count of 2022', { skip: skipWithoutShared }, async (t) => {
  const name = 'POP_TCU_2023_Municipios_POP2022_Malha2023.xls'
  const { importPaths } = await import('../../src/import/import.ts')
  const releasesDir = join(temporaryFolder('tcu'), 'releases')
  const { rows: made } = await importPaths(
    [sharedPath(`ibge/${name}`), sharedPath('ibge/RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls')],
    {
      releasesDir,
      maxRejected: 0.001,
    },
  )
  t.equal(made.population, 5570)
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const found = await connection.runAndReadAll(
    `SELECT DISTINCT reference_year, population_type FROM read_parquet('${releasesDir}/demography-*/population/*.parquet')`,
  )
  t.same(found.getRowsJson(), [[2022, 'CENSUS_POPULATION']])
})
