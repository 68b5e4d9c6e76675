/** Questions that are wrong, hostile or too much: refused cleanly, interrupted for real, and the server answers on. */

import t from 'tap'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { printAggregate, printRowCount } from '../../src/query/analytics/dialect/duckdb/statement.ts'
import { planAggregate } from '../../src/query/analytics/plan.ts'
import { parseQuery } from '../../src/query/analytics/request.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { sql, table } from '../../src/sql.ts'
import { openClient } from '../fixtures/client.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeEngine, makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease()
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const BODY = { metrics: ['bed_capacity_existing'] }
const filter = (dimension: unknown, operator: unknown, value: unknown) => ({
  ...BODY,
  filters: [{ dimension, operator, value }],
})

const CASES: [name: string, body: unknown, pointer: string][] = [
  ['no metrics', {}, '/metrics'],
  ['empty metrics', { metrics: [] }, '/metrics'],
  ['too many metrics', { metrics: Array(21).fill('bed_capacity_existing') }, '/metrics'],
  ['a metric that is no text', { metrics: [7] }, '/metrics/0'],
  ['an unknown metric', { metrics: ['beds'] }, '/metrics/0'],
  ['an unknown dimension', { ...BODY, group_by: ['planet'] }, '/group_by/0'],
  ['too many dimensions', { ...BODY, group_by: Array(7).fill('state') }, '/group_by'],
  ['a dimension of another dataset', { ...BODY, group_by: ['equipment_type'] }, '/group_by/0'],
  ['an unknown operator', filter('state', 'LIKE', 'RR'), '/filters/0/operator'],
  ['an operator that does not go', filter('state', 'GT', 'RR'), '/filters/0/operator'],
  ['an unknown state', filter('state', 'EQ', 'XX'), '/filters/0/value'],
  ['a list for one', filter('state', 'EQ', ['RR']), '/filters/0/value'],
  ['one for a list', filter('state', 'IN', 'RR'), '/filters/0/value'],
  ['an empty list', filter('state', 'IN', []), '/filters/0/value'],
  ['a list too long', filter('municipality', 'IN', Array(6001).fill(1400100)), '/filters/0/value'],
  ['a null', filter('state', 'EQ', null), '/filters/0/value'],
  ['a month that is none', filter('reference_period', 'EQ', '2026-13'), '/filters/0/value'],
  ['months the wrong way', filter('reference_period', 'BETWEEN', ['2026-05', '2026-04']), '/filters/0/value'],
  ['NUL', filter('facility', 'EQ', '\u0000'), '/filters/0/value'],
  ['a lone surrogate', filter('facility', 'EQ', '\ud800'), '/filters/0/value'],
  ['a text without end', filter('facility', 'EQ', 'x'.repeat(200_000)), '/filters/0/value'],
  [
    '51 filters',
    { ...BODY, filters: Array(51).fill({ dimension: 'state', operator: 'EQ', value: 'RR' }) },
    '/filters',
  ],
  ['an unknown field', { ...BODY, where: '1=1' }, '/where'],
  [
    'an unknown field of a filter',
    { ...BODY, filters: [{ dimension: 'state', operator: 'EQ', value: 'RR', or: 1 }] },
    '/filters/0/or',
  ],
  ['an order of something else', { ...BODY, order_by: [{ field: 'state' }] }, '/order_by/0/field'],
  [
    'a direction',
    { ...BODY, order_by: [{ field: 'bed_capacity_existing', direction: 'up' }] },
    '/order_by/0/direction',
  ],
  ['limit 0', { ...BODY, limit: 0 }, '/limit'],
  ['limit 10,001', { ...BODY, limit: 10_001 }, '/limit'],
  ['limit as text', { ...BODY, limit: '10' }, '/limit'],
  ['a fraction', { ...BODY, offset: 1.5 }, '/offset'],
  ['an offset beyond', { ...BODY, offset: 1_000_001 }, '/offset'],
  ['an unknown way over months', { ...BODY, over_period: 'sum' }, '/over_period'],
]

for (const [name, body, pointer] of CASES)
  t.test(`${name} is refused by its place`, async (t) => {
    const { status, headers, body: answer, text } = await client.query(body)
    t.equal(status, 400, text.slice(0, 200))
    t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
    const [error] = answer.errors
    t.ok(
      error.pointer === pointer || error.pointer.startsWith(`${pointer}/`),
      `${error.pointer} for ${pointer}`,
    )
    t.ok(error.message.length > 3)
    t.ok(text.length < 20_000, 'what was sent is not sent back')
  })

