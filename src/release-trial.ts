/**
 * Opens a verified release in a process of its own and reads some of every dataset: a Parquet that would crash DuckDB
 * ends this process, not the server. Arguments: releases folder, id of an analytics release. Exit code 0 when every
 * dataset answered; else 1 and a line that names the dataset.
 */
import { createEngine } from './engine/engine.ts'
import type { Manifest } from './release/manifest.ts'
import { readManifest } from './release/verify.ts'
import type { ReleaseView } from './release/view.ts'
import { type Sql, table } from './sql.ts'

const SAMPLE_ROWS = 1000
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
  },
  synthetic: analytics.synthetic,
}
const engine = await createEngine({
  releasesDir,
  memory: '512MB',
  threads: 1,
  timeoutMs: 30_000,
  concurrency: 1,
  queue: 1,
})
const text = (words: string): Sql => ({ parts: [{ kind: 'text', text: words }] })
const join = (...statements: Sql[]): Sql => ({ parts: statements.flatMap(({ parts }) => parts) })

try {
  await engine.open(view)
  for (const manifest of [view.components.demography, view.components.cnes, analytics])
    for (const [dataset, { rows, periods }] of Object.entries(manifest?.datasets ?? {}))
      try {
        const newest = table(dataset, periods.length === 0 ? null : Math.max(...periods))
        await engine.run(
          join(text('SELECT count(COLUMNS(*)) FROM (SELECT * FROM '), newest, text(` LIMIT ${SAMPLE_ROWS})`)),
          view,
        )
        const [counted] = await engine.run(join(text('SELECT count(*) AS n FROM '), table(dataset)), view)
        if (counted?.n !== rows) throw new Error(`has ${counted?.n} rows where the manifest says ${rows}`)
      } catch (error) {
        const cause =
          error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : ''
        process.stderr.write(`${manifest?.release_id}/${dataset}: ${cause.split('\n')[0]}\n`)
        process.exitCode = 1
        break
      }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''}\n`)
  process.exitCode = 1
} finally {
  await engine.close()
}
