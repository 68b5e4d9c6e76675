/**
 * Groupings, filtered metrics and ratios by hand: each equals the question that it stands for, and what cannot be answered is refused
 * where it stands. Of the newest month of admissions, the files of Amapá were not collected.
 */
import t from 'tap'
import { REPORT_FORMATS } from '../../src/report/formats.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const client = await openClient((await makeSmallRelease('admissions')).releasesDir)
t.teardown(() => client.close())

type Metrics = Record<string, number | null>
interface AnswerRow {
  readonly label: string
  readonly dimensions: Record<string, { readonly code: unknown; readonly name: string | null }>
  readonly metrics: Metrics
}
interface Answer {
  readonly data: AnswerRow[]
  readonly totals?: { readonly group_by: string[]; readonly data: AnswerRow[] }[]
  readonly meta: {
    readonly query: Record<string, unknown>
    readonly fingerprint: string
    readonly limits?: unknown
  }
}
async function ask(query: object): Promise<Answer> {
  const { status, body, text } = await client.query(query)
  if (status !== 200) throw new Error(text)
  return body
}
const inMonth = (month: string) => ({ dimension: 'reference_period', operator: 'EQ', value: month })
const inStates = (...states: string[]) => ({ dimension: 'state', operator: 'IN', value: states })
const NORTH = {
  dimension: 'state',
  groups: [
    { code: 'W', name: 'Oeste', members: ['AC'] },
    { code: 'E', name: 'Leste', members: ['ap', 14] },
  ],
}

t.test('a grouping that repeats the members of a dimension equals the dimension', async (t) => {
  const metrics = ['facilities_count', 'bed_capacity_existing', 'beds_existing_per_100k']
  const members = ['AC', 'AP', 'RR']
  const question = { metrics, filters: [inStates(...members)], totals: [[]], change: { to: 'previous' } }
  const groups = members.map((uf) => ({ code: uf, name: uf, members: [uf] }))
  for (const others of ['leave_out', 'group']) {
    const grouped = await ask({
      ...question,
      groupings: { g: { dimension: 'state', groups, others } },
      group_by: ['g'],
    })
    const byState = await ask({ ...question, group_by: ['state'], order_by: ['state'] })
    const valuesOf = ({ data }: Answer, name: string) =>
      new Map(data.map((row) => [row.dimensions[name]?.code, row.metrics]))
    t.same(valuesOf(grouped, 'g'), valuesOf(byState, 'state'))
    t.same(grouped.totals?.[0]?.data, byState.totals?.[0]?.data)
  }
})

t.test('a group is the question about its members, in every value', async (t) => {
  const question = {
    metrics: ['facilities_with_beds', 'beds_existing_per_100k', 'admissions'],
    filters: [inMonth('2026-04')],
    totals: [[]],
    limits: 0.95,
  }
  const { data, totals, meta } = await ask({ ...question, groupings: { side: NORTH }, group_by: ['side'] })
  t.same(
    data.map(({ dimensions, label }) => [dimensions.side, label]),
    [
      [{ code: 'E', name: 'Leste' }, 'Leste'],
      [{ code: 'W', name: 'Oeste' }, 'Oeste'],
    ],
  )
  for (const [index, states] of [['AP', 'RR'], ['AC']].entries()) {
    const [alone] = (await ask({ ...question, filters: [...question.filters, inStates(...states)] })).data
    t.same(data[index]?.metrics, alone?.metrics)
  }
  // The totals leave out members of no group, too.
  const [all] = (await ask({ ...question, filters: [...question.filters, inStates('AC', 'AP', 'RR')] })).data
  t.same(totals?.[0]?.data[0]?.metrics, all?.metrics)
  t.same(meta.query.groupings, {
    side: {
      dimension: 'state',
      groups: [
        { code: 'E', name: 'Leste', members: ['AP', 'RR'] },
        { code: 'W', name: 'Oeste', members: ['AC'] },
      ],
      others: 'leave_out',
    },
  })
  t.same(meta.query.filters, [{ dimension: 'reference_period', operator: 'EQ', value: '2026-04' }])
})

