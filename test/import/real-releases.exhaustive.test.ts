/** Real releases of real files: what the service answers is what the publisher's files add up to. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

async function open(
  ...files: string[]
): Promise<{ client: Client; result: Awaited<ReturnType<typeof importPaths>> }> {
  const releasesDir = join(temporaryFolder('real'), 'releases')
  const result = await importPaths(
    [sharedPath('ibge'), ...files.map((file) => sharedPath(`cnes/dbc/${file}`))],
    { releasesDir, maxRejected: 0.001 },
  )
  await promoteRelease(releasesDir, result.analytics)
  return { client: await openClient(releasesDir), result }
}
const total = async (client: Client, metric: string, extra: object = {}): Promise<number | null> =>
  (await client.query({ metrics: [metric], ...extra })).body.data[0].metrics[metric]

t.test('Rio de Janeiro: beds of 2010-08, equipment of 2023-09', { skip: skipWithoutShared }, async (t) => {
  const { client, result } = await open('LTRJ1008.dbc', 'EQRJ2309.dbc')
  t.match(result.cnes, /^cnes-rj-202309-/)
  t.equal(await total(client, 'equipment_existing'), 240_637)
  t.equal(await total(client, 'equipment_in_use'), 225_526)
  t.equal(await total(client, 'bed_capacity_existing'), 55_526)
  const rj = { filters: [{ dimension: 'state', operator: 'EQ', value: 'RJ' }] }
  t.equal(await total(client, 'bed_capacity_sus', rj), 34_614)
  t.equal(await total(client, 'bed_capacity_non_sus', rj), 20_912)
  const census = 16_055_174
  t.equal(await total(client, 'population_census', rj), census)
  t.equal(await total(client, 'beds_existing_per_100k', rj), Math.round((55_526 * 10_000_000) / census) / 100)
  t.equal(
    await total(client, 'beds_existing_per_100k'),
    null,
    'a rate over states that were not collected is no rate',
  )
  const states = await client.query({ metrics: ['bed_capacity_existing'], group_by: ['state'] })
  for (const { dimensions, metrics } of states.body.data)
    t.equal(
      metrics.bed_capacity_existing,
      dimensions.state.code === 'RJ' ? 55_526 : null,
      dimensions.state.code,
    )
  t.ok(
    states.body.meta.notes.some(
      (note: WrittenNote) =>
        note.code === 'not_collected' && note.states.length === 26 && !note.states.includes('RJ'),
    ),
  )
  t.equal(await total(client, 'facilities_count'), null, 'the registry itself was not collected')
  await client.close()
})

t.test('Sergipe, Amapá, Mato Grosso do Sul, the Federal District', { skip: skipWithoutShared }, async (t) => {
  const sergipe = await open('SRSE2310.dbc', 'STSE1912.DBF.gz')
  t.equal(await total(sergipe.client, 'facilities_count'), 3802)
  t.equal(await total(sergipe.client, 'service_facilities'), 1569)
  t.equal(sergipe.result.rows.specialized_services_provenance, 8446)
  await sergipe.client.close()

  const amapa = await open('SRAP0508.dbc', 'STAP0510.dbc')
  t.equal(await total(amapa.client, 'facilities_count'), 264)
  t.equal(await total(amapa.client, 'service_facilities'), 96)
  await amapa.client.close()

  const ms = await open('SRMS1204.dbc', 'SRMS1205.dbc')
  const months = await ms.client.query({ metrics: ['service_facilities'], group_by: ['reference_period'] })
  t.same(
    months.body.data.map(({ label, metrics }: { label: string; metrics: { service_facilities: number } }) => [
      label,
      metrics.service_facilities,
    ]),
    [
      ['2012-04', 1908],
      ['2012-05', 1913],
    ],
  )
  await ms.client.close()

  const df = await open('SRDF1511.dbc')
  const places = await df.client.query({
    metrics: ['service_facilities'],
    group_by: ['municipality'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'DF' }],
  })
  t.same(
    places.body.data.map(
      ({ dimensions, metrics }: { dimensions: { municipality: object }; metrics: object }) => [
        dimensions.municipality,
        metrics,
      ],
    ),
    [[{ code: 5300108, name: 'Brasília', uf: 'DF' }, { service_facilities: 2267 }]],
  )
  await df.client.close()
})

t.test(
  'population: twenty municipalities equal a plain look at the files',
  { skip: skipWithoutShared },
  async (t) => {
    const { client } = await open('LTRR0610.dbc')
    t.equal(
      (await client.get('/v1/demography/population/1100205?population_type=CENSUS_POPULATION')).body.data
        .population,
      460_434,
    )
    const lines = (file: string): string[][] =>
      readFileSync(sharedPath(`ibge/${file}`), 'utf8')
        .trim()
        .split(/\r?\n/)
        .map((line) => line.split(';'))
    const census = lines('tabela9514.csv').slice(1)
    const [header = [], ...estimates] = lines('tabela6579.csv')
    for (let draw = 0; draw < 20; draw += 1) {
      const [code = '', people = ''] = census[(draw * 271) % census.length] ?? []
      t.equal(
        (await client.get(`/v1/demography/population/${code}?reference_year=2022`)).body.data.population,
        Number(people),
        code,
      )
      const row = estimates.find(([other]) => other === code) ?? []
      t.equal(
        (await client.get(`/v1/demography/population/${code}?reference_year=2021`)).body.data.population,
        Number(row[header.indexOf('2021')]),
        code,
      )
    }
    t.equal((await client.get('/v1/demography/population/1100205')).body.data.reference_year, 2024)
    t.equal((await client.get('/v1/municipalities?limit=1&count=true')).body.pagination.total, 5571)
    await client.close()
  },
)
