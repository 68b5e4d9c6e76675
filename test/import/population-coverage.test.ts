/**
 * A list or a population that lacks a municipality is refused, or, where the operator allows it, that place and every sum over it are
 * null. With files of all 5,571 codes that lack some, and with the published ones cut.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { firstYearOf, nationalList } from '../../src/import/demography/national-list.ts'
import { importPaths } from '../../src/import/import.ts'
import { readManifest } from '../../src/release/verify.ts'
import { writePointer } from '../../src/release/writer.ts'
import { listMunicipalities } from '../../tools/demo/geography.ts'
import { populationByAgeDbf } from '../../tools/demo/population-by-age.ts'
import { createChance } from '../../tools/demo/random.ts'
import { openClient } from '../fixtures/client.ts'
import { secondRing } from '../fixtures/rings.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const BOA_VISTA = 1400100
const BOA_ESPERANCA = 5101837
const names = nationalList()
const codes = [...names.keys()]

/** IBGE's list without some municipalities. */
const list = (without: readonly number[] = []): string =>
  [
    'UF,Nome_UF,Código Município Completo,Nome_Município',
    ...codes
      .filter((code) => !without.includes(code))
      .map((code) => `${Math.floor(code / 100_000)},x,${code},${names.get(code)}`),
    '',
  ].join('\n')

/** Ten people in each municipality that there was, but for some. */
const people = (year: number, without: readonly number[] = []): string =>
  [
    `code_muni;${year}`,
    ...codes
      .filter((code) => firstYearOf(code) <= year && !without.includes(code))
      .map((code) => `${code};10`),
    '',
  ].join('\n')

async function importFiles(files: Readonly<Record<string, string | Buffer>>, partialPopulation = false) {
  const folder = temporaryFolder('population')
  mkdirSync(join(folder, 'files'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, 'files', name), content)
  const releasesDir = join(folder, 'releases')
  const result = await importPaths([join(folder, 'files')], {
    releasesDir,
    maxRejected: 0.001,
    partialPopulation,
  })
  writePointer(releasesDir, result.analytics)
  return { releasesDir, manifest: await readManifest(releasesDir, result.demography ?? '') }
}
const refused = async (t: Test, files: Readonly<Record<string, string | Buffer>>, message: RegExp) =>
  t.rejects(importFiles(files), { name: 'ImportError', message })

t.test('every municipality there was: 5,507 in 2000, 5,560 in 2001, 5,571 in 2025', async (t) => {
  for (const [year, count] of [
    [2000, 5507],
    [2001, 5560],
    [2007, 5564],
    [2010, 5565],
    [2022, 5570],
    [2025, 5571],
  ] as const)
    t.equal(people(year).trim().split('\n').length - 1, count, `${year}`)
  const { manifest } = await importFiles({
    'list.csv': list(),
    '2010.csv': people(2010),
    '2025.csv': people(2025),
  })
  t.equal(manifest.counts.population, 5565 + 5571)
  t.notOk(Object.keys(manifest.counts).some((name) => name.startsWith('municipalities_without')))
})

t.test('a list that lacks one municipality of 5,571', async (t) => {
  await refused(
    t,
    { 'list.csv': list([BOA_VISTA]), '2022.csv': people(2022) },
    /^list\.csv: is no whole list: it lacks 1 municipality: 1400100 Boa Vista\. Fetch the list/,
  )
  await refused(
    t,
    { 'list.csv': list([BOA_ESPERANCA]), '2025.csv': people(2025) },
    /^2025\.csv: has a population of 2025 of municipalities that the list lacks, 1 municipality: 5101837 Boa Esperança do Norte\. Import a newer list/,
  )
  const { manifest } = await importFiles({ 'list.csv': list([BOA_ESPERANCA]), '2022.csv': people(2022) })
  t.equal(manifest.counts.municipalities, 5570, 'a list of 2022 is whole')
})

