/**
 * What `sus-data verify` finds beyond digests: releases whose files were changed and whose manifest was made to fit. Each
 * change is one that a reader of the Parquet could not see.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkRelease } from '../../src/import/check-release.ts'
import { openSession, quoteText } from '../../src/import/session.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const { releasesDir } = small
const cnes = small.result.cnes ?? ''
const session = await openSession({ scratch: temporaryFolder('scratch') })
t.teardown(() => session.close())

/** @param select of the rows of a file, which stand in `given` with their place; @returns the forged release */
async function forge(file: string, select: string): Promise<string> {
  const changed = join(temporaryFolder('changed'), 'part-0.parquet')
  const given = `SELECT * FROM read_parquet(${quoteText(join(releasesDir, cnes, file))}, file_row_number = true, hive_partitioning = false)`
  await session.run(`COPY (WITH given AS (${given}) ${select}) TO ${quoteText(changed)} (FORMAT parquet)`)
  return forgeRelease(releasesDir, cnes, (folder) => renameSync(changed, join(folder, file)))
}
const check = (id: string): Promise<unknown> => checkRelease(releasesDir, id, temporaryFolder('scratch'))
const of = (dataset: string): string => `${dataset}/reference_period=202605/part-0.parquet`
const COLUMNS = '* EXCLUDE (file_row_number)'

t.test('a release as it was made', async (t) => {
  for (const id of [cnes, small.result.demography ?? '', small.result.analytics]) t.ok(await check(id), id)
  t.ok(
    await check(await forge(of('bed_capacity'), `SELECT ${COLUMNS} FROM given ORDER BY file_row_number`)),
    'and written by another hand',
  )
})

t.test('two rows that changed places', async (t) => {
  for (const dataset of [
    'facilities',
    'bed_capacity',
    'equipment_inventory_provenance',
    'specialized_services',
  ]) {
    const id = await forge(
      of(dataset),
      `SELECT ${COLUMNS} FROM given ORDER BY CASE file_row_number WHEN 4 THEN 5 WHEN 5 THEN 4 ELSE file_row_number END`,
    )
    await t.rejects(check(id), {
      message: /^(?=.*has 1 rows that are out of the order of their key, or repeat it)/s,
      file: of(dataset),
    })
  }
})

t.test('a row twice in place of another', async (t) => {
  const id = await forge(
    of('bed_capacity'),
    `SELECT ${COLUMNS} FROM (
       SELECT * FROM given WHERE file_row_number <> 7 UNION ALL SELECT * REPLACE (7 AS file_row_number) FROM given WHERE file_row_number = 6
     ) ORDER BY file_row_number`,
  )
  await t.rejects(check(id), {
    message: /out of the order of their key, or repeat it/,
    file: of('bed_capacity'),
  })
})

t.test('a row less, a column more', async (t) => {
  const less = await forge(
    of('bed_capacity'),
    `SELECT ${COLUMNS} FROM given WHERE file_row_number > 0 ORDER BY file_row_number`,
  )
  await t.rejects(check(less), {
    message: /has \d+ rows where the manifest says \d+/,
    file: of('bed_capacity'),
  })
  const more = await forge(
    of('bed_capacity'),
    `SELECT ${COLUMNS}, 1 AS extra FROM given ORDER BY file_row_number`,
  )
  await t.rejects(check(more), { message: /has the column extra, which the manifest does not declare/ })
})

t.test('of several files the first by name is told', async (t) => {
  const one = await forge(
    of('specialized_services'),
    `SELECT ${COLUMNS} FROM given ORDER BY file_row_number DESC`,
  )
  const both = await forgeRelease(releasesDir, one, (_folder, manifest) => {
    const beds = manifest.files.find(({ path }) => path === of('bed_capacity'))
    for (const counted of [beds, manifest.datasets.bed_capacity])
      if (counted !== undefined) Object.assign(counted, { rows: counted.rows + 1 })
  })
  await t.rejects(check(both), { message: /rows where the manifest says/, file: of('bed_capacity') })
})
