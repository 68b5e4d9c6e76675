/**
 * What questions over many months of outpatient production take on DuckDB in the process and on a Trino cluster: the same plan, the
 * same files, answers compared by their fingerprints. Not a part of bench.ts: it needs a cluster.
 *
 *   node --import tsx tools/bench/trino.ts make FOLDER [ROWS_A_MONTH] [MONTHS]
 *   node --import tsx tools/bench/trino.ts ask FOLDER            SUS_TRINO_URL, SUS_TRINO_LOCATION as for the server
 *
 * `make` takes the small demonstration and repeats its newest month of production under other facilities and with other numbers:
 * 300,000 facilities, rows in the order of their keys, as an import writes them. The pre-aggregates of production are left out, so that questions
 * read facts. Times are of the second of two runs, files in the memory of the system; CPU is that of the whole process, or
 * what Trino says of its statements.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { createEngine } from '../../src/engine/duckdb/engine.ts'
import { connectTrino } from '../../src/engine/trino/connect.ts'
import { withTrino } from '../../src/engine/trino/engine.ts'
import { registerReleases } from '../../src/engine/trino/register.ts'
import { manifestsOf } from '../../src/engine/trino/tables.ts'
import type { Engine } from '../../src/engine/types.ts'
import { importPaths } from '../../src/import/import.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { TRINO_DIALECT } from '../../src/query/dialect/trino.ts'
import { answerQuery } from '../../src/query/result.ts'
import { digestFile } from '../../src/release/digest.ts'
import { type Manifest, manifestText, releaseIdOf } from '../../src/release/manifest.ts'
import { openStore } from '../../src/release/store.ts'
import { writePointer } from '../../src/release/writer.ts'
import { readSettings } from '../../src/settings.ts'
import { writeDemonstration } from '../demo/demonstration.ts'

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
    edit: (own: string, manifest: Manifest) => Promise<void>,
  ): Promise<string> => {
    const own = join(releasesDir, '.making')
    cpSync(join(releasesDir, id), own, { recursive: true })
    const manifest = JSON.parse(readFileSync(join(own, 'manifest.json'), 'utf8')) as Manifest
    await edit(own, manifest)
    for (const file of manifest.files) Object.assign(file, await digestFile(join(own, file.path)))
    manifest.release_id = releaseIdOf(manifest)
    writeFileSync(join(own, 'manifest.json'), manifestText(manifest))
    renameSync(own, join(releasesDir, manifest.release_id))
    rmSync(join(releasesDir, id), { recursive: true })
    return manifest.release_id
  }
  const joined = JSON.parse(readFileSync(join(releasesDir, analytics, 'manifest.json'), 'utf8')) as Manifest
  const sia = await change(joined.components.sia ?? '', (own, manifest) =>
    repeat(own, manifest, rowsAMonth, months),
  )
  const made = await change(analytics, async (own, manifest) => {
    manifest.components.sia = sia
    for (const name of Object.keys(manifest.datasets).filter((dataset) =>
      dataset.startsWith('production_'),
    )) {
      delete manifest.datasets[name]
      manifest.files = manifest.files.filter(({ path }) => !path.startsWith(`${name}/`))
      rmSync(join(own, name), { recursive: true })
    }
  })
  await writePointer(releasesDir, made)
  console.log(made)
}

async function repeat(own: string, manifest: Manifest, rowsAMonth: number, months: number): Promise<void> {
  const dataset = manifest.datasets[DATASET]
  const [newest = 0] = dataset?.periods ?? []
  if (dataset === undefined) throw new Error('no production')
  const source = join(own, 'month.parquet')
  renameSync(join(own, DATASET, `reference_period=${newest}`, 'part-0.parquet'), source)
  rmSync(join(own, DATASET), { recursive: true })
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
    mkdirSync(join(own, path, '..'), { recursive: true })
    await connection.run(
      `COPY (SELECT ${shown.join(', ')} FROM ${read}, range(${copies}) AS copies (copy) ORDER BY cnes_code, procedure_code) TO '${join(own, path)}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)`,
    )
    manifest.files.push({ path, bytes: 1, sha256: '0'.repeat(64), rows: copies * Number(count) })
  }
  rmSync(source)
  manifest.files.sort((left, right) => (left.path < right.path ? -1 : 1))
}

async function ask(folder: string): Promise<void> {
  const releasesDir = join(folder, 'releases')
  const settings = readSettings()
  const local = await createEngine({
    releasesDir,
    memory: settings.duckdbMemory,
    threads: settings.duckdbThreads,
    timeoutMs: 600_000,
    concurrency: 2,
    queue: 8,
  })
  const store = await openStore({ releasesDir, prepare: (view) => local.open(view) })
  const view = store.current()
  if (view === null) throw new Error('no release: make one')
  const client = connectTrino({
    url: settings.trinoUrl,
    user: settings.trinoUser,
    passwordFile: null,
    tokenFile: null,
  })
  await registerReleases(manifestsOf(view), {
    client,
    catalog: settings.trinoCatalog,
    location: settings.trinoLocation,
  })
  const trino = withTrino(local, {
    client,
    dialect: TRINO_DIALECT,
    catalog: settings.trinoCatalog,
    mode: 'trino',
    minRows: 0,
    rowsMax: 10_000_000,
    timeoutMs: 600_000,
    concurrency: 4,
    queue: 8,
  })
  const own = join(releasesDir, view.components.sia?.release_id ?? '', DATASET)
  const files = view.components.sia?.files.filter(({ path }) => path.startsWith(DATASET)) ?? []
  console.log(
    `${files.reduce((sum, { rows }) => sum + rows, 0)} rows, ${files.reduce((sum, { bytes }) => sum + bytes, 0)} bytes, ${readdirSync(own).length} months`,
  )
  const cpuOfTrino = async (): Promise<number> => {
    // Trino shows its statements, but not what they took of the CPU, in SQL: its own interface does.
    const answer = await fetch(new URL('/v1/query', settings.trinoUrl), {
      headers: { 'X-Trino-User': settings.trinoUser },
    })
    const all = (await answer.json()) as { readonly queryStats: { readonly totalCpuTime: string } }[]
    return all.reduce((sum, { queryStats }) => sum + secondsOf(queryStats.totalCpuTime), 0)
  }
  for (const [name, body] of Object.entries(QUESTIONS)) {
    const prints = new Set<string>()
    for (const [engine, kind] of [
      [local, 'DuckDB'],
      [trino, 'Trino'],
    ] as [Engine, string][])
      for (const run of [1, 2]) {
        const [begun, cpu, theirs] = [performance.now(), process.cpuUsage(), await cpuOfTrino()]
        const { meta } = await answerQuery(body, { engine, view, capabilities: CAPABILITIES, language: 'en' })
        const seconds = (performance.now() - begun) / 1000
        const { user, system } = process.cpuUsage(cpu)
        const used = (user + system) / 1e6 + (kind === 'Trino' ? (await cpuOfTrino()) - theirs : 0)
        prints.add(String(meta.fingerprint))
        if (run === 2) console.log(`${name}: ${kind} ${seconds.toFixed(1)} s, ${used.toFixed(1)} s of CPU`)
      }
    if (prints.size !== 1) throw new Error(`${name}: the answers differ`)
  }
  store.close()
  await local.close()
}

const UNITS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }
function secondsOf(text: string): number {
  const [, digits = '0', unit = 's'] = /^([\d.]+)(\w+)$/.exec(text) ?? []
  return Number(digits) * (UNITS[unit] ?? 1)
}

const [action, folder, rows = '2500000', months = '24'] = process.argv.slice(2)
if (folder === undefined) throw new Error('make FOLDER, or ask FOLDER')
if (action === 'make') await make(folder, Number(rows), Number(months))
else await ask(folder)
