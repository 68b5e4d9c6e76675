/**
 * The table of docs/analytics.md that is one request: the request is read from the page, asked of the demonstration that the page
 * names, and the workbook is held to the page, to plain SQL over the release's files, and to verify-report.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { read, utils } from '@e965/xlsx'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { writePointer } from '../../src/release/writer.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { writeDemonstration } from '../../tools/demo/demonstration.ts'
import { pathOf } from '../../tools/docs.ts'
import { openClient } from '../fixtures/client.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const page = readFileSync(pathOf('docs/analytics.md'), 'utf8')
const section = page.slice(page.indexOf('### A table for a report, in one request')).split('\n## ')[0] ?? ''
const request = JSON.parse(/ -d '([^']+)'/.exec(section)?.[1] ?? '')
const [, states = '', periods = ''] = /sus-data demo --states (\w+) --periods (\d+)/.exec(section) ?? []
const documentedZeros = Number(/(\d+) health regions there are no such beds/.exec(section)?.[1])

const folder = temporaryFolder('documented')
const snapshots = join(folder, 'data')
const releasesDir = join(folder, 'releases')
await writeDemonstration({
  out: snapshots,
  scale: 'small',
  states: states.split(','),
  periods: Number(periods),
  seed: 1,
})
// Only the two months that are compared: the others change nothing of the answer and would be imported for nothing.
const months = readdirSync(join(snapshots, 'cnes')).sort()
t.same(
  [months[0], months.at(-1)],
  ['2025-05', '2026-05'],
  'the documented demonstration has the month a year ago',
)
const result = await importPaths(
  ['ibge', 'datasus', 'territory', 'cnes/2025-05', 'cnes/2026-05'].map((name) => join(snapshots, name)),
  { releasesDir, maxRejected: 0.001, makesRows: false },
)
writePointer(releasesDir, result.analytics)
const client = await openClient(releasesDir)
t.teardown(() => client.close())

const { status, bytes, text, headers } = await client.post('/v1/analytics/exports/xlsx', request)
t.equal(status, 200, text.slice(0, 300))
const file = join(folder, 'report.xlsx')
writeFileSync(file, bytes)
const sheet = read(bytes).Sheets.Dados
const [header = [], ...rows] = utils.sheet_to_json<(string | number | null)[]>(sheet ?? {}, {
  header: 1,
  defval: null,
})

t.test('the name of the file is the one that the page verifies', async (t) => {
  const name = /filename="?([^";]+)/.exec(String(headers['content-disposition']))?.[1] ?? ''
  t.match(name, /^sus-data-2026-05-.*\.xlsx$/)
  t.match(section, 'verify-report sus-data-2026-05-*.xlsx')
})

t.test('the page shows the answer', async (t) => {
  const shown = section
    .split('\n')
    .filter((line) => line.startsWith('> |') && !line.startsWith('> |---'))
    .slice(1)
    .map((line) => line.slice(3, -1).split('|'))
    .map((cells) => cells.map((cell) => cell.trim()))
  const number = (cell: string | number | null | undefined): string =>
    cell === null || cell === undefined ? '' : Number(cell).toFixed(2).replace('-', '−')
  const written = rows.map(([total, code, name, _uf, ...values]) => [
    total ?? '',
    [code, name].filter((cell) => cell !== null).join(' '),
    ...values.map(number),
  ])
  const isZero = (cells: readonly unknown[]): boolean => cells[2] === '0.00' && cells[3] === '0.00'
  t.same(
    shown,
    written.filter((cells) => !isZero(cells)),
  )
  const zeros = written.filter(isZero)
  t.equal(zeros.length, documentedZeros)
  for (const cells of zeros) t.same(cells.slice(2), ['0.00', '0.00', '0.00', ''])
  t.match(section, `each of the ${rows.length - 2} health regions`)
})

t.test('plain SQL over the files of the release has the same numbers', async (t) => {
  const filesOf = (id: string, dataset: string): string =>
    `read_parquet('${join(releasesDir, id, dataset, '**/*.parquet')}', hive_partitioning = true)`
  const cnes = result.cnes ?? ''
  const demography = result.demography ?? ''
  const connection = await (await DuckDBInstance.create()).connect()
  const plain = await connection.runAndReadAll(`
    WITH place AS (
      SELECT ibge_code, health_region_code AS region FROM ${filesOf(demography, 'municipalities')} WHERE uf = 'BA'
    ), beds AS (
      SELECT region, b.reference_period AS month, sum(b.beds_existing) AS beds
      FROM ${filesOf(cnes, 'bed_capacity')} b
      JOIN ${filesOf(cnes, 'facilities')} f USING (reference_period, cnes_code)
      JOIN place ON place.ibge_code = f.municipality_ibge_code
      WHERE f.is_active AND b.bed_type_code IN
        ('51', '52', '74', '75', '76', '77', '78', '79', '80', '81', '82', '83', '85', '86')
      GROUP BY ALL
    ), people AS (
      SELECT region, sum(population) AS people
      FROM ${filesOf(demography, 'population')}
      JOIN place ON place.ibge_code = CAST(municipality_code AS INTEGER)
      WHERE population_type = 'CENSUS_POPULATION' AND reference_year = 2022
      GROUP BY ALL
    )
    SELECT region, people::VARCHAR,
      coalesce((SELECT sum(beds) FROM beds WHERE beds.region = people.region AND month = 202605), 0)::VARCHAR,
      coalesce((SELECT sum(beds) FROM beds WHERE beds.region = people.region AND month = 202505), 0)::VARCHAR
    FROM people
    UNION ALL
    SELECT NULL, (SELECT sum(people) FROM people)::VARCHAR,
      (SELECT sum(beds) FROM beds WHERE month = 202605)::VARCHAR,
      (SELECT sum(beds) FROM beds WHERE month = 202505)::VARCHAR`)
  /** Hundredths of numerator ÷ denominator, half away from zero: whole numbers all the way. */
  const rounded = (numerator: bigint, denominator: bigint): number => {
    const size = numerator < 0n ? -numerator : numerator
    const hundredths = Number((200n * size + denominator) / (2n * denominator)) / 100
    return numerator < 0n ? -hundredths : hundredths
  }
  const expected = plain.getRows().map(([region, ...counts]) => {
    const [people = 0n, now = 0n, base = 0n] = counts.map((count) => BigInt(String(count)))
    return [
      region,
      rounded(100_000n * now, people),
      rounded(100_000n * base, people),
      rounded(100_000n * (now - base), people),
      base === 0n ? null : rounded(100n * (now - base), base),
    ]
  })
  const byCode = (one: readonly unknown[], other: readonly unknown[]): number =>
    String(one[0]) < String(other[0]) ? -1 : 1
  t.same(
    rows
      .filter(([total, code]) => total === 'Total' || code !== null)
      .map(([, code, , , ...values]) => [code, ...values])
      .sort(byCode),
    expected.sort(byCode),
  )
  t.same(header.slice(4), [
    'icu_beds_existing_per_100k',
    'icu_beds_existing_per_100k__base',
    'icu_beds_existing_per_100k__change',
    'icu_beds_existing_per_100k__change_percent',
  ])
})

t.test('verify-report reproduces it', async (t) => {
  const { verdict, differences, rows: count } = await verifyReport(file, releasesDir, null, readSettings({}))
  t.equal(verdict, 'reproduced', differences.join('; '))
  t.equal(count, rows.length)
})
