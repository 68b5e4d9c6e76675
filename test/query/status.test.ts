/** Statuses of values: each by hand on the demonstration, then all rows by a twin in plain TypeScript, tables and reports. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkAlone } from '../../src/report/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { cases, secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { folder, releasesDir } = await makeSmallRelease('admissions')
const client = await openClient(releasesDir)
t.teardown(() => client.close())

interface AnswerRow {
  readonly label: string
  readonly dimensions: Readonly<Record<string, { readonly code: string | number | null }>>
  readonly metrics: Readonly<Record<string, number | null>>
  readonly status: Readonly<Record<string, string>>
}
interface Answer {
  readonly data: readonly AnswerRow[]
  readonly totals: readonly { readonly data: readonly AnswerRow[] }[]
  readonly meta: {
    readonly notes: readonly {
      readonly code: string
      readonly message: string
      readonly periods?: string[]
    }[]
    readonly query: Readonly<Record<string, unknown>>
  }
}
async function ask(body: Record<string, unknown>): Promise<Answer> {
  const { status, body: answer, text } = await client.query({ limit: 10_000, status: true, ...body })
  if (status !== 200) throw new Error(text)
  return answer
}
/** @returns value and status of a metric, by label */
const byLabel = ({ data }: Answer, metric: string): Record<string, readonly [number | null, string]> =>
  Object.fromEntries(
    data.map(({ label, metrics, status }) => [
      label,
      [metrics[metric] ?? null, status[metric] ?? ''] as const,
    ]),
  )
const inStates = (...value: string[]) => ({ dimension: 'state', operator: 'IN', value })

t.test('a month: preliminary, small, final, or not collected', async (t) => {
  const answer = await ask({
    metrics: ['hospital_mortality_share', 'hospital_deaths', 'bed_capacity_existing'],
    group_by: ['state'],
    totals: [[]],
  })
  const share = byLabel(answer, 'hospital_mortality_share')
  const deaths = byLabel(answer, 'hospital_deaths')
  const spring = await ask({
    metrics: ['hospital_mortality_share', 'hospital_deaths'],
    group_by: ['state'],
    filters: [{ dimension: 'reference_period', operator: 'IN', value: ['2026-03', '2026-04', '2026-05'] }],
  })
  const deathsOfSpring = byLabel(spring, 'hospital_deaths').Acre?.[0]
  t.ok(Number(deathsOfSpring) >= 10)
  t.equal(
    byLabel(spring, 'hospital_mortality_share').Acre?.[1],
    'preliminary',
    `${deathsOfSpring} deaths are enough`,
  )
  t.equal(share.Roraima?.[1], 'small_number', `${deaths.Roraima?.[0]} deaths`)
  t.ok(Number(deaths.Roraima?.[0]) < 10)
  t.equal(deaths.Roraima?.[1], 'preliminary', 'a count is no rate')
  t.same(share.Amapá, [null, 'not_collected'], 'no file of May')
  t.equal(byLabel(answer, 'bed_capacity_existing').Roraima?.[1], 'final')
  t.same(answer.totals[0]?.data[0]?.status, {
    hospital_mortality_share: 'not_collected',
    hospital_deaths: 'not_collected',
    bed_capacity_existing: 'final',
  })
  const note = answer.meta.notes.find(({ code }) => code === 'preliminary')
  t.same(note?.periods, ['2026-05'])
  t.equal(answer.meta.query.status, true)
  t.notOk('status' in (await ask({ metrics: ['facilities_count'], status: false })).meta.query)
})

t.test('a year is incomplete, not collected, or the part that was allowed', async (t) => {
  const year = { metrics: ['admissions'], group_by: ['state', 'reference_year'] }
  const strict = byLabel(await ask(year), 'admissions')
  t.same(strict['Roraima · 2026'], [null, 'incomplete'])
  t.same(strict['Bahia · 2026'], [null, 'not_collected'])
  const allowed = byLabel(await ask({ ...year, incomplete: 'allow' }), 'admissions')
  t.equal(allowed['Roraima · 2026']?.[1], 'partial')
  t.ok(Number(allowed['Roraima · 2026']?.[0]) > 0)
  t.same(allowed['Bahia · 2026'], [null, 'not_collected'])
  const months = { dimension: 'reference_period', operator: 'IN', value: ['2026-03', '2026-04', '2026-05'] }
  const summed = byLabel(await ask({ ...year, group_by: ['state'], filters: [months] }), 'admissions')
  t.equal(summed.Roraima?.[1], 'preliminary')
  t.same(summed.Amapá, [null, 'incomplete'], 'two of three months')
  t.same(summed.Bahia, [null, 'not_collected'])
  const windows = await ask({
    metrics: ['admissions'],
    group_by: ['reference_period'],
    window: { months: 2 },
    filters: [inStates('AP')],
  })
  t.same(
    windows.data.map(({ label, status }) => [label, status.admissions]),
    [
      ['2026-03', 'incomplete'],
      ['2026-04', 'preliminary'],
    ],
  )
})

