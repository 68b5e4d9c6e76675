/**
 * Totals, changes, shares, ranks and conditions on values against test/fixtures/options-oracle.ts: other code, another engine.
 * The first ring takes a sample of the second's questions.
 */
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { type ExpectedRow, expect } from '../fixtures/options-oracle.ts'
import { createOptionsQuestions } from '../fixtures/options-questions.ts'
import { readOracleData } from '../fixtures/oracle-data.ts'
import { cases, countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, RESIDENT_BYTES } from '../fixtures/small-release.ts'

const small = await makeSmallRelease('admissions')
const client = await openClient(small.releasesDir, 1, { residentBytes: RESIDENT_BYTES })
const twoThreads = await openClient(small.releasesDir, 2, { residentBytes: RESIDENT_BYTES })
t.teardown(async () => {
  await client.close()
  await twoThreads.close()
})
const data = await readOracleData(client, ['2026-03', '2026-04', '2026-05'])
const drawQuestion = createOptionsQuestions(data, 11)

/** Rows of a page at most. */
const PAGE = 10_000

interface AnswerRow {
  readonly rank?: number | null
  readonly dimensions: Readonly<Record<string, { readonly code: unknown }>>
  readonly metrics: Readonly<Record<string, number | null>>
}

/** @returns the first differences between rows and what is expected of them */
function compareRows(
  rows: readonly AnswerRow[],
  expected: ReadonlyMap<string, ExpectedRow>,
  groups: readonly string[],
): string[] {
  const found: string[] = []
  for (const { dimensions, metrics, rank } of rows) {
    const key = JSON.stringify(groups.map((group) => dimensions[group]?.code))
    const wanted = expected.get(key)
    if (wanted === undefined) {
      found.push(`${key} is no group`)
      continue
    }
    if (Object.keys(metrics).sort().join() !== Object.keys(wanted.values).sort().join())
      found.push(`${key} has ${Object.keys(metrics)} for ${Object.keys(wanted.values)}`)
    for (const [name, text] of Object.entries(wanted.values))
      if (metrics[name] !== (text === null ? null : Number(text)))
        found.push(`${key} ${name}: ${metrics[name]} for ${text}`)
    if ((rank ?? null) !== wanted.rank) found.push(`${key} rank: ${rank} for ${wanted.rank}`)
  }
  if (rows.length !== expected.size) found.push(`${rows.length} rows for ${expected.size}`)
  return found
}

t.test('drawn questions against the oracle', async (t) => {
  const wrong: string[] = []
  let cells = 0
  for (let turn = 0; turn < countOf(100, 20); turn += 1) {
    const question = drawQuestion()
    const { status, body, text } = await client.query({ ...question, limit: PAGE })
    if (status !== 200) {
      wrong.push(`${JSON.stringify(question)}: ${text.slice(0, 300)}`)
      continue
    }
    for (let offset = PAGE; offset < body.pagination.total_rows; offset += PAGE)
      body.data.push(...(await client.query({ ...question, limit: PAGE, offset })).body.data)
    const expected = expect(question, data)
    const found = [
      ...compareRows(body.data, expected.rows, question.group_by),
      ...(question.totals ?? []).flatMap((level, index) => {
        const total = body.totals[index]
        if (total.group_by.join() !== level.join()) return [`level ${total.group_by} for ${level}`]
        return compareRows(total.data, expected.totals[index] ?? new Map(), level).map(
          (difference) => `[${level}] ${difference}`,
        )
      }),
    ]
    cells += body.data.length * question.metrics.length
    if (found.length > 0) wrong.push(`${JSON.stringify(question)}: ${found.slice(0, 3).join('; ')}`)
  }
  t.same(wrong.slice(0, 6), [], `${cells} rows × metrics`)
})

t.test('the number of threads changes no fingerprint', async (t) => {
  for (let turn = 0; turn < cases(100, 4); turn += 1) {
    const question = { ...drawQuestion(), limit: 1 }
    const [one, two] = [await client.query(question), await twoThreads.query(question)]
    t.equal(one.body.meta.fingerprint, two.body.meta.fingerprint)
    t.same(one.body.totals, two.body.totals)
  }
})
