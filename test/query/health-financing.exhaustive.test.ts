/**
 * Metrics of transfers of the Union against their twin in plain SQL over the release's files; what a published file says nothing of is
 * null, alone and in every sum that needs it; years are added up; lineage leads to the published cells.
 */

import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { checkPromotion } from '../../tools/promotion/run.ts'
import { openWithout } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { decimal } from '../fixtures/oracle.ts'
import { FINANCING_METRICS } from '../fixtures/registry-metrics.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES, temporaryFolder } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('financing')
const client = await openClient(small.releasesDir, 1, { residentBytes: RESIDENT_BYTES })
t.teardown(() => client.close())
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const view = (name: string, id: string | null, dataset: string, where = ''): Promise<unknown> =>
  connection.run(
    `CREATE VIEW ${name} AS SELECT * FROM read_parquet('${join(small.releasesDir, id ?? '', dataset)}/**/*.parquet', hive_partitioning = true)${where}`,
  )
await view('places', small.result.demography, 'municipalities', " WHERE territorial_type = 'MUNICIPALITY'")
await view('residents', small.result.demography, 'population', " WHERE population_type = 'CENSUS_POPULATION'")
await view('funds', small.result.financing, 'federal_health_transfers')
await connection.run(
  `CREATE VIEW people AS SELECT r.population, p.uf, p.ibge_code AS municipality_ibge_code, p.region_code, p.health_region_code, p.health_macroregion_code
   FROM residents r JOIN places p ON p.ibge_code = CAST(r.municipality_code AS INTEGER);
   CREATE VIEW placed AS SELECT f.*, p.health_region_code, p.health_macroregion_code, coalesce(p.region_code, CAST(left(f.entity_code, 1) AS INTEGER)) AS region_code
   FROM funds f LEFT JOIN places p ON p.ibge_code = f.municipality_ibge_code`,
)
const COLUMNS: Readonly<Record<string, string>> = {
  state: 'uf',
  municipality: 'municipality_ibge_code',
  region: 'region_code',
  health_region: 'health_region_code',
  health_macroregion: 'health_macroregion_code',
  reference_period: 'reference_period',
}
const OF_MUNICIPALITIES = ['municipality', 'health_region', 'health_macroregion']
const METRICS = ['federal_health_transfers', 'federal_health_transfers_per_capita']
const STATES = ['AC', 'AP', 'RR']
const YEARS = [202412, 202512, 202603]
const monthText = (period: number): string => `${String(period).slice(0, 4)}-${String(period).slice(4)}`
type Values = readonly (string | null)[]

/** A sum is unknown where any of its rows is. */
async function twin(
  group_by: readonly string[],
  states: readonly string[],
  years: readonly number[],
): Promise<Map<string, Values>> {
  const columns = group_by.map((code) => COLUMNS[code] ?? '')
  const inStates = `uf IN (${states.map((uf) => `'${uf}'`).join()})`
  const alone = group_by.some((code) => OF_MUNICIPALITIES.includes(code))
    ? ' AND municipality_ibge_code IS NOT NULL'
    : ''
  const grouped = columns.length === 0 ? '' : ' GROUP BY ALL'
  const rowsOf = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()
  const keyOf = (row: readonly unknown[]): string =>
    JSON.stringify(row.map((code) => (typeof code === 'bigint' ? Number(code) : (code ?? null))))
  const tops = await rowsOf(
    `SELECT ${[...columns, 'CASE WHEN bool_and(transferred_cents IS NOT NULL) THEN CAST(sum(transferred_cents) AS HUGEINT) END'].join()} FROM placed
     WHERE ${inStates} AND reference_period IN (${years.join()})${alone}${grouped}`,
  )
  const ofPeople = columns.filter((column) => column !== 'reference_period')
  const bottoms = new Map(
    (
      await rowsOf(
        `SELECT ${[...ofPeople, 'CAST(sum(population) AS HUGEINT)'].join()} FROM people WHERE ${inStates}${ofPeople.length === 0 ? '' : ' GROUP BY ALL'}`,
      )
    ).map((row) => [keyOf(row.slice(0, -1)), row.at(-1) as bigint]),
  )
  return new Map(
    tops.map((row) => {
      const codes = row.slice(0, -1)
      const top = row.at(-1) as bigint | null
      const people = bottoms.get(keyOf(codes.filter((_, index) => columns[index] !== 'reference_period')))
      return [
        keyOf(codes),
        [
          top === null ? null : decimal(top, 100n),
          top === null || people === undefined ? null : decimal(top, people * 100n),
        ],
      ]
    }),
  )
}