t.test('a stock over a year is final only with all of its months', async (t) => {
  const stock = { metrics: ['bed_capacity_existing'], group_by: ['reference_year'], over_period: 'last' }
  const [strict] = (await ask(stock)).data
  t.same([strict?.metrics.bed_capacity_existing, strict?.status.bed_capacity_existing], [null, 'incomplete'])
  const allowed = await ask({ ...stock, incomplete: 'allow' })
  t.equal(allowed.data[0]?.status.bed_capacity_existing, 'partial')
  t.notOk(
    allowed.meta.notes.some(({ code }) => code === 'preliminary'),
    'the registry is not revised',
  )
})

t.test('no population, no cases, one event, ten events', async (t) => {
  const beds = await ask({
    metrics: ['beds_existing_per_100k', 'population_census'],
    group_by: ['municipality'],
  })
  t.same(byLabel(beds, 'beds_existing_per_100k')['Boa Esperança do Norte'], [null, 'no_denominator'])
  t.same(byLabel(beds, 'population_census')['Boa Esperança do Norte'], [null, 'not_collected'])
  t.equal(byLabel(beds, 'beds_existing_per_100k').Uiramutã?.[1], 'final', 'no beds are no event')
  const shares = await ask({
    metrics: [
      'hospital_mortality_share',
      'admissions',
      'hospital_deaths',
      { as: 'r', ratio: ['hospital_deaths', 'admissions'] },
    ],
    group_by: ['municipality'],
    filters: [inStates('RR')],
  })
  const share = byLabel(shares, 'hospital_mortality_share')
  t.same(byLabel(shares, 'admissions').Amajari, [0, 'preliminary'])
  t.same(share.Amajari, [null, 'no_denominator'])
  t.same(byLabel(shares, 'r').Amajari, [null, 'no_denominator'])
  t.same(byLabel(shares, 'r').Cantá?.[1], 'preliminary', 'a ratio of the query has no small numbers')
  t.same(byLabel(shares, 'hospital_deaths').Cantá?.[0], 1)
  t.equal(share.Cantá?.[1], 'small_number')
})

t.test('rates of residents have the statuses of a twin', async (t) => {
  const group_by = ['residence_municipality']
  for (const incomplete of cases([null, 'allow'], [null])) {
    const period = incomplete === null ? [] : ['reference_quarter']
    const [rates, people] = await Promise.all([
      ask({
        metrics: ['admissions_per_10k', 'hospital_mortality_share', 'admissions', 'hospital_deaths'],
        group_by: [...group_by, ...period],
        incomplete,
      }),
      ask({ metrics: ['population_census'], group_by: ['municipality'] }),
    ])
    const residents = new Map(
      people.data.map((row) => [row.dimensions.municipality?.code, row.metrics.population_census ?? null]),
    )
    // Published: March and April of Acre, Amapá and Roraima, May without Amapá.
    const collected = new Set(['12', '14', ...(incomplete === null ? [] : ['16'])])
    const tally = new Map<string, number>()
    const differences: string[] = []
    for (const { label, dimensions, metrics, status } of rates.data) {
      const code = dimensions.residence_municipality?.code ?? null
      const isCollected = code !== null && collected.has(String(code).slice(0, 2))
      const population = residents.get(code) ?? 0
      const { admissions, hospital_deaths } = metrics
      const statusOf = (denominator: number, isSmall: boolean): string => {
        if (!isCollected) return 'not_collected'
        if (denominator === 0) return 'no_denominator'
        if (incomplete !== null) return 'partial'
        return isSmall ? 'small_number' : 'preliminary'
      }
      const expected = {
        admissions_per_10k: statusOf(population, Number(admissions) < 10 || population < 5000),
        hospital_mortality_share: statusOf(Number(admissions), Number(hospital_deaths) < 10),
      }
      for (const [metric, wanted] of Object.entries(expected)) {
        if (status[metric] !== wanted)
          differences.push(`${label} ${metric}: ${status[metric]}, not ${wanted}`)
        tally.set(wanted, (tally.get(wanted) ?? 0) + 1)
      }
    }
    t.same(differences.slice(0, 5), [])
    t.ok(tally.size >= 3, JSON.stringify([...tally]))
  }
})