t.test('others form a group without a code', async (t) => {
  const groups = [{ code: 'A', name: 'Média', members: ['02'] }]
  const question = { metrics: ['admissions'], filters: [inMonth('2026-04'), inStates('RR')] }
  const { data } = await ask({
    ...question,
    groupings: { level: { dimension: 'complexity', groups, others: 'group' } },
    group_by: ['level'],
  })
  const english = await client.query(
    {
      ...question,
      groupings: { level: { dimension: 'complexity', groups, others: 'group' } },
      group_by: ['level'],
    },
    { 'accept-language': 'en' },
  )
  t.equal(english.body.data[1].label, 'Others')
  const all = await ask(question)
  t.same(
    data.map(({ dimensions }) => dimensions.level),
    [
      { code: 'A', name: 'Média' },
      { code: null, name: 'Outros' },
    ],
  )
  t.equal(
    (data[0]?.metrics.admissions ?? 0) + (data[1]?.metrics.admissions ?? 0),
    all.data[0]?.metrics.admissions,
  )
})

t.test('a group of which a state was not collected is null', async (t) => {
  const question = { metrics: ['admissions'], filters: [inMonth('2026-05')], totals: [[]] }
  const grouped = await ask({ ...question, groupings: { side: NORTH }, group_by: ['side'] })
  const acre = await ask({ ...question, filters: [...question.filters, inStates('AC')] })
  t.same(
    grouped.data.map(({ metrics }) => metrics.admissions),
    [null, acre.data[0]?.metrics.admissions],
  )
  t.ok((acre.data[0]?.metrics.admissions ?? 0) > 100)
  t.equal(grouped.totals?.[0]?.data[0]?.metrics.admissions, null)
  const codes = { dimension: 'municipality', groups: [{ code: '1', name: 'Boa Vista', members: [140010] }] }
  const byTown = await ask({
    ...question,
    filters: [...question.filters, inStates('RR', 'AP')],
    groupings: { towns: { ...codes, others: 'group' } },
    group_by: ['towns'],
  })
  t.type(byTown.data[0]?.metrics.admissions, 'number', 'Roraima was collected')
  t.equal(byTown.data[1]?.metrics.admissions, null, 'others lie in Amapá, too')
})

t.test('a filtered metric is the metric of the query with that filter', async (t) => {
  const mediumFilter = [{ dimension: 'complexity', operator: 'eq', value: '02' }]
  const question = {
    group_by: ['state'],
    filters: [inMonth('2026-04')],
    limits: 0.998,
    change: { to: 'previous' },
  }
  const both = await ask({
    ...question,
    metrics: [
      'hospital_deaths',
      { metric: 'hospital_deaths', as: 'deaths_of_medium', filters: mediumFilter },
    ],
  })
  const alone = await ask({
    ...question,
    metrics: ['hospital_deaths'],
    filters: [...question.filters, ...mediumFilter],
  })
  const renamed = alone.data.map(({ metrics }) =>
    Object.fromEntries(
      Object.entries(metrics).map(([name, value]) => [
        name.replace('hospital_deaths', 'deaths_of_medium'),
        value,
      ]),
    ),
  )
  for (const [index, { metrics }] of both.data.entries())
    for (const [name, value] of Object.entries(renamed[index] ?? {})) t.equal(metrics[name], value, name)
  t.same(both.meta.limits, {
    level: 0.998,
    methods: { hospital_deaths: 'poisson', deaths_of_medium: 'poisson' },
  })
})

t.test('a filter on places of one metric leaves the others, and other places are 0', async (t) => {
  const { data } = await ask({
    metrics: [
      'bed_capacity_existing',
      { metric: 'bed_capacity_existing', as: 'of_acre', filters: [inStates('AC')] },
      { metric: 'beds_existing_per_100k', as: 'rate_of_acre', filters: [inStates('AC')] },
    ],
    group_by: ['state'],
    filters: [inStates('AC', 'RR')],
  })
  t.equal(data[0]?.metrics.of_acre, data[0]?.metrics.bed_capacity_existing)
  t.type(data[0]?.metrics.rate_of_acre, 'number')
  t.equal(data[1]?.metrics.of_acre, 0)
  t.equal(data[1]?.metrics.rate_of_acre, null, 'nobody lives in Acre there')
})

