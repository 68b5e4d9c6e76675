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

const BY_PERIOD = {
  metrics: ['admissions'],
  group_by: ['reference_period', 'residence_state'],
  filters: [{ dimension: 'residence_state', operator: 'IN', value: ['RR', 'AC'] }],
  totals: [['residence_state'], []],
  status: true,
}
/** Another text in the place of the first match, and what is said of it. */
const FORGERIES: [format: string, name: string, from: string | RegExp, to: string, says: RegExp][] = [
  [
    'json',
    'the name of a period and the label of its row',
    /"label":"[\d-]+ · (.*?)"name":"[\d-]+"/,
    '"label":"2019-01 · $1"name":"2019-01"',
    /reference_period\/name is 2019-01/,
  ],
  ['json', 'the label of a row', /"label":"[\d-]+/, '"label":"2019-01', /\/data\/0\/label/],
  [
    'json',
    'a member of the totals',
    '{"group_by":',
    '{"note":"x","group_by":',
    /\/totals\/0 has the member note/,
  ],
  ['json-stat', 'a period', /(\d{4}-\d\d)":"\1"/, '$1":"2019-01"', /reference_period is labelled 2019-01/],
  ['json-stat', 'the totals', '"_T":"Total"', '"_T":"Brasil"', /category _T of the dimension .* is labelled/],
  ['json-stat', 'the metrics', '"label":"Métrica"', '"label":"Em dobro"', /metrics is labelled Em dobro/],
  ['json-stat', 'a status', '"final":"final"', '"final":"parcial"', /the status final is labelled parcial/],
  [
    'json-stat',
    'a category without rows',
    '"label":{"AC":',
    '"label":{"SP":"x","AC":',
    /category SP, which no row/,
  ],
  [
    'json-stat',
    'a metric more',
    '"index":["admissions"]',
    '"index":["admissions","deaths"]',
    /the metrics are admissions,deaths; the manifest says admissions/,
  ],
  [
    'json-stat',
    'no label of a metric',
    /"label":\{"admissions":"[^"]*"\}/,
    '"label":{}',
    /the metric admissions is labelled undefined/,
  ],
  [
    'json-stat',
    'no unit of a metric',
    /"unit":\{"admissions":\{.*?\}\}/,
    '"unit":{}',
    /metric admissions has another unit/,
  ],
  ['json-stat', 'the size', /"size":\[\d+/, '"size":[99', /the size of the cube is not/],
  [
    'json-stat',
    'the role',
    '"geo":["residence_state"]',
    '"geo":["reference_period"]',
    /the role of the cube/,
  ],
  ['json-stat', 'the version', '"version":"2.0"', '"version":"1.0"', /the version of the cube is not "2.0"/],
  [
    'json-stat',
    'a dimension of no column',
    '"metric":{',
    '"x":{"category":{"index":[]}},"metric":{',
    /member x/,
  ],
]
for (const [format, name, from, to, says] of FORGERIES)
  t.test(`${format}: ${name}`, async (t) => {
    const report = await make(format, BY_PERIOD)
    const forged = report.replace(from, to)
    t.not(forged, report)
    t.match(await verdictsOf(report), MADE)
    const differs = { verdict: 'differs', text: says }
    t.match(await verdictsOf(forged), [differs, differs])
  })

t.test('json-stat: the true manifest at the end of the file, and another one for programs', async (t) => {
  const { extension, role, ...cube } = JSON.parse(await make('json-stat', BY_PERIOD))
  const { manifest } = extension
  const forged = {
    ...cube,
    label: 'Outro título',
    extension: { ...extension, manifest: { ...manifest, title: 'Outro título' } },
    role: { ...role, manifest },
  }
  const differs = { verdict: 'differs', text: /the file has two manifests/ }
  t.match(await verdictsOf(JSON.stringify(forged)), [differs, differs])
})
