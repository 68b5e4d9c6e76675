/**
 * Worker process that opens a verified release and reads a sample of every dataset, so that a Parquet file that crashes
 * DuckDB ends this process and not the server. Arguments: releases folder, id of an analytics release. The exit code is 0
 * if every dataset is readable, else 1 with a line that names the dataset.
 */
import { createEngine } from '../engine/duckdb/engine.ts'
import { sharedLists } from '../engine/duckdb/views.ts'
import type { Manifest } from '../release/manifest.ts'
import { readManifest } from '../release/verify.ts'
import { componentManifests, type ReleaseView, readComponents } from '../release/view.ts'
import { type Sql, TEXT, table } from '../sql.ts'

const SAMPLE_ROWS = 1000
/** Number of parallel queries. The start of the server waits for this check, so a core is free meanwhile. */
const CONCURRENCY = 2
const [releasesDir = '', id = ''] = process.argv.slice(2)
const analytics = await readManifest(releasesDir, id)
const view: ReleaseView = {
  id,
  analytics,
  components: await readComponents(analytics, (component) => readManifest(releasesDir, component)),
  synthetic: analytics.synthetic,
}
const engine = await createEngine({
  releasesDir,
  memory: '512MB',
  threads: 1,
  timeoutMs: 30_000,
  concurrency: CONCURRENCY,
  queue: Number.POSITIVE_INFINITY,
})
const join = (...statements: Sql[]): Sql => ({ parts: statements.flatMap(({ parts }) => parts) })

/** @returns the problem of a dataset as a line, or null if it is readable */
async function checkDataset(
  release: string,
  dataset: string,
  { rows, periods }: Manifest['datasets'][string],
  isShared: boolean,
): Promise<string | null> {
  const newest = table(dataset, periods.length === 0 ? null : Math.max(...periods))
  try {
    const [row] = await engine.run(
      join(
        TEXT('SELECT *, (SELECT count(*) FROM '),
        table(dataset),
        TEXT(') AS n FROM (SELECT count(COLUMNS(*)) FROM (SELECT * FROM '),
        newest,
        TEXT(` LIMIT ${SAMPLE_ROWS}))`),
      ),
      view,
    )
    // The view of a list in several releases has the codes of all of them, so it may have more rows.
    if (isShared ? Number(row?.n) < rows : row?.n !== rows)
      throw new Error(`has ${row?.n} rows where the manifest says ${rows}`)
    return null
  } catch (error) {
    const cause = error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : ''
    return `${release}/${dataset}: ${cause.split('\n')[0]}\n`
  }
}

try {
  await engine.open(view)
  const manifests = [...componentManifests(view), analytics]
  const shared = sharedLists(manifests)
  const checks = manifests.flatMap((manifest) =>
    Object.entries(manifest.datasets).map(([dataset, entry]) =>
      checkDataset(manifest.release_id, dataset, entry, shared.has(dataset)),
    ),
  )
  const [problem] = (await Promise.all(checks)).filter((line) => line !== null)
  if (problem !== undefined) {
    process.stderr.write(problem)
    process.exitCode = 1
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''}\n`)
  process.exitCode = 1
} finally {
  await engine.close()
}
