/** Citations: they follow from release and question alone, name what is needed to find the numbers again, and are in every report. */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { prepareQuery } from '../../src/analytics/query.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { citationOf } from '../../src/query/analytics/citation.ts'
import { fingerprintOf } from '../../src/query/analytics/fingerprint.ts'
import { parseQuery } from '../../src/query/analytics/request.ts'
import { canonicalJson } from '../../src/release/digest.ts'
import { REPORT_FORMAT_NAMES } from '../../src/report/formats.ts'
import { type ReportManifest, sealManifest } from '../../src/report/manifest.ts'
import { readReport } from '../../src/report/reading/read.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const QUERY = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
  group_by: ['municipality'],
  filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
}

t.test('an answer says how it is cited, the same for equal questions', async (t) => {
  const { body } = await client.query(QUERY)
  const { abnt, bibtex } = body.meta.citation
  for (const part of [
    body.meta.release_id,
    body.meta.fingerprint,
    'Leitos',
    'por Município',
    'AC, RR',
    body.meta.reference_period,
  ])
    t.ok(abnt.includes(part) && bibtex.includes(part), part)
  t.match(
    abnt,
    /^SUS-DATA\. .* \[dados fictícios de demonstração\]\..*\.$/,
    'invented data have no publisher',
  )
  const written = { ...QUERY, metrics: [...QUERY.metrics].reverse(), limit: 3, offset: 1 }
  const again = await client.query(written, { 'accept-language': 'en', host: 'dados.example.br' })
  t.same(
    again.body.meta.citation,
    body.meta.citation,
    'host, language, page and order of writing are not in it',
  )
  const cube = await client.query(QUERY, { accept: 'application/vnd.json-stat+json' })
  t.same(cube.body.extension.citation, body.meta.citation)
})

t.test('published data are cited by their publishers, long lists are cut, TeX is escaped', async (t) => {
  const view = client.store.current()
  if (view === null) throw new Error('no release')
  const parts = { engine: client.engine, view, capabilities: CAPABILITIES, language: 'pt' as const }
  const cite = async (body: unknown) =>
    citationOf(
      (await prepareQuery(parseQuery(body), parts)).plan,
      { ...view, synthetic: false },
      'f'.repeat(64),
    )
  const rate = await cite(QUERY)
  t.match(rate.abnt, /^BRASIL\. Ministério da Saúde; INSTITUTO BRASILEIRO DE GEOGRAFIA E ESTATÍSTICA\. /)
  t.match(rate.abnt, /Fontes: Cadastro Nacional de Estabelecimentos de Saúde \(CNES\); Censo Demográfico/)
  t.match(rate.bibtex, /author = \{\{Brasil\. Ministério da Saúde\} and \{Instituto Brasileiro/)
  const beds = await cite({ metrics: ['bed_capacity_existing'] })
  t.match(beds.abnt, /^BRASIL\. Ministério da Saúde\. Leitos/)
  t.notMatch(beds.abnt, /IBGE/, 'what is not asked for is not cited')
  const long = await cite({
    metrics: ['bed_capacity_existing', 'bed_capacity_sus', 'facilities_count', 'equipment_existing'],
    filters: [
      { dimension: 'state', operator: 'NOT_IN', value: ['RR', 'AC', 'AP', 'AM', 'PA', 'TO'] },
      { dimension: 'equipment_type', operator: 'EQ', value: '01:01' },
    ].slice(0, 1),
  })
  t.match(long.abnt, / e mais 1; Unidade da Federação: exceto AC, AM, AP, PA, RR e mais 1;/)
  for (const { bibtex } of [rate, beds, long]) {
    t.match(bibtex, /^@misc\{susdata_f{12},\n( {2}\w+ = \{.*\},?\n)+\}$/)
    t.equal(bibtex.split('{').length, bibtex.split('}').length, 'braces are closed')
    t.notMatch(bibtex, /[^\\][&%$#_](?!f{12})/, 'nothing that TeX would read as a command')
  }
})

t.test('every report carries its citation, and one without it still verifies', secondRing, async (t) => {
  const folder = temporaryFolder('citations')
  const { citation } = (await client.query(QUERY)).body.meta
  const verdictOf = (file: string) => verifyReport(file, small.releasesDir, null, readSettings({}))
  for (const format of REPORT_FORMAT_NAMES) {
    const { bytes } = await client.post(`/v1/analytics/export?format=${format}`, QUERY)
    const file = join(folder, format)
    writeFileSync(file, bytes)
    t.same((await readReport(file)).manifest.citation, citation, format)
  }
  const { text } = await client.post('/v1/analytics/export?format=json', QUERY)
  const report = JSON.parse(text)
  const resealed = async (change: (manifest: ReportManifest) => object): Promise<string> => {
    const { manifest_sha256: _own, ...body } = report.manifest
    const file = join(folder, 'resealed.json')
    const sealed = canonicalJson(sealManifest(change(body) as ReportManifest))
    writeFileSync(
      file,
      text.replace(canonicalJson(report.manifest), () => sealed),
    )
    return file
  }
  const old = await resealed(({ citation: _none, ...body }) => body)
  t.equal((await verdictOf(old)).verdict, 'reproduced', 'as reports were before there was one')
  const other = await resealed((body) => ({ ...body, citation: { ...citation, abnt: 'SOMEBODY ELSE.' } }))
  t.match((await verdictOf(other)).differences, [/^citation of the manifest/])
})

t.test('a fingerprint of an older catalog follows from the version that its manifest names', (t) => {
  const [id, query, rows] = ['analytics-br-202605-00', { metrics: ['beds'], limit: 5 }, 'ab'.repeat(32)]
  const text = `{"catalog_version":"v1.2.0","format":"sus-data-query-1","query":{"metrics":["beds"]},"release_id":"${id}","rows_sha256":"${rows}"}`
  t.equal(fingerprintOf(id, query, rows, 'v1.2.0'), createHash('sha256').update(text).digest('hex'))
  t.not(fingerprintOf(id, query, rows), fingerprintOf(id, query, rows, 'v1.2.0'))
  t.end()
})
