/**
 * Places that follow from a municipality: what an answer by them says, and what releases answer that were made without a
 * territory, or by a version that knew none. That the numbers are right is what oracle.test.ts shows.
 */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { unzipSync } from 'fflate'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { writePointer } from '../../src/release/writer.ts'
import { REPORT_FORMAT_NAMES } from '../../src/report/formats.ts'
import { makeRows } from '../../src/rows/make.ts'
import { readSettings } from '../../src/settings.ts'
import { sql, table } from '../../src/sql.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir, 1, { rows: true })
t.teardown(() => client.close())

const RATES = {
  metrics: ['beds_existing_per_100k', 'bed_capacity_existing'],
  group_by: ['health_region'],
  filters: [{ dimension: 'state', operator: 'EQ', value: 'AC' }],
}

t.test('members say their state, notes say the edition', async (t) => {
  const { body } = await client.query(RATES)
  t.same(
    body.data.map(({ dimensions }: { dimensions: Record<string, unknown> }) => dimensions.health_region),
    [
      { code: '12001', name: 'Região demonstrativa 1 - AC', uf: 'AC' },
      { code: '12002', name: 'Região demonstrativa 2 - AC', uf: 'AC' },
      { code: '12003', name: 'Região demonstrativa 3 - AC', uf: 'AC' },
      { code: null, name: 'Não informado', uf: null },
    ],
    'and the facilities of the ignored municipality of the state',
  )
  const note = { code: 'territory_edition', dimensions: ['health_region'], edition: 'demonstracao' }
  t.match(body.meta.notes, [note])
  t.notMatch((await client.query({ ...RATES, group_by: ['state'] })).body.meta.notes, [{ code: note.code }])
})

t.test('a rate is of the whole territory, places without facts included', async (t) => {
  const byTown = (
    await client.query({
      ...RATES,
      metrics: ['population_census', 'facilities_count'],
      group_by: ['municipality', 'health_region'],
    })
  ).body.data
  const people = byTown
    .filter(
      ({ dimensions }: { dimensions: { health_region: { code: string } } }) =>
        dimensions.health_region.code === '12001',
    )
    .reduce(
      (sum: number, { metrics }: { metrics: { population_census: number } }) =>
        sum + metrics.population_census,
      0,
    )
  const rare = {
    ...RATES,
    filters: [...RATES.filters, { dimension: 'bed_type', operator: 'EQ', value: '83' }],
  }
  for (const query of [RATES, rare]) {
    const { metrics } = (await client.query(query)).body.data[0]
    t.equal(
      metrics.beds_existing_per_100k,
      Number((Math.round((metrics.bed_capacity_existing * 10_000_000) / people) / 100).toFixed(2)),
    )
  }
})

t.test('the macro-region is the municipality’s, not its region’s', async (t) => {
  const { data } = (
    await client.query({
      metrics: ['population_census'],
      group_by: ['health_region', 'health_macroregion'],
      filters: RATES.filters,
    })
  ).body
  const pairs = data.map(
    ({ dimensions }: { dimensions: Record<string, { code: string }> }) =>
      `${dimensions.health_region?.code} ${dimensions.health_macroregion?.code}`,
  )
  t.same(pairs.slice(0, 2), ['12001 1201', '12001 1202'], 'the first region lies in two')
  const [region] = (await client.get('/v1/health-regions?uf=AC&limit=1')).body.data
  t.same(region.health_macroregion_codes, ['1201', '1202'])
})

t.test('a region names the line of the file that it was published on', async (t) => {
  const archive = unzipSync(
    readFileSync(join(small.snapshots, 'territory/base_territorial_demonstracao.zip')),
  )
  const lines = Buffer.from(archive['tb_regsaud.csv'] ?? [])
    .toString('utf8')
    .split('\n')
  const view = client.store.current()
  if (view === null) throw new Error('no release')
  const rows = await client.engine.run(
    sql`SELECT health_region_code, source_file, source_row FROM ${table('health_regions')}`,
    view,
  )
  t.ok(rows.length > 400)
  t.ok(
    rows.every(({ source_file: file }) => file === 'tb_regsaud.csv'),
    'the table of names',
  )
  t.same(
    rows.filter(
      ({ health_region_code: code, source_row: row }) => !lines[Number(row) - 1]?.startsWith(`"${code}"`),
    ),
    [],
    'line breaks inside of names are lines of the file',
  )
})

t.test('what lies in no health region keeps its facts', async (t) => {
  const total = (await client.query({ metrics: ['facilities_count'] })).body.data[0].metrics.facilities_count
  const { data } = (
    await client.query({
      metrics: ['facilities_count', 'facilities_per_100k'],
      group_by: ['health_region'],
      limit: 1000,
    })
  ).body
  const last = data.at(-1)
  t.equal(last.dimensions.health_region.code, null)
  t.equal(last.label, 'Não informado')
  t.ok(last.metrics.facilities_count > 0, 'facilities of ignored municipalities')
  t.equal(last.metrics.facilities_per_100k, null)
  t.equal(
    data.reduce(
      (sum: number, { metrics }: { metrics: { facilities_count: number } }) => sum + metrics.facilities_count,
      0,
    ),
    total,
  )
})

