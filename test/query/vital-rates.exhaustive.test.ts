/**
 * Rates of deaths and births against plain SQL over the same records: ratios across both areas, rates of residents by age, and shares
 * of births. A side that was not collected gives null with a note.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t from 'tap'
import { lifeTableSql } from '../../src/query/analytics/dialect/duckdb/life-table.ts'
import { writePointer } from '../../src/release/writer.ts'
import { readSettings } from '../../src/settings.ts'
import { print, sql, TEXT } from '../../src/sql.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import {
  LIFE_TABLE_SCRIPT,
  lifeExpectancy,
  PUBLISHED_TABLE,
  PUBLISHED_YEARS,
  type TwinAge,
} from '../fixtures/life-table-twin.ts'
import { poisson, rounded, wilson } from '../fixtures/limits-twin.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { countOf } from '../fixtures/rings.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'
import {
  askingVital,
  COLUMNS,
  divide,
  inRoraima,
  inYear,
  isAllowed,
  isTime,
  METRICS,
  TWINS,
  type Twin,
} from '../fixtures/vital-questions.ts'
import { importVitalRecords } from '../fixtures/vital-records.ts'

const { releasesDir, result, ask } = await importVitalRecords()
await writePointer(releasesDir, result.analytics)
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const { draw, pick, shuffle } = createDraws(20)

const { question, countBy, tablesBy } = askingVital(client, ask)

t.test('drawn questions on Roraima, which has both sides', async (t) => {
  for (let index = 0; index < countOf(60, 20); index += 1) {
    const metric = pick(METRICS)
    const group_by = shuffle(Object.keys(COLUMNS))
      .filter((code) => isAllowed(metric, code))
      .slice(0, draw(3))
    const year = pick([2020, 2021])
    const { status, rows, body } = await question({
      metrics: [metric],
      group_by,
      filters: [inRoraima, inYear(year)],
    })
    const name = `${metric} by ${group_by.join()} in ${year}`
    t.equal(status, 200, `${name} ${JSON.stringify(body.errors ?? '')}`)
    const { scale, top, bottom } = TWINS[metric] as Twin
    const isOfResidents = bottom?.[0] === 'residents'
    const ofPlaces = group_by.filter((code) => !isOfResidents || !isTime(code))
    // Records without a month count in the year and in no month.
    const ofMonths = group_by.includes('reference_period') ? ' AND period IS NOT NULL' : ''
    const where = `uf = 'RR' AND year = ${year}${ofMonths}`
    const tops = await countBy(top, group_by, where)
    const bottoms =
      bottom === null ? null : await countBy(bottom, ofPlaces, isOfResidents ? "uf = 'RR'" : where)
    let compared = 0
    for (const [key, metrics] of rows) {
      const events = tops.get(key) ?? 0
      const members = key.split('|').filter((_, place) => ofPlaces.includes(group_by[place] ?? ''))
      const among = bottoms?.get(members.join('|')) ?? 0
      const expected = bottom === null ? events : among === 0 ? null : divide(events, among, scale)
      if (metrics[metric] !== expected) t.equal(metrics[metric], expected, `${name}: ${key}`)
      compared += 1
    }
    t.ok(compared > 0 && [...tops.keys()].every((key) => rows.has(key)), `${name}: every group has a row`)
  }
})

t.test('infant mortality of a table counted by hand, with limits and comparator', async (t) => {
  const components = ['early_neonatal', 'late_neonatal', 'post_neonatal'].map(
    (code) => `${code}_mortality_rate`,
  )
  const metrics = ['infant_mortality_rate', ...components, 'maternal_mortality_ratio']
  const { rows } = await question({
    metrics,
    group_by: ['residence_municipality'],
    filters: [inRoraima, inYear(2021)],
    limits: 0.95,
    compare_to: { with: 'state' },
  })
  const where = "uf = 'RR' AND year = 2021"
  const births = await countBy(['births', 'true'], ['residence_municipality'], where)
  const all = await countBy(['births', 'true'], [], where)
  for (const metric of metrics) {
    const { scale, top } = TWINS[metric] as Twin
    const events = await countBy(top, ['residence_municipality'], where)
    const state = divide((await countBy(top, [], where)).get('') ?? 0, all.get('') ?? 0, scale)
    for (const [place, among] of births) {
      const row = rows.get(place) ?? {}
      const count = events.get(place) ?? 0
      const [lower, upper] = poisson(count, 0.95).map((limit) => rounded((limit * scale) / among))
      t.same(
        [metric, '__lower', '__upper', '__comparator'].map(
          (kind) => row[kind === metric ? kind : `${metric}${kind}`],
        ),
        [divide(count, among, scale), lower, upper, state],
        `${metric} of ${place}: ${count} ÷ ${among}`,
      )
    }
  }
  const infantDeaths = [...(await countBy(['deaths', "infant_age = 'unknown'"], [], where)).values()][0] ?? 0
  t.ok(infantDeaths > 0, 'deaths of unknown days count in the infant rate alone')
  const share = await question({
    metrics: ['low_birth_weight_share'],
    group_by: ['residence_municipality'],
    filters: [inRoraima, inYear(2021)],
    limits: 0.95,
  })
  const weighed = await countBy(['births', 'is_low IS NOT NULL'], ['residence_municipality'], where)
  const low = await countBy(['births', 'is_low'], ['residence_municipality'], where)
  for (const [place, among] of weighed) {
    const limits = (wilson(low.get(place) ?? 0, among, 0.95) ?? []).map((limit) => rounded(limit * 100))
    const row = share.rows.get(place) ?? {}
    t.same([row.low_birth_weight_share__lower, row.low_birth_weight_share__upper], limits, place)
  }
})

t.test('windows of 12 months, coarser periods, totals and the health region', async (t) => {
  const metric = 'infant_mortality_rate'
  const infants = (TWINS[metric] as Twin).top
  const window = await question({
    metrics: [metric],
    group_by: ['reference_period'],
    filters: [
      inRoraima,
      { dimension: 'reference_period', operator: 'BETWEEN', value: ['2020-12', '2021-12'] },
    ],
    window: { months: 12 },
  })
  for (const [period, metrics] of window.rows) {
    const last = Number(period)
    const where = `uf = 'RR' AND period > ${last - 100} AND period <= ${last}`
    const [top, bottom] = [await countBy(infants, [], where), await countBy(['births', 'true'], [], where)]
    t.equal(metrics[metric], divide(top.get('') ?? 0, bottom.get('') ?? 0, 1000), period)
  }
  t.equal(window.rows.size, 13)
  const quarters = await question({
    metrics: [metric],
    group_by: ['reference_quarter'],
    filters: [inRoraima, inYear(2021)],
  })
  t.equal(quarters.rows.size, 4)
  for (const [quarter, metrics] of quarters.rows) {
    const number = Number(quarter.at(-1))
    const where = `uf = 'RR' AND year = 2021 AND (period % 100 - 1) // 3 + 1 = ${number}`
    const [top, bottom] = [await countBy(infants, [], where), await countBy(['births', 'true'], [], where)]
    t.equal(metrics[metric], divide(top.get('') ?? 0, bottom.get('') ?? 0, 1000), quarter)
  }
  const { body } = await client.query({
    metrics: [metric],
    group_by: ['residence_municipality', 'sex'],
    totals: [['sex'], []],
    filters: [inRoraima, inYear(2021)],
  })
  const where = "uf = 'RR' AND year = 2021"
  const [top, bottom] = [await countBy(infants, [], where), await countBy(['births', 'true'], [], where)]
  const grand = body.totals.find(({ group_by }: { group_by: string[] }) => group_by.length === 0)
  t.equal(grand.data[0].metrics[metric], divide(top.get('') ?? 0, bottom.get('') ?? 0, 1000))
})

t.test('a side that was not collected gives null and a note that names it', async (t) => {
  const rates = METRICS.filter((metric) => (TWINS[metric] as Twin).bottom?.[0] === 'births').filter(
    (metric) => (TWINS[metric] as Twin).top[0] === 'deaths',
  )
  for (const [year, missing, there] of [
    [2021, 'births', 'deaths'],
    [2020, 'deaths', 'births'],
  ] as const) {
    const { rows, notes } = await question({
      metrics: [...rates, there, missing],
      group_by: ['residence_state'],
      filters: [{ dimension: 'residence_state', operator: 'IN', value: ['AC', 'RR'] }, inYear(year)],
    })
    for (const rate of [...rates, missing]) {
      t.equal(rows.get('AC')?.[rate], null, `${rate} of Acre in ${year}`)
      t.type(rows.get('RR')?.[rate], 'number')
    }
    t.ok(Number(rows.get('AC')?.[there]) > 0)
    t.match(
      notes.filter(({ code }) => code === 'not_collected'),
      [{ dataset: missing, states: ['AC'] }],
    )
  }
})

t.test('a year without deaths has no life expectancy, and no error', async (t) => {
  const inYear = { dimension: 'reference_year', operator: 'EQ', value: 2030 }
  for (const options of [
    { group_by: ['reference_year'], filters: [inYear] },
    { group_by: ['reference_year', 'sex'], filters: [inYear], totals: [[]] },
  ]) {
    const { status, body, text } = await client.query({ metrics: ['life_expectancy_at_birth'], ...options })
    t.equal(status, 200, text.slice(0, 300))
    t.ok(
      body.meta.notes.some(
        ({ code, periods = [] }: { code: string; periods?: string[] }) =>
          code === 'not_collected' && periods.includes('2030-01'),
      ),
      'and a note says that the year was not collected',
    )
  }
})

t.test('life expectancy equals the published example, a textbook twin and Python', async (t) => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const compute = async (ages: readonly TwinAge[]): Promise<readonly [number, number]> => {
    const table = lifeTableSql(
      ages.map(({ deaths, people, years, lived }) => ({
        years,
        livedByDying: lived * (years ?? 0),
        deaths: TEXT(String(deaths)),
        residents: TEXT(String(people)),
      })),
      TEXT('12'),
    )
    const { text } = print(
      sql`SELECT life.e AS years, life.v AS variance FROM (SELECT ${table} AS life)`,
      () => '',
    )
    const [row] = (await connection.runAndReadAll(text)).getRowObjectsJson()
    return [Number(row?.years), Number(row?.variance)]
  }
  for (const [first, published] of Object.entries(PUBLISHED_YEARS)) {
    // At later ages the first group has lived a half, as the others.
    const [years, variance] = await compute(PUBLISHED_TABLE.slice(Number(first)))
    const found = [years, years - 1.96 * Math.sqrt(variance), years + 1.96 * Math.sqrt(variance)]
    t.same(
      found.map((value) => value.toFixed(6)),
      published.map((value) => value.toFixed(6)),
      `from age group ${first} on`,
    )
  }
  const drawn = Array.from({ length: countOf(40, 10) }, () =>
    PUBLISHED_TABLE.map((age) => ({
      ...age,
      deaths: draw(3) === 0 ? 1 + draw(3) : 1 + draw(age.people),
      people: age.people,
    })),
  )
  const found = await Promise.all(drawn.map(compute))
  const isNear = (left: number, right: number): boolean =>
    Math.abs(left - right) <= 1e-9 * Math.max(1, Math.abs(right))
  const compare = (name: string, others: readonly (readonly [number, number] | null)[]): void => {
    others.forEach((other, index) => {
      const [years, variance] = found[index] ?? [Number.NaN, Number.NaN]
      const [otherYears, otherVariance] = other ?? [Number.NaN, Number.NaN]
      t.ok(
        isNear(years, otherYears) && isNear(variance, otherVariance),
        `${name} ${index}: ${years} ${variance}, ${otherYears} ${otherVariance}`,
      )
    })
  }
  compare(
    'twin',
    drawn.map((ages) => lifeExpectancy(ages)),
  )
  // More tables would exceed the length of an argument.
  const missing = withoutPython('json')
  if (missing !== false) t.comment(missing)
  else
    compare(
      'Python',
      JSON.parse((await runPython(LIFE_TABLE_SCRIPT, JSON.stringify(drawn.slice(0, 40)))).stdout),
    )
})

t.test('life expectancy by place, sex, month and window, with limits and comparator', async (t) => {
  const metric = 'life_expectancy_at_birth'
  const z = 1.9599639845400543
  const questions: readonly (readonly [string[], Record<string, unknown>, string, number])[] = [
    [['residence_state'], { filters: [inRoraima, inYear(2021)] }, 'year = 2021', 12],
    [['residence_state', 'sex'], { filters: [inRoraima, inYear(2020)] }, 'year = 2020', 12],
    [['residence_municipality'], { filters: [inRoraima, inYear(2021)] }, 'year = 2021', 12],
    [
      [],
      { filters: [inRoraima, { dimension: 'reference_year', operator: 'IN', value: [2020, 2021] }] },
      'true',
      24,
    ],
    [
      ['residence_state'],
      { filters: [inRoraima, { dimension: 'reference_period', operator: 'EQ', value: '2021-05' }] },
      'period = 202105',
      1,
    ],
  ]
  let [shown, empty] = [0, 0]
  for (const [group_by, options, when, months] of questions) {
    const answer = await question({ metrics: [metric], group_by, limits: 0.95, ...options })
    t.equal(answer.status, 200, JSON.stringify(answer.body.errors ?? ''))
    const columns = group_by.map((code) => COLUMNS[code] ?? '')
    const tables = await tablesBy(columns, `uf = 'RR' AND ${when}`)
    for (const [key, row] of answer.rows) {
      const ages = tables.get(key) ?? []
      const people = ages.reduce((sum, age) => sum + age.people, 0)
      const expected = people < 5000 ? null : lifeExpectancy(ages, months)
      const values = [row[metric], row[`${metric}__lower`], row[`${metric}__upper`]]
      if (expected === null) {
        empty += 1
        t.same(values, [null, null, null], `${group_by.join()} ${key}`)
        continue
      }
      shown += 1
      const [years, variance] = expected
      const error = z * Math.sqrt(variance)
      t.same(
        values,
        [years, years - error, years + error].map((value) => rounded(value)),
        `${group_by.join()} ${key}`,
      )
    }
    if ([...answer.rows.values()].some((row) => row[metric] === null))
      t.ok(
        answer.notes.some((note) => note.code === 'null_rows'),
        'a note says why rows are null',
      )
  }
  t.ok(shown > 4 && empty > 0, `${shown} values, ${empty} nulls`)
  const window = await question({
    metrics: [metric],
    group_by: ['reference_period'],
    filters: [inRoraima, { dimension: 'reference_period', operator: 'EQ', value: '2021-06' }],
    window: { months: 12 },
  })
  const [ages = []] = (await tablesBy([], "uf = 'RR' AND period > 202006 AND period <= 202106")).values()
  t.equal(window.rows.get('202106')?.[metric], rounded(lifeExpectancy(ages)?.[0] ?? 0))
  const compared = await question({
    metrics: [metric],
    group_by: ['residence_municipality'],
    filters: [inRoraima, inYear(2021)],
    compare_to: { with: 'state' },
  })
  const state = await question({
    metrics: [metric],
    group_by: ['residence_state'],
    filters: [inRoraima, inYear(2021)],
  })
  for (const row of compared.rows.values())
    t.equal(row[`${metric}__comparator`], state.rows.get('RR')?.[metric])
  t.equal((await question({ metrics: [metric], group_by: ['cause_chapter'] })).status, 400)
})

t.test('lineage, explain and reports of rates', async (t) => {
  const { status, body: maternal } = await client.post('/v1/analytics/lineage', {
    metrics: ['maternal_deaths'],
    filters: [inRoraima, inYear(2021)],
    limit: 1000,
  })
  t.equal(status, 200)
  const deaths = await countBy(['deaths', 'is_maternal'], [], "uf = 'RR' AND year = 2021")
  t.equal(maternal.meta.total, deaths.get(''))
  t.ok(
    maternal.pagination.total_rows <= maternal.meta.total && maternal.pagination.total_rows > 0,
    'of a stored sum, records that contribute 0 are left out',
  )
  for (const metric of ['infant_mortality_rate', 'premature_ncd_deaths_per_100k', 'low_birth_weight_share']) {
    const body = { metrics: [metric], group_by: ['residence_state'], filters: [inRoraima, inYear(2021)] }
    const totals: number[] = []
    for (const side of ['numerator', 'denominator']) {
      let [sum, offset, hasMore] = [0, 0, true]
      for (; hasMore; offset += 1000) {
        const page = await client.post('/v1/analytics/lineage', {
          ...{ ...body, key: { residence_state: 'RR' }, side, limit: 1000, offset },
        })
        for (const { contribution, sources } of page.body.data) {
          sum += contribution
          if (sources.length === 0) t.fail(`${metric}: a record without its file`)
        }
        hasMore = page.body.pagination.has_more
      }
      totals.push(sum)
    }
    const [top = 0, bottom = 0] = totals
    const value = (await question(body)).rows.get('RR')?.[metric]
    t.equal(divide(top, bottom, TWINS[metric]?.scale ?? 1), value, `${metric}: ${top} ÷ ${bottom}`)
  }
  const metrics = [
    'infant_mortality_rate',
    'maternal_mortality_ratio',
    'premature_ncd_deaths_per_100k',
    'life_expectancy_at_birth',
  ]
  const body = {
    metrics,
    group_by: ['residence_municipality'],
    totals: [[]],
    filters: [inRoraima, inYear(2021)],
    limits: 0.95,
  }
  t.equal((await client.post('/v1/analytics/explain', body)).status, 200)
  const report = await client.post('/v1/analytics/exports/xlsx', body)
  t.equal(report.status, 200)
  const file = join(temporaryFolder('report'), 'rates.xlsx')
  writeFileSync(file, report.bytes)
  const { verdict } = await verifyReport(file, releasesDir, null, readSettings({}))
  t.equal(verdict, 'reproduced')
})