t.test('an enumeration that is wrong tells what is allowed', async (t) => {
  for (const body of [
    { metrics: ['bed_capacity_exist'] },
    { ...BODY, group_by: ['planet'] },
    { ...BODY, group_by: ['equipment_type'] },
    filter('state', 'LIKE', 'RR'),
    filter('state', 'GT', 'RR'),
    { ...BODY, over_period: 'sum' },
    { ...BODY, where: 1 },
    { ...BODY, order_by: [{ field: 'state' }] },
  ]) {
    const { body: answer } = await client.query(body)
    t.ok(answer.errors[0].allowed.length > 0, JSON.stringify(answer.errors[0]).slice(0, 150))
  }
  t.equal(
    (await client.query({ metrics: ['bed_capacity_exist'] })).body.errors[0].allowed[0],
    'bed_capacity_existing',
  )
})

t.test('names of objects, SQL and other texts are texts', async (t) => {
  const before = (await client.query(BODY)).body.data
  const TEXTS = [
    '__proto__',
    'constructor',
    'toString',
    "'; DROP TABLE states; --",
    '" OR 1=1',
    '$1',
    '{1}',
    '%',
    '\\',
    "x' UNION SELECT * FROM read_csv('/etc/passwd') --",
    '\u202e',
    '💥',
  ]
  for (const text of TEXTS) {
    for (const dimension of ['facility', 'facility_type', 'bed_type', 'management_type'])
      t.same(
        (await client.query(filter(dimension, 'EQ', text))).body.data[0].metrics,
        { bed_capacity_existing: 0 },
        text,
      )
    for (const body of [
      { metrics: [text] },
      { ...BODY, group_by: [text] },
      filter(text, 'EQ', 'x'),
      filter('state', text, 'x'),
      { ...BODY, order_by: [{ field: text }] },
      { ...BODY, expected_release_id: text },
    ]) {
      const { status, text: answer } = await client.query(body)
      t.ok(status === 400 || status === 409, `${status} ${text}`)
      t.notMatch(answer, /Binder Error|Parser Error|Catalog Error/)
    }
    const search = `/v1/analytics/dimensions/facility/values?search=${encodeURIComponent(text)}`
    t.equal((await client.get(search)).status, 200)
  }
  const raw = '{"metrics":["bed_capacity_existing"],"__proto__":{"limit":1},"constructor":{"prototype":{}}}'
  t.equal((await client.query(raw)).status, 400)
  t.same((await client.query(BODY)).body.data, before, 'nothing was changed')
})

t.test('bodies that are no bodies', async (t) => {
  const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const CASES: [body: string, status: number][] = [
    ['', 400],
    ['{', 400],
    ['null', 400],
    ['[]', 400],
    ['"x"', 400],
    ['\u0000', 400],
    [`{"metrics":${deep(5000)}}`, 400],
    [`{"metrics":["${'x'.repeat(1_000_000)}"]}`, 400],
    [`{"metrics":["${'x'.repeat(2_000_000)}"]}`, 413],
    [
      JSON.stringify({
        ...BODY,
        ...Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`f${index}`, 1])),
      }),
      400,
    ],
  ]
  for (const [body, expected] of CASES) {
    const { status, headers } = await client.query(body)
    t.equal(status, expected, JSON.stringify(body.slice(0, 30)))
    t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
  }
  const xml = await client.query('<metrics/>', { 'content-type': 'application/xml' })
  t.equal(xml.status, 415)
})

const view = client.store.current() as ReleaseView
/** Work for minutes: nothing but an interruption ends it in a test. */
const ENDLESS = sql`SELECT count(*) AS n FROM ${table('equipment_inventory')} a, ${table('equipment_inventory')} b, ${table('specialized_services')} c WHERE a.quantity_existing * b.quantity_existing > c.cnes_code::INTEGER`
const open = (options: { timeoutMs: number; concurrency: number; queue: number }) =>
  makeEngine(small.releasesDir, options)

t.test('a query past its time is really interrupted', async (t) => {
  const engine = await open({ timeoutMs: 200, concurrency: 1, queue: 0 })
  t.teardown(() => engine.close())
  await engine.open(view)
  await t.rejects(engine.run(ENDLESS, view), { code: 'query_timeout' })
  // The only connection is free again at once: the work has ended, not only the waiting for it.
  const [row] = await engine.run(sql`SELECT count(*) AS n FROM ${table('states')}`, view)
  t.equal(row?.n, 27)
})

