/**
 * Population by municipality, sex and age: the reader of the published layout and every way a file can be broken, the metric
 * and the list over the demonstration, and the real files where they are.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  type AgeTable,
  checkEditions,
  readPopulationByAge,
  recognisePopulationByAge,
} from '../../src/import/demography/population-by-age.ts'
import { importPaths } from '../../src/import/import.ts'
import { readManifest } from '../../src/release/verify.ts'
import { writePointer } from '../../src/release/writer.ts'
import { openClient } from '../fixtures/client.ts'
import { makeDbf } from '../fixtures/dbf-builder.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { refuses } from '../fixtures/refused-file.ts'
import { sharedPath, skipWithoutShared } from '../fixtures/shared-data.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const COLUMNS = [
  ['COD_MUN', 7],
  ['ANO', 4],
  ['SEXO', 4],
  ['IDADE', 3],
  ['POP', 9],
] as const
type Record = Readonly<{ COD_MUN: string; ANO: string; SEXO: string; IDADE: string; POP: string }>
/** Every sex and age of a municipality; the population of an age is the age. */
const whole = (code: string, year = '2024'): Record[] =>
  ['1', '2'].flatMap((sex) =>
    Array.from({ length: 81 }, (_, age) => ({
      COD_MUN: code,
      ANO: year,
      SEXO: sex,
      IDADE: String(age).padStart(3, '0'),
      POP: String(age).padStart(9),
    })),
  )
const dbf = (rows: readonly Record[], edition: readonly number[] = [24, 12, 12]): Buffer => {
  const bytes = makeDbf({ columns: COLUMNS, rows })
  bytes.set(edition, 1)
  return bytes
}
const change = (at: number, cells: Partial<Record>): Record[] =>
  whole('1400100').map((row, index) => (index === at ? { ...row, ...cells } : row))

t.test('the published layout: codes of 7 digits, sexes filled with blanks, ages 000 to 080', async (t) => {
  const table = readPopulationByAge('POP24.dbf', dbf([...whole('1400100'), ...whole('1400050')]))
  t.equal(table.year, 2024)
  t.equal(table.edition, 20_241_212)
  t.equal(table.rows, 324)
  const cells = table.municipalities.get(1400100)
  t.same(cells?.rows.slice(0, 2), [2, 3], 'rows of the file, header = 1')
  t.equal(cells?.population[161], 80)
  t.equal(table.cellOf(12), '       10', 'the cell as published')
})

t.test('the file is known by its columns, whatever the case of its name', async (t) => {
  t.ok(recognisePopulationByAge('pop21.dbf', dbf(whole('1400100'))))
  t.ok(recognisePopulationByAge('POP22.DBF', dbf(whole('1400100'))))
  const totals = makeDbf({ columns: COLUMNS.filter(([name]) => name !== 'IDADE'), rows: [] })
  t.notOk(
    recognisePopulationByAge('POPTBR24.dbf', totals),
    'totals sent to the audit court are another table',
  )
  t.notOk(recognisePopulationByAge('POP24.txt', dbf([])))
})

t.test('a file that is not whole is refused by row and reason', async (t) => {
  const read = (rows: readonly Record[]) => () => readPopulationByAge('POP24.dbf', dbf(rows))
  refuses(t, read(whole('1400100').slice(0, -1)), /lacks 1 of the 162 rows of the municipality 1400100/)
  refuses(t, read(change(3, { IDADE: '002' })), /twice \(rows 4 and 5\)/)
  refuses(t, read(change(3, { POP: '       1x' })), /POP "1x" \(row 5\)/)
  refuses(t, read(change(3, { POP: '         ' })), /POP "" \(row 5\)/)
  refuses(t, read(change(3, { COD_MUN: '140010' })), /COD_MUN "140010" \(row 5\)/)
  refuses(t, read(change(3, { SEXO: '3' })), /SEXO "3" \(row 5\)/)
  refuses(t, read(change(3, { SEXO: '0' })), /SEXO "0" \(row 5\)/)
  refuses(t, read(change(3, { IDADE: '081' })), /IDADE "081" \(row 5\)/)
  refuses(t, read(change(3, { ANO: '2023' })), /the years 2024 and 2023 \(row 5\)/)
  refuses(t, read([]), /no municipality/)
  refuses(t, () => readPopulationByAge('POP24.dbf', dbf(whole('1400100')).subarray(0, 2000)), /is cut/)
})

