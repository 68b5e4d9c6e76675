/**
 * The analytics query against naive SQL over the same Parquet, written by hand: nothing of src/query takes part in the
 * expected side. Rates are recomputed with BigInt.
 */
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { openClient } from '../fixtures/client.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const cnes = (dataset: string): string =>
  `read_parquet('${join(small.releasesDir, small.result.cnes ?? '')}/${dataset}/reference_period=202605/*.parquet')`
const demography = (dataset: string): string =>
  `read_parquet('${join(small.releasesDir, small.result.demography ?? '')}/${dataset}/*.parquet')`
const rows = async (sql: string): Promise<unknown[][]> =>
  (await connection.runAndReadAll(sql)).getRowsJson() as unknown[][]

/** k × N ÷ D, half away from zero, two decimals. */
const rate = (numerator: bigint, denominator: bigint, scale = 100_000n): number | null =>
  denominator === 0n ? null : Number((2n * scale * 100n * numerator + denominator) / (2n * denominator)) / 100

/** metric → dataset and naive aggregate over active facilities. */
const METRICS: Record<string, [dataset: string, aggregate: string]> = {
  bed_capacity_existing: ['bed_capacity', 'sum(beds_existing)'],
  bed_capacity_sus: ['bed_capacity', 'sum(beds_sus)'],
  bed_capacity_non_sus: ['bed_capacity', 'sum(beds_existing) - sum(beds_sus)'],
  facilities_with_beds: ['bed_capacity', 'count(DISTINCT CASE WHEN beds_existing > 0 THEN cnes_code END)'],
  equipment_existing: ['equipment_inventory', 'sum(quantity_existing)'],
  equipment_in_use: ['equipment_inventory', 'sum(quantity_in_use)'],
  equipment_sus: ['equipment_inventory', 'sum(quantity_sus)'],
  service_offerings: ['specialized_services', 'count(*)'],
  service_offerings_sus: [
    'specialized_services',
    'sum(CASE WHEN has_ambulatory_sus OR has_hospital_sus THEN 1 ELSE 0 END)',
  ],
  service_facilities: ['specialized_services', 'count(DISTINCT cnes_code)'],
  facilities_count: ['facilities', 'count(*)'],
}
const FILTERS: [body: object[], where: string][] = [
  [[], 'true'],
  [[{ dimension: 'state', operator: 'EQ', value: 'RR' }], "uf = 'RR'"],
  [
    [{ dimension: 'municipality', operator: 'IN', value: [1400100, 120040] }],
    'municipality_ibge_code IN (1400100, 1200401)',
  ],
]

t.test('sums and counts equal naive SQL, by state and municipality and in total', async (t) => {
  let compared = 0
  for (const [filters, where] of cases(FILTERS, FILTERS.slice(-1)))
    for (const [metric, [dataset, aggregate]] of Object.entries(METRICS)) {
      const [[total] = []] = await rows(
        `SELECT ${aggregate} FROM ${cnes(dataset)} WHERE is_active AND ${where}`,
      )
      const whole = await client.query({ metrics: [metric], filters })
      t.equal(whole.body.data.length, 1)
      t.equal(whole.body.data[0].label, 'Total do escopo selecionado')
      t.equal(whole.body.data[0].metrics[metric], Number(total ?? 0), `${metric} in total where ${where}`)
      for (const [dimension, column] of [
        ['state', 'uf'],
        ['municipality', 'municipality_ibge_code'],
      ] as const) {
        const expected = new Map(
          (
            await rows(
              `SELECT ${column}, ${aggregate} FROM ${cnes(dataset)} WHERE is_active AND ${where} GROUP BY 1`,
            )
          ).map(([key, value]) => [String(key), Number(value ?? 0)]),
        )
        const answer = await client.query({
          metrics: [metric],
          group_by: [dimension],
          filters,
          limit: 10_000,
        })
        for (const row of answer.body.data) {
          const code = String(row.dimensions[dimension].code)
          if (row.metrics[metric] !== (expected.get(code) ?? 0))
            t.fail(`${metric} ${code}: ${row.metrics[metric]} for ${expected.get(code) ?? 0}`)
          expected.delete(code)
          compared += 1
        }
        t.same([...expected], [], `${metric} by ${dimension}: every group with facts has its row`)
      }
    }
  t.ok(compared > cases(50_000, 0), `${compared} cells compared`)
})

