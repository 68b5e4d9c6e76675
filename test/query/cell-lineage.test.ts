/** Seeded random cells of every additive metric and of ratios: the records behind them add up to them, exactly. */
import { join } from 'node:path'
import t from 'tap'
import { metricOf } from '../../src/model/metrics.ts'
import { isTime } from '../../src/model/periods.ts'
import { allowedDimensions } from '../../src/query/analytics/checks.ts'
import { openClient } from '../fixtures/client.ts'
import { createDraws } from '../fixtures/draws.ts'
import { type Cell, disagreement } from '../fixtures/lineage-sums.ts'
import { columnOf, readZip, splitTable } from '../fixtures/raw-base.ts'
import { REGISTRY_METRICS } from '../fixtures/registry-metrics.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

/** The first ring draws a cell of every third metric: what leads from a cell to its rows is one way for all. */
const [CELLS, STEP] = cases([300, 1], [Math.ceil(REGISTRY_METRICS.length / 3), 3])
const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const { draw, pick } = createDraws(97)
const lineage = (body: unknown) => client.post('/v1/analytics/lineage', body)

/** A random group of a random question about one metric. */
async function drawCell(metric: string): Promise<Cell | null> {
  const dimensions = allowedDimensions(metric as (typeof REGISTRY_METRICS)[number])
  const isRate = metricOf(metric as (typeof REGISTRY_METRICS)[number]).kind === 'ratio'
  const usable = dimensions.filter((code) => !(isRate && code === 'facility'))
  const group_by = [...new Set(Array.from({ length: draw(3) }, () => pick(usable)))]
  const filters = [
    ...(draw(2) === 0 ? [{ dimension: 'state', operator: 'IN', value: ['RR', 'AP'] }] : []),
    ...(draw(3) === 0 && dimensions.includes('management_type')
      ? [{ dimension: 'management_type', operator: 'NEQ', value: 'E' }]
      : []),
  ]
  const isPopulation = !dimensions.includes('reference_period')
  const ways = ['last', 'first', 'avg', 'max'] as const
  const isByPeriod = group_by.some((code) => isTime(code) && code !== 'reference_period')
  const over_period =
    isPopulation || group_by.includes('reference_period')
      ? null
      : pick(isByPeriod ? [...ways] : [null, null, ...ways])
  const query = { metrics: [metric], group_by, filters, over_period }
  const first = (await client.query({ ...query, limit: 1 })).body
  const total = first.pagination.total_rows
  if (total === 0) return null
  const { data } = (await client.query({ ...query, limit: 1, offset: draw(total) })).body
  const key = Object.fromEntries(
    Object.entries(data[0].dimensions as Record<string, { code: unknown }>).map(([code, member]) => [
      code,
      member.code,
    ]),
  )
  return { query, key, value: data[0].metrics[metric] }
}

t.test(`${CELLS} cells`, async (t) => {
  const wrong: string[] = []
  let cells = 0
  for (let index = 0; cells < CELLS; index += 1) {
    const code = REGISTRY_METRICS[
      (index * STEP) % REGISTRY_METRICS.length
    ] as (typeof REGISTRY_METRICS)[number]
    const cell = await drawCell(code)
    if (cell === null) continue
    cells += 1
    const difference = await disagreement(client, code, cell)
    if (difference !== null) wrong.push(difference)
  }
  t.same(wrong.slice(0, 5), [])
})

t.test('a record is where its source says', async (t) => {
  const tables = await readZip(join(small.snapshots, 'cnes/2026-05/BASE_DE_DADOS_CNES_202605.ZIP'))
  const body = { metrics: ['bed_capacity_sus'], group_by: ['state'], key: { state: 'RR' }, limit: 20 }
  const { body: answer } = await lineage(body)
  t.equal(answer.data.length, 20)
  for (const { contribution, sources } of answer.data)
    for (const { file, archive, row, column, raw_value } of sources) {
      t.equal(column, 'QT_SUS')
      t.match(archive, /202605\.ZIP$/)
      const table = splitTable(tables.get(file) ?? Buffer.alloc(0))
      t.equal(table.rows[row - 2]?.[columnOf(table, column)], raw_value)
      t.equal(Number(raw_value), contribution)
    }
})

t.test('what is refused', async (t) => {
  const query = { metrics: ['bed_capacity_existing', 'beds_existing_per_100k'], group_by: ['state'] }
  const CASES: [body: Record<string, unknown>, pointer: string][] = [
    [{ ...query, key: { state: 'RR' } }, '/metric'],
    [{ ...query, metric: 'bed_capacity_existing', key: {} }, '/key/state'],
    [{ ...query, metric: 'bed_capacity_existing', key: { state: 'RR', bed_type: '01' } }, '/key/bed_type'],
    [{ ...query, metric: 'bed_capacity_existing', key: { state: 'XX' } }, '/key/state'],
    [{ ...query, metric: 'bed_capacity_existing', key: { state: 'RR' }, side: 'denominator' }, '/side'],
    [{ ...query, metric: 'bed_capacity_existing', key: { state: 'RR' }, side: 'top' }, '/side'],
    [{ ...query, order_by: [], key: { state: 'RR' } }, '/order_by'],
  ]
  for (const [body, pointer] of CASES) {
    const { status, body: answer } = await lineage(body)
    t.equal(status, 400)
    t.equal(answer.errors[0].pointer, pointer, JSON.stringify(answer.errors))
  }
  const outside = {
    metrics: ['bed_capacity_existing'],
    group_by: ['state'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'RR' }],
    key: { state: 'AC' },
  }
  t.equal((await lineage(outside)).status, 404, 'a group the query does not have')
})
