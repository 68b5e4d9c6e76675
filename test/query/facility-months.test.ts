/** Facilities by month, where some of the requested months were not collected although no collected month has a gap. */
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { releasesDir } = await makeSmallRelease('production')
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const ROWS = {
  metrics: ['bed_capacity_sus'],
  group_by: ['reference_period', 'facility'],
  order_by: [{ field: 'bed_capacity_sus', direction: 'desc' }],
}
const inMonths = (operator: string, value: unknown) => [
  { dimension: 'state', operator: 'EQ', value: 'RR' },
  { dimension: 'reference_period', operator, value },
]

t.test('a range that begins before the first collected month', async (t) => {
  const range = await client.query({ ...ROWS, filters: inMonths('GTE', '2026-01') })
  const months = await client.query({ ...ROWS, filters: inMonths('IN', ['2026-04', '2026-05']) })
  t.equal(range.status, 200, range.text.slice(0, 300))
  t.ok(months.body.data.length > 0)
  t.same(range.body.data, months.body.data, 'months that were not collected add no facilities')
  t.ok(range.body.meta.notes.some(({ code }: { code: string }) => code === 'not_collected'))
})

t.test('a change whose months before were collected in part', async (t) => {
  const { status, body, text } = await client.query({
    ...ROWS,
    filters: inMonths('IN', ['2026-04', '2026-05']),
    change: { to: 'previous' },
  })
  t.equal(status, 200, text.slice(0, 300))
  for (const { dimensions, metrics } of body.data)
    if (dimensions.reference_period.code === '2026-04') t.equal(metrics.bed_capacity_sus__base, null)
    else t.type(metrics.bed_capacity_sus__base, 'number')
})