t.test('two files of one year, and files of two editions, do not go together', async (t) => {
  const of = (file: string, year: string, edition?: readonly number[]): AgeTable =>
    readPopulationByAge(file, dbf(whole('1400100', year), edition))
  const [newest, before] = [of('POP24.dbf', '2024'), of('POP22.dbf', '2022')]
  checkEditions([newest, before])
  refuses(t, () => checkEditions([newest, of('pop24.dbf', '2024')]), /is of 2024, as POP24.dbf is/)
  refuses(
    t,
    () => checkEditions([newest, of('POP25.dbf', '2025', [125, 10, 29])]),
    /made on 2025-10-29, and POP24.dbf on 2024-12-12/,
  )
})

t.test('the demonstration', async (t) => {
  const small = await makeSmallRelease()
  const client = await openClient(small.releasesDir)
  t.teardown(() => client.close())
  const metrics = ['population_by_age']
  const ask = async (body: object) => (await client.query({ metrics, limit: 10_000, ...body })).body
  const total = (await ask({})).data[0].metrics.population_by_age

  t.test('sexes and age groups add up to the total, in the order of the ages, with names', async (t) => {
    const { data, meta } = await ask({ group_by: ['sex', 'age_group'] })
    t.equal(data.length, 34)
    t.same(data[0].dimensions, {
      sex: { code: 'F', name: 'Feminino' },
      age_group: { code: '00-04', name: '0 a 4 anos' },
    })
    t.equal(data[33].dimensions.age_group.name, '80 anos e mais')
    t.equal(
      data.reduce(
        (sum: number, row: { metrics: { population_by_age: number } }) => sum + row.metrics.population_by_age,
        0,
      ),
      total,
    )
    t.match(meta.notes, [{ code: 'population_by_age_source', year: 2025 }])
  })

  t.test('the municipality that the source lacks is null with a note, never 0', async (t) => {
    const filters = [{ dimension: 'municipality', operator: 'EQ', value: 5101837 }]
    const alone = await ask({ filters })
    t.equal(alone.data[0].metrics.population_by_age, null)
    t.match(alone.meta.notes, [
      { code: 'population_by_age_source' },
      { code: 'null_rows', metric: 'population_by_age', rows: 1, total_rows: 1, reason: 'no_population' },
    ])
    const { data, meta } = await ask({
      group_by: ['municipality'],
      filters: [{ dimension: 'state', operator: 'EQ', value: 'MT' }],
    })
    t.equal(data.length, 142)
    const missing = data.filter(
      (row: { metrics: { population_by_age: unknown } }) => row.metrics.population_by_age === null,
    )
    t.same(
      missing.map(
        (row: { dimensions: { municipality: { code: number } } }) => row.dimensions.municipality.code,
      ),
      [5101837],
    )
    t.match(meta.notes[1], { code: 'null_rows', rows: 1, total_rows: 142 })
    t.same((await ask({ group_by: ['sex'], filters })).data, [], 'no sex of it is told')
  })

  t.test('lineage leads to the rows of the file, an age each', async (t) => {
    const key = { municipality: 1400100, sex: 'M', age_group: '05-09' }
    const { body } = await client.post('/v1/analytics/lineage', {
      metrics,
      group_by: Object.keys(key),
      key,
    })
    t.equal(body.data.length, 1)
    const [record] = body.data
    t.equal(record.contribution, body.meta.value)
    t.equal(record.sources.length, 5)
    t.equal(
      record.sources.reduce(
        (sum: number, { raw_value }: { raw_value: string }) => sum + Number(raw_value),
        0,
      ),
      body.meta.value,
    )
    const [source] = record.sources
    t.match(source, { publisher: 'DATASUS', file: 'POP25.dbf', archive: 'POPSBR25.zip', column: 'POP' })
  })

  t.test('the list: filters, pages, headers; a release from before has none', async (t) => {
    const url = '/v1/demography/population-by-age?municipality=140010&sex=F'
    const { body, headers } = await client.get(`${url}&count=true&limit=10`)
    t.equal(body.pagination.total, 17)
    t.equal(headers['x-demography-release-id'], small.result.demography)
    t.match(body.data[0], {
      municipality_code: '1400100',
      municipality_name: 'Boa Vista',
      uf: 'RR',
      reference_year: 2025,
      sex: 'F',
      age_group: '00-04',
    })
    t.notOk('source_cells' in body.data[0])
    const next = await client.get(`${url}&limit=10&cursor=${body.pagination.next_cursor}`)
    t.equal(next.body.data.length, 7)
    t.equal((await client.get('/v1/demography/population-by-age?sex=1')).status, 400)
    t.equal((await client.get('/v1/demography/population-by-age?age_group=80%2B&limit=1')).status, 200)
    const pinned = `expected_release_id=${small.result.analytics}`
    t.match((await client.get(`${url}&${pinned}`)).headers['cache-control'], /immutable/)
  })

  t.test('a release without the source: null, no rows, a note that says what to import', async (t) => {
    const demography = await forgeRelease(
      small.releasesDir,
      small.result.demography ?? '',
      (folder, manifest) => {
        rmSync(join(folder, 'population_by_age'), { recursive: true })
        delete manifest.datasets.population_by_age
        for (const name of Object.keys(manifest.counts))
          if (name.startsWith('population_by_age')) delete manifest.counts[name]
        manifest.files = manifest.files.filter(({ path }) => !path.startsWith('population_by_age/'))
      },
    )
    const analytics = await forgeRelease(small.releasesDir, small.result.analytics, (_folder, manifest) => {
      manifest.components.demography = demography
    })
    writePointer(small.releasesDir, analytics)
    const old = await openClient(small.releasesDir)
    t.teardown(() => old.close())
    const answer = (await old.query({ metrics })).body
    t.equal(answer.data[0].metrics.population_by_age, null)
    t.match(answer.meta.notes, [{ code: 'population_by_age_not_imported' }])
    t.same((await old.query({ metrics, group_by: ['sex'] })).body.data, [])
    t.same((await old.get('/v1/demography/population-by-age')).body.data, [])
  })
})

