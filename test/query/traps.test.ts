/** Where naive answers go wrong, each with numbers that can be added by hand (test/fixtures/miniature.ts). */
import t from 'tap'
import type { WrittenNote } from '../../src/model/note-sentences.ts'
import { sql } from '../../src/sql.ts'
import { openClient } from '../fixtures/client.ts'
import { ALTO_ALEGRE, AMAJARI, BOA_VISTA, BONFIM, makeMiniature } from '../fixtures/miniature.ts'

const { releasesDir } = await makeMiniature()
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const RORAIMA = { dimension: 'state', operator: 'EQ', value: 'RR' }
interface AnswerRow {
  label: string
  dimensions: Record<string, { code: string | number | null; name: string | null }>
  metrics: Record<string, number | null>
}
async function ask(
  body: Record<string, unknown>,
): Promise<{ data: AnswerRow[]; meta: { notes: WrittenNote[]; reference_period: string } }> {
  const { status, body: answer, text } = await client.query({ filters: [RORAIMA], ...body })
  if (status !== 200) throw new Error(text)
  return answer
}
const byCode = (rows: readonly AnswerRow[], dimension: string, metric: string): Map<unknown, number | null> =>
  new Map(rows.map(({ dimensions, metrics }) => [dimensions[dimension]?.code, metrics[metric] ?? null]))
const total = async (body: Record<string, unknown>): Promise<Record<string, number | null>> =>
  (await ask({ group_by: [], ...body })).data[0]?.metrics ?? {}

t.test('a municipality without facts is a row with 0, and its people count', async (t) => {
  const { data } = await ask({
    metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
    group_by: ['municipality'],
  })
  t.equal(data.length, 15, 'all of Roraima')
  t.equal(byCode(data, 'municipality', 'bed_capacity_existing').get(AMAJARI), 0)
  t.equal(byCode(data, 'municipality', 'beds_existing_per_100k').get(AMAJARI), 0)
  // 6 + 4 + 10 + 1 beds, 1,000 + 500 + 500 people: Amajari's are in the denominator.
  t.same(await total({ metrics: ['beds_existing_per_100k'] }), { beds_existing_per_100k: 1050 })
})

t.test('the rate of a state is not the mean of its municipalities’', async (t) => {
  const metrics = ['beds_existing_per_100k']
  const rates = byCode(
    (await ask({ metrics, group_by: ['municipality'] })).data,
    'municipality',
    metrics[0] ?? '',
  )
  t.equal(rates.get(BOA_VISTA), 1000)
  t.equal(rates.get(ALTO_ALEGRE), 2000)
  t.equal(rates.get(AMAJARI), 0)
  // Their mean, (1000 + 2000 + 0) / 3, happens to be 1000; the truth counts Bonfim's bed and the people: 21 / 2,000.
  const state = byCode((await ask({ metrics, group_by: ['state'] })).data, 'state', metrics[0] ?? '')
  t.equal(state.get('RR'), 1050)
})

t.test('a filter by bed type keeps the denominator', async (t) => {
  const filters = [RORAIMA, { dimension: 'bed_type', operator: 'EQ', value: '01' }]
  // 4 beds among 2,000 people, not among the 1,000 of the municipality that has them.
  t.same(await total({ metrics: ['beds_existing_per_100k'], filters }), { beds_existing_per_100k: 200 })
})

t.test('a rate by facility is refused', async (t) => {
  const { status, body } = await client.query({ metrics: ['beds_existing_per_100k'], group_by: ['facility'] })
  t.equal(status, 400)
  t.equal(body.code, 'denominator_not_defined')
  t.equal(body.errors[0].pointer, '/group_by/0')
  t.notOk(body.errors[0].allowed.includes('facility'))
  const catalog = (await client.get('/v1/analytics/catalog')).body.data
  const rate = catalog.metrics.find(({ code }: { code: string }) => code === 'beds_existing_per_100k')
  t.notOk(rate.dimensions.includes('facility'), 'it is not grouped by facility')
  t.ok(rate.operators.facility.includes('EQ'), 'it is filtered by facility')
})

t.test('a municipality younger than the census has no rate; its state has the census total', async (t) => {
  const answer = await ask({
    metrics: ['beds_existing_per_100k', 'bed_capacity_existing', 'population_estimated'],
    group_by: ['municipality'],
  })
  t.equal(byCode(answer.data, 'municipality', 'beds_existing_per_100k').get(BONFIM), null)
  t.equal(byCode(answer.data, 'municipality', 'bed_capacity_existing').get(BONFIM), 1)
  t.equal(byCode(answer.data, 'municipality', 'population_estimated').get(BONFIM), 50)
  t.match(answer.meta.notes, [
    {
      code: 'null_rows',
      metric: 'beds_existing_per_100k',
      rows: 12,
      total_rows: 15,
      reason: 'no_denominator',
      message: 'beds_existing_per_100k: sem dado em 12 de 15 linhas, que não têm denominador.',
    },
  ])
  t.same(
    await total({ metrics: ['population_census', 'population_estimated', 'population_growth_since_census'] }),
    {
      population_census: 2000,
      population_estimated: 2100,
      population_growth_since_census: 5,
    },
  )
  const growth = await ask({
    metrics: ['population_growth_since_census'],
    filters: [{ dimension: 'municipality', operator: 'EQ', value: BONFIM }],
  })
  t.strictSame(growth.data[0]?.metrics, { population_growth_since_census: null })
  t.match(growth.meta.notes, [{ code: 'null_rows', rows: 1, reason: 'no_population' }])
})