const one = async (query: object) => {
  const { status, body } = await client.query(query)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const stateIs = (...value: string[]) => ({ dimension: 'state', operator: 'IN', value })
const yearsAre = (...value: number[]) => ({
  dimension: 'reference_period',
  operator: 'IN',
  value: value.map(monthText),
})

t.same([...FINANCING_METRICS].sort(), METRICS, 'every metric has its twin')

t.test('by every dimension, alone and by year', async (t) => {
  const groups = [
    [],
    ...Object.keys(COLUMNS).map((code) => [code]),
    ...Object.keys(COLUMNS)
      .filter((code) => code !== 'reference_period')
      .map((code) => [code, 'reference_period']),
    ['state', 'health_region'],
  ]
  for (const group_by of groups)
    for (const [states, years] of [
      [STATES, [202512]],
      [['AC', 'RR'], YEARS],
      [['AP'], [202412, 202512]],
    ] as const) {
      const body = await one({
        metrics: METRICS,
        group_by,
        filters: [stateIs(...states), yearsAre(...years)],
        limit: 10_000,
      })
      const wanted = await twin(group_by, states, years)
      const found = new Map<string, Values>(
        body.data.map(
          (row: {
            dimensions: Record<string, { code: string | number }>
            metrics: Record<string, number | null>
          }) => [
            JSON.stringify(
              group_by.map((code) => {
                const value = row.dimensions[code]?.code ?? null
                return code === 'reference_period' ? Number(String(value).replace('-', '')) : value
              }),
            ),
            METRICS.map((code) => row.metrics[code]?.toFixed(2) ?? null),
          ],
        ),
      )
      const name = `${group_by.join()} of ${states.join()} in ${years.join()}`
      t.same([...found].sort(), [...wanted].sort(), name)
      t.ok(wanted.size > 0, name)
    }
})

t.test('what the file of a year lacks is null, alone and in every sum that needs it', async (t) => {
  const [late] = (
    await connection.runAndReadAll(
      'SELECT municipality_ibge_code FROM funds WHERE transferred_cents IS NULL AND reference_period = 202412',
    )
  ).getRows()
  const code = Number(late?.[0])
  t.equal(Math.floor(code / 100_000), 16)
  const answered = async (filters: readonly object[], more: object = {}) => {
    const body = await one({ metrics: METRICS, filters, ...more })
    return { values: METRICS.map((metric) => body.data[0].metrics[metric]), notes: body.meta.notes }
  }
  const place = { dimension: 'municipality', operator: 'EQ', value: code }
  const alone = await answered([place, yearsAre(202412)])
  t.same(alone.values, [null, null])
  t.match(alone.notes, [{ code: 'transfers_missing_funds', period: '2024-12', funds: 1, state: 'AP' }])
  const ignored = { ...place, value: 1200000 }
  const { values, notes } = await answered([ignored, yearsAre(202412)])
  t.same(values, [null, null], 'a place of no fund')
  t.same(
    notes.map((note: WrittenNote) => [note.code, 'reason' in note ? note.reason : null]),
    [
      ['null_rows', 'not_published'],
      ['null_rows', 'no_denominator'],
    ],
  )
  t.same((await answered([stateIs('AP'), yearsAre(202412)])).values, [null, null])
  t.same((await answered([stateIs('AP', 'RR'), yearsAre(202412, 202512)])).values, [null, null])
  t.ok((await answered([place, yearsAre(202512)])).values.every((value) => value > 0))
  const others = await answered([
    stateIs('AP'),
    { dimension: 'municipality', operator: 'NEQ', value: code },
    yearsAre(202412),
  ])
  t.ok(others.values[0] > 0, 'a sum that does not need it')
  t.same((await answered([yearsAre(202512)])).values, [null, null], 'other states have no file')
  t.same((await answered([stateIs('SP'), yearsAre(202512)])).values, [null, null])
  const month = await answered([
    stateIs('RR'),
    { dimension: 'reference_period', operator: 'EQ', value: '2025-06' },
  ])
  t.same(month.values, [null, null])
  t.match(
    month.notes.find(({ code }: WrittenNote) => code === 'transfers_by_year'),
    { periods: ['2024-12', '2025-12', '2026-03'] },
  )
  for (const over_period of ['avg', 'max', 'last'])
    t.same(
      (await answered([stateIs('AP'), yearsAre(202412, 202512)], { over_period })).values,
      [null, null],
      over_period,
    )
})

t.test('years are added up; without one, the newest; with stocks each by its own rule', async (t) => {
  const metrics = ['federal_health_transfers']
  const valuesOf = (body: { data: { metrics: Record<string, number> }[] }): number[] =>
    body.data.map((row) => row.metrics.federal_health_transfers ?? Number.NaN)
  const all = await one({ metrics, filters: [stateIs('RR'), yearsAre(...YEARS)] })
  const by = await one({
    metrics,
    group_by: ['reference_period'],
    filters: [stateIs('RR'), yearsAre(...YEARS)],
    totals: true,
  })
  const cents = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + Math.round(value * 100), 0)
  t.equal(cents(valuesOf(by)), cents(valuesOf(all)))
  t.same(valuesOf(by.totals[0]), valuesOf(all))
  const newest = await one({ metrics: [...metrics, 'bed_capacity_sus'], filters: [stateIs('RR')] })
  t.same(valuesOf(newest), valuesOf(by).slice(-1))
  t.ok(newest.data[0].metrics.bed_capacity_sus > 0)
  t.match(
    newest.meta.notes.find(({ code }: WrittenNote) => code === 'newest_periods_differ'),
    { newest: { bed_capacity_sus: '2026-05', federal_health_transfers: '2026-03' } },
  )
  t.match(
    newest.meta.notes.find(({ code }: WrittenNote) => code === 'transfers_year_to_date'),
    { period: '2026-03', year: 2026 },
  )
  const regions = await one({
    metrics,
    group_by: ['health_region', 'municipality'],
    filters: [stateIs('AC'), yearsAre(202512)],
    totals: [['health_region']],
    share_of: ['health_region'],
    limit: 1000,
  })
  t.equal(cents(valuesOf(regions)), cents(valuesOf(regions.totals[0])), 'regions are their municipalities')
  const estimate = await one({
    metrics: ['federal_health_transfers_per_capita'],
    population_basis: 'estimate_of_period',
    group_by: ['reference_period'],
    filters: [stateIs('RR'), yearsAre(...YEARS)],
  })
  t.equal(estimate.data.length, 3)
  t.equal(all.meta.components.financing, small.result.financing)
})

