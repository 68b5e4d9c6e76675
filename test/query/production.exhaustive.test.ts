/**
 * Metrics of outpatient production against their twin: each written again as plain SQL over the release's files, its quotient in whole
 * numbers. Then what holds of all of them: months are added up, what was not collected is null, lineage leads to the published
 * file, and procedures have the names of either release.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { writePointer } from '../../src/release/writer.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openWithout } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { compareWithTwin, sumGroups, type TwinAnswer, type TwinQuestion } from '../fixtures/metric-twins.ts'
import { decimal } from '../fixtures/oracle.ts'
import { OUTPATIENT_METRICS } from '../fixtures/registry-metrics.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('production')
const client = await openClient(small.releasesDir, 1, { residentBytes: RESIDENT_BYTES })
t.teardown(() => client.close())
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const folderOf = (id: string | null): string => join(small.releasesDir, id ?? '')
const stored = (id: string | null, dataset: string): string =>
  `read_parquet('${folderOf(id)}/${dataset}/**/*.parquet', hive_partitioning = true)`
await connection.run(`
  CREATE VIEW places AS SELECT * FROM ${stored(small.result.demography, 'municipalities')};
  CREATE VIEW residents AS SELECT CAST(r.municipality_code AS INTEGER) AS municipality_ibge_code, r.uf, r.population, p.region_code, p.health_region_code, p.health_macroregion_code
    FROM ${stored(small.result.demography, 'population')} r LEFT JOIN places p ON p.ibge_code = CAST(r.municipality_code AS INTEGER) WHERE population_type = 'CENSUS_POPULATION';
  CREATE VIEW production AS SELECT f.*, p.region_code, p.health_region_code, p.health_macroregion_code
    FROM ${stored(small.result.sia, 'outpatient_production')} f LEFT JOIN places p ON p.ibge_code = f.municipality_ibge_code`)

/** Top and bottom as sums over a table; cents become reais by a bottom of 100. */
const TWINS: Readonly<
  Record<string, { top: string; bottom?: string; times?: bigint; over?: bigint; residents?: true }>
> = {
  outpatient_quantity_approved: { top: 'quantity_approved' },
  outpatient_quantity_presented: { top: 'quantity_presented' },
  outpatient_approval_share: { top: 'quantity_approved', bottom: 'quantity_presented', times: 100n },
  outpatient_value_approved: { top: 'value_approved_cents', over: 100n },
  outpatient_value_per_capita: {
    top: 'value_approved_cents',
    bottom: 'population',
    over: 100n,
    residents: true,
  },
}
const PLACES: Readonly<Record<string, string>> = {
  state: 'uf',
  municipality: 'municipality_ibge_code',
  region: 'region_code',
  health_region: 'health_region_code',
  health_macroregion: 'health_macroregion_code',
}
const COLUMNS: Readonly<Record<string, string>> = {
  ...PLACES,
  facility: 'cnes_code',
  reference_period: 'reference_period',
  care_period: 'care_period',
  procedure_group: 'procedure_group_code',
  procedure_subgroup: 'procedure_subgroup_code',
  procedure_form: 'procedure_form_code',
  procedure: 'procedure_code',
  complexity: 'complexity_code',
  financing_kind: 'financing_code',
}

const sums = (from: string, value: string, groups: readonly string[], where: string) =>
  sumGroups(connection, from, value, groups, where)

/** @returns key of a group → text of each metric; groups with production alone */
async function twin({ metrics, group_by, states, months }: TwinQuestion): Promise<TwinAnswer> {
  const inStates = `uf IN (${states.map((uf) => `'${uf}'`).join(', ')})`
  const where = `${inStates} AND reference_period IN (${months.join(', ')})`
  const columns = group_by.map((code) => COLUMNS[code] ?? '')
  const ofPlaces = columns.filter((column) => Object.values(PLACES).includes(column))
  const answer: TwinAnswer = new Map()
  for (const metric of metrics) {
    const own = TWINS[metric]
    if (own === undefined) throw new Error(`no twin of ${metric}`)
    const top = await sums('production', own.top, columns, where)
    const bottom =
      own.bottom === undefined
        ? null
        : own.residents === true
          ? await sums('residents', own.bottom, ofPlaces, inStates)
          : await sums('production', own.bottom, columns, where)
    for (const [key, value] of top) {
      const codes = JSON.parse(key) as unknown[]
      const lower =
        own.residents === true
          ? JSON.stringify(codes.filter((_, index) => ofPlaces.includes(columns[index] ?? '')))
          : key
      const divisor = (bottom === null ? 1n : (bottom.get(lower) ?? 0n)) * (own.over ?? 1n)
      const text =
        bottom === null && own.over === undefined
          ? String(value)
          : divisor > 0n
            ? decimal(value * (own.times ?? 1n), divisor)
            : null
      answer.set(key, { ...answer.get(key), [metric]: text })
    }
  }
  return answer
}

