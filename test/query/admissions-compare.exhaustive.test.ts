/**
 * Two releases of which one has a state's month as it was published again: what compare says of money, of deaths, of records that
 * came and went, and of groups whose key is null.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { writePointer } from '../../src/release/writer.ts'
import { changeDbf } from '../fixtures/changed-dbf.ts'
import { openClient } from '../fixtures/client.ts'
import { type ComparedGroup, comparing } from '../fixtures/compared.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const { releasesDir, snapshots } = small
const before = small.result.analytics

// Planted in Roraima's 2026-05: 10.50 more for one admission, a death more, an admission less, another of an unknown residence, one
// that is now of Acre, and one whose sex is not known any more.
const path = join(snapshots, 'sih/202605/RDRR2605.dbf')
const bytes = readFileSync(path)
const { rows, cell, put, remove } = changeDbf(bytes)
const isPlain = (row: number): boolean =>
  cell(row, 'IDENT') === '1' &&
  cell(row, 'MORTE') === '0' &&
  cell(row, 'SEXO') !== '0' &&
  cell(row, 'MUNIC_RES').startsWith('14')
const [dearer = 0, dying = 0, gone = 0, strange = 0, moved = 0, unnamed = 0] = rows.filter(isPlain)
for (const name of ['VAL_SH', 'VAL_TOT']) put(dearer, name, (Number(cell(dearer, name)) + 10.5).toFixed(2))
put(dying, 'MORTE', '1')
const goneCents = Math.round(Number(cell(gone, 'VAL_TOT')) * 100)
remove(gone)
put(strange, 'MUNIC_RES', '999999')
put(moved, 'MUNIC_RES', '120040')
put(unnamed, 'SEXO', '0')

const folder = join(small.folder, 'again')
mkdirSync(folder)
for (const name of ['202603', '202604', '202605'])
  cpSync(join(snapshots, 'sih', name), join(folder, 'sih', name), { recursive: true })
writeFileSync(join(folder, 'sih/202605/RDRR2605.dbf'), bytes)
cpSync(join(snapshots, 'sigtap'), join(folder, 'sigtap'), { recursive: true })
writePointer(releasesDir, before)
const imported = await importPaths([folder], { releasesDir, maxRejected: 0 })
writePointer(releasesDir, imported.analytics)
const client = await openClient(releasesDir)
t.teardown(() => client.close())

const compare = comparing(client, before)
const state = (code: string) => ({ dimension: 'state', operator: 'EQ', value: code })
const month = { dimension: 'reference_period', operator: 'EQ', value: '2026-05' }

t.test('the month of the state alone is another, and the other files are the same', async (t) => {
  t.not(imported.sih, small.result.sih)
  t.equal(imported.cnes, null, 'the registry is the one in service')
  const months = await compare({
    metrics: ['admission_records', 'admissions_value'],
    group_by: ['state', 'reference_period'],
  })
  t.same(
    months.map(({ dimensions }) => [dimensions.state?.code, dimensions.reference_period?.code]),
    [['RR', '2026-05']],
  )
})

t.test('money is in reais, with its causes', async (t) => {
  const [row] = await compare({
    metrics: ['admissions_value', 'hospital_deaths', 'admissions'],
    filters: [state('RR'), month],
  })
  const { admissions_value: value, hospital_deaths: deaths, admissions } = row?.metrics ?? {}
  const cents = (amount: number | null | undefined): number => Math.round((amount ?? Number.NaN) * 100)
  t.equal(cents(value?.delta), 1050 - goneCents)
  t.equal(cents(value?.new) - cents(value?.old), cents(value?.delta))
  t.equal(
    (value?.causes ?? []).reduce((sum, cause) => sum + cents(cause.delta), 0),
    cents(value?.delta),
    'causes add up, in reais, too',
  )
  t.ok(value?.causes.every(({ side }) => side === 'numerator'))
  t.equal(deaths?.delta, 1)
  t.equal(admissions?.delta, -1)
})

t.test('a ratio has causes of both sides', async (t) => {
  const [row] = await compare({ metrics: ['average_admission_value'], filters: [state('RR'), month] })
  const { causes = [] } = row?.metrics.average_admission_value ?? {}
  const total = (side: string): number =>
    causes.filter((cause) => cause.side === side).reduce((sum, cause) => sum + cause.delta, 0)
  t.equal(Math.round(total('numerator') * 100), 1050 - goneCents)
  t.equal(total('denominator'), -1)
})

t.test('who moved, and who lives in no place that is known', async (t) => {
  const places = await compare({
    metrics: ['admission_records'],
    group_by: ['residence_municipality', 'residence_state'],
    filters: [month],
  })
  const delta = new Map(
    places.map(({ dimensions, metrics }) => [
      dimensions.residence_municipality?.code ?? null,
      metrics.admission_records?.causes.reduce((sum, cause) => sum + cause.delta, 0),
    ]),
  )
  t.notOk(delta.has(null), 'who lives nowhere that is known may live where nothing was collected')
  t.equal(delta.get(1200401), 1, 'Rio Branco')
  t.equal(
    [...delta.values()].reduce((sum: number, own) => sum + (own ?? 0), 0),
    -2,
    'one is gone, and one of nowhere',
  )
  const inRoraima = [month, { dimension: 'residence_state', operator: 'EQ', value: 'RR' }]
  const sexes = await compare({ metrics: ['admissions'], group_by: ['sex'], filters: inRoraima })
  const unknown = sexes.find(({ dimensions }) => (dimensions.sex?.code ?? null) === null)
  t.match(
    unknown?.metrics.admissions?.causes,
    [{ side: 'numerator', cause: 'added', delta: 1 }],
    'a null key',
  )
  for (const group_by of [['sex'], ['diagnosis_chapter', 'sex', 'age_group']]) {
    const groups = await compare({ metrics: ['admissions'], group_by, filters: inRoraima })
    const causesOf = ({ metrics }: ComparedGroup): number =>
      (metrics.admissions?.causes ?? []).reduce((sum, cause) => sum + cause.delta, 0)
    for (const group of groups) {
      const { old: was, new: is, delta: change } = group.metrics.admissions ?? {}
      // A group that one release alone has is 0 in the other, because the state was collected in both.
      t.equal(causesOf(group), change)
      t.equal(change, (is ?? Number.NaN) - (was ?? Number.NaN))
    }
    t.equal(
      groups.reduce((sum, group) => sum + causesOf(group), 0),
      -3,
      'one is gone, one is of nowhere, one of Acre',
    )
  }
})

t.test('every difference of every group is that of plain SQL', async (t) => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const sums = (id: string | null): string =>
    `(SELECT procedure_code AS code, sum(admission_records) AS n, sum(days_of_stay) AS days FROM read_parquet('${join(releasesDir, id ?? '', 'hospital_admissions/*/*.parquet')}', hive_partitioning = true) WHERE reference_period = 202605 GROUP BY 1)`
  const wanted = (
    await connection.runAndReadAll(
      `SELECT code, CAST(coalesce(newer.n, 0) - coalesce(older.n, 0) AS INTEGER) AS n, CAST(coalesce(newer.days, 0) - coalesce(older.days, 0) AS INTEGER) AS days
       FROM ${sums(small.result.sih)} AS older FULL JOIN ${sums(imported.sih)} AS newer USING (code) ORDER BY code`,
    )
  ).getRows()
  const found = await compare({
    metrics: ['admission_records', 'days_of_stay'],
    group_by: ['procedure'],
    filters: [month, { dimension: 'state', operator: 'IN', value: ['AC', 'RR'] }],
    only_changed: false,
  })
  t.same(
    found.map(({ dimensions, metrics }) => [
      dimensions.procedure?.code,
      metrics.admission_records?.delta,
      metrics.days_of_stay?.delta,
    ]),
    wanted,
  )
  t.ok(wanted.some(([, n]) => n !== 0))
})