t.test('municipalities stand beside sums that have the funds of states, and a note says so', async (t) => {
  const noted = async (options: object): Promise<boolean> => {
    const { status, body, text } = await client.query({
      metrics: ['federal_health_transfers'],
      filters: [stateIs('RR'), { dimension: 'reference_year', operator: 'EQ', value: 2025 }],
      ...options,
    })
    t.equal(status, 200, text.slice(0, 300))
    return body.meta.notes.some(({ code }: WrittenNote) => code === 'transfers_of_all_funds')
  }
  const byMunicipality = { group_by: ['state', 'municipality'] }
  t.equal(await noted({ ...byMunicipality, share_of: ['state'] }), true)
  t.equal(await noted({ ...byMunicipality, compare_to: { with: 'state' } }), true)
  t.equal(await noted({ ...byMunicipality, totals: [['state']] }), true)
  t.equal(await noted({ ...byMunicipality, totals: [[]] }), true)
  t.equal(
    await noted({ group_by: ['health_region', 'municipality'], totals: [['health_region']] }),
    false,
    'regions add municipalities',
  )
  t.equal(await noted({ group_by: ['state'], totals: [[]] }), false)
  t.equal(
    await noted({ ...byMunicipality, compare_to: { with: 'peers' } }),
    false,
    'peers are municipalities',
  )
  t.equal(await noted({ group_by: ['state'], share_of: [] }), false)
  t.equal(await noted(byMunicipality), false)
})

