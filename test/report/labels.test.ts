/** Labels of JSON and JSON-stat reports that no cell of the table has: forged ones differ, also without the release. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSettings } from '../../src/settings.ts'
import { createReportVerifier } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir)
const folder = temporaryFolder('labels')
const settings = readSettings({})
const here = createReportVerifier(small.releasesDir, settings)
const alone = createReportVerifier(join(folder, 'no-releases'), settings)
t.teardown(async () => {
  await here.close()
  await alone.close()
  await client.close()
})

async function make(format: string, query: object): Promise<string> {
  const { status, text } = await client.post(`/v1/analytics/export?format=${format}`, query)
  if (status !== 200) throw new Error(text)
  return text
}

/** @returns what is found with the release and without it */
async function verdictsOf(report: string): Promise<{ verdict: string; text: string }[]> {
  const path = join(folder, 'report')
  writeFileSync(path, report)
  const verdicts = [await here.verify(path, null), await alone.verify(path, null)]
  return verdicts.map(({ verdict, differences }) => ({ verdict, text: differences.join('\n') }))
}

const BY_RESIDENCE = {
  metrics: ['admissions'],
  group_by: ['residence_municipality'],
  filters: [{ dimension: 'residence_state', operator: 'EQ', value: 'RR' }],
  totals: true,
}
const MADE = [{ verdict: 'reproduced' }, { verdict: 'whole, not replayed' }]
const SAVED = [{ verdict: 'cells agree; not the file that was made' }, { verdict: 'whole, not replayed' }]

t.test('JSON: the state of a municipality of residence', async (t) => {
  const report = await make('json', BY_RESIDENCE)
  t.match(report, '"uf":"RR"')
  t.match(await verdictsOf(report), MADE)
  t.match(await verdictsOf(JSON.stringify(JSON.parse(report), null, 1)), SAVED, 'saved by another program')
  t.match(await verdictsOf(report.replaceAll(',"uf":"RR"', '')), SAVED, 'made before rows had the state')
  const forged = { verdict: 'differs', text: /\/data\/0\/dimensions\/residence_municipality\/uf is AM/ }
  t.match(await verdictsOf(report.replace('"uf":"RR"', '"uf":"AM"')), [forged, forged])
})
