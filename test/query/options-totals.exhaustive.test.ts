/**
 * Totals against the queries they stand for: each level of totals is what a query by its groups alone answers. The first ring
 * takes a sample of the second's questions.
 */
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { createOptionsQuestions } from '../fixtures/options-questions.ts'
import { readOracleData } from '../fixtures/oracle-data.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir, 1, { residentBytes: RESIDENT_BYTES })
t.teardown(() => client.close())
const data = await readOracleData(client, ['2026-03', '2026-04', '2026-05'])
const drawQuestion = createOptionsQuestions(data, 12)
/** Rows of a page at most. */
const PAGE = 10_000

t.test('totals are what the queries they stand for answer', async (t) => {
  const wrong: string[] = []
  let levels = 0
  for (let turn = 0; turn < countOf(200, 20); turn += 1) {
    const { order_by: _order, rank: _rank, having: _having, ...question } = drawQuestion()
    const { status, body, text } = await client.query({ ...question, limit: 1 })
    if (status !== 200) {
      wrong.push(`${JSON.stringify(question)}: ${text.slice(0, 300)}`)
      continue
    }
    for (const total of body.totals ?? []) {
      levels += 1
      const { share_of, totals: _totals, ...rest } = question
      const isByMonth = question.group_by.includes('reference_period')
      const leavesMonths = isByMonth && !total.group_by.includes('reference_period')
      const keepsShare = share_of?.every((code) => total.group_by.includes(code)) === true
      const asked = {
        ...rest,
        group_by: total.group_by,
        ...(keepsShare ? { share_of } : {}),
        ...(leavesMonths && question.over_period === undefined ? { over_period: 'last' } : {}),
        limit: PAGE,
      }
      const alone = await client.query(asked)
      for (let offset = PAGE; offset < alone.body.pagination.total_rows; offset += PAGE)
        alone.body.data.push(...(await client.query({ ...asked, offset })).body.data)
      if (JSON.stringify(alone.body.data) !== JSON.stringify(total.data))
        wrong.push(
          `${JSON.stringify(question)} [${total.group_by}]: ${JSON.stringify(total.data).slice(0, 200)} for ${alone.text.slice(0, 200)}`,
        )
    }
  }
  t.same(wrong.slice(0, 6), [], `${levels} levels`)
})