t.test('the running year is incomplete, also where no December may stand for it', async (t) => {
  const statusOf = async (options: object): Promise<unknown> => {
    const { body } = await client.query({
      metrics: ['federal_health_transfers'],
      group_by: ['state', 'reference_year'],
      filters: [stateIs('RR'), { dimension: 'reference_year', operator: 'EQ', value: 2026 }],
      status: true,
      ...options,
    })
    const [row] = body.data
    return [row?.status.federal_health_transfers, row?.metrics.federal_health_transfers === null]
  }
  t.same(await statusOf({}), ['incomplete', true])
  t.same(await statusOf({ incomplete: 'allow' }), ['partial', false])
})

t.test('lineage leads to the published cells, and adds up', async (t) => {
  const { snapshots } = JSON.parse(
    readFileSync(join(small.releasesDir, small.result.financing ?? '', 'manifest.json'), 'utf8'),
  )
  for (const [year, file] of [
    [202412, /2024\.csv$/],
    [202512, /2025\.xlsx$/],
  ] as const) {
    const { status, body } = await client.post('/v1/analytics/lineage', {
      metrics: ['federal_health_transfers'],
      group_by: ['state'],
      key: { state: 'RR' },
      filters: [yearsAre(year)],
      limit: 1000,
    })
    t.equal(status, 200, JSON.stringify(body).slice(0, 300))
    const rows = body.data as { contribution: number; key: object; sources: Record<string, unknown>[] }[]
    t.equal(rows.length, 16, 'a fund of the state and fifteen of municipalities')
    t.equal(
      rows.reduce((sum, row) => sum + Math.round(row.contribution * 100), 0),
      Math.round(body.meta.total * 100),
    )
    t.equal(body.meta.value, body.meta.total)
    const [first] = rows.filter(({ sources }) => sources.length === 6)
    t.match(first?.sources[0], { publisher: 'FNS', column: 'VL_BRUTO', file })
    const snapshot = snapshots.find((own: { file: string }) => own.file === first?.sources[0]?.file)
    t.equal(first?.sources[0]?.sha256, snapshot.sha256)
    if (year !== 202412) continue
    const lines = readFileSync(join(small.snapshots, 'financing/fns', snapshot.file), 'latin1').split('\r\n')
    for (const { row, raw_value } of first?.sources ?? [])
      t.equal((lines[Number(row) - 1] ?? '').split(';')[18], raw_value, 'the published cell')
  }
  const unknown = await client.post('/v1/analytics/lineage', {
    metrics: ['federal_health_transfers'],
    filters: [stateIs('AP'), yearsAre(202412)],
  })
  t.match(unknown.body.meta, { value: null, total: null })
  t.same(unknown.body.data, [])
})