t.test('beds and equipment by their own dimensions equal naive SQL', async (t) => {
  const dimensions: [string, string, string, string, string][] = [
    ['bed_capacity_existing', 'bed_category', 'bed_capacity', 'bed_category_code', 'sum(beds_existing)'],
    ['bed_capacity_sus', 'bed_type', 'bed_capacity', 'bed_type_code', 'sum(beds_sus)'],
    [
      'equipment_existing',
      'equipment_category',
      'equipment_inventory',
      'category_code',
      'sum(quantity_existing)',
    ],
    [
      'equipment_in_use',
      'equipment_type',
      'equipment_inventory',
      "category_code || ':' || equipment_code",
      'sum(quantity_in_use)',
    ],
  ]
  for (const [metric, dimension, dataset, column, aggregate] of dimensions) {
    const expected = await rows(
      `SELECT ${column}, CAST(${aggregate} AS INTEGER) FROM ${cnes(dataset)} WHERE is_active AND uf IN ('AC', 'RR') GROUP BY 1 ORDER BY 1`,
    )
    const answer = await client.query({
      metrics: [metric],
      group_by: [dimension],
      filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
      limit: 1000,
    })
    t.same(
      answer.body.data.map(
        (row: { dimensions: Record<string, { code: string }>; metrics: Record<string, number> }) => [
          row.dimensions[dimension]?.code,
          row.metrics[metric],
        ],
      ),
      expected,
      `${metric} by ${dimension}`,
    )
  }
})

