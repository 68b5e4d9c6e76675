/** The notes of a report: in its language, and in the form that the report has when it is made again. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { buildReport } from '../../src/report/build.ts'
import type { ReportManifest } from '../../src/report/manifest.ts'
import { makeSmallRelease, openReleases, temporaryFolder } from '../fixtures/small-release.ts'

const { releasesDir } = await makeSmallRelease()
const { engine, store, close } = await openReleases(releasesDir)
t.teardown(close)
const view = store.current()
if (view === null) throw new Error('no release')
const folder = temporaryFolder('report-notes')
const body = { metrics: ['beds_existing_per_100k'], group_by: ['municipality'] }

/** @param repeated the manifest of a report that is made again */
async function makeReport(name: string, language: 'pt' | 'en', repeated?: ReportManifest): Promise<string> {
  const file = join(folder, `${name}.json`)
  const parts = { engine, view: view as NonNullable<typeof view>, capabilities: CAPABILITIES, sign: null }
  await buildReport(body, 'json', file, {
    ...parts,
    language,
    ...(repeated === undefined ? {} : { repeated }),
  })
  return readFileSync(file, 'utf8')
}
const manifestOf = (text: string): ReportManifest => JSON.parse(text).manifest

t.test('notes are in the language of the report', async (t) => {
  const portuguese = manifestOf(await makeReport('pt', 'pt')).notes
  t.match(portuguese, [{ code: 'null_rows', metric: 'beds_existing_per_100k', message: /sem dado em/ }])
  const english = manifestOf(await makeReport('en', 'en')).notes
  t.match(english, [{ code: 'null_rows', message: /^beds_existing_per_100k: null in \d+ of \d+ rows/ }])
})

t.test('a report whose notes are sentences alone is made again with such notes', async (t) => {
  const manifest = manifestOf(await makeReport('new', 'pt'))
  const sentences = manifestOf(await makeReport('english', 'en')).notes.map((note) =>
    typeof note === 'string' ? note : note.message,
  )
  const before = { ...manifest, notes: sentences }
  const made = await makeReport('before', 'pt', before)
  t.same(manifestOf(made).notes, sentences)
  t.equal(await makeReport('again', 'pt', manifestOf(made)), made, 'byte for byte')
})