t.test('a ratio divides its two columns once, in any unit', async (t) => {
  const { data, meta } = await ask({
    metrics: [
      'admissions',
      'admissions_value',
      {
        metric: 'admissions',
        as: 'medium',
        filters: [{ dimension: 'complexity', operator: 'EQ', value: '02' }],
      },
      { as: 'medium_share', ratio: ['medium', 'admissions'], scale: 100, label: 'Média complexidade' },
      { as: 'mean_value', ratio: ['admissions_value', 'admissions'] },
      { as: 'per_thousand_reais', ratio: ['admissions', 'admissions_value'], scale: 1000, decimals: 4 },
      { as: 'whole', ratio: ['admissions', 'medium'], scale: 100, decimals: 0 },
    ],
    group_by: ['state'],
    filters: [inMonth('2026-04'), inStates('AC', 'AP', 'RR')],
    order_by: ['-medium_share'],
    rank: true,
    having: [{ metric: 'medium_share', operator: 'GTE', value: 1 }],
  })
  t.equal(data.length, 3)
  const near = (value: number, decimals: number): number =>
    Math.round(value * 10 ** decimals) / 10 ** decimals
  for (const { metrics } of data) {
    const { admissions, medium, admissions_value: money } = metrics as Record<string, number>
    if (admissions === undefined || medium === undefined || money === undefined) throw new Error('no values')
    t.equal(metrics.medium_share, near((100 * medium) / admissions, 2))
    t.equal(metrics.mean_value, near(money / admissions, 2))
    t.equal(metrics.per_thousand_reais, near((1000 * admissions) / money, 4))
    t.equal(metrics.whole, Math.round((100 * admissions) / medium))
  }
  const shares = data.map(({ metrics }) => metrics.medium_share ?? 0)
  t.same(
    shares,
    [...shares].sort((left, right) => right - left),
  )
  t.same(
    (meta.query.metrics as unknown[]).slice(3).map((metric) => (metric as { as: string }).as),
    ['mean_value', 'medium_share', 'per_thousand_reais', 'whole'],
  )
})

t.test('a ratio of reais in constant prices is the amount in them over the count', async (t) => {
  const question = {
    group_by: ['state'],
    filters: [inMonth('2026-04'), inStates('AC', 'RR')],
    prices: '2026-05',
  }
  const { data } = await ask({
    ...question,
    metrics: [
      'admissions_value',
      'admissions',
      { as: 'mean_value', ratio: ['admissions_value', 'admissions'] },
    ],
    change: { to: 'previous' },
    order_by: ['-mean_value'],
  })
  const catalog = await ask({ ...question, metrics: ['average_admission_value'], change: { to: 'previous' } })
  const byState = new Map(catalog.data.map(({ label, metrics }) => [label, metrics]))
  for (const { label, metrics } of data)
    for (const suffix of ['', '__base', '__change', '__change_percent'])
      t.equal(
        metrics[`mean_value${suffix}`],
        byState.get(label)?.[`average_admission_value${suffix}`],
        suffix,
      )
  const refused = await client.query({
    ...question,
    metrics: ['admissions_value', 'admissions', { as: 'a', ratio: ['admissions', 'admissions_value'] }],
  })
  t.match(refused.body.errors, [{ pointer: '/prices', message: /só podem ser o numerador/ }])
})

t.test('a ratio is null where a side is, or is divided by 0', async (t) => {
  const none = [{ dimension: 'procedure', operator: 'EQ', value: '9999999999' }]
  const { data } = await ask({
    metrics: [
      'admissions',
      { metric: 'admissions', as: 'nobody', filters: none },
      { as: 'by_nobody', ratio: ['admissions', 'nobody'] },
      { as: 'beds_per_admission', ratio: ['bed_capacity_existing', 'admissions'] },
      'bed_capacity_existing',
    ],
    group_by: ['state'],
    filters: [inMonth('2026-05'), inStates('AC', 'AP')],
  })
  t.match(data[0]?.metrics, { nobody: 0, by_nobody: null })
  t.type(data[0]?.metrics.beds_per_admission, 'number')
  t.match(data[1]?.metrics, { admissions: null, nobody: null, by_nobody: null, beds_per_admission: null })
  t.type(data[1]?.metrics.bed_capacity_existing, 'number')
})