t.test('a hospital closed in the last month', async (t) => {
  const months = {
    filters: [RORAIMA, { dimension: 'reference_period', operator: 'IN', value: ['2026-04', '2026-05'] }],
  }
  const metrics = ['bed_capacity_existing']
  const over = async (over_period: string) =>
    (await total({ metrics, ...months, over_period })).bed_capacity_existing
  // April: 5 + 4 + 10 + 20 + 1; May, hospital 3 closed: 6 + 4 + 10 + 1.
  t.equal(await over('first'), 40)
  t.equal(await over('last'), 21)
  t.equal(await over('avg'), 30.5)
  t.equal(await over('max'), 40)
  const refused = await client.query({ metrics, ...months })
  t.equal(refused.body.code, 'semi_additive', 'never 61')
  // One anchor for all groups: the closed hospital is not in the last month, whatever it had before.
  const facilities = async (over_period: string) =>
    byCode(
      (await ask({ metrics, ...months, over_period, group_by: ['facility'] })).data,
      'facility',
      'bed_capacity_existing',
    )
  t.notOk((await facilities('last')).has('1000003'))
  t.equal((await facilities('first')).get('1000003'), 20)
  t.equal((await facilities('avg')).get('1000003'), 10)
  t.equal((await facilities('max')).get('1000003'), 20)
  const side = await ask({ metrics, group_by: ['reference_period'] })
  t.same(
    [...byCode(side.data, 'reference_period', 'bed_capacity_existing')],
    [
      ['2026-04', 40],
      ['2026-05', 21],
    ],
  )
})

t.test('two datasets with different numbers of rows do not multiply each other', async (t) => {
  const { data } = await ask({
    metrics: ['bed_capacity_existing', 'equipment_existing', 'facilities_count', 'equipment_types_present'],
    group_by: ['municipality'],
  })
  const boaVista = data.find(({ dimensions }) => dimensions.municipality?.code === BOA_VISTA)
  // Two rows of beds, three of equipment, one open facility.
  t.same(boaVista?.metrics, {
    bed_capacity_existing: 10,
    equipment_existing: 6,
    facilities_count: 1,
    equipment_types_present: 3,
  })
})

t.test('members without a code, or with one no list knows', async (t) => {
  const natures = await ask({ metrics: ['bed_capacity_existing'], group_by: ['legal_nature'] })
  t.same(
    natures.data.map(({ dimensions, metrics }) => [
      dimensions.legal_nature?.code,
      metrics.bed_capacity_existing,
    ]),
    [
      ['1244', 20],
      [null, 1],
    ],
    'nulls last',
  )
  t.equal(natures.data.at(-1)?.label, 'Não informado')
  const sumUnder = async (operator: string, value: unknown) =>
    (
      await total({
        metrics: ['bed_capacity_existing'],
        filters: [RORAIMA, { dimension: 'legal_nature', operator, value }],
      })
    ).bed_capacity_existing
  t.equal(await sumUnder('EQ', '1244'), 20)
  t.equal(await sumUnder('NEQ', '1244'), 1)
  t.equal(await sumUnder('NOT_IN', ['1244', '9999']), 1)
  const types = await ask({ metrics: ['facilities_count'], group_by: ['facility_type'] })
  t.same(
    types.data.map(({ dimensions }) => [
      dimensions.facility_type?.code,
      dimensions.facility_type?.name === null,
    ]),
    [
      ['05', false],
      ['98', true],
    ],
  )
})

t.test('huge integers', async (t) => {
  t.same(await total({ metrics: ['equipment_existing'] }), { equipment_existing: 3_000_000_003 })
  const view = client.store.current()
  if (view === null) throw new Error('no release')
  const [row] = await client.engine.run(sql`SELECT CAST(9007199254740991 AS HUGEINT) AS most`, view)
  t.equal(row?.most, 9007199254740991)
  await t.rejects(
    client.engine.run(sql`SELECT CAST(9007199254740992 AS HUGEINT) AS more`, view),
    { code: 'internal' },
    'refused, never rounded',
  )
})

t.test('names in the order of a Portuguese reader', async (t) => {
  const { data } = await ask({ metrics: ['bed_capacity_existing'], group_by: ['facility'] })
  t.same(
    data.map(({ label }) => label),
    ['Ábaco', 'Abeto', 'Zebra'],
  )
  const april = [RORAIMA, { dimension: 'reference_period', operator: 'EQ', value: '2026-04' }]
  const before = await ask({ metrics: ['bed_capacity_existing'], group_by: ['facility'], filters: april })
  t.same(
    before.data.map(({ label }) => label),
    ['Ábaco', 'abelha', 'Abeto', 'Zebra'],
  )
})

t.test('a share of nothing is nothing, and stands last', async (t) => {
  // 1 of 1, 6 of 10, 0 of 10; a place without beds has no share and stands last.
  const { data } = await ask({
    metrics: ['beds_sus_share'],
    group_by: ['municipality'],
    order_by: [{ field: 'beds_sus_share', direction: 'desc' }],
  })
  const shares = data.map(({ dimensions, metrics }) => [
    dimensions.municipality?.code,
    metrics.beds_sus_share,
  ])
  t.same(shares.slice(0, 3), [
    [BONFIM, 100],
    [BOA_VISTA, 60],
    [ALTO_ALEGRE, 0],
  ])
  t.ok(shares.slice(3).every(([, share]) => share === null))
})
