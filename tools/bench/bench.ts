/**
 * `npm run bench`: how fast a national month is imported, beside DuckDB merely copying the same CSV files to Parquet.
 *
 * Both sides run in one process on one machine, in turn; medians and their ratio are printed. --quick uses the small
 * demonstration and one run. More scenarios (routes, analytics, a PostgreSQL rival) come with the issue on speed.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeDemonstration } from '../../src/demo/demonstration.ts'
import { extractZip, listZip } from '../../src/import/containers/zip.ts'
import { importPaths } from '../../src/import/import.ts'
import { openSession, quoteText } from '../../src/import/session.ts'

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
const runs = values.quick ? 1 : 3
const folder = mkdtempSync(join(tmpdir(), 'sus-data-bench-'))
const csv = join(folder, 'csv')
const seconds = (since: number): number => (performance.now() - since) / 1000
const median = (numbers: readonly number[]): number =>
  [...numbers].sort((left, right) => left - right)[Math.floor(numbers.length / 2)] ?? 0

try {
  await writeDemonstration({
    out: join(folder, 'data'),
    scale: values.quick ? 'small' : 'national',
    periods: 1,
    seed: 1,
  })
  const zip = join(folder, 'data/cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP')
  mkdirSync(csv)
  const tables = (await listZip(zip, 'zip')).filter(({ name }) => name.endsWith('.csv'))
  await extractZip(zip, 'zip', new Map(tables.map(({ name }) => [name, join(csv, name)])))

  const imported: number[] = []
  const copied: number[] = []
  let rows = 0
  for (let run = 0; run < runs; run += 1) {
    const startedAt = performance.now()
    const { rows: counts, rejected } = await importPaths([csv, join(folder, 'data/ibge')], {
      releasesDir: join(folder, `releases-${run}`),
      maxRejected: 0.001,
    })
    imported.push(seconds(startedAt))
    const published = ['facilities', 'bed_capacity', 'equipment_inventory', 'specialized_services'].map(
      (name) => counts[`${name}_provenance`] ?? 0,
    )
    rows =
      published.reduce((sum, count) => sum + count, 0) +
      Object.values(rejected).reduce((sum, count) => sum + count, 0)

    const copyStartedAt = performance.now()
    const session = await openSession({ scratch: join(folder, `scratch-${run}`) })
    for (const name of readdirSync(csv).filter((file) => file.endsWith('.csv')))
      await session.run(
        `COPY (SELECT * FROM read_csv(${quoteText(join(csv, name))}, delim = ';', quote = '"', header = true, all_varchar = true, encoding = 'latin-1')) TO ${quoteText(join(folder, `${name}.parquet`))} (FORMAT parquet, COMPRESSION zstd)`,
      )
    session.close()
    copied.push(seconds(copyStartedAt))
  }
  const peakMb = Math.round(process.resourceUsage().maxRSS / 1024)
  const time = median(imported)
  process.stdout.write(
    [
      `| scenario | median | ratio |`,
      `|---|---|---|`,
      `| import of ${rows} source rows, CSV → verified release | ${time.toFixed(1)} s, ${Math.round(rows / time)} rows/s, peak ${peakMb} MB | ${(time / median(copied)).toFixed(2)} × the copy below |`,
      `| DuckDB copies the same CSV files to Parquet, nothing checked | ${median(copied).toFixed(1)} s | 1 |`,
      '',
    ].join('\n'),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
