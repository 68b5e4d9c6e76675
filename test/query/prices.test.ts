/**
 * Constant prices against their twin: sums of exact fractions over the release's rows and the published index, in plain TypeScript. Then
 * what holds of all of them: prices of a month's time are its values, what has no index is null, and reports are reproduced.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { writePointer } from '../../src/release/writer.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { decimal } from '../fixtures/oracle.ts'
import { countOf, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, type SmallRelease } from '../fixtures/small-release.ts'

interface Fraction {
  readonly top: bigint
  readonly bottom: bigint
}
interface FactRow {
  readonly table: 'sih' | 'sia'
  readonly month: string
  readonly municipality: number
  readonly complexity: string
  readonly cents: bigint
  readonly admissions: bigint
}
interface Place {
  readonly uf: string
  readonly region: number
  readonly people: bigint
}
interface Twin {
  readonly facts: readonly FactRow[]
  readonly places: ReadonlyMap<number, Place>
  readonly index: ReadonlyMap<string, bigint>
  readonly months: readonly string[]
}

async function readTwin({ releasesDir, snapshots, result }: SmallRelease): Promise<Twin> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const read = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjects()
  const files = (id: string | null, dataset: string): string =>
    `read_parquet('${join(releasesDir, id ?? '', dataset)}/**/*.parquet', hive_partitioning = true)`
  const factsSql = (table: string, from: string, cents: string, admissions: string): string =>
    `SELECT '${table}' AS "table", CAST(reference_period AS VARCHAR) AS month, municipality_ibge_code AS municipality, complexity_code AS complexity,
      sum(${cents}) AS cents, sum(${admissions}) AS admissions FROM ${from} GROUP BY ALL`
  const rows = [
    ...(await read(
      factsSql('sih', files(result.sih, 'hospital_admissions'), 'value_total_cents', 'admissions'),
    )),
    ...(result.sia === null
      ? []
      : await read(factsSql('sia', files(result.sia, 'outpatient_production'), 'value_approved_cents', '0'))),
  ]
  const places = await read(
    `SELECT ibge_code, m.uf, region_code, coalesce(population, 0) AS people FROM ${files(result.demography, 'municipalities')} m
      LEFT JOIN ${files(result.demography, 'population')} p ON population_type = 'CENSUS_POPULATION' AND CAST(municipality_code AS INTEGER) = ibge_code`,
  )
  const elements = JSON.parse(readFileSync(join(snapshots, 'ibge/sidra_values_1737.json'), 'utf8')) as {
    V: string
    D3C: string
  }[]
  const monthOf = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`
  return {
    facts: rows.map((row) => ({
      table: row.table as 'sih' | 'sia',
      month: monthOf(String(row.month)),
      municipality: Number(row.municipality),
      complexity: String(row.complexity),
      cents: BigInt(String(row.cents)),
      admissions: BigInt(String(row.admissions)),
    })),
    places: new Map(
      places.map((row) => [
        Number(row.ibge_code),
        { uf: String(row.uf), region: Number(row.region_code), people: BigInt(String(row.people)) },
      ]),
    ),
    index: new Map(elements.slice(1).map(({ V, D3C }) => [monthOf(D3C), BigInt(V.replace('.', ''))])),
    months: [...new Set(rows.map(({ month }) => monthOf(String(month))))].sort(),
  }
}

const add = (left: Fraction, right: Fraction): Fraction => ({
  top: left.top * right.bottom + right.top * left.bottom,
  bottom: left.bottom * right.bottom,
})
const divide = (left: Fraction, right: Fraction): Fraction | null =>
  right.top === 0n ? null : { top: left.top * right.bottom, bottom: left.bottom * right.top }
const textOf = (value: Fraction | null): string | null =>
  value === null ? null : decimal(value.top, value.bottom)

type Codes = Readonly<Record<string, string | number | null>>
interface Scope {
  readonly states: readonly string[]
  readonly months: readonly string[]
}
const PERIODS = ['reference_period', 'reference_quarter', 'reference_year']
const nameOfPeriod = (dimension: string, month: string): string | number =>
  dimension === 'reference_year'
    ? Number(month.slice(0, 4))
    : dimension === 'reference_quarter'
      ? `${month.slice(0, 4)}-Q${Math.ceil(Number(month.slice(5)) / 3)}`
      : month

/** The value of a group by hand. @param prices month or year; null for values of their time */
function valueByHand(
  metric: string,
  codes: Codes,
  { states, months }: Scope,
  prices: string | number | null,
  { facts, places, index }: Twin,
): Fraction | null {
  const target =
    typeof prices === 'number'
      ? [...index.keys()].filter((month) => month.startsWith(String(prices)))
      : [prices ?? '']
  const mean = target.reduce((sum, month) => sum + (index.get(month) ?? 0n), 0n)
  const isInside = (municipality: number): boolean => {
    const place = places.get(municipality)
    return (
      place !== undefined &&
      states.includes(place.uf) &&
      (codes.state === undefined || codes.state === place.uf) &&
      (codes.region === undefined || codes.region === place.region) &&
      (codes.municipality === undefined || codes.municipality === municipality)
    )
  }
  const table = metric.startsWith('outpatient') ? 'sia' : 'sih'
  const rows = facts.filter(
    (row) =>
      row.table === table &&
      months.includes(row.month) &&
      (codes.complexity === undefined || codes.complexity === row.complexity) &&
      isInside(row.municipality),
  )
  const admissions = rows.reduce((sum, row) => sum + row.admissions, 0n)
  if (metric === 'admissions') return { top: admissions, bottom: 1n }
  let reais: Fraction = { top: 0n, bottom: 1n }
  for (const month of months) {
    const cents = rows.filter((row) => row.month === month).reduce((sum, row) => sum + row.cents, 0n)
    const indexNumber = index.get(month) ?? 0n
    reais = add(
      reais,
      prices === null
        ? { top: cents, bottom: 100n }
        : { top: cents * mean, bottom: 100n * indexNumber * BigInt(target.length) },
    )
  }
  if (metric === 'average_admission_value') return divide(reais, { top: admissions, bottom: 1n })
  if (metric !== 'outpatient_value_per_capita') return reais
  const people = [...places]
    .filter(([code]) => isInside(code))
    .reduce((sum, [, place]) => sum + place.people, 0n)
  return divide(reais, { top: people, bottom: 1n })
}

interface AnswerRow {
  readonly dimensions: Readonly<Record<string, { readonly code: string | number | null }>>
  readonly metrics: Readonly<Record<string, number | string | null>>
}
interface Answer {
  readonly data: readonly AnswerRow[]
  readonly totals?: readonly { readonly group_by: readonly string[]; readonly data: readonly AnswerRow[] }[]
  readonly meta: {
    readonly notes: readonly WrittenNote[]
    readonly prices?: unknown
    readonly query: Readonly<Record<string, unknown>>
    readonly citation: { readonly abnt: string }
  }
}
async function ask(client: Client, body: object): Promise<Answer> {
  const { status, body: answer, text } = await client.query({ limit: 10_000, ...body })
  if (status !== 200) throw new Error(`${JSON.stringify(body)} ${text}`)
  return answer as Answer
}
const codesOf = ({ dimensions }: AnswerRow): Codes =>
  Object.fromEntries(Object.entries(dimensions).map(([name, { code }]) => [name, code]))
const isEqual = (shown: unknown, expected: Fraction | null): boolean =>
  shown === null || expected === null ? shown === expected : Number(textOf(expected)) === shown

const MONEY = ['admissions_value', 'average_admission_value']
const PRODUCTION = ['outpatient_value_approved', 'outpatient_value_per_capita']
/** States whose files came in all months. */
const STATES = ['RR', 'AC']

/** Draws queries and compares every value, base, change, share and comparator. @returns number of values */
async function compareDrawn(
  t: Test,
  client: Client,
  twin: Twin,
  count: number,
  seed: number,
): Promise<number> {
  const { draw, pick, shuffle } = createDraws(seed)
  const years = [2019, 2024, 2025]
  let compared = 0
  for (let number = 0; number < count; number += 1) {
    const hasProduction = twin.facts.some(({ table }) => table === 'sia')
    const metrics = shuffle([...MONEY, 'admissions', ...(hasProduction ? PRODUCTION : [])]).slice(
      0,
      1 + draw(3),
    )
    const place = pick([[], ['state'], ['region'], ['municipality'], ['municipality', 'state']])
    const period = pick([
      [],
      ['reference_period'],
      ['reference_period'],
      ['reference_quarter'],
      ['reference_year'],
    ])
    const complexity = draw(4) === 0 && !metrics.includes('outpatient_value_per_capita') ? ['complexity'] : []
    const group_by = shuffle([...place, ...period, ...complexity])
    const isByMonth = period[0] === 'reference_period'
    const months = period.length > 0 || draw(2) === 0 ? twin.months : [pick(twin.months)]
    const prices = pick([pick([...twin.index.keys()]), pick(years), twin.months.at(-1) ?? ''])
    const window = isByMonth && draw(3) === 0 ? 2 : 1
    const change = isByMonth && window === 1 && draw(2) === 0 ? { to: 'previous' } : null
    const additive = metrics.filter((code) => !/average|per_capita/.test(code))
    const share_of = additive.length > 0 && window === 1 && draw(2) === 0 ? period : null
    const totals = window > 1 ? [] : [period.length === 0 ? [] : period]
    const compare_to = place[0] === 'municipality' && draw(2) === 0 ? { with: 'state' } : null
    const body = {
      metrics,
      group_by,
      filters: [
        { dimension: 'state', operator: 'IN', value: STATES },
        { dimension: 'reference_period', operator: 'IN', value: months },
      ],
      prices,
      totals,
      ...(change === null ? {} : { change }),
      ...(share_of === null ? {} : { share_of }),
      ...(window === 1 ? {} : { window: { months: window } }),
      ...(compare_to === null ? {} : { compare_to }),
      percentile: draw(3) === 0,
      order_by: draw(2) === 0 ? [{ field: metrics[0], direction: 'desc' }] : [],
    }
    const answer = await ask(client, body)
    const monthsOfRow = (codes: Codes): string[] | null => {
      const coveredMonths = months.filter((month) =>
        PERIODS.every((code) => codes[code] === undefined || nameOfPeriod(code, month) === codes[code]),
      )
      if (window === 1) return coveredMonths
      const at = twin.months.indexOf(coveredMonths[0] ?? '')
      return at === 0 ? null : twin.months.slice(at - 1, at + 1)
    }
    const valueAt = (metric: string, codes: Codes, own: readonly string[] | null): Fraction | null =>
      own === null ? null : valueByHand(metric, codes, { states: STATES, months: own }, prices, twin)
    const check = (row: AnswerRow, name: string, expected: Fraction | null): void => {
      compared += 1
      if (!isEqual(row.metrics[name], expected))
        t.fail(`${name} ${JSON.stringify(row)} expected ${textOf(expected)}: ${JSON.stringify(body)}`)
    }
    for (const [level, rows] of [
      [group_by, answer.data] as const,
      ...(answer.totals ?? []).map((own) => [own.group_by, own.data] as const),
    ])
      for (const row of rows) {
        const codes = codesOf(row)
        const rowMonths = monthsOfRow(codes)
        for (const metric of metrics) {
          const value = valueAt(metric, codes, rowMonths)
          check(row, metric, value)
          const at = twin.months.indexOf(rowMonths?.[0] ?? '')
          const base = at > 0 ? valueAt(metric, codes, [twin.months[at - 1] ?? '']) : null
          if (change !== null) {
            check(row, `${metric}__base`, base)
            const difference =
              value === null || base === null ? null : add(value, { top: -base.top, bottom: base.bottom })
            check(row, `${metric}__change`, difference)
            check(
              row,
              `${metric}__change_percent`,
              difference === null || base === null
                ? null
                : divide({ ...difference, top: 100n * difference.top }, base),
            )
          }
          if (share_of !== null && additive.includes(metric)) {
            const totalValue = valueAt(
              metric,
              Object.fromEntries(share_of.map((code) => [code, codes[code] ?? null])),
              rowMonths,
            )
            check(
              row,
              `${metric}__share`,
              value === null || totalValue === null
                ? null
                : divide({ ...value, top: 100n * value.top }, totalValue),
            )
          }
          if (compare_to !== null && level === group_by) {
            const uf = twin.places.get(Number(codes.municipality))?.uf ?? ''
            const { municipality: _municipality, ...others } = codes
            const larger = valueAt(metric, { ...others, state: uf }, rowMonths)
            check(row, `${metric}__comparator`, larger)
            check(row, `${metric}__ratio`, value === null || larger === null ? null : divide(value, larger))
          }
        }
      }
    if (body.order_by.length > 0) {
      const values = answer.data
        .map((row) => row.metrics[metrics[0] ?? ''] ?? Number.NEGATIVE_INFINITY)
        .map(Number)
      t.ok(
        values.every((value, index) => index === 0 || value <= (values[index - 1] ?? 0)),
        `in order: ${JSON.stringify(body)}`,
      )
    }
  }
  return compared
}

const small = await makeSmallRelease('production')
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const twin = await readTwin(small)

t.test('values in constant prices are sums of exact fractions', async (t) => {
  const compared = await compareDrawn(t, client, twin, countOf(20, 8), 7)
  t.ok(compared > 50, `${compared} values`)
})

t.test('values of three months are, too', secondRing, async (t) => {
  const months = await makeSmallRelease('admissions')
  const monthsClient = await openClient(months.releasesDir)
  t.teardown(() => monthsClient.close())
  t.ok((await compareDrawn(t, monthsClient, await readTwin(months), countOf(8, 0), 11)) > 50)
})

const inStates = { dimension: 'state', operator: 'IN', value: STATES }
t.test("prices of a month's time are its values", async (t) => {
  const [month = ''] = twin.months
  const query = {
    metrics: [...MONEY, ...PRODUCTION, 'admissions'],
    group_by: ['municipality'],
    filters: [inStates, { dimension: 'reference_period', operator: 'EQ', value: month }],
  }
  const [nominal, constant] = await Promise.all([
    ask(client, query),
    ask(client, { ...query, prices: month }),
  ])
  t.ok(nominal.data.some(({ metrics }) => Number(metrics.admissions_value) > 0))
  t.same(constant.data, nominal.data)
  t.same(constant.meta.prices, {
    reais_of: month,
    index: 'IPCA',
    dataset: 'price_index',
    metrics: ['admissions_value', 'average_admission_value', ...PRODUCTION],
  })
  const note = constant.meta.notes.find(({ code }) => code === 'constant_prices')
  t.match(note, { prices_of: month, unchanged: ['admissions'] })
  t.match(constant.meta.citation.abnt, `Valor das internações (reais de ${month})`)
  t.notOk('prices' in (await ask(client, { metrics: ['admissions'], prices: month })).meta.query, 'no effect')
})

t.test('a year is the mean of its months, and is written as text or number', async (t) => {
  const query = { metrics: ['admissions_value'], filters: [inStates] }
  const [number, text] = await Promise.all([
    ask(client, { ...query, prices: 2025 }),
    ask(client, { ...query, prices: '2025' }),
  ])
  t.same(number, text)
  t.equal(number.meta.query.prices, 2025)
})

t.test('lineage adds up to the cell, and says of which time its reais are', async (t) => {
  const query = {
    metrics: ['admissions_value'],
    group_by: ['state'],
    filters: [inStates, { dimension: 'reference_period', operator: 'IN', value: twin.months }],
    prices: '2024-01',
  }
  const { data } = await ask(client, query)
  const { status, body } = await client.post('/v1/analytics/lineage', {
    ...query,
    key: { state: 'RR' },
    limit: 1000,
  })
  t.equal(status, 200, JSON.stringify(body).slice(0, 300))
  const value = data.find(({ dimensions }) => dimensions.state?.code === 'RR')?.metrics.admissions_value
  t.equal(body.meta.value, value)
  t.equal(Number(body.meta.total.toFixed(2)), value)
  t.match(body.meta.prices, { reais_of: '2024-01' })
  if (body.pagination.total_rows === body.data.length) {
    const sum = body.data.reduce(
      (total: number, row: { contribution: number }) => total + row.contribution,
      0,
    )
    t.ok(Math.abs(sum - body.meta.total) < 1e-6)
  }
  const explained = await client.post('/v1/analytics/explain', query)
  t.equal(explained.status, 200)
  t.equal(explained.body.data.query.prices, '2024-01')
})

t.test('reports name the prices, and are reproduced', secondRing, async (t) => {
  const body = {
    metrics: ['admissions_value', 'outpatient_value_per_capita', 'admissions'],
    group_by: ['state', 'reference_period'],
    filters: [inStates],
    prices: 2025,
    change: { to: 'previous' },
    totals: [['reference_period']],
  }
  for (const format of ['xlsx', 'csv', 'json-stat']) {
    const report = await client.post(`/v1/analytics/export?format=${format}`, body)
    t.equal(report.status, 200, `${format} ${report.text.slice(0, 300)}`)
    const path = join(small.folder, `prices.${format}`)
    writeFileSync(path, report.bytes)
    const verdict = await verifyReport(path, small.releasesDir, null, readSettings({}))
    t.equal(verdict.verdict, 'reproduced', `${format} ${JSON.stringify(verdict).slice(0, 300)}`)
    if (format !== 'json-stat') continue
    const { metric } = report.body.dimension
    t.equal(metric.category.label.admissions_value, 'Valor das internações (reais de 2025)')
    t.equal(metric.category.unit.outpatient_value_per_capita.label, 'BRL of 2025 per inhabitant')
    t.equal(metric.category.label.admissions, 'Internações')
  }
  const link = await client.get(`/v1/analytics/query?q=${encodeURIComponent(JSON.stringify(body))}`)
  t.equal(link.status, 200)
})

t.test('a month without an index is null, and a note says so', secondRing, async (t) => {
  const production = await makeSmallRelease('production')
  const [april = '', may = ''] = twin.months
  const change = async (last: number | null): Promise<Client> => {
    const demography = await forgeRelease(
      production.releasesDir,
      production.result.demography ?? '',
      (_folder, { counts }) => {
        if (last === null) {
          delete counts.price_index_first
          delete counts.price_index_last
        } else counts.price_index_last = last
      },
    )
    const analytics = await forgeRelease(
      production.releasesDir,
      production.result.analytics,
      (_folder, manifest) => {
        manifest.components.demography = demography
      },
    )
    writePointer(production.releasesDir, analytics)
    const opened = await openClient(production.releasesDir)
    t.teardown(() => opened.close())
    return opened
  }
  const short = await change(Number(april.replace('-', '')))
  const query = { metrics: ['admissions_value', 'admissions'], filters: [inStates], prices: april }
  const byMonth = await ask(short, { ...query, group_by: ['reference_period'] })
  const [first, second] = byMonth.data
  t.ok(Number(first?.metrics.admissions_value) > 0)
  t.same([second?.metrics.admissions_value, Number(second?.metrics.admissions) > 0], [null, true])
  t.match(
    byMonth.meta.notes.find(({ code }) => code === 'no_price_index'),
    { periods: [may], metrics: ['admissions_value'] },
  )
  const months = { dimension: 'reference_period', operator: 'IN', value: [april, may] }
  const both = await ask(short, { ...query, filters: [inStates, months] })
  t.equal(both.data[0]?.metrics.admissions_value, null, 'a sum that needs the month')
  const partial = await ask(short, { ...query, group_by: ['reference_year'], incomplete: 'allow' })
  t.equal(
    partial.data[0]?.metrics.admissions_value,
    first?.metrics.admissions_value,
    'the months with an index',
  )
  const changed = await ask(short, { ...query, group_by: ['reference_period'], change: { to: 'previous' } })
  t.equal(changed.data[1]?.metrics.admissions_value__base, first?.metrics.admissions_value)
  t.equal(changed.data[1]?.metrics.admissions_value__change, null)
  const compared = await short.post('/v1/analytics/compare', {
    ...query,
    group_by: ['reference_period'],
    old_release_id: production.result.analytics,
  })
  t.equal(compared.status, 200)
  t.same(
    compared.body.data.map((row: { metrics: Record<string, { old: number; new: number | null }> }) => [
      Number(row.metrics.admissions_value?.old) > 0,
      row.metrics.admissions_value?.new,
    ]),
    [[true, null]],
    'only the month whose index went away differs',
  )
  const beyond = await short.query({ ...query, prices: may })
  t.equal(beyond.status, 400)
  t.match(beyond.body.detail, '/prices deve ser um mês, ou um ano com todos os meses, de 2019-01 a 2026-04')
  t.equal((await short.query({ ...query, prices: 2026 })).status, 400, 'a year that runs on')
  const without = await change(null)
  const refused = await without.query(query, { 'accept-language': 'en' })
  t.equal(refused.status, 400)
  t.match(refused.body.detail, 'needs the index IPCA, which this release does not hold')
  for (const wrong of ['2026-13', 'maio', 20265])
    t.equal((await client.query({ ...query, prices: wrong })).status, 400, String(wrong))
})
