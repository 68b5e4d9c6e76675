/**
 * The territorial base in the forms that its editions have (delimiters, header names, encodings, no header at all), and what is
 * refused: two claims to be the health regions, files of two editions, tables that were cut or contradict themselves.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import t from 'tap'
import { type ImportResult, importPaths } from '../../src/import/import.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { writeDemonstration } from '../../tools/demo/demonstration.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const snapshots = temporaryFolder('territory-snapshots')
await writeDemonstration({ out: snapshots, scale: 'small', periods: 1, seed: 1 })
const list = join(snapshots, 'ibge/RELATORIO_DTB_BRASIL_MUNICIPIO.csv')
const archive = join(snapshots, 'territory/base_territorial_demonstracao.zip')
const entries = unzipSync(readFileSync(archive))
const tableText = (name: string): string => Buffer.from(entries[`${name}.csv`] ?? []).toString('utf8')
const TABLES = ['rl_municip_regsaud', 'rl_municip_macsaud', 'tb_regsaud', 'tb_macsaud'] as const
type Table = (typeof TABLES)[number]

/** Cells of a line whose cells hold no delimiter. */
const cellsOf = (line: string): string[] => line.slice(1, -1).split('","')
/** Rows of a table without line breaks in its cells. */
const rowsOf = (name: 'rl_municip_regsaud' | 'rl_municip_macsaud'): string[][] =>
  tableText(name).trimEnd().split('\r\n').map(cellsOf)

interface Made {
  readonly result: ImportResult
  readonly manifest: Manifest
}

async function importFiles(files: Readonly<Record<string, string | Buffer>>): Promise<Made> {
  const folder = join(temporaryFolder('territory'), 'snapshots')
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return importAll([folder])
}

async function importAll(paths: readonly string[]): Promise<Made> {
  const releasesDir = join(temporaryFolder('territory'), 'releases')
  const result = await importPaths([list, ...paths], {
    releasesDir,
    maxRejected: 0.001,
    withoutPopulation: true,
  })
  const text = readFileSync(join(releasesDir, result.demography ?? '', 'manifest.json'), 'utf8')
  return { result, manifest: JSON.parse(text) as Manifest }
}

/** SHA-256 of the rows of each dataset: where the edition's name is equal, equal rows are equal bytes. */
const digestsOf = ({ manifest }: Made): Record<string, string> =>
  Object.fromEntries(manifest.files.map(({ path, sha256 }) => [path, sha256]))

const asPublished: Record<Table, string> = {
  rl_municip_regsaud: tableText('rl_municip_regsaud'),
  rl_municip_macsaud: tableText('rl_municip_macsaud'),
  tb_regsaud: tableText('tb_regsaud'),
  tb_macsaud: tableText('tb_macsaud'),
}
const named = (texts: Record<Table, string | Buffer>): Record<string, string | Buffer> =>
  Object.fromEntries(TABLES.map((name) => [`${name}.csv`, texts[name]]))
const whole = await importFiles(named(asPublished))

t.test('one edition, named by the archive, else by the file', async (t) => {
  const { manifest, result } = await importAll([archive])
  t.equal(manifest.territory_edition, 'demonstracao')
  t.equal(manifest.synthetic, true)
  t.match(manifest.release_id, /^demo-demography-/)
  t.same(result.unknown, [], 'tables that nobody reads are left in the archive')
  t.equal(manifest.counts.municipalities_without_health_region, 0)
  t.same(
    manifest.set_aside.map(({ file, reason, rows }) => `${file} ${reason} ${rows}`),
    ['rl_municip_macsaud.csv not_a_municipality 27', 'rl_municip_regsaud.csv not_a_municipality 1'],
  )
  t.equal(whole.manifest.territory_edition, 'rl_municip_regsaud')
})

