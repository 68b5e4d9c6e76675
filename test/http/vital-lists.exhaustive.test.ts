/** Lists of deaths and births, whose keys contain nulls: each page, order and format has every row, as plain SQL counts them. */
import t from 'tap'
import type { ReleaseView } from '../../src/release/view.ts'
import { walkList } from '../fixtures/area-lists.ts'
import { openClient } from '../fixtures/client.ts'
import { cases } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { releasesDir } = await makeSmallRelease('vital')
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const current = client.store.current() as ReleaseView

const LISTS = [
  ['/v1/sim/monthly', 'deaths', 'deaths', 'age_group IS NULL OR sex IS NULL'],
  ['/v1/sim/occurrence', 'deaths_by_occurrence', 'deaths', 'age_group IS NULL OR sex IS NULL'],
  ['/v1/sim/fetal', 'fetal_deaths', 'fetal_deaths', 'sex IS NULL'],
  ['/v1/sinasc/monthly', 'births', 'births', 'sex IS NULL'],
] as const

for (const [path, dataset, measure, hasNull] of LISTS)
  t.test(path, async (t) => {
    const [month = {}] = await client.engine.run(
      {
        parts: [
          {
            kind: 'text',
            text: `SELECT reference_period, count(*) AS n, sum(${measure}) AS total, count(*) FILTER (${hasNull}) AS nulls FROM `,
          },
          { kind: 'table', dataset, period: null },
          {
            kind: 'text',
            text: ' WHERE reference_period % 100 > 0 GROUP BY 1 ORDER BY nulls DESC, n LIMIT 1',
          },
        ],
      },
      current,
    )
    t.ok(Number(month.nulls) > 0, `${month.nulls} rows have a null in their key`)
    const url = `${path}?reference_period=${month.reference_period}`
    for (const sort of ['', `&sort=${measure}`, `&sort=-${measure}`])
      for (const limit of cases([100, 37], [100])) {
        const rows = await walkList(client, `${url}${sort}`, limit)
        t.equal(rows.length, Number(month.n), `${sort} limit ${limit}`)
        t.equal(new Set(rows.map((row) => JSON.stringify(row))).size, rows.length, 'no row twice')
        t.equal(
          rows.reduce((sum, row) => sum + Number(row[measure]), 0),
          Number(month.total),
        )
        const csv = await client.get(`${url}${sort}`, { accept: 'text/csv' })
        t.equal(csv.text.trimEnd().split('\r\n').length - 1, rows.length, 'CSV')
      }
  })