t.test('pre-aggregates by municipality serve larger places', async (t) => {
  const { body } = await client.post('/v1/analytics/explain', {
    metrics: ['facilities_with_beds_per_100k', 'icu_beds_existing'],
    group_by: ['health_macroregion'],
    filters: [{ dimension: 'region', operator: 'IN', value: [1, '2'] }],
  })
  t.same(body.data.query.filters, [{ dimension: 'region', operator: 'IN', value: [1, 2] }])
  t.match(body.data.sql, /health_macroregion_code/)
  const { status, body: refused } = await client.query({
    ...RATES,
    filters: [{ dimension: 'region', operator: 'EQ', value: 6 }],
  })
  t.equal(status, 400)
  t.same(refused.errors[0].allowed, [1, 2, 3, 4, 5])
})

t.test('the catalog calls them extended, beside the 15', async (t) => {
  const { dimensions } = (await client.get('/v1/analytics/catalog')).body.data
  const codesOf = (tier: string): string[] =>
    dimensions.filter((one: { tier: string }) => one.tier === tier).map(({ code }: { code: string }) => code)
  t.equal(codesOf('core').length, 15)
  t.ok(['region', 'health_region', 'health_macroregion'].every((code) => codesOf('extended').includes(code)))
})

t.test('members, searched and counted', async (t) => {
  const url = '/v1/analytics/dimensions/health_region/values'
  const { data } = (await client.get(`${url}?search=demonstrativa%202%20-%20ac&counts=true`)).body
  t.match(data, [
    { code: '12002', parent: { dimension: 'state', code: 'AC' }, facts: { facilities: Number } },
  ])
  const byWords = await client.get('/v1/analytics/dimensions/municipality/values?search=vista%20BOA%20')
  t.ok(
    byWords.body.data.some(({ code }: { code: number }) => code === 1400100),
    'words in any order find Boa Vista, as in lists',
  )
  const listed = await client.get('/v1/analytics/dimensions/sex/values?search=nino%20fem')
  t.match(listed.body.data, [{ code: 'F' }])
  t.same((await client.get('/v1/analytics/dimensions/region/values')).body.data[1], {
    code: 2,
    name: 'Nordeste',
  })
  t.equal((await client.get('/v1/analytics/dimensions/health_macroregion/values?limit=1')).status, 200)
})

t.test('reports of every format are reproduced', secondRing, async (t) => {
  const query = {
    metrics: ['icu_beds_existing_per_100k', 'facilities_count'],
    group_by: ['region', 'health_macroregion', 'reference_period'],
    filters: [{ dimension: 'health_region', operator: 'NOT_IN', value: ['12002', '29001'] }],
  }
  const folder = temporaryFolder('territory-reports')
  for (const format of cases([...REPORT_FORMAT_NAMES], ['xlsx', 'csv'])) {
    const { status, bytes } = await client.post(`/v1/analytics/export?format=${format}`, query)
    t.equal(status, 200, format)
    const path = join(folder, `report.${format}`)
    writeFileSync(path, bytes)
    const { verdict } = await verifyReport(path, small.releasesDir, null, readSettings({}))
    t.equal(verdict, 'reproduced', format)
  }
})

/** What any release without health regions answers, whichever version made it. */
async function answersWithout(client: Client, t: Test): Promise<void> {
  for (const [url, place] of [
    ['/v1/health-regions', null],
    ['/v1/health-macroregions?uf=AC', null],
    ['/v1/municipalities?health_region_code=12001', 'health_region_code'],
    ['/v1/facilities?health_macroregion_code=1201', 'health_macroregion_code'],
    ['/v1/demography/population?health_region_code=12001', 'health_region_code'],
    ['/v1/analytics/dimensions/health_region/values', 'dimensionCode'],
  ] as const) {
    const { status, body } = await client.get(url)
    t.equal(status, 400, url)
    t.equal(body.code, 'dimension_not_loaded')
    t.match(body.detail, /Importe base_territorial_\*\.zip do DATASUS/)
    if (place !== null) t.equal(body.errors[0].parameter, place)
  }
  for (const [query, pointer] of [
    [RATES, '/group_by/0'],
    [
      {
        metrics: ['facilities_count'],
        filters: [{ dimension: 'health_macroregion', operator: 'EQ', value: '1201' }],
      },
      '/filters',
    ],
  ] as const) {
    const { status, body } = await client.query(query, { 'accept-language': 'en' })
    t.equal(status, 400)
    t.equal(body.code, 'dimension_not_loaded')
    t.match(body.detail, /Import base_territorial_\*\.zip of DATASUS together with the files of IBGE/)
    t.equal(body.errors[0].pointer, pointer)
  }
  const [town] = (await client.get('/v1/municipalities?state=AC&limit=1')).body.data
  t.match(town, {
    health_region_code: null,
    health_region_name: null,
    health_macroregion_code: null,
    health_macroregion_name: null,
    territory_edition: null,
  })
  t.same((await client.get(`/v1/municipalities/${town.ibge_code}`)).body.data, town)
  const { data } = (
    await client.query({ metrics: ['facilities_count', 'facilities_per_100k'], group_by: ['region'] })
  ).body
  t.same(
    data.map(({ dimensions }: { dimensions: { region: unknown } }) => dimensions.region),
    [
      { code: 1, name: 'Norte' },
      { code: 2, name: 'Nordeste' },
      { code: 3, name: 'Sudeste' },
      { code: 4, name: 'Sul' },
      { code: 5, name: 'Centro-Oeste' },
    ],
    'a major region needs no territory',
  )
  t.equal((await client.get('/v1/facilities?region_code=1&limit=1')).body.data.length, 1)
  t.equal(
    (await client.get('/v1/municipalities?region_code=2,5&count=true&limit=1')).body.pagination.total,
    1794 + 468,
  )
}