t.test('equal questions have one form and one fingerprint', async (t) => {
  const question = { metrics: ['bed_capacity_existing'], group_by: ['towns'] }
  const groupingOf = (members: unknown[][]) => ({
    towns: {
      dimension: 'municipality',
      groups: members.map((list, index) => ({
        code: `${9 - index}`,
        name: `Grupo ${9 - index}`,
        members: list,
      })),
    },
  })
  const one = await ask({ ...question, groupings: groupingOf([[1400100, 1400050], [1200401]]) })
  const groups = groupingOf([['140005', 140010, 1400100], [120040]]).towns.groups
  const two = await ask({
    ...question,
    groupings: {
      unused: NORTH,
      towns: { dimension: 'municipality', groups: [...groups].reverse(), others: 'leave_out' },
    },
  })
  t.equal(one.meta.fingerprint, two.meta.fingerprint)
  t.same(one.meta.query, two.meta.query)
  const linked: Reply = await client.get(
    `/v1/analytics/query?q=${encodeURIComponent(JSON.stringify(two.meta.query))}`,
  )
  t.equal(linked.body.meta.fingerprint, one.meta.fingerprint)
})

t.test('records behind a cell of a group add up to it', async (t) => {
  const question = {
    metrics: [
      'admissions',
      {
        metric: 'admissions',
        as: 'medium',
        filters: [{ dimension: 'complexity', operator: 'EQ', value: '02' }],
      },
      { as: 'share', ratio: ['medium', 'admissions'], scale: 100 },
      'beds_existing_per_100k',
    ],
    groupings: { side: NORTH },
    group_by: ['side'],
    filters: [inMonth('2026-04')],
    totals: [[]],
  }
  const { data, totals } = await ask(question)
  const [east] = data
  for (const [metric, side, key, value] of [
    ['medium', 'numerator', { side: 'E' }, east?.metrics.medium],
    ['share', 'numerator', { side: 'E' }, east?.metrics.medium],
    ['share', 'denominator', { side: 'E' }, east?.metrics.admissions],
    ['medium', 'numerator', {}, totals?.[0]?.data[0]?.metrics.medium],
  ] as const) {
    const { status, body, text } = await client.post('/v1/analytics/lineage', {
      ...question,
      key,
      metric,
      side,
    })
    t.equal(status, 200, text.slice(0, 200))
    t.equal(body.meta.total, value, `${metric} ${side}`)
    t.same(body.meta.key, key)
  }
  const people = await client.post('/v1/analytics/lineage', {
    ...question,
    key: { side: 'W' },
    metric: 'beds_existing_per_100k',
    side: 'denominator',
  })
  t.ok(
    people.body.data.every((record: { key: { municipality_code: string } }) =>
      /^12/.test(record.key.municipality_code),
    ),
  )
})

t.test('comparisons, explanations and tables name groups and metrics as the query does', async (t) => {
  const question = {
    metrics: ['admissions', { metric: 'admissions', as: 'of_side', label: 'Internações do lado' }],
    groupings: { side: NORTH },
    group_by: ['side'],
    filters: [inMonth('2026-04')],
    totals: [[]],
  }
  const compared = await client.post('/v1/analytics/compare', {
    ...question,
    old_release_id: client.store.current()?.id,
    only_changed: false,
  })
  t.equal(compared.status, 200, compared.text.slice(0, 300))
  t.match(compared.body.data[0], {
    dimensions: { side: { code: 'E' } },
    metrics: { of_side: { delta: 0, causes: [] } },
  })
  const explained = await client.post('/v1/analytics/explain', question)
  t.match(explained.body.data.sql, /grouping_1/)
  t.ok(explained.body.data.estimated_rows >= 3)
  const csv = await client.query(question, { accept: 'text/csv' })
  t.match(csv.text, /total,side_code,side_name,admissions,of_side\r?\n,E,Leste,455,455/)
  const statistic = (await client.query(question, { accept: REPORT_FORMATS['json-stat'].contentType })).body
  t.same(statistic.id, ['side', 'metric'])
  t.equal(statistic.dimension.metric.category.label.of_side, 'Internações do lado')
})