async function compare(t: Test, question: TwinQuestion): Promise<void> {
  const compared = await compareWithTwin(t, client, question, {
    twin,
    hasDecimals: (metric) => TWINS[metric]?.bottom !== undefined || TWINS[metric]?.over !== undefined,
  })
  const sum = (rows: Iterable<Record<string, string | null>>): number =>
    [...rows].reduce((all, row) => all + Number(row.outpatient_quantity_presented ?? 0), 0)
  if (compared !== null)
    t.equal(sum(compared.found.values()), sum(compared.wanted.values()), 'no other group has any')
}

t.same(Object.keys(TWINS).sort(), [...OUTPATIENT_METRICS].sort(), 'every metric of production has its twin')

const BOTH = { states: ['AC', 'RR'], months: [202605] }
const EARLIER = { states: ['AC', 'RR'], months: [202604, 202605] }

t.test('every dimension alone and beside another', async (t) => {
  const codes = Object.keys(COLUMNS)
  const all = Object.keys(TWINS)
  for (const [index, code] of codes.entries()) {
    const metrics =
      code === 'facility' ? all.filter((metric) => metric !== 'outpatient_value_per_capita') : all
    // The four other states of the region were not collected.
    if (code === 'region') continue
    await compare(t, { metrics, group_by: [code], ...(index % 2 === 0 ? BOTH : EARLIER) })
    const other = codes[(index + 5) % codes.length] ?? 'state'
    if (other !== 'region')
      await compare(t, {
        metrics:
          other === 'facility' ? all.filter((metric) => metric !== 'outpatient_value_per_capita') : metrics,
        group_by: [code, other],
        ...(index % 2 === 0 ? EARLIER : BOTH),
      })
  }
  await compare(t, { metrics: all, group_by: [], ...EARLIER })
  await compare(t, { metrics: all, group_by: ['region', 'state'], ...BOTH })
})

