/**
 * Opens a verified release in a process of its own and reads some of every dataset: a Parquet that would crash DuckDB
 * ends this process, not the server. Arguments: releases folder, id of an analytics release. Exit code 0 when every
 * dataset answered; else 1 and a line that names the dataset.
 */
import { createEngine } from '../engine/duckdb/engine.ts'
import { sharedLists } from '../engine/duckdb/views.ts'
import type { Manifest } from '../release/manifest.ts'
import { readManifest } from '../release/verify.ts'
import { componentManifests, type ReleaseView } from '../release/view.ts'
import { type Sql, TEXT, table } from '../sql.ts'

const SAMPLE_ROWS = 1000
/** A start waits for this, and has a core to spare meanwhile. */
const AT_ONCE = 2
const [releasesDir = '', id = ''] = process.argv.slice(2)
const component = async (of: string | undefined): Promise<Manifest | null> =>
  of === undefined ? null : readManifest(releasesDir, of)
const analytics = await readManifest(releasesDir, id)
const view: ReleaseView = {
  id,
  analytics,
  components: {
    cnes: await component(analytics.components.cnes),
    demography: await component(analytics.components.demography),
    sih: await component(analytics.components.sih),
    sia: await component(analytics.components.sia),
    financing: await component(analytics.components.financing),
  },
  synthetic: analytics.synthetic,
}
const engine = await createEngine({
  releasesDir,
  memory: '512MB',
  threads: 1,
  timeoutMs: 30_000,
  concurrency: AT_ONCE,
  queue: Number.POSITIVE_INFINITY,
})
const join = (...statements: Sql[]): Sql => ({ parts: statements.flatMap(({ parts }) => parts) })

/** What is wrong with a dataset, as a line; null when it answered. */
async function tryDataset(
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
    // A list that several releases hold is joined: it has the codes of each, and those of the others.
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
  const tried = manifests.flatMap((manifest) =>
    Object.entries(manifest.datasets).map(([dataset, entry]) =>
      tryDataset(manifest.release_id, dataset, entry, shared.has(dataset)),
    ),
  )
  const [problem] = (await Promise.all(tried)).filter((line) => line !== null)
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