t.test('explain, catalog, members and a report', async (t) => {
  const query = { metrics: METRICS, group_by: ['state', 'reference_period'], filters: [stateIs('AC', 'RR')] }
  const explained = await client.post('/v1/analytics/explain', query)
  t.equal(explained.status, 200)
  t.ok(
    explained.body.data.reads.some(
      ({ dataset }: { dataset: string }) => dataset === 'federal_health_transfers',
    ),
  )
  const { body: catalog } = await client.get('/v1/analytics/catalog')
  const own = catalog.data.metrics.find(({ code }: { code: string }) => code === METRICS[0])
  t.match(own, {
    unit: 'BRL',
    decimals: 2,
    tier: 'extended',
    additivity: {
      reference_period: 'additive',
      state: 'additive',
      municipality: 'non_additive',
      health_region: 'non_additive',
    },
  })
  const { body: months } = await client.get('/v1/analytics/dimensions/reference_period/values')
  t.ok(months.data.some(({ code }: { code: string }) => code === '2024-12'))
  // Beside members stand the funds that the published file has rows of.
  for (const [dimension, where] of [
    ['state', 'uf'],
    ['region', 'region_code'],
    ['municipality', 'municipality_ibge_code'],
    ['reference_period', 'reference_period'],
  ] as const) {
    const filters = encodeURIComponent(
      JSON.stringify([
        stateIs('AC', 'AP', 'RR'),
        ...(dimension === 'reference_period' ? [] : [yearsAre(202412)]),
      ]),
    )
    const { body } = await client.get(
      `/v1/analytics/dimensions/${dimension}/values?counts=true&limit=250&filters=${filters}`,
    )
    const wanted = new Map(
      (
        await connection.runAndReadAll(
          `SELECT ${where}, count(*)::INT FROM placed WHERE transferred_cents IS NOT NULL${dimension === 'reference_period' ? '' : ' AND reference_period = 202412'} GROUP BY 1`,
        )
      )
        .getRows()
        .map(([code, count]) => [
          dimension === 'reference_period' ? monthText(Number(code)) : String(code),
          count,
        ]),
    )
    const found = body.data.flatMap(
      ({ code, facts }: { code: string | number; facts: Record<string, number | null> }) =>
        facts.federal_health_transfers ? [[String(code), facts.federal_health_transfers]] : [],
    )
    t.ok(found.length >= (dimension === 'region' ? 1 : 3), dimension)
    for (const [code, count] of found) t.equal(count, wanted.get(code), `${dimension} ${code}`)
  }
  const workbook = await client.post('/v1/analytics/exports/xlsx', query)
  t.equal(workbook.status, 200)
  const path = join(small.folder, 'transfers.xlsx')
  writeFileSync(path, workbook.bytes)
  const verdict = await verifyReport(path, small.releasesDir, null, readSettings({}))
  t.equal(verdict.verdict, 'reproduced', JSON.stringify(verdict).slice(0, 300))
})

t.test('a corrected year is a difference of its funds', secondRing, async (t) => {
  const folder = temporaryFolder('corrected')
  const fns = join(small.snapshots, 'financing/fns')
  cpSync(fns, folder, { recursive: true })
  const name = readdirSync(fns).find((file) => file.includes('2026')) ?? ''
  const lines = readFileSync(join(fns, name), 'utf8').split('\r\n')
  const header = (lines[0] ?? '').split(',')
  const cells = (lines[1] ?? '').split(',')
  const at = header.indexOf('VL_BRUTO')
  const before = Math.round(Number(cells[at]) * 100)
  cells[at] = String((before + 12_345) / 100)
  writeFileSync(join(folder, name), [lines[0], cells.join(','), ...lines.slice(2)].join('\r\n'))
  const { analytics } = await importPaths([folder], { releasesDir: small.releasesDir, maxRejected: 0 })
  const { status, body } = await client.post('/v1/analytics/compare', {
    old_release_id: small.result.analytics,
    new_release_id: analytics,
    metrics: ['federal_health_transfers'],
    group_by: ['state', 'reference_period'],
    filters: [stateIs(...STATES)],
  })
  t.equal(status, 200, JSON.stringify(body).slice(0, 300))
  const changed = body.data.filter(
    (row: { metrics: { federal_health_transfers: { delta: number | null } } }) =>
      (row.metrics.federal_health_transfers.delta ?? 0) !== 0,
  )
  t.equal(changed.length, 1)
  const { checks } = await checkPromotion(small.releasesDir, analytics)
  const [rows] = checks.filter(({ name }) => name === 'rows of the newest month')
  t.equal(rows?.met, true, 'reports of later months that it does not have are no loss of transfers')
  t.match(changed[0].metrics.federal_health_transfers, {
    delta: 123.45,
    causes: [{ side: 'numerator', cause: 'revised', records: 1, delta: 123.45 }],
  })
})

t.test('a release that joins no financing answers null', async (t) => {
  const old = await openWithout(small, 'financing')
  t.teardown(() => old.close())
  const { status, body } = await old.query({ metrics: METRICS })
  t.equal(status, 200)
  t.same(body.data[0].metrics, { federal_health_transfers: null, federal_health_transfers_per_capita: null })
  const absent = body.meta.notes.find(({ code }: WrittenNote) => code === 'not_collected')
  t.match(absent, { dataset: 'federal_health_transfers', periods: [] })
  t.equal(absent.states.length, 27)
})