t.test('what cannot be answered is refused where it stands', async (t) => {
  const state = { dimension: 'state', groups: [{ code: 'A', name: 'A', members: ['AC'] }] }
  const grouped = (groupings: object, more: object = {}) => ({
    metrics: ['admissions'],
    groupings,
    group_by: Object.keys(groupings),
    ...more,
  })
  const groupsOf = (...members: unknown[][]) => ({
    ...state,
    groups: members.map((list, index) => ({ code: `g${index}`, name: 'G', members: list })),
  })
  const named = (...metrics: unknown[]) => ({ metrics })
  for (const [query, pointer, message] of [
    [
      grouped({ g: groupsOf(['AC', 'RR'], ['AP', 'RR']) }),
      '/groupings/g/groups/1/members/1',
      /RR está|RR já está no grupo g0/,
    ],
    [grouped({ g: groupsOf(['XX']) }), '/groupings/g/groups/0/members/0', /não é um estado/],
    [
      grouped(Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`g${index}`, state])), {
        group_by: ['g0'],
      }),
      '/groupings',
      /um objeto de no máximo 6 agrupamentos/,
    ],
    [
      grouped({
        g: { dimension: 'municipality', groups: [{ code: 'A', name: 'A', members: [1400100, 9999999] }] },
      }),
      '/groupings/g/groups/0/members',
      /9999999 não é membro de municipality: retire-o/,
    ],
    [grouped({ admissions: state }), '/groupings/admissions', /é uma métrica/],
    [grouped({ state }), '/groupings/state', /é uma dimensão/],
    [grouped({ rank: state }), '/groupings/rank', /outra coluna/],
    [
      grouped({ g: { ...state, dimension: 'reference_period' } }),
      '/groupings/g/dimension',
      /não tem membros para agrupar/,
    ],
    [
      grouped({ g: { ...state, groups: [...state.groups, ...state.groups] } }),
      '/groupings/g/groups/1/code',
      /outro grupo/,
    ],
    [
      grouped({ g: { ...state, groups: [{ code: '_T', name: 'T', members: ['RR'] }] } }),
      '/groupings/g/groups/0/code',
      /que comece por letra ou dígito/,
    ],
    [grouped({ g: state }, { group_by: ['h'] }), '/group_by/0', /não é uma dimensão/],
    [grouped({ g: state }, { totals: [['state']] }), '/totals/0/0', /não é dimensão agrupada/],
    [
      grouped({ g: state }, { compare_to: { with: 'region' }, group_by: ['g', 'state'] }),
      '/compare_to',
      /não combina/,
    ],
    [named({ metric: 'admissions', as: 'hospital_deaths' }), '/metrics/0/as', /é uma métrica/],
    [named({ metric: 'admissions', as: 'a__b' }), '/metrics/0/as', /dois _ seguidos/],
    [named({ metric: 'admissions', as: 'state_name' }), '/metrics/0/as', /outra coluna/],
    [
      named({ metric: 'admissions', as: 'a' }, { metric: 'admissions', as: 'a' }),
      '/metrics/1/as',
      /outra métrica/,
    ],
    [named({ metric: 'admission', as: 'a' }), '/metrics/0/metric', /não é uma métrica/],
    [
      named({ metric: 'admissions', as: 'a', filters: [inMonth('2026-04')] }),
      '/metrics/0/filters/0/dimension',
      /de toda a consulta/,
    ],
    [
      named('admissions', { as: 'a', ratio: ['admissions', 'b'] }),
      '/metrics/1/ratio/1',
      /não é métrica da consulta/,
    ],
    [
      named('admissions', 'average_stay_days', { as: 'a', ratio: ['average_stay_days', 'admissions'] }),
      '/metrics/2/ratio/0',
      /já é uma razão/,
    ],
    [
      {
        metrics: ['beds_existing_per_100k'],
        groupings: {
          g: { ...state, dimension: 'facility', groups: [{ code: 'A', name: 'A', members: ['0000001'] }] },
        },
        group_by: ['g'],
      },
      '/group',
      /./,
    ],
  ] as const) {
    const { status, body } = await client.query(query)
    t.equal(status, 400, JSON.stringify(query))
    t.ok(body.errors[0].pointer.startsWith(pointer), `${body.errors[0].pointer} for ${pointer}`)
    t.match(body.errors[0].message, message)
  }
  const key = client.keyWithout('bed_capacity.read')
  const hidden = await client.query(
    { metrics: ['facilities_count', { metric: 'bed_capacity_existing', as: 'beds' }] },
    { authorization: `Bearer ${key}` },
  )
  t.equal(hidden.status, 403)
  t.equal(hidden.body.metric, 'bed_capacity_existing')
})