t.test('a standardized rate of many events of few residents is a small number', async (t) => {
  const metric = 'admissions_per_10k_standardized'
  const months = { dimension: 'reference_period', operator: 'IN', value: ['2026-03', '2026-04', '2026-05'] }
  const [rates, people] = await Promise.all([
    ask({
      metrics: [metric, 'admissions'],
      group_by: ['residence_municipality', 'sex'],
      filters: [{ ...inStates('AC', 'RR'), dimension: 'residence_state' }, months],
    }),
    ask({
      metrics: ['population_by_age'],
      group_by: ['municipality', 'sex'],
      filters: [inStates('AC', 'RR')],
    }),
  ])
  const groupOf = ({ dimensions }: AnswerRow): string =>
    Object.values(dimensions)
      .map(({ code }) => code)
      .join()
  const residents = new Map(people.data.map((row) => [groupOf(row), Number(row.metrics.population_by_age)]))
  const tally = new Map<string, number>()
  for (const row of rates.data) {
    if (row.metrics[metric] === null || Number(row.metrics.admissions) < 10) continue
    const status = row.status[metric] ?? ''
    t.equal(status, Number(residents.get(groupOf(row))) < 5000 ? 'small_number' : 'preliminary', row.label)
    tally.set(status, (tally.get(status) ?? 0) + 1)
  }
  t.equal(tally.size, 2, JSON.stringify([...tally]))
})

t.test(
  'tables have a column, JSON-stat its status; neither orders rows nor stands in conditions',
  async (t) => {
    const body = {
      metrics: ['hospital_mortality_share'],
      group_by: ['municipality'],
      filters: [inStates('RR')],
      status: true,
    }
    const csv = await client.query(body, { accept: 'text/csv' })
    t.match(csv.text, /hospital_mortality_share,hospital_mortality_share__status/)
    t.match(csv.text, /,no_denominator\r\n/)
    const cube = await client.query(body, {
      accept: 'application/vnd.json-stat+json',
      'accept-language': 'en',
    })
    const answer = await ask(body)
    t.same(
      Object.values(cube.body.status),
      answer.data.map(({ status }) => status.hospital_mortality_share),
    )
    t.match(cube.body.extension.status.label.no_denominator, /denominator of zero/)
    for (const extra of [
      { order_by: [{ field: 'hospital_mortality_share__status', direction: 'asc' }] },
      { having: [{ metric: 'hospital_mortality_share__status', operator: 'EQ', value: 1 }] },
    ])
      t.equal((await client.query({ ...body, ...extra })).status, 400)
  },
)

t.test('reports of all formats hold statuses and significance, and are reproduced', secondRing, async (t) => {
  const body = {
    metrics: ['hospital_mortality_share', 'admissions'],
    group_by: ['municipality', 'reference_year'],
    filters: [inStates('RR')],
    status: true,
    incomplete: 'allow',
    compare_to: { with: 'state' },
    totals: [['reference_year']],
  }
  for (const format of ['csv', 'json', 'json-stat', 'xlsx', 'arrow', 'parquet']) {
    const report = await client.post(`/v1/analytics/export?format=${format}`, body)
    t.equal(report.status, 200, `${format} ${report.text.slice(0, 300)}`)
    const path = join(folder, `status.${format}`)
    writeFileSync(path, report.bytes)
    t.same((await checkAlone(path)).differences, [], format)
    const verdict = await verifyReport(path, releasesDir, null, readSettings({}))
    t.equal(verdict.verdict, 'reproduced', `${format} ${JSON.stringify(verdict).slice(0, 400)}`)
  }
})
