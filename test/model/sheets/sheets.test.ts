/** Every metric has an indicator sheet in both languages, whose page of the documentation exists. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { CAPABILITIES } from '../../../src/model/capabilities.ts'
import { METRIC_CODES, measuresOf } from '../../../src/model/metrics.ts'
import { sheetOf } from '../../../src/model/sheets/sheets.ts'
import { SOURCES } from '../../../src/model/sheets/sources.ts'
import { listCatalog } from '../../../src/query/analytics/catalog.ts'

const root = new URL('../../../', import.meta.url)
const anchorsOf = (path: string): string[] =>
  [...readFileSync(new URL(path, root), 'utf8').matchAll(/^#{2,3} (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-'),
  )

t.test('each metric has method, meaning, limitations and sources in both languages', async (t) => {
  const anchors = anchorsOf('docs/analytics.md')
  const wrong: string[] = []
  for (const code of METRIC_CODES) {
    const { method, meaning, limitations, sources, documentation } = sheetOf(code)
    const texts = [
      method,
      meaning,
      ...limitations,
      ...sources.flatMap(({ delay, revisions }) => [delay, revisions]),
    ]
    if (texts.some(({ pt, en }) => pt.length < 10 || en.length < 10 || pt === en))
      wrong.push(`${code}: a text`)
    if (limitations.length === 0 || sources.length === 0) wrong.push(`${code}: a list`)
    if (sources.some(({ publisher, table }) => publisher.pt === '' || publisher.en === '' || table === ''))
      wrong.push(`${code}: a publisher`)
    const { numerator, less, denominator } = measuresOf(code)
    const datasets = [numerator, less, denominator].flatMap((measure) => measure?.dataset ?? [])
    if (!datasets.every((dataset) => sources.some((source) => source.dataset === dataset)))
      wrong.push(`${code}: a side without a source`)
    const [page = '', anchor = ''] = documentation.split('#')
    if (page !== 'docs/analytics.md' || !anchors.includes(anchor)) wrong.push(`${code}: ${documentation}`)
  }
  t.same(wrong, [])
  t.ok(METRIC_CODES.length > 70)
})

t.test('publishers revise within the stated age', async (t) => {
  for (const [dataset, { revision_months, revisions }] of Object.entries(SOURCES)) {
    t.ok(Number.isInteger(revision_months) && revision_months >= 0, dataset)
    const [stated] = /\d+/.exec(revisions.en) ?? []
    if (stated !== undefined) t.equal(Number(stated), revision_months, dataset)
  }
})

t.test('a sheet by hand: deaths over admissions', async (t) => {
  const { metrics } = listCatalog(CAPABILITIES, 'en')
  const sheet = metrics.find(({ code }) => code === 'hospital_mortality_share')?.sheet
  t.same(sheet, {
    method:
      'Adds up numerator and denominator in the group, in whole numbers, divides once and rounds last. Months are added up. Confidence limits: Wilson score for a proportion of counted events.',
    meaning:
      'Deaths over admissions, not adjusted for severity, age or diagnosis: it does not compare the quality of hospitals.',
    limitations: [
      'Only what SUS approved; no private care.',
      'The month is that of processing: the care may have been earlier.',
      'Admissions are not persons: one person may be admitted several times.',
    ],
    sources: [
      {
        dataset: 'hospital_admissions',
        publisher: 'Ministry of Health (DATASUS)',
        table: 'SIH/SUS, RD',
        delay: 'appears two months later, on day 5 to 12',
        revisions: 'changes every month until it is 13 months old',
        revision_months: 13,
      },
    ],
    documentation: 'docs/analytics.md#hospital-admissions',
  })
})
