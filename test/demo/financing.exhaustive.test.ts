/**
 * The demonstration of health financing as files: the same bytes for the same seed, its traps, and each fund of the release as the
 * sum of its published rows. Read by plain code that shares nothing with the generator or the importer.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { strFromU8, unzipSync } from 'fflate'
import t from 'tap'
import { financingFiles } from '../../tools/demo/financing.ts'
import { listMunicipalities } from '../../tools/demo/geography.ts'
import { createChance } from '../../tools/demo/random.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('financing')
const folder = join(small.snapshots, 'financing')
const FILES = {
  202412: 'REPASSE_FAF_COM_POPULACAO-2024.csv',
  202512: 'REPASSE-FAF-COM-POPULACAO-2025.xlsx',
  202603: 'REPASSE-FAF-COM-POPULACAO-2026-acumulado-ate-marco.csv',
} as const
const bytesOf = (name: string): Buffer => readFileSync(join(folder, 'fns', name))

/** Cells of a file, its header first. */
function gridOf(name: string): string[][] {
  if (!name.endsWith('.xlsx')) {
    const isLatin1 = name.includes('2024')
    const text = bytesOf(name).toString(isLatin1 ? 'latin1' : 'utf8')
    return text
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(isLatin1 ? ';' : ','))
  }
  const sheet = strFromU8(unzipSync(bytesOf(name))['xl/worksheets/sheet1.xml'] ?? new Uint8Array())
  return [...sheet.matchAll(/<row>(.*?)<\/row>/g)].map(([, row = '']) =>
    [...row.matchAll(/<c(?: [^>]*)?>(.*?)<\/c>/g)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
  )
}

/** The nearest cent: the demonstration's cells are cents or doubles that are nearer to one than to any other. */
const centsOf = (cell: string): number => Math.round(Number(cell.replace(',', '.')) * 100)

t.test('the same seed gives the same bytes', async (t) => {
  const chance = createChance(1)
  const made = financingFiles({
    all: listMunicipalities(chance),
    ufs: new Set(['RR', 'AC', 'AP']),
    chance,
  })
  const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
  for (const [kind, files] of Object.entries(made)) {
    const there = readdirSync(join(folder, kind)).filter((name) => name !== 'snapshot.json')
    t.same(there, files.map(([name]) => name).sort())
    for (const [name, bytes] of files)
      t.equal(digest(bytes), digest(readFileSync(join(folder, kind, name))), name)
  }
})

t.test('each fund is the sum of its published rows', async (t) => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  for (const [period, file] of Object.entries(FILES)) {
    const [header = [], ...rows] = gridOf(file)
    const at = (name: string): number => header.indexOf(name)
    const sums = new Map<string, number>()
    for (const row of rows) {
      const place = row[at('CO_MUNICIPIO_IBGE')] ?? ''
      const fund = row[at('TP_REPASSE')] === 'ESTADUAL' ? place.slice(0, 2) : place
      sums.set(fund, (sums.get(fund) ?? 0) + centsOf(row[at('VL_BRUTO')] ?? ''))
    }
    const found = await connection.runAndReadAll(
      `SELECT left(entity_code, 6), transferred_cents FROM read_parquet('${join(small.releasesDir, small.result.financing ?? '', 'federal_health_transfers', `reference_period=${period}`)}/*.parquet') WHERE transferred_cents IS NOT NULL`,
    )
    t.same(
      found
        .getRows()
        .map(([fund, cents]) => [String(fund), Number(cents)])
        .sort(),
      [...sums].sort(),
      file,
    )
  }
})

t.test('it has the traps of published files', async (t) => {
  const [first = []] = gridOf(FILES[202412])
  t.ok(first.includes('ESTRATEGIA'), 'a header without its accent')
  t.ok(bytesOf(FILES[202412]).includes(Buffer.from('ATENÇÃO', 'latin1')), 'Latin-1')
  const grids = Object.fromEntries(Object.entries(FILES).map(([period, file]) => [period, gridOf(file)]))
  const cellsOf = (period: number, name: string): string[] => {
    const [header = [], ...rows] = grids[period] ?? []
    const at = header.findIndex((own) => own.replace('É', 'E') === name)
    return rows.map((row) => row[at] ?? '')
  }
  t.ok(
    cellsOf(202412, 'VL_BRUTO').some((cell) => /^\d+,\d$/.test(cell)),
    'one decimal and a comma',
  )
  t.ok(
    cellsOf(202412, 'VL_BRUTO').some((cell) => /^\d+$/.test(cell)),
    'whole reais',
  )
  t.ok(
    cellsOf(202512, 'VL_BRUTO').some((cell) => /\.\d{8,}$/.test(cell)),
    'digits of a double',
  )
  t.ok(
    cellsOf(202512, 'DT_ULTIMA_LIBERACAO').every((cell) => /^4\d{4}$/.test(cell)),
    'days of a spreadsheet',
  )
  t.equal(new Set(Object.keys(FILES).flatMap((period) => cellsOf(Number(period), 'BLOCO'))).size, 6)
  const keys = cellsOf(202512, 'CO_MUNICIPIO_IBGE').map((place, row) =>
    [place, cellsOf(202512, 'TP_REPASSE')[row], cellsOf(202512, 'ESTRATEGIA')[row]].join(),
  )
  t.ok(new Set(keys).size < keys.length, 'a strategy in two bank accounts')
  const places = (period: number): number =>
    new Set(cellsOf(period, 'CO_MUNICIPIO_IBGE').filter((place) => place.startsWith('16'))).size
  t.equal(places(202412), places(202512) - 1, 'a municipality that a year lacks')
})