t.test('the real files', { skip: skipWithoutShared }, async (t) => {
  const releasesDir = temporaryFolder('ages')
  const result = await importPaths(
    [
      sharedPath('ibge/RELATORIO_DTB_BRASIL_2024_MUNICIPIOS.xls'),
      sharedPath('ibge/tabela9514.xlsx'),
      sharedPath('population_age/POPSBR22.zip'),
      sharedPath('population_age/POPSBR24.zip'),
    ],
    { releasesDir, maxRejected: 0 },
  )
  const manifest = await readManifest(releasesDir, result.demography ?? '')
  t.equal(manifest.snapshots.find(({ file }) => file === 'POP24.dbf')?.rows, 902_340)
  t.equal(manifest.counts.population_by_age, 2 * 5570 * 34)
  t.equal(manifest.counts.population_by_age_edition, 20_241_212)
  writePointer(releasesDir, result.analytics)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const metrics = ['population_by_age']
  const { body } = await client.query({ metrics, group_by: ['sex'] })
  t.same(
    body.data.map((row: { metrics: { population_by_age: number } }) => row.metrics.population_by_age),
    [108_921_464, 103_662_286],
    'women and men of 2024',
  )
  const groups = (await client.query({ metrics, group_by: ['age_group'] })).body.data
  const standards = readFileSync(sharedPath('population_age/standard_populations.csv'), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => Number(line.split(',')[6]))
  t.same(
    groups.map((row: { metrics: { population_by_age: number } }) => row.metrics.population_by_age),
    standards,
    'the 17 groups as published elsewhere',
  )
  const young = await client.query({
    metrics,
    filters: [{ dimension: 'municipality', operator: 'EQ', value: 510183 }],
  })
  t.equal(young.body.data[0].metrics.population_by_age, null)
  const years = await client.get('/v1/demography/population-by-age?municipality=1400100&reference_year=2022')
  t.equal(years.body.data.length, 34)
})
