/**
 * What is added up when a release is made refuses facts it could not answer from: a municipality that is in two states. Of admissions
 * of an earlier version it leaves out what they lack.
 */
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { buildPreAggregates } from '../../src/import/pre-aggregates.ts'
import { openSession, quoteText } from '../../src/import/session.ts'
import { readManifest } from '../../src/release/verify.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { forgeRelease, removeContent } from '../fixtures/forged-release.ts'
import { secondRing } from '../fixtures/rings.ts'
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

t.test(
  'admissions of an earlier version, which lack a column, are joined and answered',
  secondRing,
  async (t) => {
    const { releasesDir, result, snapshots } = await makeSmallRelease('admissions')
    const session = await openSession({ scratch: temporaryFolder('older') })
    const sih = await forgeRelease(releasesDir, result.sih ?? '', (_folder, manifest) => {
      for (const { fields } of [manifest.datasets.hospital_admissions ?? { fields: [] }])
        (fields as { name: string }[]).splice(
          fields.findIndex(({ name }) => name === 'procedure_form_code'),
          1,
        )
      removeContent(manifest)
      delete manifest.datasets.procedure_forms
      manifest.files = manifest.files.filter(({ path }) => !path.startsWith('procedure_forms/'))
    })
    const folder = join(releasesDir, sih)
    rmSync(join(folder, 'procedure_forms'), { recursive: true })
    for (const period of [202603, 202604, 202605]) {
      const file = join(folder, `hospital_admissions/reference_period=${period}/part-0.parquet`)
      await session.run(
        `COPY (SELECT * EXCLUDE (procedure_form_code) FROM read_parquet(${quoteText(file)}, hive_partitioning = false)) TO ${quoteText(`${file}.new`)} (FORMAT parquet)`,
      )
      renameSync(`${file}.new`, file)
    }
    session.close()
    const older = await forgeRelease(releasesDir, sih, () => undefined)
    const analytics = await forgeRelease(releasesDir, result.analytics, (_folder, manifest) => {
      removeContent(manifest)
      manifest.components.sih = older
    })
    writePointer(releasesDir, analytics)
    const joined = await importPaths(
      ['RELATORIO_DTB_BRASIL_MUNICIPIO.csv', 'sidra_values_93_2022.json'].map((name) =>
        join(snapshots, 'ibge', name),
      ),
      { releasesDir, maxRejected: 0 },
    )
    const { components, datasets } = await readManifest(releasesDir, joined.analytics)
    t.equal(components.sih, older)
    t.ok('admissions_by_procedure' in datasets && 'admissions_by_facility' in datasets)
    t.notOk('admissions_by_procedure_code' in datasets, 'what needs the column is not made')
    writePointer(releasesDir, joined.analytics)
    const client = await openClient(releasesDir)
    t.teardown(() => client.close())
    const ask = (group: string) =>
      client.query({
        metrics: ['admissions'],
        group_by: [group],
        filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
      })
    for (const group of ['procedure', 'facility', 'care_character']) {
      const { status, body } = await ask(group)
      t.equal(status, 200, JSON.stringify(body).slice(0, 300))
      t.ok(body.data.length > 1)
    }
    const { status, body } = await ask('procedure_form')
    t.equal(status, 400)
    t.equal(body.code, 'dimension_not_loaded')
    t.match(body.detail, /foi importada antes de haver essa dimensão/)
  },
)