t.test('every form of an edition gives the same rows', async (t) => {
  const header = (text: string, names: string): string => names + text.slice(text.indexOf('\r\n'))
  const semicolons = (text: string): string => text.replaceAll('","', '";"')
  const forms: Record<string, Record<Table, string | Buffer>> = {
    'semicolons and CO_ names': {
      ...asPublished,
      rl_municip_regsaud: semicolons(asPublished.rl_municip_regsaud),
      tb_macsaud: semicolons(asPublished.tb_macsaud),
      tb_regsaud: header(
        asPublished.tb_regsaud,
        '"CO_REGSAUD","CO_STATUS","DS_NOME","DS_NOMEPAD","DS_ABREV","NU_ORDEM"',
      ),
    },
    'lower case, other names, no quotes': {
      ...asPublished,
      rl_municip_regsaud: header(asPublished.rl_municip_regsaud, 'co_muninip,co_regsaud').replaceAll('"', ''),
      rl_municip_macsaud: header(asPublished.rl_municip_macsaud, '"co_municip","macsaude"'),
      tb_macsaud: header(
        asPublished.tb_macsaud,
        '"CO_MACRORREGIONAL","CO_STATUS","DS_NOME","DS_NOMEPAD","DS_ABREV","ORDEM"',
      ),
    },
    'Windows-1252': {
      ...asPublished,
      tb_regsaud: Buffer.from(asPublished.tb_regsaud, 'latin1'),
      tb_macsaud: Buffer.from(asPublished.tb_macsaud, 'latin1'),
    },
    'a byte-order mark and line feeds alone': {
      ...asPublished,
      rl_municip_regsaud: `\uFEFF${asPublished.rl_municip_regsaud.replaceAll('\r\n', '\n')}`,
      tb_regsaud: `\uFEFF${asPublished.tb_regsaud}`,
    },
    tabs: {
      ...asPublished,
      rl_municip_macsaud: asPublished.rl_municip_macsaud.replaceAll('","', '"\t"'),
    },
  }
  for (const [form, texts] of Object.entries(forms))
    t.same(digestsOf(await importFiles(named(texts))), digestsOf(whole), form)
})

t.test('no header and no names', async (t) => {
  const rows = rowsOf('rl_municip_regsaud').slice(1)
  const text = ['"110000";"11000"', ...rows.map((cells) => `"${cells.join('";"')}"`), ''].join('\r\n')
  const { manifest } = await importFiles({ 'rl_municip_regsaud_2020.csv': text })
  t.equal(manifest.territory_edition, '2020')
  t.equal(manifest.datasets.health_regions?.rows, whole.manifest.datasets.health_regions?.rows)
  t.equal(manifest.datasets.health_macroregions, undefined)
})

t.test('conversion tables', async (t) => {
  const line = (order: number, label: string, codes: string): string =>
    `${String(order).padStart(7)}  ${label.padEnd(50)} ${codes}`
  const table = (rows: readonly string[][], name: (code: string) => string): string =>
    [
      `${rows.length + 1} 6`,
      ...rows.map(([town = '', place = ''], index) => line(index + 1, `${place} ${name(place)}`, town)),
      line(rows.length + 1, 'Ignorado - BR', '000000,000001-009999'),
      '',
    ].join('\r\n')
  const regions = table(rowsOf('rl_municip_regsaud').slice(1), (code) => `Região ${code}`)
  const macroregions = table(
    rowsOf('rl_municip_macsaud')
      .slice(1)
      .filter(([, code = '']) => !code.endsWith('00')),
    (code) => `Macrorregião ${code}`,
  )
  const { manifest } = await importFiles({
    'br_regsaud.cnv': Buffer.from(regions, 'latin1'),
    'br_macsaud.cnv': Buffer.from(macroregions, 'latin1'),
  })
  t.equal(manifest.territory_edition, 'br_regsaud')
  t.equal(manifest.datasets.health_regions?.rows, whole.manifest.datasets.health_regions?.rows)
  t.equal(manifest.datasets.health_macroregions?.rows, whole.manifest.datasets.health_macroregions?.rows)
  await t.rejects(
    importFiles({ 'br_regsaud.cnv': regions, 'br_regsaudn.cnv': regions }),
    { message: /br_regsaud\.cnv and br_regsaudn\.cnv: claim.*Import one of them/ },
    'two that claim the same are ambiguous, and both are named',
  )
  await t.rejects(
    importFiles({ 'br_regsaud.cnv': regions, 'CIRBR.CNV': regions }),
    { message: /CIRBR\.CNV and br_regsaud\.cnv: claim/ },
    'under whatever name',
  )
  await t.rejects(
    importFiles({ 'br_regsaud.cnv': macroregions }),
    { message: /names no place with a code of 5 digits/ },
    'macro-regions under the name of regions',
  )
})