t.test('values are told apart only where the key of the records lets one come twice', async (t) => {
  const type = "category_code || ':' || equipment_code"
  const [[first] = [], [second] = []] = await rows(
    `SELECT ${type} FROM ${cnes('equipment_inventory')} WHERE is_active GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 2`,
  )
  const municipality = (dimension: string, column: string) => ({
    group_by: ['municipality', dimension],
    columns: `municipality_ibge_code, ${column}`,
  })
  const byBedType = municipality('bed_type', 'bed_type_code')
  const byType = municipality('equipment_type', type)
  const byNature = municipality('legal_nature', 'legal_nature_code')
  const all = { filters: [], where: 'true' }
  const oneType = {
    filters: [{ dimension: 'equipment_type', operator: 'EQ', value: first }],
    where: `${type} = '${first}'`,
  }
  const twoTypes = {
    filters: [{ dimension: 'equipment_type', operator: 'IN', value: [first, second] }],
    where: `${type} IN ('${first}', '${second}')`,
  }
  const withBeds = { metric: 'facilities_with_beds', dataset: 'bed_capacity', counted: 'cnes_code' }
  const equipped = { metric: 'equipment_facilities', dataset: 'equipment_inventory', counted: 'cnes_code' }
  const types = { metric: 'equipment_types_present', dataset: 'equipment_inventory', counted: type }
  for (const { metric, dataset, counted, group_by, columns, filters, where, isDistinct } of [
    { ...withBeds, ...byBedType, ...all, isDistinct: false },
    { ...equipped, ...byType, ...all, isDistinct: false },
    { ...equipped, ...byNature, ...oneType, isDistinct: false },
    { ...equipped, ...byNature, ...twoTypes, isDistinct: true },
    { ...types, ...byType, ...all, isDistinct: false },
    { ...types, ...byNature, ...oneType, isDistinct: false },
    { ...types, ...byNature, ...all, isDistinct: true },
  ]) {
    const name = `${metric} by ${group_by.join(' and ')} where ${where}`
    const quantity = dataset === 'bed_capacity' ? 'beds_existing' : 'quantity_existing'
    const expected = await rows(
      `SELECT ${columns}, CAST(count(DISTINCT ${counted}) AS INTEGER) FROM ${cnes(dataset)}
       WHERE is_active AND ${quantity} > 0 AND ${where} GROUP BY 1, 2`,
    )
    const body = { metrics: [metric], group_by, filters, limit: 10_000 }
    const answer = await client.query(body)
    t.same(
      answer.body.data
        .filter(({ metrics }: { metrics: Record<string, number> }) => metrics[metric] !== 0)
        .map(
          (row: { dimensions: Record<string, { code: string }>; metrics: Record<string, number> }) =>
            `${group_by.map((code) => row.dimensions[code]?.code).join()} ${row.metrics[metric]}`,
        )
        .sort(),
      expected.map(([place, kind, count]) => `${place},${kind} ${count}`).sort(),
      name,
    )
    t.ok(expected.length > 10, `${expected.length} groups with a value`)
    const explained = await client.post('/v1/analytics/explain', body)
    t.equal(/count\(DISTINCT /.test(explained.body.data.sql), isDistinct, `${name}: values are told apart`)
  }
})

t.test('rates: sum over sum, once, places without beds in the denominator', async (t) => {
  const beds = new Map(
    (
      await rows(
        `SELECT municipality_ibge_code, sum(beds_existing) FROM ${cnes('bed_capacity')} WHERE is_active GROUP BY 1`,
      )
    ).map(([code, count]) => [Number(code), BigInt(String(count))]),
  )
  const people = await rows(
    `SELECT CAST(municipality_code AS INTEGER), uf, population FROM ${demography('population')} WHERE population_type = 'CENSUS_POPULATION' AND reference_year = 2022`,
  )
  const answer = await client.query({
    metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
    group_by: ['municipality'],
    limit: 10_000,
  })
  t.equal(answer.body.pagination.total_rows >= 5571, true)
  const expected = new Map(
    people.map(([code, , count]) => [
      Number(code),
      rate(beds.get(Number(code)) ?? 0n, BigInt(String(count))),
    ]),
  )
  let zero = 0
  for (const { dimensions, metrics } of answer.body.data) {
    const code = dimensions.municipality.code
    const want = expected.get(code) ?? null
    if (metrics.beds_existing_per_100k !== want)
      t.fail(`${code}: ${metrics.beds_existing_per_100k} for ${want}`)
    if (metrics.bed_capacity_existing === 0 && want === 0) zero += 1
  }
  t.ok(zero > 5000, `${zero} municipalities without a bed are rows with 0`)
  const young = answer.body.data.find(
    ({ dimensions }: { dimensions: { municipality: { code: number } } }) =>
      dimensions.municipality.code === 5101837,
  )
  t.same(young.metrics, { bed_capacity_existing: 0, beds_existing_per_100k: null })
  t.match(answer.body.meta.notes, [{ code: 'null_rows', metric: 'beds_existing_per_100k' }])

  const states = await client.query({ metrics: ['beds_existing_per_100k'], group_by: ['state'] })
  const naive = new Map<string, { beds: bigint; people: bigint }>()
  for (const [code, uf, count] of people) {
    const before = naive.get(String(uf)) ?? { beds: 0n, people: 0n }
    naive.set(String(uf), {
      beds: before.beds + (beds.get(Number(code)) ?? 0n),
      people: before.people + BigInt(String(count)),
    })
  }
  t.equal(states.body.data.length, 27)
  for (const [uf, ignored] of await rows(
    `SELECT uf, sum(beds_existing) FROM ${cnes('bed_capacity')} WHERE is_active AND municipality_ibge_code % 100000 = 0 GROUP BY 1`,
  )) {
    const before = naive.get(String(uf))
    if (before !== undefined)
      naive.set(String(uf), { ...before, beds: before.beds + BigInt(String(ignored)) })
  }
  for (const { dimensions, metrics } of states.body.data) {
    const { beds: count, people: of } = naive.get(dimensions.state.code) ?? { beds: 0n, people: 0n }
    t.equal(metrics.beds_existing_per_100k, rate(count, of), dimensions.state.code)
  }
  const acre = answer.body.data.filter(
    ({ dimensions }: { dimensions: { municipality: { uf: string } } }) => dimensions.municipality.uf === 'AC',
  )
  const mean =
    acre.reduce(
      (sum: number, { metrics }: { metrics: { beds_existing_per_100k: number } }) =>
        sum + metrics.beds_existing_per_100k,
      0,
    ) / acre.length
  t.not(
    Math.round(mean),
    Math.round(
      states.body.data.find(
        ({ dimensions }: { dimensions: { state: { code: string } } }) => dimensions.state.code === 'AC',
      ).metrics.beds_existing_per_100k,
    ),
    'a rate is not the mean of rates',
  )
})

t.test('a filter on bed type restricts the numerator only', async (t) => {
  const [[count, people] = []] = await rows(
    `SELECT (SELECT sum(beds_existing) FROM ${cnes('bed_capacity')} WHERE is_active AND uf = 'AC' AND bed_type_code = '33'), (SELECT sum(population) FROM ${demography('population')} WHERE uf = 'AC' AND population_type = 'CENSUS_POPULATION')`,
  )
  const answer = await client.query({
    metrics: ['beds_existing_per_100k'],
    filters: [
      { dimension: 'state', operator: 'EQ', value: 'AC' },
      { dimension: 'bed_type', operator: 'EQ', value: '33' },
    ],
  })
  t.equal(
    answer.body.data[0].metrics.beds_existing_per_100k,
    rate(BigInt(String(count ?? 0)), BigInt(String(people))),
  )
})

t.test('one row even when nothing matches', async (t) => {
  const answer = await client.query({
    metrics: ['bed_capacity_existing', 'equipment_existing'],
    filters: [{ dimension: 'municipality', operator: 'EQ', value: 9999999 }],
  })
  t.same(answer.body.data, [
    {
      label: 'Total do escopo selecionado',
      dimensions: {},
      metrics: { bed_capacity_existing: 0, equipment_existing: 0 },
    },
  ])
})

t.test(
  'each metric alone is what it is beside others; pages are the whole; equal questions have equal fingerprints',
  async (t) => {
    const metrics = [
      'bed_capacity_existing',
      'beds_sus_per_100k',
      'equipment_existing',
      'facilities_count',
      'service_types_present',
      'population_estimated',
    ]
    const filters = [
      { dimension: 'state', operator: 'IN', value: ['RR', 'AC'] },
      { dimension: 'municipality', operator: 'NEQ', value: 1400100 },
    ]
    const together = await client.query({ metrics, group_by: ['municipality'], filters, limit: 100 })
    for (const metric of metrics) {
      const alone = await client.query({ metrics: [metric], group_by: ['municipality'], filters, limit: 100 })
      t.same(
        alone.body.data.map((row: { metrics: Record<string, number> }) => row.metrics[metric]),
        together.body.data.map((row: { metrics: Record<string, number> }) => row.metrics[metric]),
        metric,
      )
    }
    const ordered = {
      metrics,
      group_by: ['municipality'],
      filters,
      order_by: [{ field: 'beds_sus_per_100k', direction: 'desc' }],
    }
    const whole = await client.query({ ...ordered, limit: 100 })
    const pages: unknown[] = []
    for (let offset = 0; offset < 60; offset += 7)
      pages.push(...(await client.query({ ...ordered, limit: 7, offset })).body.data)
    t.same(pages, whole.body.data)
    const rates = whole.body.data.map(
      (row: { metrics: Record<string, number> }) => row.metrics.beds_sus_per_100k,
    )
    t.same(
      rates,
      [...rates].sort((left, right) => right - left),
    )

    const other = await openClient(small.releasesDir, 2)
    const permuted = {
      metrics: [...metrics].reverse(),
      group_by: ['municipality'],
      filters: [
        { dimension: 'municipality', operator: 'NOT_IN', value: [140010] },
        { dimension: 'state', operator: 'IN', value: ['AC', 'RR', 'AC'] },
      ],
      limit: 3,
    }
    const again = await other.query(permuted)
    t.equal(again.body.meta.fingerprint, together.body.meta.fingerprint)
    t.not(
      (await other.query({ ...permuted, metrics: ['bed_capacity_existing'] })).body.meta.fingerprint,
      together.body.meta.fingerprint,
    )
    await other.close()
  },
)

t.test('stocks over months', async (t) => {
  const months = await Promise.all(
    [202603, 202604, 202605].map(async (period) =>
      Number(
        (
          await rows(
            `SELECT sum(beds_existing) FROM read_parquet('${join(small.releasesDir, small.result.cnes ?? '')}/bed_capacity/reference_period=${period}/*.parquet') WHERE is_active`,
          )
        )[0]?.[0],
      ),
    ),
  )
  const [first = 0, second = 0, last = 0] = months
  const since = [{ dimension: 'reference_period', operator: 'GTE', value: '2026-03' }]
  const refused = await client.query({ metrics: ['bed_capacity_existing'], filters: since })
  t.equal(refused.status, 400)
  t.equal(refused.body.code, 'semi_additive')
  const over = async (way: string): Promise<number> =>
    (await client.query({ metrics: ['bed_capacity_existing'], filters: since, over_period: way })).body
      .data[0].metrics.bed_capacity_existing
  t.equal(await over('last'), last)
  t.equal(await over('first'), first)
  t.equal(await over('max'), Math.max(first, second, last))
  t.equal(await over('avg'), Math.round(((first + second + last) * 100) / 3) / 100)
  const grouped = await client.query({ metrics: ['bed_capacity_existing'], group_by: ['reference_period'] })
  t.same(
    grouped.body.data.map((row: { label: string; metrics: Record<string, number> }) => [
      row.label,
      row.metrics.bed_capacity_existing,
    ]),
    [
      ['2026-03', first],
      ['2026-04', second],
      ['2026-05', last],
    ],
  )
  t.equal((await client.query({ metrics: ['bed_capacity_existing'] })).body.meta.reference_period, '2026-05')
  const uncollected = await client.query({
    metrics: ['bed_capacity_existing'],
    filters: [{ dimension: 'reference_period', operator: 'EQ', value: '2019-01' }],
  })
  t.equal(uncollected.body.data[0].metrics.bed_capacity_existing, null)
  t.match(uncollected.body.meta.notes, [{ code: 'not_collected' }])
})

t.test('names in Portuguese order', async (t) => {
  const answer = await client.query({ metrics: ['population_census'], group_by: ['state'] })
  const labels = answer.body.data.map(({ label }: { label: string }) => label)
  t.same(labels, [...labels].sort(new Intl.Collator('pt').compare))
})

const refusal = async (t: Test, body: unknown, code: string, detail: RegExp): Promise<void> => {
  const answer = await client.query(body)
  t.ok(answer.status >= 400 && answer.status < 500, `${answer.status}`)
  t.equal(answer.headers['content-type'], 'application/problem+json; charset=utf-8')
  t.equal(answer.body.code, code)
  t.match(JSON.stringify(answer.body), detail)
}
t.test('what is refused says what to change', async (t) => {
  const metrics = ['bed_capacity_existing']
  await refusal(t, { metrics: ['bed_capacity_existin'] }, 'unknown_metric', /bed_capacity_existing/)
  await refusal(t, { metrics, group_by: ['planet'] }, 'unknown_dimension', /municipality/)
  await refusal(
    t,
    { metrics: ['population_census'], group_by: ['bed_type'] },
    'incompatible_dimension',
    /population_census.*bed_type/,
  )
  await refusal(
    t,
    { metrics: ['beds_existing_per_100k'], group_by: ['facility'] },
    'denominator_not_defined',
    /facility/,
  )
  await refusal(t, { metrics: [] }, 'invalid_request', /metrics/)
  await refusal(t, { metrics, limit: 10_001 }, 'invalid_request', /\/limit/)
  await refusal(t, { metrics, sort: 'x' }, 'invalid_request', /order_by/)
  await refusal(
    t,
    { metrics, filters: [{ dimension: 'state', operator: 'GT', value: 'RR' }] },
    'invalid_request',
    /NOT_IN/,
  )
  await refusal(
    t,
    { metrics, filters: [{ dimension: 'state', operator: 'IN', value: 'RR' }] },
    'invalid_request',
    /lista/,
  )
  await refusal(
    t,
    { metrics, filters: [{ dimension: 'bed_type', operator: 'EQ', value: 'a\u0000' }] },
    'invalid_request',
    /text/,
  )
  await refusal(
    t,
    '{"metrics":["bed_capacity_existing"],"filters":[{"dimension":"bed_type","operator":"EQ","value":"\\ud800"}]}',
    'invalid_request',
    /text/,
  )
  await refusal(t, '{"__proto__":{"a":1},"metrics":["bed_capacity_existing"]}', 'invalid_request', /./)
  await refusal(t, { metrics: ['x'.repeat(1_000_000)] }, 'invalid_request', /metrics/)
  await refusal(t, '['.repeat(50_000), 'invalid_request', /./)
  await refusal(t, 'null', 'invalid_request', /./)
  const quoted = await client.query({
    metrics,
    filters: [{ dimension: 'bed_type', operator: 'EQ', value: "33' OR 1=1; DROP TABLE x --" }],
  })
  t.equal(quoted.body.data[0].metrics.bed_capacity_existing, 0, 'SQL in a value is a value')
})
