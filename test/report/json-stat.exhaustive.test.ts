/**
 * Answers as cubes of JSON-stat 2.0, read by another library: every cell is that of the JSON answer to the same query. Another validator
 * finds them valid.
 */
import { createRequire } from 'node:module'
import t from 'tap'
import { openClient } from '../fixtures/client.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

// The library has no types.
const JSONstat = createRequire(import.meta.url)('jsonstat-toolkit')
const JSON_STAT = 'application/vnd.json-stat+json'
const small = await makeSmallRelease('gaps')
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())

const UNKNOWN = '_U'
const TOTAL = '_T'
interface AnswerRow {
  readonly rank?: number | null
  readonly dimensions: Readonly<
    Record<string, { readonly code: string | number | null; readonly name: string }>
  >
  readonly metrics: Readonly<Record<string, number | null>>
}

const QUERIES = {
  'no dimension': { metrics: ['bed_capacity_existing', 'beds_existing_per_100k'] },
  'a dimension, by value': {
    metrics: ['beds_existing_per_100k', 'bed_capacity_existing'],
    group_by: ['state'],
    order_by: ['-bed_capacity_existing'],
    rank: true,
  },
  'several, not every pair, and what was not collected': {
    metrics: ['bed_capacity_existing'],
    group_by: ['bed_category', 'state', 'reference_period'],
  },
  'a member without a code': {
    metrics: ['facilities_count', 'facilities_per_100k'],
    group_by: ['health_region'],
    filters: [{ dimension: 'state', operator: 'EQ', value: 'AC' }],
  },
  totals: {
    metrics: ['bed_capacity_existing', 'beds_sus_share'],
    group_by: ['state', 'bed_category'],
    totals: true,
    change: { to: 'previous' },
  },
}

const cubes: string[] = []
for (const [name, query] of Object.entries<Readonly<Record<string, unknown>>>(QUERIES))
  t.test(name, async (t) => {
    const body = { ...query, limit: 10_000 }
    const { body: answer } = await client.query(body)
    const { status, headers, text } = await client.post('/v1/analytics/query', body, { accept: JSON_STAT })
    t.equal(status, 200, text.slice(0, 300))
    t.match(headers['content-type'], JSON_STAT)
    cubes.push(text)
    const cube = JSONstat(JSON.parse(text))
    t.equal(cube.class, 'dataset')
    const groups = (query.group_by ?? []) as readonly string[]
    t.same(cube.id, [...groups, 'metric'])
    t.match(cube.extension, {
      release_id: answer.meta.release_id,
      fingerprint: answer.meta.fingerprint,
      total_rows: answer.pagination.total_rows,
    })
    t.same(cube.extension.notes, answer.meta.notes)
    t.same(
      cube.note,
      answer.meta.notes.map(({ message }: { message: string }) => message),
    )
    const levels: { readonly group_by: readonly string[]; readonly data: readonly AnswerRow[] }[] = [
      { group_by: groups, data: answer.data },
      ...(answer.totals ?? []),
    ]
    let compared = 0
    const wrong: string[] = []
    for (const { group_by, data } of levels)
      for (const { dimensions, metrics, rank } of data) {
        const place = Object.fromEntries(
          groups.map((code) => [
            code,
            group_by.includes(code) ? String(dimensions[code]?.code ?? UNKNOWN) : TOTAL,
          ]),
        )
        for (const code of group_by) {
          const shown = cube.Dimension(code).Category(place[code]).label
          if (shown !== (dimensions[code]?.name ?? place[code]))
            wrong.push(`${code} ${place[code]}: ${shown}`)
        }
        for (const [metric, value] of Object.entries({
          ...metrics,
          ...(rank === undefined ? {} : { rank }),
        })) {
          compared += 1
          const found = cube.Data({ ...place, metric })?.value ?? null
          if (found !== value) wrong.push(`${JSON.stringify(place)} ${metric}: ${found}, not ${value}`)
        }
      }
    t.same(wrong.slice(0, 5), [], `${compared} cells`)
    t.ok(compared > 0)
    const known = cube.value.filter((value: number | null) => value !== null).length
    t.ok(known <= compared, 'nothing beside them')
    const again = await client.post('/v1/analytics/query', body, { accept: JSON_STAT })
    t.equal(again.text, text, 'the same bytes')
    t.same(cube.role.metric, ['metric'])
    t.same(cube.role.time ?? [], groups.includes('reference_period') ? ['reference_period'] : [])
  })

t.test('a cube of no rows', async (t) => {
  const { text } = await client.post(
    '/v1/analytics/query',
    {
      metrics: ['bed_capacity_existing'],
      group_by: ['bed_category'],
      filters: [{ dimension: 'municipality', operator: 'EQ', value: 1100015 }],
      having: [{ metric: 'bed_capacity_existing', operator: 'GT', value: 1_000_000 }],
    },
    { accept: JSON_STAT },
  )
  t.match(JSON.parse(text), { size: [0, 1], value: [] })
})

t.test('jsonstat-validator', { skip: withoutPython('jsonstat_validator') }, async (t) => {
  const script =
    'import json, sys; from jsonstat_validator import validate_jsonstat; print([validate_jsonstat(json.loads(text)) for text in sys.argv[1:]])'
  const validate = async (...texts: string[]) => {
    const { stdout, stderr } = await runPython(script, ...texts)
    return stdout.trim() || stderr
  }
  t.equal(await validate(...cubes), `[${cubes.map(() => 'True').join(', ')}]`)
  t.equal(cubes.length, Object.keys(QUERIES).length)
  t.match(
    await validate('{"version":"2.0","class":"dataset","id":["a"],"size":[]}'),
    /JSONStatValidationError/,
  )
})
