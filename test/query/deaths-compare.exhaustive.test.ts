/**
 * Two editions of a year of deaths: the preliminary one, and the final one that replaces it. The newer release holds the final edition
 * alone, and compare says which deaths came, went, moved to another place or got a cause.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { readManifest } from '../../src/release/verify.ts'
import { openClient } from '../fixtures/client.ts'
import { comparing } from '../fixtures/compared.ts'
import { makeDbf } from '../fixtures/dbf-builder.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

type Cells = Readonly<Record<string, string>>
const twoDigits = (number: number): string => String(number).padStart(2, '0')
/** 240 deaths of Boa Vista, 20 a month, a tenth of them of ill-defined causes. */
const PRELIMINARY = Array.from(
  { length: 240 },
  (_, index): Cells => ({
    ...{
      TIPOBITO: '2',
      DTOBITO: `15${twoDigits(1 + (index % 12))}2021`,
      IDADE: '470',
      SEXO: index % 2 === 0 ? '1' : '2',
    },
    ...{ CODMUNRES: '140010', CODMUNOCOR: '140010', LOCOCOR: '1', RACACOR: '4' },
    CAUSABAS: index % 10 === 0 ? 'R99' : 'I219',
  }),
)
const changed = (index: number, cells: Cells): Cells => ({ ...(PRELIMINARY[index] as Cells), ...cells })
/** Four came, two went, three ill-defined ones got a cause, one moved to Alto Alegre, and one died in Rio Branco instead. */
const FINAL: readonly Cells[] = [
  ...PRELIMINARY.slice(2, 200),
  ...[200, 210, 220].map((index) => changed(index, { CAUSABAS: 'C509' })),
  changed(201, { CODMUNRES: '140005' }),
  changed(202, { CODMUNOCOR: '120040' }),
  ...PRELIMINARY.filter((_, index) => index > 202 && index !== 210 && index !== 220),
  ...[0, 3, 4, 7].map((index) => changed(index, { CAUSABAS: 'X954' })),
]

const small = await makeSmallRelease('admissions')
const ibge = ['RELATORIO_DTB_BRASIL_MUNICIPIO.csv', 'sidra_values_93_2022.json'].map((name) =>
  join(small.snapshots, 'ibge', name),
)
const releasesDir = temporaryFolder('editions')
const sources = temporaryFolder('published')
async function importEdition(folder: string, rows: readonly Cells[]) {
  const path = join(sources, folder)
  mkdirSync(path, { recursive: true })
  const columns = Object.keys(rows[0] ?? {}).map((name) => [name, 10] as const)
  writeFileSync(join(path, 'DORR2021.dbf'), makeDbf({ columns, rows }))
  const result = await importPaths([...ibge, path], { releasesDir, maxRejected: 0 })
  await promoteRelease(releasesDir, result.analytics)
  return result
}
const before = await importEdition('SIM/PRELIM/DORES', PRELIMINARY)
const after = await importEdition('SIM/CID10/DORES', FINAL)
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const compare = comparing(client, before.analytics)
const IN_2021 = [{ dimension: 'reference_year', operator: 'EQ', value: 2021 }]
const inRoraima = [...IN_2021, { dimension: 'residence_state', operator: 'EQ', value: 'RR' }]

t.test('the newer release has the final edition alone', async (t) => {
  const [older, newer] = [
    await readManifest(releasesDir, before.sim ?? ''),
    await readManifest(releasesDir, after.sim ?? ''),
  ]
  t.same([older.counts.deaths_2021, newer.counts.deaths_2021], [240, 242])
  t.same(
    [older, newer].map(({ coverage }) => coverage.deaths?.['202105']?.status),
    [{ RR: 'preliminary' }, { RR: 'final' }],
  )
  const statusesIn = async (release: string): Promise<unknown[]> => {
    const address = `/v1/sim/monthly?reference_period=2021-05&expected_release_id=${release}`
    const { status, body, text } = await client.get(address)
    t.equal(status, 200, text.slice(0, 300))
    return [...new Set(body.data.map((row: { publication_status: unknown }) => row.publication_status))]
  }
  t.same(await statusesIn(after.analytics), ['final'])
  t.same(await statusesIn(before.analytics), ['preliminary'], 'the release of before, pinned')
})

