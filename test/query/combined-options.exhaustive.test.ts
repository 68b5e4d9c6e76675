/**
 * Options of queries in combinations that nobody wrote down, over a release with gaps: whatever a valid question combines, the
 * answer is 200, or a refusal that says why. And the combinations that were answered wrongly or not at all, one by one.
 */
import t from 'tap'
import { DIMENSION_CODES } from '../../src/model/dimensions.ts'
import { allowedDimensions } from '../../src/query/analytics/checks.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { REGISTRY_METRICS } from '../fixtures/registry-metrics.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('gaps')
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const IN_ACRE = [{ dimension: 'state', operator: 'EQ', value: 'AC' }]

t.test('a grand total of metrics that read one dataset in different months', async (t) => {
  const query = { metrics: ['facilities_count', 'facilities_sus'], filters: IN_ACRE }
  const alone = await client.query(query)
  t.equal(alone.status, 200)
  const months = new Set(
    await Promise.all(
      query.metrics.map(
        async (code) => (await client.query({ ...query, metrics: [code] })).body.meta.reference_period,
      ),
    ),
  )
  t.equal(months.size, 2, 'in Acre the newest month of the registry is not that of equipment')
  for (const group_by of [['facility_type'], ['state'], ['health_region']]) {
    const { status, body, text } = await client.query({ ...query, group_by, totals: [[]] })
    t.equal(status, 200, text.slice(0, 300))
    t.same(body.totals[0].data[0].metrics, alone.body.data[0].metrics, group_by.join())
  }
})

t.test('a field that is ordered by twice counts where it stands first', async (t) => {
  const query = {
    metrics: ['bed_capacity_existing', 'facilities_with_beds'],
    group_by: ['state', 'bed_category'],
    filters: [{ dimension: 'reference_period', operator: 'EQ', value: '2026-04' }],
    rank: true,
  }
  const once = await client.query({ ...query, order_by: ['-bed_capacity_existing', 'bed_category'] })
  const twice = await client.query({
    ...query,
    order_by: ['-bed_capacity_existing', 'bed_category', 'bed_capacity_existing'],
  })
  t.equal(twice.status, 200, twice.text.slice(0, 300))
  t.same(twice.body.data, once.body.data)
  t.equal(twice.body.meta.fingerprint, once.body.meta.fingerprint)
  t.equal(once.body.data[0].rank, 1)
})

t.test('the records of a cell whose query asks for shares', async (t) => {
  const query = {
    metrics: ['bed_capacity_existing'],
    group_by: ['state', 'bed_category'],
    filters: [{ dimension: 'reference_period', operator: 'EQ', value: '2026-04' }],
    totals: [['state'], []],
    share_of: ['state'],
    having: [{ metric: 'bed_capacity_existing__share', operator: 'GT', value: 10 }],
  }
  const { body } = await client.query({ ...query, limit: 10_000 })
  t.ok(body.data.length > 3)
  const { state, bed_category } = body.data[0].dimensions
  const lineage = (key: unknown) => client.post('/v1/analytics/lineage', { ...query, key, limit: 1 })
  const cell = await lineage({ state: state.code, bed_category: bed_category.code })
  t.equal(cell.status, 200, cell.text.slice(0, 300))
  t.equal(cell.body.meta.value, body.data[0].metrics.bed_capacity_existing)
  t.equal(cell.body.meta.total, cell.body.meta.value)
  const total = await lineage({ state: state.code })
  t.equal(
    total.body.meta.value,
    body.totals[0].data.find((row: Row) => row.dimensions.state?.code === state.code).metrics
      .bed_capacity_existing,
  )
  const whole = await lineage({})
  t.equal(whole.body.meta.value, body.totals[1].data[0].metrics.bed_capacity_existing)
  const all = (await client.query({ ...query, having: [], limit: 10_000 })).body.data as Row[]
  const small = all.find(
    (row) =>
      row.dimensions.state?.code === state.code &&
      !body.data.some((kept: Row) => JSON.stringify(kept.dimensions) === JSON.stringify(row.dimensions)),
  )
  t.ok(small, 'a group has less than a tenth of its state')
  t.equal(
    (await lineage({ state: state.code, bed_category: small?.dimensions.bed_category?.code })).status,
    404,
    'what the condition leaves out has no cell',
  )
})

interface Row {
  readonly dimensions: Readonly<Record<string, { readonly code: string | number | null }>>
}

