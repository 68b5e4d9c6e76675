/**
 * Measures queries over many months of outpatient production on DuckDB in the process, and on a Trino cluster of one and of
 * two workers. Plans and files are equal, and fingerprints of the responses are compared. Prints the table of docs/trino.md.
 *
 *   node --import tsx tools/bench/trino.ts make FOLDER [ROWS_A_MONTH] [MONTHS]
 *   node --import tsx tools/bench/trino.ts compare FOLDER [--one-core-each]
 *
 * `make` repeats the newest month of the small demonstration's production with other facilities (300,000) and other numbers.
 * Rows are sorted by key, as an import writes them. Pre-aggregates of production are left out, so that queries read facts.
 * `compare` starts and ends the cluster (tools/deploy/trino/fetch.sh downloads it). With --one-core-each, the first worker
 * uses core 1; the second shares core 0 with the coordinator and this process. Times are of the second of two runs, with
 * files in the page cache, after a warm-up round. CPU time is that of this process plus what Trino reports.
 */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { answerQuery } from '../../src/analytics/query.ts'
import { createEngine, type DuckDbEngine } from '../../src/engine/duckdb/engine.ts'
import { type TrinoDialect, withTrino } from '../../src/engine/trino/engine.ts'
import { registerReleases } from '../../src/engine/trino/register.ts'
import type { Engine } from '../../src/engine/types.ts'
import { importPaths } from '../../src/import/import.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { TRINO_DIALECT } from '../../src/query/analytics/dialect/trino.ts'
import { digestFile } from '../../src/release/digest.ts'
import { type Manifest, manifestText, releaseIdOf } from '../../src/release/manifest.ts'
import { openStore } from '../../src/release/store.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { manifestsOf } from '../../src/release/view.ts'
import { writePointer } from '../../src/release/writer.ts'
import { writeDemonstration } from '../demo/demonstration.ts'
import { startCluster } from '../deploy/trino/cluster.ts'

const DATASET = 'outpatient_production'
const FACILITIES = 300_000

const since = { dimension: 'reference_period', operator: 'GTE', value: '2000-01' }
const QUESTIONS: Readonly<Record<string, object>> = {
  'by state and month': {
    metrics: ['outpatient_quantity_approved', 'outpatient_value_approved'],
    group_by: ['state', 'reference_period'],
    filters: [since],
  },
  'by procedure': { metrics: ['outpatient_quantity_approved'], group_by: ['procedure'], filters: [since] },
  'one group, by complexity': {
    metrics: ['outpatient_value_approved'],
    group_by: ['complexity'],
    filters: [since, { dimension: 'procedure_group', operator: 'EQ', value: '03' }],
  },
  'by health region, of municipalities': {
    metrics: ['outpatient_quantity_approved'],
    group_by: ['health_region'],
    filters: [since],
  },
  'by facility': {
    metrics: ['outpatient_quantity_approved'],
    group_by: ['facility'],
    filters: [since],
    limit: 100,
  },
}

async function make(folder: string, rowsAMonth: number, months: number): Promise<void> {
  const releasesDir = join(folder, 'releases')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(releasesDir, { recursive: true })
  await writeDemonstration({
    out: join(folder, 'data'),
    scale: 'small',
    seed: 1,
    periods: 1,
    admissions: true,
    production: true,
  })
  const { analytics } = await importPaths([join(folder, 'data')], {
    releasesDir,
    maxRejected: 0.001,
    makesRows: false,
  })
  const change = async (
    id: string,
    edit: (draftDir: string, manifest: Manifest) => Promise<void>,
  ): Promise<string> => {
    const draftDir = join(releasesDir, '.making')
    cpSync(join(releasesDir, id), draftDir, { recursive: true })
    const manifest = JSON.parse(readFileSync(join(draftDir, 'manifest.json'), 'utf8')) as Manifest
    await edit(draftDir, manifest)
    for (const file of manifest.files) Object.assign(file, await digestFile(join(draftDir, file.path)))
    manifest.release_id = releaseIdOf(manifest)
    writeFileSync(join(draftDir, 'manifest.json'), manifestText(manifest))
    renameSync(draftDir, join(releasesDir, manifest.release_id))
    rmSync(join(releasesDir, id), { recursive: true })
    return manifest.release_id
  }
  const joined = JSON.parse(readFileSync(join(releasesDir, analytics, 'manifest.json'), 'utf8')) as Manifest
  const sia = await change(joined.components.sia ?? '', (draftDir, manifest) =>
    repeat(draftDir, manifest, rowsAMonth, months),
  )
  const made = await change(analytics, async (draftDir, manifest) => {
    manifest.components.sia = sia
    for (const name of Object.keys(manifest.datasets).filter((dataset) =>
      dataset.startsWith('production_'),
    )) {
      delete manifest.datasets[name]
      manifest.files = manifest.files.filter(({ path }) => !path.startsWith(`${name}/`))
      rmSync(join(draftDir, name), { recursive: true })
    }
  })
  writePointer(releasesDir, made)
  console.log(made)
}