t.test('what is refused, by file, row and remedy', async (t) => {
  const rows = rowsOf('rl_municip_regsaud')
  const text = (changed: readonly (readonly string[])[]): string =>
    changed.map((cells) => `"${cells.join('","')}"\r\n`).join('')
  const changed = (place: number, cells: readonly string[]): string =>
    text(rows.map((own, index) => (index === place ? cells : own)))
  const cases: readonly (readonly [string, Record<string, string | Buffer>, RegExp])[] = [
    [
      'a table cut in the middle',
      { ...named(asPublished), 'rl_municip_regsaud.csv': text(rows.slice(0, 3000)) },
      /sets aside 25\d\d of .*municipality_without_health_region/,
    ],
    [
      'a table cut in a row',
      { ...named(asPublished), 'rl_municip_regsaud.csv': `${text(rows.slice(0, 3000))}"3143` },
      /rl_municip_regsaud\.csv: has rows that do not fit its first line of 2 columns/,
    ],
    [
      'a region of another state',
      { ...named(asPublished), 'rl_municip_regsaud.csv': changed(1, ['110001', '12001']) },
      /rl_municip_regsaud\.csv: puts a municipality of RO into 12001.*\(row 2\)/,
    ],
    [
      'a municipality in two regions',
      { ...named(asPublished), 'rl_municip_regsaud.csv': text([...rows, ['110001', '12001']]) },
      /rl_municip_regsaud\.csv: puts a municipality into two places, 1100\d and 12001 \(row 557\d\)/,
    ],
    [
      'a code that is none',
      { ...named(asPublished), 'rl_municip_regsaud.csv': changed(4, ['110003', '1100']) },
      /no municipality of 6 digits with a code of 5 \(row 5\)/,
    ],
    [
      'names without regions',
      { 'tb_regsaud.csv': asPublished.tb_regsaud },
      /tb_regsaud\.csv: comes without the health regions of municipalities.*base_territorial_\*\.zip/,
    ],
    [
      'a renamed column',
      { ...named(asPublished), 'rl_municip_regsaud.csv': text([['CODIGO', 'CO_REGSAUD'], ...rows.slice(1)]) },
      /rl_municip_regsaud\.csv: lacks the column CO_MUNICIP/,
    ],
    [
      'files of two editions',
      {
        'rl_municip_regsaud_2020.csv': asPublished.rl_municip_regsaud,
        'tb_regsaud.csv': asPublished.tb_regsaud,
      },
      /rl_municip_regsaud_2020\.csv and tb_regsaud\.csv: are of different editions/,
    ],
    [
      'two tables of one kind',
      {
        'rl_municip_regsaud.csv': asPublished.rl_municip_regsaud,
        'rl_municip_regsaud_2020.csv': asPublished.rl_municip_regsaud,
      },
      /rl_municip_regsaud\.csv and rl_municip_regsaud_2020\.csv: claim/,
    ],
  ]
  for (const [what, files, message] of cases) await t.rejects(importFiles(files), { message }, what)
  await t.rejects(
    importPaths([archive], { releasesDir: join(temporaryFolder('territory'), 'releases'), maxRejected: 0 }),
    { message: /comes without a municipality list/ },
    'a territory alone',
  )
})