const QUESTIONS = cases(250, 40)
const MONTHS = [
  '2009-12',
  '2025-12',
  '202601',
  '2026-02',
  '2026-03',
  '2026-04',
  '2026-05',
  '2026-06',
  '1901-01',
]
const MEMBERS: Readonly<Record<string, readonly (string | number)[]>> = {
  state: ['RR', 'AC', 'AP', 'SP', 'ba', 12],
  municipality: [1400100, '140010', 9999999, '999999', 1600303],
  region: [1, '5'],
  health_region: ['12001', '14002', '53001', '99999'],
  health_macroregion: ['1201', '9999'],
  reference_period: MONTHS,
  facility_type: ['05', '42', 'x'],
  bed_category: ['1', '3', "'"],
  sex: ['F', 'x'],
}
const { draw, pick, shuffle } = createDraws(1509)
const some = <Item>(items: readonly Item[], count: number): Item[] => shuffle(items).slice(0, count)
/** One time in so many. */
const rarely = (times: number): boolean => draw(times) === 0

function drawFilter(dimension: string) {
  const members = MEMBERS[dimension] ?? ['01', '101', 'none']
  const operator =
    dimension === 'reference_period'
      ? pick(['EQ', 'IN', 'GTE', 'LT', 'NEQ'])
      : pick(['EQ', 'IN', 'NEQ', 'NOT_IN'])
  return { dimension, operator, value: operator.endsWith('IN') ? some(members, 1 + draw(3)) : pick(members) }
}

function drawQuestion(turn: number) {
  const first = REGISTRY_METRICS[turn % REGISTRY_METRICS.length] ?? 'facilities_count'
  const dimensions = allowedDimensions(first).filter((code) => code !== 'facility')
  const group_by = some(dimensions, pick([0, 1, 1, 2, 2, 3]))
  const filters = Array.from({ length: draw(4) }, () => drawFilter(pick(dimensions)))
  const used = [...group_by, ...filters.map(({ dimension }) => dimension)]
  const fitting = REGISTRY_METRICS.filter((code) =>
    used.every((dimension) =>
      DIMENSION_CODES.some((own) => own === dimension && allowedDimensions(code).includes(own)),
    ),
  )
  const metrics = [...new Set([first, ...some(fitting, draw(5))])]
  const isByMonth = group_by.includes('reference_period')
  const change = rarely(2) ? { to: pick(['previous', '-2', '-600', ...MONTHS]) } : null
  const share_of = rarely(4) ? some(group_by, draw(group_by.length + 1)) : null
  const values = metrics.flatMap((code) => [
    code,
    ...(change === null ? [] : [`${code}__base`, `${code}__change`, `${code}__change_percent`]),
  ])
  const rank = rarely(3)
  return {
    metrics,
    group_by,
    filters,
    totals: rarely(2) ? true : [[], some(group_by, 1)],
    change,
    share_of,
    having: rarely(3)
      ? [{ metric: pick(values), operator: pick(['GT', 'LTE']), value: pick([0, 1e15, -0.5]) }]
      : [],
    order_by: [
      ...(rank ? [`-${pick(values)}`] : []),
      ...some([...values, ...group_by], draw(3)),
      pick(values),
    ],
    rank,
    include_ignored: !rarely(4),
    population_basis: pick(['census', 'estimate', 'estimate_of_period']),
    over_period: isByMonth || rarely(2) ? 'last' : pick([null, 'avg', 'max', 'first']),
    offset: pick([0, 0, 1, 1_000_000]),
  }
}

t.test(`${QUESTIONS} drawn questions, and the records behind a cell of some`, async (t) => {
  const failed: string[] = []
  let answered = 0
  const keep = ({ status, text }: { status: number; text: string }, question: unknown): void => {
    if (status >= 500 || /NaN|Infinity/.test(text)) failed.push(`${status} ${JSON.stringify(question)}`)
  }
  for (let turn = 0; turn < QUESTIONS; turn += 1) {
    const question = drawQuestion(turn)
    const reply = await client.query(question)
    keep(reply, question)
    if (reply.status !== 200) continue
    answered += 1
    const row = reply.body.data[0] as Row | undefined
    if (row === undefined || !rarely(3)) continue
    const key = Object.fromEntries(Object.entries(row.dimensions).map(([name, { code }]) => [name, code]))
    const { order_by: _order, rank: _rank, ...rest } = question
    const cell = { ...rest, metric: question.metrics[0], key, offset: 0, limit: 1 }
    keep(await client.post('/v1/analytics/lineage', cell), cell)
  }
  t.same(failed.slice(0, 5), [])
  t.ok(answered > QUESTIONS / 2, `${answered} were answered`)
})
