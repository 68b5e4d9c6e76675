/** CSV and Arrow answers: the rows of the JSON answer, read back by other libraries. */
import { read, utils } from '@e965/xlsx'
import { tableFromIPC } from '@uwdata/flechette'
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())

const QUERIES = [
  { metrics: ['bed_capacity_existing', 'beds_existing_per_100k'], group_by: ['municipality'], limit: 2500 },
  { metrics: ['bed_capacity_existing', 'beds_non_sus_per_100k'], group_by: [] },
  { metrics: ['facilities_count'], group_by: ['facility_type', 'management_type'], limit: 10_000 },
  { metrics: ['equipment_existing', 'equipment_per_facility'], group_by: ['state', 'reference_period'] },
  { metrics: ['bed_capacity_existing'], group_by: ['facility', 'bed_type'], offset: 7, limit: 1234 },
  { metrics: ['population_census'], group_by: ['state'], offset: 1000 },
  {
    metrics: ['bed_capacity_existing'],
    group_by: ['state'],
    filters: [{ dimension: 'reference_period', operator: 'GTE', value: '2026-04' }],
    over_period: 'avg',
  },
]

/** The rows of a JSON answer as the columns of a table. */
function flatten(body: {
  data: { label: string; dimensions: Record<string, Record<string, unknown>>; metrics: object }[]
}): Record<string, unknown>[] {
  return body.data.map(({ label, dimensions, metrics }) => {
    const row: Record<string, unknown> = Object.keys(dimensions).length === 0 ? { label } : {}
    for (const [dimension, member] of Object.entries(dimensions))
      for (const [part, value] of Object.entries(member)) {
        if (dimension === 'reference_period') row.reference_period = value
        else row[`${dimension}_${part}`] = value === null ? null : String(value)
      }
    return { ...row, ...metrics }
  })
}

for (const query of QUERIES)
  t.test(JSON.stringify(query), async (t) => {
    const json = await client.query(query)
    const expected = flatten(json.body)
    const csv = await client.query(query, { accept: 'text/csv' })
    t.equal(csv.status, 200)
    t.match(csv.headers['content-type'], /^text\/csv; charset=utf-8/)
    t.equal(csv.headers['x-report-fingerprint'], json.body.meta.fingerprint)
    t.equal(csv.headers['x-report-row-count'], String(json.body.pagination.total_rows))
    t.match(csv.headers.vary, /Accept/)
    const sheet = read(csv.bytes.toString('utf8'), { type: 'string', raw: true, dense: true }).Sheets.Sheet1
    const [header = [], ...rows] = utils.sheet_to_json(sheet ?? {}, {
      header: 1,
      defval: null,
      raw: true,
    }) as string[][]
    t.same(
      rows.map((row) => row.map((cell) => (cell === null ? null : String(cell)))),
      expected.map((row) =>
        header.map((name) => {
          const value = row[name]
          if (value === null || value === undefined) return null
          const decimals = name in (json.body.data[0]?.metrics ?? {}) && isDecimal(name, query) ? 2 : null
          return decimals === null ? String(value) : Number(value).toFixed(decimals)
        }),
      ),
      `${rows.length} rows`,
    )
    const arrow = await client.query(query, { accept: 'application/vnd.apache.arrow.stream' })
    t.equal(arrow.headers['content-type'], 'application/vnd.apache.arrow.stream')
    const table = tableFromIPC(new Uint8Array(arrow.bytes), { useDecimalInt: false })
    t.equal(table.numRows, expected.length)
    t.same(
      table.schema.fields.map(({ name }) => name),
      header.length > 0 ? header : table.schema.fields.map(({ name }) => name),
    )
    t.same(
      table.toArray().map((row) => ({ ...row })),
      expected,
    )
  })

const isDecimal = (name: string, query: (typeof QUERIES)[number]): boolean =>
  /_per_|_share$/.test(name) || ('over_period' in query && query.over_period === 'avg')

t.test('what the client likes best', async (t) => {
  const query = { metrics: ['bed_capacity_existing'] }
  const CASES: [accept: string, type: RegExp][] = [
    ['*/*', /^application\/json/],
    ['text/html, */*;q=0.1', /^application\/json/],
    // What a route does not offer is 406.
    ['text/html', /^application\/problem\+json/],
    ['text/csv;q=0.5, application/json', /^application\/json/],
    ['text/csv, application/json;q=0.5', /^text\/csv/],
    ['text/*', /^text\/csv/],
  ]
  for (const [accept, type] of CASES)
    t.match((await client.query(query, { accept })).headers['content-type'], type, accept)
  const refused = await client.query({ metrics: ['beds'] }, { accept: 'text/csv' })
  t.equal(refused.status, 400)
  t.equal(refused.headers['content-type'], 'application/problem+json; charset=utf-8')
})