const one = async (query: object) => {
  const { status, body } = await client.query(query)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const stateIs = (value: string) => ({ dimension: 'state', operator: 'EQ', value })
const monthsAre = (...value: string[]) => ({ dimension: 'reference_period', operator: 'IN', value })

t.test('months of processing are added up; months of care are a dimension of them', async (t) => {
  const metrics = ['outpatient_quantity_approved']
  const filters = [stateIs('RR'), monthsAre('2026-04', '2026-05')]
  const totalOf = (body: { data: { metrics: Record<string, number> }[] }): number =>
    body.data.reduce((sum, row) => sum + (row.metrics.outpatient_quantity_approved ?? 0), 0)
  const all = totalOf(await one({ metrics, filters }))
  t.equal(totalOf(await one({ metrics, group_by: ['reference_period'], filters })), all)
  const byCare = await one({ metrics, group_by: ['care_period'], filters })
  t.equal(totalOf(byCare), all)
  const care = byCare.data.map(
    (row: { dimensions: { care_period: { code: string; name: string } } }) => row.dimensions.care_period,
  )
  t.ok(
    care.some(({ code }: { code: string }) => code < '2026-04'),
    'months before those of processing',
  )
  t.ok(care.every(({ code, name }: { code: string; name: string }) => code === name))
  const april = { dimension: 'care_period', operator: 'EQ', value: '2026-04' }
  const ofApril = totalOf(await one({ metrics, filters: [...filters, april] }))
  const inApril = totalOf(await one({ metrics, filters: [stateIs('RR'), monthsAre('2026-04'), april] }))
  t.ok(ofApril > inApril, 'a month of care grows with later months of processing')
  t.equal((await one({ metrics, filters: [stateIs('RR')] })).meta.reference_period, '2026-05')
})

t.test('what was not collected is null', async (t) => {
  const metrics = [
    'outpatient_quantity_approved',
    'outpatient_value_per_capita',
    'outpatient_approval_share',
    'bed_capacity_sus',
  ]
  const body = await one({
    metrics,
    group_by: ['state'],
    filters: [{ dimension: 'state', operator: 'IN', value: ['AP', 'RR'] }, monthsAre('2026-05')],
  })
  const [amapa, roraima] = body.data
  t.match(amapa.metrics, {
    outpatient_quantity_approved: null,
    outpatient_value_per_capita: null,
    outpatient_approval_share: null,
  })
  t.type(amapa.metrics.bed_capacity_sus, 'number')
  t.type(roraima.metrics.outpatient_value_per_capita, 'number')
  t.match(body.meta.notes, [
    { code: 'not_collected', dataset: 'outpatient_production', periods: ['2026-05'], states: ['AP'] },
  ])
  const country = await one({ metrics: ['outpatient_value_approved'], filters: [monthsAre('2026-05')] })
  t.equal(country.data[0].metrics.outpatient_value_approved, null)
})

t.test('admissions and production beside each other, by what both have', async (t) => {
  const body = await one({
    metrics: ['admissions', 'outpatient_value_approved', 'admissions_value'],
    group_by: ['procedure_group'],
    filters: [stateIs('RR'), monthsAre('2026-05')],
  })
  const groups = new Map<string, { name: string; metrics: Record<string, number | null> }>(
    body.data.map(
      (row: {
        dimensions: { procedure_group: { code: string; name: string } }
        metrics: Record<string, number | null>
      }) => [
        row.dimensions.procedure_group.code,
        { name: row.dimensions.procedure_group.name, metrics: row.metrics },
      ],
    ),
  )
  t.equal(groups.get('06')?.name, 'Medicamentos')
  t.equal(groups.get('06')?.metrics.admissions, 0)
  t.ok((groups.get('03')?.metrics.admissions ?? 0) > 0)
  t.ok((groups.get('03')?.metrics.outpatient_value_approved ?? 0) > 0)
  const refused = await client.query({ metrics: ['admissions'], group_by: ['care_period'] })
  t.equal(refused.status, 400)
  t.equal(refused.body.code, 'incompatible_dimension')
  const perFacility = await client.query({ metrics: ['outpatient_value_per_capita'], group_by: ['facility'] })
  t.equal(perFacility.body.code, 'denominator_not_defined')
})

t.test('lineage leads to the published file, in reais, and adds up', async (t) => {
  for (const [metric, group_by, key] of [
    ['outpatient_quantity_approved', ['procedure'], { procedure: '0202020380' }],
    ['outpatient_value_approved', ['care_period'], { care_period: '2026-04' }],
  ] as const) {
    const { status, body } = await client.post('/v1/analytics/lineage', {
      metrics: [metric],
      group_by,
      key,
      filters: [stateIs('AC'), monthsAre('2026-05')],
      limit: 1000,
    })
    t.equal(status, 200, JSON.stringify(body).slice(0, 300))
    const cents = body.data.reduce(
      (sum: number, row: { contribution: number }) => sum + Math.round(row.contribution * 100),
      0,
    )
    t.equal(cents, Math.round(body.meta.total * 100), metric)
    t.equal(body.meta.value, body.meta.total)
    const { snapshots } = JSON.parse(readFileSync(join(folderOf(small.result.sia), 'manifest.json'), 'utf8'))
    for (const { key: record, sources } of body.data) {
      const [source] = sources
      t.equal(source.file, `PAAC2605${record.file_part}.dbf`)
      t.match(source, {
        publisher: 'DATASUS',
        sha256: snapshots.find(({ file }: { file: string }) => file === source.file).sha256,
        row: null,
        column: metric === 'outpatient_value_approved' ? 'PA_VALAPR' : 'PA_QTDAPR',
      })
    }
  }
})

t.test('explain, and members with the names of either release', async (t) => {
  const { body } = await client.post('/v1/analytics/explain', {
    metrics: ['outpatient_value_approved'],
    group_by: ['procedure'],
    filters: [stateIs('RR')],
  })
  t.match(JSON.stringify(body), /outpatient_production/)
  const members = async (path: string) => (await client.get(`/v1/analytics/dimensions/${path}`)).body.data
  t.match(await members('procedure/values?search=hemograma'), [
    {
      code: '0202020380',
      name: 'HEMOGRAMA COMPLETO',
      parent: { dimension: 'procedure_subgroup', code: '0202' },
    },
  ])
  t.match(await members('procedure/values?search=parto'), [{ code: '0310010039', name: 'PARTO NORMAL' }])
  t.match(await members('procedure/values?search=0303020040'), [{ code: '0303020040', name: null }])
  const codes = (await members('procedure/values?limit=100')).map(({ code }: { code: string }) => code)
  t.equal(new Set(codes).size, codes.length, 'each code once, though both releases have the table')
  const care = await members('care_period/values?limit=100')
  t.ok(care.length >= 3)
  t.match(care[0], { code: /^2026-0\d$/, name: /^2026-0\d$/ })
  const catalog = (await client.get('/v1/analytics/catalog')).body.data
  const share = catalog.metrics.find(({ code }: { code: string }) => code === 'outpatient_approval_share')
  t.match(share, { tier: 'extended', unit: '%', datasets: ['outpatient_production'] })
})

t.test('the script for DuckDB has each procedure once, though two releases have the table', async (t) => {
  const { text } = await client.get(`/v1/releases/${small.result.analytics}/attach.sql`)
  const base = /'(https?:\/\/[^/]+)\/v1\/releases\//.exec(text)?.[1] ?? ''
  const own = await (await DuckDBInstance.create(':memory:')).connect()
  await own.run(
    text
      .replace('INSTALL httpfs;\nLOAD httpfs;\n', '')
      .replaceAll(`${base}/v1/releases/`, `${small.releasesDir}/`)
      .replaceAll('/files/', '/'),
  )
  const rows = async (sql: string) => (await own.runAndReadAll(sql)).getRowsJson()
  t.same(
    await rows(
      "SELECT procedure_code, procedure_name FROM procedures WHERE procedure_code IN ('0202020380', '0310010039') ORDER BY 1",
    ),
    [
      ['0202020380', 'HEMOGRAMA COMPLETO'],
      ['0310010039', 'PARTO NORMAL'],
    ],
  )
  t.same(await rows('SELECT count(*) = count(DISTINCT procedure_code) FROM procedures'), [[true]])
  const { body } = await client.get('/v1/analytics/dimensions/procedure/values?limit=100')
  t.same(await rows('SELECT count(*)::INT FROM procedures'), [[body.data.length]])
})

t.test('reports: cents become reais, and a workbook can be verified', async (t) => {
  const query = {
    metrics: ['outpatient_value_approved', 'outpatient_quantity_approved', 'outpatient_value_per_capita'],
    group_by: ['municipality', 'reference_period'],
    filters: [stateIs('RR')],
    totals: true,
  }
  const { data } = await one(query)
  const csv = (await client.query(query, { accept: 'text/csv' })).text.split(/\r?\n/)
  t.ok(csv.some((line) => line.includes(data[0].metrics.outpatient_value_approved.toFixed(2))))
  const workbook = await client.post('/v1/analytics/exports/xlsx', query)
  t.equal(workbook.status, 200)
  const path = join(small.folder, 'production.xlsx')
  writeFileSync(path, workbook.bytes)
  const verdict = await verifyReport(path, small.releasesDir, null, readSettings({}))
  t.equal(verdict.verdict, 'reproduced', JSON.stringify(verdict).slice(0, 300))
})

t.test('production alone, without facilities and admissions', secondRing, async (t) => {
  const ibge = ['RELATORIO_DTB_BRASIL_MUNICIPIO.csv', 'sidra_values_93_2022.json'].map((name) =>
    join(small.snapshots, 'ibge', name),
  )
  const releasesDir = join(small.folder, 'production-alone')
  const file = join(small.snapshots, 'sia/202605/PARR2605.dbf')
  const { analytics } = await importPaths([...ibge, file, join(small.snapshots, 'sigtap')], {
    releasesDir,
    maxRejected: 0,
  })
  writePointer(releasesDir, analytics)
  const alone = await openClient(releasesDir)
  t.teardown(() => alone.close())
  const metrics = ['outpatient_quantity_presented']
  const [total] = (await alone.query({ metrics })).body.data
  t.type(total.metrics.outpatient_quantity_presented, 'number', 'of the one state that the release is of')
  for (const group of ['municipality', 'state', 'facility', 'procedure', 'care_period']) {
    const { status, body } = await alone.query({ metrics, group_by: [group], limit: 10_000 })
    t.equal(status, 200, `${group}: ${JSON.stringify(body).slice(0, 200)}`)
    const sum = body.data.reduce(
      (before: number, row: { metrics: { outpatient_quantity_presented: number | null } }) =>
        before + (row.metrics.outpatient_quantity_presented ?? 0),
      0,
    )
    t.equal(sum, total.metrics.outpatient_quantity_presented, group)
  }
  // Procedures are named, though there is no admission.
  t.match((await alone.get('/v1/analytics/dimensions/procedure/values?search=hemograma')).body.data, [
    { code: '0202020380' },
  ])
  t.equal((await alone.query({ metrics: ['admissions'] })).body.data[0].metrics.admissions, null)
})

t.test('a release without production: null with a note, and a dimension that is not loaded', async (t) => {
  const old = await openWithout(small, 'sia')
  t.teardown(() => old.close())
  const { status, body, text } = await old.query({
    metrics: ['outpatient_value_approved', 'admissions'],
    group_by: ['state'],
    filters: [stateIs('RR')],
  })
  t.equal(status, 200, text)
  t.equal(body.data[0].metrics.outpatient_value_approved, null)
  t.type(body.data[0].metrics.admissions, 'number')
  t.ok(
    body.meta.notes.some(
      (note: WrittenNote) => note.code === 'not_collected' && note.dataset === 'outpatient_production',
    ),
  )
  const refused = await old.query({ metrics: ['outpatient_value_approved'], group_by: ['care_period'] })
  t.equal(refused.status, 400)
  t.equal(refused.body.code, 'dimension_not_loaded')
  t.match(refused.body.detail, /não reúne produção ambulatorial.*PAUFAAMM/)
  // Admissions name procedures of their own.
  t.equal(
    (await old.query({ metrics: ['admissions'], group_by: ['procedure'], filters: [stateIs('RR')] })).status,
    200,
  )
})