async function repeat(
  releaseDir: string,
  manifest: Manifest,
  rowsAMonth: number,
  months: number,
): Promise<void> {
  const dataset = manifest.datasets[DATASET]
  const [newest = 0] = dataset?.periods ?? []
  if (dataset === undefined) throw new Error('no production')
  const source = join(releaseDir, 'month.parquet')
  renameSync(join(releaseDir, DATASET, `reference_period=${newest}`, 'part-0.parquet'), source)
  rmSync(join(releaseDir, DATASET), { recursive: true })
  const connection = await (await DuckDBInstance.create(':memory:', { memory_limit: '4GB' })).connect()
  const rowsOf = async (text: string) => (await connection.runAndReadAll(text)).getRows()
  const read = `read_parquet('${source}', hive_partitioning = false)`
  const columns = (await rowsOf(`DESCRIBE SELECT * FROM ${read}`)).map(([name]) => String(name))
  const [[count] = []] = await rowsOf(`SELECT count(*) FROM ${read}`)
  const copies = Math.ceil(rowsAMonth / Number(count))
  const end = Math.floor(newest / 100) * 12 + (newest % 100) - 1
  dataset.periods = Array.from({ length: months }, (_, index) => {
    const month = end - months + 1 + index
    return Math.floor(month / 12) * 100 + (month % 12) + 1
  })
  dataset.rows = copies * Number(count) * months
  const states = manifest.coverage[DATASET]?.[String(newest)] ?? { family: 'state' as const, states: [] }
  manifest.coverage[DATASET] = Object.fromEntries(dataset.periods.map((period) => [period, states]))
  manifest.files = manifest.files.filter(({ path }) => !path.startsWith(`${DATASET}/`))
  for (const period of dataset.periods) {
    const shown = columns.map((name) =>
      name === 'cnes_code'
        ? `lpad(CAST((CAST(cnes_code AS BIGINT) * 7919 + copy * 104729) % ${FACILITIES} + 2000000 AS VARCHAR), 7, '0') AS cnes_code`
        : /^(records|quantity_|value_)/.test(name)
          ? `CAST(1 + ("${name}" * (copy % 97 + ${period % 13})) % 100000 AS BIGINT) AS "${name}"`
          : `"${name}"`,
    )
    const path = `${DATASET}/reference_period=${period}/part-0.parquet`
    mkdirSync(join(releaseDir, path, '..'), { recursive: true })
    await connection.run(
      `COPY (SELECT ${shown.join(', ')} FROM ${read}, range(${copies}) AS copies (copy) ORDER BY cnes_code, procedure_code) TO '${join(releaseDir, path)}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)`,
    )
    manifest.files.push({ path, bytes: 1, sha256: '0'.repeat(64), rows: copies * Number(count) })
  }
  rmSync(source)
  manifest.files.sort((left, right) => (left.path < right.path ? -1 : 1))
}

interface Measured {
  readonly seconds: number
  readonly cpu: number
  readonly fingerprint: string
}

/** @param cpuElsewhere returns the CPU seconds that other processes used */
async function measure(
  engine: Engine,
  view: ReleaseView,
  cpuElsewhere: () => Promise<number>,
): Promise<Map<string, Measured>> {
  const measured = new Map<string, Measured>()
  for (const [name, body] of Object.entries(QUESTIONS))
    for (let run = 0; run < 2; run += 1) {
      const [startedAt, cpu, cpuElsewhereBefore] = [
        performance.now(),
        process.cpuUsage(),
        await cpuElsewhere(),
      ]
      const { meta } = await answerQuery(body, { engine, view, capabilities: CAPABILITIES, language: 'en' })
      const seconds = (performance.now() - startedAt) / 1000
      const { user, system } = process.cpuUsage(cpu)
      const used = (user + system) / 1e6 + (await cpuElsewhere()) - cpuElsewhereBefore
      measured.set(name, { seconds, cpu: used, fingerprint: String(meta.fingerprint) })
    }
  return measured
}