t.test('a release without a territory', secondRing, async (t) => {
  const releasesDir = join(temporaryFolder('without-territory'), 'releases')
  const result = await importPaths(
    ['cnes/2026-05', 'ibge'].map((folder) => join(small.snapshots, folder)),
    { releasesDir, maxRejected: 0.001, makesRows: true },
  )
  writePointer(releasesDir, result.analytics)
  const without = await openClient(releasesDir, 1, { rows: true })
  t.teardown(() => without.close())
  await answersWithout(without, t)
})

t.test(
  'a release of catalog v1.1.0, which knew neither the columns nor the datasets',
  secondRing,
  async (t) => {
    const { releasesDir, result } = await makeSmallRelease(1)
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    t.teardown(() => connection.closeSync())
    const scratch = temporaryFolder('older-release')
    const { demography = '', cnes = '' } = { demography: result.demography ?? '', cnes: result.cnes ?? '' }
    /** Writes a table as the earlier version did. @param columns SQL of its columns */
    const rewrite = async (from: string, columns: string): Promise<string> => {
      const path = join(scratch, `${from.replaceAll('/', '-')}.parquet`)
      await connection.run(
        `COPY (SELECT ${columns} FROM read_parquet('${join(releasesDir, from)}', hive_partitioning = false)) TO '${path}' (FORMAT parquet)`,
      )
      return path
    }
    const places =
      'health_region_code, health_region_name, health_macroregion_code, health_macroregion_name, territory_edition'
    const towns = await rewrite(`${demography}/municipalities/part-0.parquet`, `* EXCLUDE (${places})`)
    const facilityPath = 'facilities/reference_period=202605/part-0.parquet'
    const facilities = await rewrite(
      `${cnes}/${facilityPath}`,
      "* EXCLUDE (registry_health_region_code), '77777' AS health_region_code",
    )
    const olderDemography = await forgeRelease(releasesDir, demography, (folder, manifest) => {
      copyFileSync(towns, join(folder, 'municipalities/part-0.parquet'))
      for (const dataset of ['health_regions', 'health_macroregions'])
        rmSync(join(folder, dataset), { recursive: true })
      const { health_regions: _regions, health_macroregions: _macroregions, ...datasets } = manifest.datasets
      const { municipalities } = datasets
      if (municipalities === undefined) throw new Error('no municipalities')
      const fields = municipalities.fields.filter(({ name }) => !places.split(', ').includes(name))
      Object.assign(manifest, {
        catalog_version: 'v1.1.0',
        datasets: { ...datasets, municipalities: { ...municipalities, fields } },
        files: manifest.files.filter(({ path }) => !/^health_(macro)?regions\//.test(path)),
      })
      delete (manifest as { territory_edition?: string }).territory_edition
    })
    const olderCnes = await forgeRelease(releasesDir, cnes, (folder, manifest) => {
      copyFileSync(facilities, join(folder, facilityPath))
      for (const field of manifest.datasets.facilities?.fields ?? [])
        if (field.name === 'registry_health_region_code') field.name = 'health_region_code'
      Object.assign(manifest, { catalog_version: 'v1.1.0' })
    })
    const older = await forgeRelease(releasesDir, result.analytics, (_folder, manifest) => {
      Object.assign(manifest, {
        catalog_version: 'v1.1.0',
        components: { cnes: olderCnes, demography: olderDemography },
      })
    })
    writePointer(releasesDir, older)
    const [{ cnes_code }] = (await client.get('/v1/facilities?limit=1')).body.data
    for (const rows of [false, true]) {
      if (rows) await makeRows(releasesDir, older)
      const past = await openClient(releasesDir, 1, { rows })
      await answersWithout(past, t)
      const { data } = (await past.get(`/v1/facilities/${cnes_code}`)).body
      t.equal(data.registry_health_region_code, '77777', 'what the column was called before')
      t.notOk('health_region_code' in data)
      const lineage = await past.post('/v1/analytics/lineage', {
        metrics: ['facilities_count'],
        group_by: ['region'],
        key: { region: 1 },
        limit: 1,
      })
      t.equal(lineage.status, 200, lineage.text.slice(0, 200))
      await past.close()
    }
  },
)