t.test('a client that leaves ends its query', async (t) => {
  const engine = await open({ timeoutMs: 60_000, concurrency: 1, queue: 0 })
  t.teardown(() => engine.close())
  await engine.open(view)
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 200)
  await t.rejects(engine.run(ENDLESS, view, { signal: controller.signal }), { code: 'query_timeout' })
  t.equal((await engine.run(sql`SELECT 1 AS n`, view))[0]?.n, 1)
  const gone = new AbortController()
  gone.abort()
  await t.rejects(engine.run(sql`SELECT 1 AS n`, view, { signal: gone.signal }), { code: 'query_timeout' })
  t.equal((await engine.run(sql`SELECT 1 AS n`, view))[0]?.n, 1)
})

t.test('a full queue refuses at once, and says when to come back', async (t) => {
  const engine = await open({ timeoutMs: 1000, concurrency: 1, queue: 1 })
  t.teardown(() => engine.close())
  await engine.open(view)
  const running = engine.run(ENDLESS, view).catch((error: { code: string }) => error.code)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const waiting = engine.run(sql`SELECT 1 AS n`, view)
  await new Promise((resolve) => setTimeout(resolve, 50))
  await t.rejects(engine.run(sql`SELECT 2 AS n`, view), {
    code: 'overloaded',
    headers: { 'Retry-After': '1' },
  })
  t.equal(await running, 'query_timeout')
  t.equal((await waiting)[0]?.n, 1, 'who waited is served')
})

t.test('rows taken in batches give the connection back, however the loop ends', async (t) => {
  const engine = await open({ timeoutMs: 10_000, concurrency: 1, queue: 0 })
  t.teardown(() => engine.close())
  await engine.open(view)
  const all = sql`SELECT cnes_code FROM ${table('facilities', 202605)} ORDER BY 1`
  for await (const rows of engine.runInBatches(all, view)) {
    t.ok(rows.length > 0)
    break
  }
  let count = 0
  for await (const rows of engine.runInBatches(all, view)) count += rows.length
  t.equal(
    (await engine.run(sql`SELECT count(*) AS n FROM ${table('facilities', 202605)}`, view))[0]?.n,
    count,
  )
})

t.test('a query that does not fit into the memory fails alone, and says so', async (t) => {
  const engine = await makeEngine(small.releasesDir, { memory: '64MB', concurrency: 1, queue: 0 })
  t.teardown(() => engine.close())
  await engine.open(view)
  const large = sql`SELECT list(range ORDER BY hash(range)) AS l FROM range(100000000)`
  await t.rejects(engine.run(large, view), { code: 'query_too_large' })
  await t.rejects(engine.runInBatches(large, view)[Symbol.asyncIterator]().next(), {
    code: 'query_too_large',
  })
  t.equal((await engine.run(sql`SELECT count(*) AS n FROM ${table('states')}`, view))[0]?.n, 27)
})

t.test('what does not fit beside others is answered alone', secondRing, async (t) => {
  const engine = await makeEngine(small.releasesDir, { memory: '128MB', concurrency: 4, queue: 16 })
  t.teardown(() => engine.close())
  await engine.open(view)
  const COUNT = 2_000_000
  const heavy = sql`SELECT count(*) AS n FROM (SELECT range, sum(range) FROM range(${COUNT}) GROUP BY 1)`
  const ask = (owner: string | null) =>
    engine.run(heavy, view, owner === null ? {} : { owner, weight: 'heavy' }).then(
      ([row]) => row?.n,
      ({ code }: { code: string }) => code,
    )
  const together = await Promise.all(Array.from({ length: 4 }, () => ask(null)))
  t.ok(together.includes('query_too_large'), 'four of them are too much for the memory')
  const answers = await Promise.all(Array.from({ length: 6 }, (_, index) => ask(`key ${index % 3}`)))
  t.same(answers, Array(6).fill(COUNT))
})

t.test('rows are counted without being computed, and as many as there are', async (t) => {
  for (const group_by of [
    ['facility'],
    ['facility', 'equipment_type'],
    ['municipality', 'facility_type'],
    ['state'],
    ['municipality', 'bed_type'],
    [],
  ])
    for (const metrics of [
      ['equipment_existing'],
      ['facilities_count', 'bed_capacity_existing'],
      ['beds_existing_per_100k'],
    ])
      try {
        const plan = planAggregate(
          parseQuery({
            metrics,
            group_by,
            filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
          }),
          view,
          CAPABILITIES,
        )
        const [counted] = await client.engine.run(printRowCount(plan), view)
        const [whole] = await client.engine.run(printAggregate(plan), view)
        t.equal(counted?.total_rows, whole?.total_rows, `${metrics} by ${group_by}`)
      } catch (error) {
        // Not every metric goes with every grouping.
        t.match((error as { code?: string }).code, /^(incompatible_dimension|denominator_not_defined)$/)
      }
})