/** Trino's SQL does not show the CPU time of statements, so read it from its web interface. */
const cpuOfTrino = (url: string) => async (): Promise<number> => {
  const answer = await fetch(new URL('/v1/query', url), { headers: { 'X-Trino-User': 'test' } })
  const queries = (await answer.json()) as { readonly queryStats: { readonly totalCpuTime: string } }[]
  return queries.reduce((sum, { queryStats }) => sum + secondsOf(queryStats.totalCpuTime), 0)
}

/** @param cores cores of the two workers for taskset; null: all for both */
async function compare(folder: string, cores: readonly [string, string] | null): Promise<void> {
  const releasesDir = resolve(folder, 'releases')
  const columns = new Map<string, Map<string, Measured>>()
  const note = async (name: string, measured: Promise<Map<string, Measured>>): Promise<void> => {
    columns.set(name, await measured)
    console.error(`${name}: measured`)
  }
  const withThreads = async (
    threads: number,
    use: (local: DuckDbEngine, view: ReleaseView) => Promise<void>,
  ) => {
    const local = await createEngine({
      releasesDir,
      memory: '4GB',
      threads,
      timeoutMs: 600_000,
      concurrency: 2,
      queue: 8,
    })
    const store = await openStore({ releasesDir, prepare: (view) => local.open(view) })
    const view = store.current()
    if (view === null) throw new Error('no release: make one')
    await use(local, view)
    store.close()
    await local.close()
  }
  for (const threads of [1, 2])
    await withThreads(threads, (local, view) =>
      note(
        `DuckDB, ${threads} thread${threads > 1 ? 's' : ''}`,
        measure(local, view, async () => 0),
      ),
    )
  const shared = join(folder, 'shared')
  mkdirSync(shared, { recursive: true })
  rmSync(join(shared, 'releases'), { force: true })
  symlinkSync(releasesDir, join(shared, 'releases'))
  const cluster = await startCluster({
    folder: join(folder, 'nodes'),
    shared,
    memory: '2G',
    env: process.env,
    workers: [cores?.[0] ?? null],
  })
  try {
    await withThreads(1, async (local, view) => {
      const { url, client } = cluster
      await registerReleases(manifestsOf(view), { client, catalog: 'sus', location: 'local:///releases' })
      const engineOf = (dialect: TrinoDialect): Engine =>
        withTrino(local, {
          client,
          dialect,
          catalog: 'sus',
          mode: 'trino',
          minRows: 0,
          rowsMax: 10_000_000,
          timeoutMs: 600_000,
          concurrency: 4,
          queue: 8,
        })
      const [trino, byKey] = [engineOf(TRINO_DIALECT), engineOf({ ...TRINO_DIALECT, session: {} })]
      // Warm up first: Java compiles code during the first runs.
      await measure(trino, view, cpuOfTrino(url))
      await note('Trino, 1 worker', measure(trino, view, cpuOfTrino(url)))
      await cluster.addWorker(cores?.[1] ?? null)
      await measure(trino, view, cpuOfTrino(url))
      await note('Trino, 2 workers', measure(trino, view, cpuOfTrino(url)))
      await note('2 workers, joins by key', measure(byKey, view, cpuOfTrino(url)))
      const files = view.components.sia?.files.filter(({ path }) => path.startsWith(DATASET)) ?? []
      const [rows, bytes] = files.reduce(
        ([left, right], file) => [left + file.rows, right + file.bytes],
        [0, 0],
      )
      console.log(
        `${rows} rows, ${bytes} bytes, ${files.length} months; seconds, and of the CPU in parentheses\n`,
      )
    })
  } finally {
    await cluster.close()
  }
  const line = (cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`)
  line(['question', ...columns.keys()])
  line(['question', ...columns.keys()].map(() => '---'))
  for (const name of Object.keys(QUESTIONS)) {
    const results = [...columns.values()].flatMap((column) => column.get(name) ?? [])
    line([name, ...results.map(({ seconds, cpu }) => `${seconds.toFixed(2)} s (${cpu.toFixed(2)})`)])
    if (new Set(results.map(({ fingerprint }) => fingerprint)).size !== 1)
      throw new Error(`${name}: the answers differ`)
  }
}

const UNITS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }
function secondsOf(text: string): number {
  const [, digits = '0', unit = 's'] = /^([\d.]+)(\w+)$/.exec(text) ?? []
  return Number(digits) * (UNITS[unit] ?? 1)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'one-core-each': { type: 'boolean', default: false } },
})
const [action, folder, rows = '1500000', months = '24'] = positionals
if (folder === undefined || !['make', 'compare'].includes(action ?? ''))
  throw new Error('make FOLDER, or compare FOLDER')
if (action === 'make') await make(folder, Number(rows), Number(months))
else await compare(folder, values['one-core-each'] ? ['1', '0'] : null)
