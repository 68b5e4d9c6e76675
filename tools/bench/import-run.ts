/** One import and one plain copy of the same CSV files, in a process of their own. Out: their times by message. */
import { mkdirSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { importPaths } from '../../src/import/import.ts'
import { extractZip, listZip } from '../../src/import/readers/zip.ts'
import { openSession, quoteText } from '../../src/import/session.ts'

export interface ImportRun {
  readonly imported: number
  readonly copied: number
  /** Source rows. */
  readonly rows: number
  readonly peakMb: number
}

const { data, folder } = JSON.parse(process.argv[2] ?? '{}') as { data: string; folder: string }
const seconds = (since: number): number => (performance.now() - since) / 1000
const csv = join(folder, 'csv')
mkdirSync(csv, { recursive: true })
const zip = join(data, 'cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP')
const tables = (await listZip(zip, 'zip')).filter(({ name }) => name.endsWith('.csv'))
await extractZip(zip, 'zip', new Map(tables.map(({ name }) => [name, join(csv, name)])))

const startedAt = performance.now()
const { rows: counts, rejected } = await importPaths([csv, join(data, 'ibge')], {
  releasesDir: join(folder, 'releases'),
  maxRejected: 0.001,
})
const imported = seconds(startedAt)
const peakMb = Math.round(process.resourceUsage().maxRSS / 1024)
const published = ['facilities', 'bed_capacity', 'equipment_inventory', 'specialized_services'].map(
  (name) => counts[`${name}_provenance`] ?? 0,
)
const rows = [...published, ...Object.values(rejected)].reduce((sum, count) => sum + count, 0)

const copyStartedAt = performance.now()
const session = await openSession({ scratch: join(folder, 'scratch') })
// As DuckDB comes: a statement on every core.
await session.run(`SET threads = ${availableParallelism()}`)
for (const name of readdirSync(csv).filter((file) => file.endsWith('.csv')))
  await session.run(
    `COPY (SELECT * FROM read_csv(${quoteText(join(csv, name))}, delim = ';', quote = '"', header = true, all_varchar = true, encoding = 'latin-1')) TO ${quoteText(join(folder, `${name}.parquet`))} (FORMAT parquet, COMPRESSION zstd)`,
  )
session.close()
process.send?.({ imported, copied: seconds(copyStartedAt), rows, peakMb } satisfies ImportRun)
process.disconnect()