t.test('the change of a place has its causes', async (t) => {
  const places = await compare({
    metrics: ['deaths', 'ill_defined_deaths'],
    group_by: ['residence_municipality'],
    filters: inRoraima,
  })
  const changes = new Map(
    places.map(({ dimensions, metrics }) => [dimensions.residence_municipality?.code, metrics]),
  )
  const causesOf = (code: number, metric: string): number =>
    (changes.get(code)?.[metric]?.causes ?? []).reduce((sum, { delta }) => sum + delta, 0)
  t.equal(causesOf(1_400_100, 'deaths'), 1, 'four came, two went, one moved')
  t.equal(causesOf(1_400_050, 'deaths'), 1, 'Alto Alegre')
  t.match(changes.get(1_400_100)?.deaths, { old: 240, new: 241, delta: 1 })
  const illDefined = (rows: readonly Cells[]): number =>
    rows.filter(({ CAUSABAS }) => CAUSABAS === 'R99').length
  t.match(changes.get(1_400_100)?.ill_defined_deaths, {
    old: illDefined(PRELIMINARY),
    new: illDefined(FINAL),
    delta: illDefined(FINAL) - illDefined(PRELIMINARY),
  })
})

t.test('a share has causes of both sides, and chapters add up to the change', async (t) => {
  const [row] = await compare({ metrics: ['ill_defined_deaths_share'], filters: inRoraima })
  const { causes = [] } = row?.metrics.ill_defined_deaths_share ?? {}
  const total = (side: string): number =>
    causes.filter((cause) => cause.side === side).reduce((sum, { delta }) => sum + delta, 0)
  t.same([total('numerator'), total('denominator')], [-4, 2])
  const chapters = await compare({ metrics: ['deaths'], group_by: ['cause_chapter'], filters: inRoraima })
  t.equal(
    chapters.reduce(
      (sum, { metrics }) => sum + (metrics.deaths?.causes ?? []).reduce((all, { delta }) => all + delta, 0),
      0,
    ),
    2,
  )
})

t.test('deaths by occurrence change by where they happened', async (t) => {
  const places = await compare({
    metrics: ['deaths_by_occurrence'],
    group_by: ['municipality'],
    filters: [...IN_2021, { dimension: 'state', operator: 'EQ', value: 'RR' }],
  })
  t.match(
    places.find(({ dimensions }) => dimensions.municipality?.code === 1_400_100)?.metrics
      .deaths_by_occurrence,
    { old: 240, new: 241, delta: 1 },
    'two more in all, one of them in Rio Branco',
  )
})

t.test('the list of changes says that the year became final', async (t) => {
  const { status, body, text } = await client.get('/v1/changes')
  t.equal(status, 200, text.slice(0, 300))
  const deaths = body.data[0].areas[0].datasets.find(
    ({ dataset }: { dataset: string }) => dataset === 'deaths',
  )
  t.match(deaths, { preliminary: [], became_final: [{ period: '2021-01', states: ['RR'] }] })
  t.equal(deaths.became_final.length, 12)
})

t.test('the figures of a promotion are those of the comparisons beside them', async (t) => {
  const { body: list } = await client.get('/v1/changes')
  const [newest] = list.data
  const { status, body, text } = await client.get(`/v1/changes/${newest.release_id}`)
  t.equal(status, 200, text.slice(0, 300))
  const { figures, ...promotion } = body.data
  t.same(promotion, newest)
  t.same(
    figures.map(({ dataset, query }: { dataset: string; query: { metrics: string[] } }) => [
      dataset,
      query.metrics.join(),
    ]),
    [
      ['deaths', 'deaths'],
      ['deaths_by_occurrence', 'deaths_by_occurrence'],
    ],
  )
  for (const { query, rows } of figures) {
    const answer = await client.post('/v1/analytics/compare', query)
    t.same(rows, answer.body.data)
  }
  const sum = (rows: readonly { metrics: Record<string, { delta: number }> }[]): number =>
    rows.flatMap(({ metrics }) => Object.values(metrics)).reduce((all, { delta }) => all + delta, 0)
  t.equal(sum(figures[0].rows), 2)
  t.equal(sum(figures[1].rows), 1, 'one of the two more deaths happened in the state')
  const without = { authorization: `Bearer ${client.keyWithout('analytics.query.read')}` }
  t.equal((await client.get(`/v1/changes/${newest.release_id}`, without)).status, 403)
  const unknown = newest.release_id.replace(/[0-9a-f]{8}$/, '00000000')
  t.equal((await client.get(`/v1/changes/${unknown}`)).status, 404)
})
