/** What a query would do, and the counts of facts beside a dimension's members, against plain SQL over the release. */
import t from 'tap'
import { sql, table } from '../../src/sql.ts'
import { openClient } from '../fixtures/client.ts'
import { COLUMNS } from '../fixtures/oracle.ts'
import { REGISTRY_DIMENSIONS } from '../fixtures/registry-metrics.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'
import { trinoOfTests } from '../fixtures/trino.ts'

const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const view = client.store.current()
if (view === null) throw new Error('no release')
const explain = (body: unknown) => client.post('/v1/analytics/explain', body)

t.test('an explanation says what the query reads and asks', async (t) => {
  const body = {
    metrics: ['beds_existing_per_100k', 'bed_capacity_existing'],
    group_by: ['municipality'],
    filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC', 'RR'] }],
  }
  const { status, body: answer, headers } = await explain(body)
  t.equal(status, 200)
  t.equal(headers['x-analytics-release-id'], small.result.analytics)
  const asked = (await client.query(body)).body
  t.same(answer.data.query, asked.meta.query, 'the one spelling is that of the answer')
  t.match(answer.data.sql, /WITH "bed_capacity" AS \(/)
  t.match(answer.data.sql, /FROM release\."bed_capacity__202605"/)
  t.match(
    answer.data.sql,
    /"population" AS \([\s\S]*FROM release\."population"/,
    'a table is no relation of its name',
  )
  t.same(
    answer.data.reads.map(({ dataset, periods }: { dataset: string; periods: string[] }) => [
      dataset,
      periods,
    ]),
    [
      ['bed_capacity', ['2026-05']],
      ['population', []],
    ],
  )
  const [{ rows }] = (await client.engine.run(
    sql`SELECT count(*) AS rows FROM ${table('bed_capacity', 202605)}`,
    view,
  )) as [{ rows: number }]
  t.equal(answer.data.reads[0].rows, rows)
  t.equal(answer.data.rows_read, rows + answer.data.reads[1].rows)
  t.ok(answer.data.estimated_rows >= asked.pagination.total_rows, 'an upper bound')
  t.match(
    answer.data.engine,
    trinoOfTests === null
      ? { name: 'duckdb', because: 'only_engine', rows: null, min_rows: null }
      : { name: 'trino', because: 'all_facts', rows: Number, min_rows: null },
  )
})

t.test('numbers in conditions on values are text of the statement, so that it is planned once', async (t) => {
  const having = [{ metric: 'bed_capacity_existing', operator: 'BETWEEN', value: [-2.5, 1e15] }]
  const { body } = await explain({ metrics: ['bed_capacity_existing'], group_by: ['state'], having })
  t.match(body.data.sql, "'-2.500000'")
  t.match(body.data.sql, "'1000000000000000.000000'")
  t.same(body.data.parameters, [])
})

t.test('the bound holds', async (t) => {
  for (const group_by of [
    [],
    ['state'],
    ['state', 'reference_period'],
    ['bed_type'],
    ['facility', 'bed_type'],
  ])
    for (const filters of [[], [{ dimension: 'state', operator: 'EQ', value: 'RR' }]]) {
      const body = { metrics: ['bed_capacity_existing'], group_by, filters }
      const [explained, found] = [await explain(body), await client.query(body)]
      const { estimated_rows } = explained.body.data
      t.ok(estimated_rows >= found.body.pagination.total_rows, `${group_by} ${estimated_rows}`)
    }
})

t.test('what a query is refused for, its explanation is', async (t) => {
  for (const body of [
    { metrics: [] },
    { metrics: ['beds'] },
    { metrics: ['bed_capacity_existing'], group_by: ['equipment_type'] },
    { metrics: ['beds_existing_per_100k'], group_by: ['facility'] },
    { metrics: ['bed_capacity_existing'], filters: [{ dimension: 'state', operator: 'GT', value: 'RR' }] },
    [],
    null,
  ]) {
    const [explained, refused] = [await explain(body), await client.query(body)]
    t.equal(explained.status, refused.status)
    t.equal(explained.status, 400)
    t.equal(explained.body.code, refused.body.code)
  }
})

/** Of residents, who are no records of the facility registry. */
const OF_RESIDENTS = ['sex', 'age_group'] as const

t.test('facts of members that no dataset of the release carries are null', async (t) => {
  for (const dimension of OF_RESIDENTS) {
    const url = `/v1/analytics/dimensions/${dimension}/values?counts=true`
    const { status, body } = await client.get(url)
    t.equal(status, 200)
    t.equal(body.data[0].facts.deaths, null)
    t.match(body.meta.notes[0], { code: 'not_collected', effect: 'null_metrics' })
    const filters = JSON.stringify([{ dimension: 'bed_type', operator: 'EQ', value: '01' }])
    const refused = await client.get(`${url}&filters=${encodeURIComponent(filters)}`)
    t.equal(refused.status, 400)
    t.equal(refused.body.code, 'incompatible_dimension')
  }
})

const COARSE_PERIODS = ['reference_year', 'reference_quarter', 'reference_quadrimester']
t.test('facts of a year are null where one of its months was not collected', async (t) => {
  for (const dimension of COARSE_PERIODS) {
    const { body } = await client.get(`/v1/analytics/dimensions/${dimension}/values?counts=true`)
    // April ends a quadrimester, and May begins one.
    t.equal(body.data.length, dimension === 'reference_quadrimester' ? 2 : 1, dimension)
    const facts = (body.data as { facts: object }[]).flatMap((member) => Object.values(member.facts))
    t.same([...new Set(facts)], [null])
  }
})

for (const dimension of REGISTRY_DIMENSIONS.filter(
  (code) => !OF_RESIDENTS.some((other) => other === code) && !COARSE_PERIODS.includes(code),
))
  t.test(`facts by ${dimension}`, async (t) => {
    const filters = [{ dimension: 'state', operator: 'IN', value: ['RR', 'AP'] }]
    const url = `/v1/analytics/dimensions/${dimension}/values?limit=250`
    const plain = await client.get(url)
    t.notOk('facts' in (plain.body.data[0] ?? {}), 'none unless asked for')
    for (const [suffix, where] of [
      ['&counts=true', ''],
      [`&filters=${encodeURIComponent(JSON.stringify(filters))}`, " AND uf IN ('RR', 'AP')"],
    ] as const) {
      const { body } = await client.get(`${url}${suffix}`)
      t.ok(body.data.length > 0)
      for (const dataset of Object.keys(body.data[0].facts)) {
        const column = dimension === 'reference_period' ? undefined : COLUMNS[dimension]
        const from = `SELECT * FROM ${dataset === '' ? '' : 'source'} WHERE is_active${where}`
        const source =
          column === undefined
            ? `SELECT strftime(strptime(CAST(reference_period AS VARCHAR), '%Y%m'), '%Y-%m') AS code, count(*) AS facts FROM (${from}) GROUP BY 1`
            : `SELECT ${column} AS code, count(*) AS facts FROM (${from} AND reference_period = 202605) GROUP BY 1`
        // Larger places are those of the municipality.
        const isDerived = ['region', 'health_region', 'health_macroregion'].includes(dimension)
        const place = isDerived ? `, places.${column}` : ''
        const rows = await client.engine.run(
          {
            parts: [
              { kind: 'text', text: `WITH source AS (SELECT own.*${place} FROM ` },
              ...table(dataset).parts,
              { kind: 'text', text: ' AS own JOIN ' },
              ...table('municipalities').parts,
              {
                kind: 'text',
                text: ` AS places ON places.ibge_code = own.municipality_ibge_code) ${source}`,
              },
            ],
          },
          view,
        )
        const expected = new Map(rows.map(({ code, facts }) => [String(code), facts]))
        for (const { code, facts } of body.data)
          if (facts[dataset] !== (expected.get(String(code)) ?? 0)) t.fail(`${dataset} ${code}`)
      }
      t.pass(`${body.data.length} members`)
    }
  })

t.test('counts of what the key may not read are not shown; wrong filters are refused', async (t) => {
  const url = '/v1/analytics/dimensions/state/values?counts=true'
  const lacking = { authorization: `Bearer ${client.keyWithout('bed_capacity.read')}` }
  const { facts } = (await client.get(url, lacking)).body.data[0]
  t.same(Object.keys(facts).sort(), ['equipment_inventory', 'facilities', 'specialized_services'])
  const filtered = (value: unknown) =>
    client.get(
      `/v1/analytics/dimensions/bed_type/values?filters=${encodeURIComponent(JSON.stringify(value))}`,
    )
  const together = await filtered([{ dimension: 'provider_kind', operator: 'EQ', value: 'CNES' }])
  t.equal(together.body.code, 'incompatible_dimension')
  for (const wrong of [
    'x',
    {},
    [{ dimension: 'state' }],
    [{ dimension: 'state', operator: 'EQ', value: 'XX' }],
  ]) {
    const { status, body } = await filtered(wrong)
    t.equal(status, 400)
    t.equal(body.code, 'invalid_request')
    t.ok(body.errors[0].message)
  }
  t.equal((await client.get('/v1/analytics/dimensions/bed_type/values?filters=[')).status, 400)
  const short = await filtered([{ dimension: 'municipality', operator: 'EQ', value: '140010' }])
  const long = await filtered([{ dimension: 'municipality', operator: 'EQ', value: 1400100 }])
  t.same(short.body.data, long.body.data, 'codes of six digits are widened')
})
