/** What is added up when a release is made refuses facts it could not answer from: a municipality that is in two states. */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildPreAggregates } from '../../src/import/pre-aggregates.ts'
import { openSession, quoteText } from '../../src/import/session.ts'
import { readManifest } from '../../src/release/verify.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()

t.test('facts of one municipality in two states are counted, of whichever dataset', async (t) => {
  const session = await openSession({ scratch: temporaryFolder('scratch') })
  t.teardown(() => session.close())
  const wrong = ['specialized_services', 'bed_capacity', 'equipment_inventory']
  const changed: [string, string][] = []
  for (const dataset of wrong) {
    const file = `${dataset}/reference_period=202605/part-0.parquet`
    const copy = join(temporaryFolder('changed'), 'part-0.parquet')
    const from = `read_parquet(${quoteText(join(small.releasesDir, small.result.cnes ?? '', file))}, file_row_number = true, hive_partitioning = false)`
    // The first active fact moves to another state, its municipality does not.
    await session.run(
      `COPY (SELECT * EXCLUDE (file_row_number) REPLACE (CASE WHEN file_row_number = first THEN 'XX' ELSE uf END AS uf)
             FROM (SELECT *, min(file_row_number) FILTER (is_active) OVER () AS first FROM ${from}))
       TO ${quoteText(copy)} (FORMAT parquet)`,
    )
    changed.push([file, copy])
  }
  const forged = await forgeRelease(small.releasesDir, small.result.cnes ?? '', (folder) => {
    for (const [file, copy] of changed) renameSync(copy, join(folder, file))
  })
  const violationsOf = async (id: string): Promise<number | undefined> => {
    const manifest = await readManifest(small.releasesDir, id)
    const { checks } = await buildPreAggregates(
      session,
      temporaryFolder('staging'),
      join(small.releasesDir, id),
      manifest,
    )
    return checks.find(({ name }) => name === 'municipality_in_one_state')?.violations
  }
  t.equal(await violationsOf(small.result.cnes ?? ''), 0)
  t.equal(await violationsOf(forged), wrong.length, 'none is lost, though datasets are read side by side')
})
