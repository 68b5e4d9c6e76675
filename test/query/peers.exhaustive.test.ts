/** Municipalities beside their peers: each comparator equals the answer of the group as a grouping of the query, and sums in plain TypeScript. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSettings } from '../../src/settings.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { openClient } from '../fixtures/client.ts'
import { peersOf } from '../fixtures/peers.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { folder, releasesDir } = await makeSmallRelease('admissions')
const client = await openClient(releasesDir)
t.teardown(() => client.close())

interface AnswerRow {
  readonly label: string
  readonly peers?: number | null
  readonly dimensions: Readonly<Record<string, { readonly code: string | number | null }>>
  readonly metrics: Readonly<Record<string, number | string | null>>
}
interface Answer {
  readonly data: readonly AnswerRow[]
  readonly totals: readonly { readonly data: readonly AnswerRow[] }[]
  readonly meta: {
    readonly notes: readonly {
      readonly code: string
      readonly message: string
    }[]
  }
}
async function answerOf(body: Record<string, unknown>): Promise<Answer> {
  const { status, body: answer, text } = await client.query({ limit: 10_000, ...body })
  if (status !== 200) throw new Error(text)
  return answer
}
const codeOf = ({ dimensions }: AnswerRow, dimension: string): number | null => {
  const code = dimensions[dimension]?.code ?? null
  return code === null ? null : Number(code)
}

const people = await answerOf({
  metrics: ['population_census'],
  group_by: ['region', 'municipality'],
})
const { groupOf, membersOf, groups } = peersOf(people.data)

const CASES = [
  {
    place: 'municipality',
    metrics: [
      'hospital_mortality_share',
      'beds_existing_per_100k',
      'average_stay_days',
      'bed_capacity_existing',
    ],
    by: [],
  },
  {
    place: 'municipality',
    metrics: ['facilities_per_100k'],
    by: ['reference_period'],
  },
  {
    place: 'municipality',
    metrics: ['facilities_count', 'beds_sus_share'],
    by: ['facility_type'],
  },
  {
    place: 'residence_municipality',
    metrics: ['admissions_per_10k', 'hospital_mortality_share'],
    by: [],
  },
]
for (const { place, metrics, by } of CASES)
  t.test(`${place} by ${by.join(', ') || 'nothing else'}`, async (t) => {
    const [answer, grouped] = await Promise.all([
      answerOf({
        metrics,
        group_by: [place, ...by],
        compare_to: { with: 'peers' },
      }),
      answerOf({
        metrics,
        group_by: ['g', ...by],
        groupings: { g: { dimension: place, groups, others: 'group' } },
      }),
    ])
    const keyOf = (group: string, row: AnswerRow): string =>
      [group, ...by.map((code) => row.dimensions[code]?.code)].join('/')
    const values = new Map(
      grouped.data.map((row) => [keyOf(String(row.dimensions.g?.code), row), row.metrics]),
    )
    const differences: string[] = []
    let compared = 0
    for (const row of answer.data) {
      const group = groupOf.get(codeOf(row, place) ?? 0)
      const peers = group === undefined ? null : (membersOf.get(group)?.length ?? null)
      if (row.peers !== peers) differences.push(`${row.label}: ${row.peers} peers, not ${peers}`)
      for (const metric of metrics) {
        const expected = group === undefined ? null : (values.get(keyOf(group, row))?.[metric] ?? null)
        const found = row.metrics[`${metric}__comparator`] ?? null
        if (found !== expected) differences.push(`${row.label} ${metric}: ${found}, not ${expected}`)
        if (typeof found === 'number') compared += 1
      }
    }
    t.same(differences.slice(0, 5), [])
    // Admissions of some states were not collected, and each group of peers has municipalities in one of them.
    t.equal(compared > 0, place === 'municipality', `${compared} values`)
    t.ok(membersOf.size > 3)
  })

t.test(
  'a sum and a rate of the peers are those of plain additions, whatever places a filter names',
  async (t) => {
    const metrics = ['bed_capacity_existing', 'beds_existing_per_100k']
    const [all, some] = await Promise.all([
      answerOf({ metrics, group_by: ['municipality'] }),
      answerOf({
        metrics,
        group_by: ['municipality'],
        compare_to: { with: 'peers' },
        filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
        totals: [[]],
      }),
    ])
    const beds = new Map(
      all.data.map((row) => [codeOf(row, 'municipality'), row.metrics.bed_capacity_existing]),
    )
    const residents = new Map(
      people.data.map((row) => [codeOf(row, 'municipality'), Number(row.metrics.population_census ?? 0)]),
    )
    let compared = 0
    for (const row of some.data) {
      const members = membersOf.get(groupOf.get(codeOf(row, 'municipality') ?? 0) ?? '')
      if (members === undefined) continue
      const sum = members.reduce((total, code) => total + Number(beds.get(code) ?? 0), 0)
      const population = members.reduce((total, code) => total + (residents.get(code) ?? 0), 0)
      const found = row.metrics.bed_capacity_existing__comparator
      if (found === null) continue
      compared += 1
      t.equal(found, sum, row.label)
      t.ok(
        Math.abs(Number(row.metrics.beds_existing_per_100k__comparator) - (1e5 * sum) / population) <= 0.0051,
      )
    }
    t.ok(compared > 3, `${compared} rows`)
    t.notOk('peers' in (some.totals[0]?.data[0] ?? {}), 'a total has no peers')
    t.match(
      some.meta.notes.find(({ code }) => code === 'peers')?.message ?? '',
      /mesma grande região e da mesma faixa/,
    )
  },
)

t.test('the catalog publishes the bands', async (t) => {
  const { body } = await client.get('/v1/analytics/catalog', {
    'accept-language': 'en',
  })
  const bands = body.data.census_bands as {
    over: number | null
    up_to: number | null
    label: string
  }[]
  t.same(
    bands.map(({ over, up_to }) => [over, up_to]),
    [
      [null, 5000],
      [5000, 10000],
      [10000, 20000],
      [20000, 50000],
      [50000, 100000],
      [100000, 500000],
      [500000, null],
    ],
  )
  t.equal(bands[1]?.label, 'over 5,000, up to 10,000 residents')
})

t.test('reports hold the number of peers, and are reproduced', async (t) => {
  const body = {
    metrics: ['hospital_mortality_share'],
    group_by: ['municipality'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
    compare_to: { with: 'peers' },
    order_by: [{ field: 'hospital_mortality_share__ratio', direction: 'desc' }],
    totals: [[]],
  }
  const csv = await client.query(body, { accept: 'text/csv' })
  t.match(csv.text, /hospital_mortality_share__significance,peers/)
  for (const format of ['csv', 'json', 'json-stat', 'xlsx']) {
    const report = await client.post(`/v1/analytics/export?format=${format}`, body)
    t.equal(report.status, 200, `${format} ${report.text.slice(0, 300)}`)
    const path = join(folder, `peers.${format}`)
    writeFileSync(path, report.bytes)
    const verdict = await verifyReport(path, releasesDir, null, readSettings({}))
    t.equal(verdict.verdict, 'reproduced', `${format} ${JSON.stringify(verdict).slice(0, 400)}`)
  }
})

t.test('only municipalities have peers, and only keys that may read the census see them', async (t) => {
  const body = {
    metrics: ['bed_capacity_existing'],
    compare_to: { with: 'peers' },
  }
  const state = await client.query({ ...body, group_by: ['state'] })
  t.equal(state.status, 400)
  t.same(state.body.errors[0].allowed, ['country', 'region'])
  const named = await client.query({
    ...body,
    group_by: ['municipality'],
    metrics: [{ metric: 'facilities_count', as: 'peers' }],
  })
  t.equal(named.status, 400, 'a column has this name')
  const forbidden = await client.query(
    { ...body, group_by: ['municipality'] },
    { authorization: `Bearer ${client.keyWithout('demography.read')}` },
  )
  t.equal(forbidden.status, 403)
  t.equal(forbidden.body.capability, 'demography.read')
})
