/** Totals and bases in what makes an answer checkable: explain, the lineage of a cell, the comparison of two releases. */
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const QUERY = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k', 'facilities_with_beds'],
  group_by: ['municipality', 'bed_category'],
  filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
  totals: [['municipality'], []],
  change: { to: 'previous' },
}
const answer = (await client.query(QUERY)).body

/** All contributions to a cell. */
async function lineageOf(body: Record<string, unknown>) {
  let total = 0
  let last: { meta: Record<string, unknown>; data: { contribution: number; reference_period?: string }[] }
  for (let offset = 0; ; offset += 1000) {
    const {
      status,
      body: page,
      text,
    } = await client.post('/v1/analytics/lineage', {
      ...QUERY,
      ...body,
      limit: 1000,
      offset,
    })
    if (status !== 200) throw new Error(text)
    total += page.data.reduce((sum: number, row: { contribution: number }) => sum + row.contribution, 0)
    last = page
    if (!page.pagination.has_more) break
  }
  return { total, meta: last.meta, data: last.data }
}

t.test('the cell of a total has its records', async (t) => {
  const [byPlace, all] = answer.totals
  const state = all.data[0].metrics
  for (const metric of ['bed_capacity_existing', 'facilities_with_beds']) {
    const { total, meta } = await lineageOf({ key: {}, metric })
    t.equal(total, state[metric], metric)
    t.equal(meta.value, state[metric])
  }
  const people = await lineageOf({ key: {}, metric: 'beds_existing_per_100k', side: 'denominator' })
  t.equal(
    state.beds_existing_per_100k,
    Math.round((state.bed_capacity_existing * 1e7) / people.total) / 100,
    'over the people of the whole scope',
  )
  const place = byPlace.data.find(
    ({ metrics }: { metrics: Record<string, number> }) => (metrics.bed_capacity_existing ?? 0) > 0,
  )
  const own = await lineageOf({
    key: { municipality: place.dimensions.municipality.code },
    metric: 'bed_capacity_existing',
  })
  t.equal(own.total, place.metrics.bed_capacity_existing)
})

t.test('the base of a change has the records of its own month', async (t) => {
  const state = answer.totals[1].data[0].metrics
  const base = await lineageOf({ key: {}, metric: 'bed_capacity_existing__base' })
  t.equal(base.total, state.bed_capacity_existing__base)
  t.equal(base.meta.value, state.bed_capacity_existing__base)
  t.ok(base.data.every(({ reference_period }) => reference_period === '2026-04'))
  const months = { group_by: ['reference_period'], totals: [], key: { reference_period: '2026-05' } }
  const side = await lineageOf({ ...months, metric: 'bed_capacity_existing__base' })
  t.equal(side.total, state.bed_capacity_existing__base)
  const refused = await client.post('/v1/analytics/lineage', {
    ...QUERY,
    key: {},
    metric: 'bed_capacity_existing__change',
  })
  t.equal(refused.status, 400)
  t.equal(refused.body.errors[0].pointer, '/metric')
})

t.test('an explanation says what totals and bases read', async (t) => {
  const { status, body, text } = await client.post('/v1/analytics/explain', QUERY)
  t.equal(status, 200, text.slice(0, 300))
  const beds = body.data.reads.find(({ dataset }: { dataset: string }) => dataset === 'bed_capacity')
  t.same(beds.periods, ['2026-04', '2026-05'])
  t.ok(body.data.estimated_rows >= answer.pagination.total_rows + answer.totals[0].data.length + 1)
  t.match(body.data.sql, /total_0_valued/)
})

t.test('a comparison has totals', async (t) => {
  const { change: _change, ...question } = QUERY
  const { status, body, text } = await client.post('/v1/analytics/compare', {
    ...question,
    old_release_id: small.result.analytics,
    only_changed: false,
  })
  t.equal(status, 200, text.slice(0, 300))
  t.same(
    body.totals.map(({ group_by }: { group_by: string[] }) => group_by),
    [['municipality'], []],
  )
  const { bed_capacity_existing: beds } = body.totals[1].data[0].metrics
  t.match(beds, { old: beds.new, delta: 0, causes: [] })
  t.equal(beds.new, answer.totals[1].data[0].metrics.bed_capacity_existing)
})