t.test('a population that lacks municipalities', async (t) => {
  await refused(
    t,
    { 'list.csv': list(), '2022.csv': people(2022, [BOA_VISTA]) },
    /^2022\.csv: is no whole population of 2022: it lacks 1 municipality: 1400100 Boa Vista\. .*--partial-population/,
  )
  await refused(
    t,
    { 'list.csv': list(), '2024.csv': people(2024, codes.slice(20)) },
    /^2024\.csv: is no whole population of 2024: it lacks 5551 municipalities: \d{7} .* and 5541 more\./,
  )
  const { releasesDir, manifest } = await importFiles(
    {
      'list.csv': list(),
      '2022.csv': people(2022, [BOA_VISTA]),
      '2024.csv': people(2024),
      '2025.csv': people(2025, [BOA_ESPERANCA]),
    },
    true,
  )
  t.equal(manifest.counts.municipalities_without_census_population_2022, 1)
  t.equal(manifest.counts.municipalities_without_estimated_population_2025, 1)
  const client = await openClient(releasesDir)
  const values = async (metric: string, dimension?: string): Promise<Map<unknown, number | null>> => {
    const { body } = await client.query({
      metrics: [metric],
      ...(dimension === undefined ? {} : { group_by: [dimension] }),
      limit: 10_000,
    })
    return new Map(
      body.data.map(({ dimensions, metrics }: { dimensions: never; metrics: never }) => [
        dimension === undefined ? null : (dimensions as Record<string, { code: unknown }>)[dimension]?.code,
        (metrics as Record<string, number | null>)[metric],
      ]),
    )
  }
  const states = await values('population_census', 'state')
  t.equal(states.get('RR'), null, 'a state with a municipality that lacks')
  t.equal(states.get('AC'), 220)
  t.equal(states.get('MT'), 1410, 'younger than the census: its state is whole')
  t.equal((await values('population_census')).get(null), null, 'Brazil')
  t.equal((await values('population_census', 'region')).get(1), null, 'the North')
  t.equal((await values('population_census', 'region')).get(4), 11_910, 'the South')
  const places = await values('population_census', 'municipality')
  t.equal(places.get(BOA_VISTA), null)
  t.equal(places.get(1400050), 10, 'its neighbour')
  const estimates = await values('population_estimated', 'state')
  t.same([estimates.get('MT'), estimates.get('RR')], [null, 150])
  const { body } = await client.get(
    `/v1/demography/population?municipality=${BOA_VISTA}&population_type=CENSUS_POPULATION`,
  )
  t.match(body.data, [{ reference_year: 2022, population: null }])
  t.equal(body.data.length, 1)
  const detail = await client.get(`/v1/demography/population/${BOA_VISTA}?population_type=CENSUS_POPULATION`)
  t.equal(detail.status, 200)
  await client.close()
})

t.test('lists of a population that was not imported', async (t) => {
  const { releasesDir } = await importFiles({ 'list.csv': list(), '2025.csv': people(2025) })
  const client = await openClient(releasesDir)
  const get = async (path: string) => (await client.get(`/v1/demography/${path}`)).body
  const census = 'population?population_type=CENSUS_POPULATION&count=true'
  t.match(await get(census), {
    pagination: { total: null },
    meta: {
      notes: [{ code: 'population_type_not_imported', population_types: ['CENSUS_POPULATION'] }],
    },
  })
  t.match(await get('population-by-age?municipality=1400100&count=true'), {
    pagination: { total: null },
    meta: { notes: [{ code: 'dataset_not_imported', dataset: 'population_by_age' }] },
  })
  for (const path of ['population-by-age?count=true', census])
    t.match(await get(`${path}&reference_year=2025`), { data: [], pagination: { total: null } }, path)
  t.match(await get('population?reference_year=2022'), { status: 400, errors: [{ allowed: [2025] }] })
  const estimates = await get('population?count=true')
  t.equal(estimates.pagination.total, 5571)
  t.notOk(estimates.meta.notes)
  await client.close()
})

t.test('population by age that lacks municipalities', secondRing, async (t) => {
  const chance = createChance(1)
  const towns = listMunicipalities(chance).filter(({ code }) => code !== BOA_ESPERANCA)
  const dbf = populationByAgeDbf(
    towns.filter(({ code }) => code !== BOA_VISTA),
    2024,
    chance,
  )
  const files = { 'list.csv': list(), '2022.csv': people(2022), 'POP24.dbf': dbf }
  await refused(
    t,
    files,
    /^POP24\.dbf: is no whole population of 2024: it lacks 1 municipality: 1400100 Boa Vista\./,
  )
  const { releasesDir, manifest } = await importFiles(files, true)
  t.equal(manifest.counts.municipalities_without_population_by_age_2024, 1)
  const client = await openClient(releasesDir)
  const { body } = await client.query({ metrics: ['population_by_age'], group_by: ['state'] })
  for (const { dimensions, metrics } of body.data)
    t.equal(metrics.population_by_age === null, dimensions.state.code === 'RR', dimensions.state.code)
  const groups = await client.query({ metrics: ['population_by_age'], group_by: ['sex'] })
  for (const { metrics } of groups.body.data) t.equal(metrics.population_by_age, null)
  await client.close()
})

t.test('the first 2,000 lines of table 9514', { skip: skipWithoutShared }, async (t) => {
  const table = readFileSync(sharedPath('ibge/tabela9514.csv'), 'utf8').split('\n')
  const files = {
    'list.csv': readFileSync(sharedPath('ibge/RELATORIO_DTB_BRASIL_MUNICIPIO_2022.csv')),
    'tabela9514.csv': `${table.slice(0, 2000).join('\n')}\n`,
  }
  await refused(
    t,
    files,
    /^tabela9514\.csv: is no whole population of 2022: it lacks 3571 municipalities: 29\d{5} .* and 3561 more\./,
  )
  const { releasesDir } = await importFiles(files, true)
  const client = await openClient(releasesDir)
  const { body } = await client.query({ metrics: ['population_census'], group_by: ['state'] })
  const states = new Map(
    body.data.map(({ dimensions, metrics }: { dimensions: never; metrics: never }) => [
      (dimensions as { state: { code: string } }).state.code,
      (metrics as { population_census: number | null }).population_census,
    ]),
  )
  t.equal(states.get('BA'), null, 'once 4,973,654 of its 14,141,626 inhabitants')
  t.equal(states.get('SP'), null)
  t.equal(states.get('RR'), 636_707)
  t.equal(states.get('PE'), 9_058_931)
  await client.close()
})
