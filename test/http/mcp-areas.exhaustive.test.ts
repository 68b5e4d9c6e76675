/** Tools of MCP over releases with deaths and births, and prices: units, labels, months and notes of searches. */
import t from 'tap'
import { ApiFailure } from '../../src/explorer/api.ts'
import { type Context, callTool } from '../../src/mcp/tools.ts'
import { openClient, type Reply } from '../fixtures/client.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

/** @returns a function that calls a tool over the API of a release */
async function openTools(kind: 'admissions' | 'vital') {
  const { releasesDir } = await makeSmallRelease(kind)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const bodyOf = ({ status, body }: Reply) => {
    if (status !== 200) throw new ApiFailure(body)
    return body
  }
  const api = {
    get: async (path: string) => bodyOf(await client.get(path)),
    post: async (path: string, body: unknown) => bodyOf(await client.post(path, body)),
  } as Context['api']
  return async (name: string, args: object) => {
    const result = await callTool(name, args, { api, origin: '', version: '0' })
    if (result?.isError === true) throw new Error(result.content[0]?.text)
    // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
    return result?.structuredContent as any
  }
}

t.test('constant prices and metrics that a query defines have their unit and label', async (t) => {
  const call = await openTools('admissions')
  const { metric } = await call('catalog', { metric: 'admissions_value' })
  t.equal(metric.unit, 'BRL')
  const { columns } = await call('query', {
    metrics: [
      'admissions_value',
      'admissions',
      {
        metric: 'admissions_value',
        as: 'clinical',
        filters: [{ dimension: 'procedure_group', operator: 'EQ', value: '03' }],
      },
      { as: 'named', metric: 'admissions', label: 'Internações citadas' },
      {
        as: 'average',
        ratio: ['clinical', 'admissions'],
        scale: 1,
        decimals: 2,
        label: 'Valor médio',
      },
    ],
    group_by: ['reference_period'],
    filters: [{ dimension: 'reference_period', operator: 'IN', value: ['2026-03', '2026-04'] }],
    prices: '2026-04',
  })
  const columnOf = (name: string) => columns.find((column: { name: string }) => column.name === name)
  const label = `${metric.label} (BRL of 2026-04)`
  t.same(columnOf('admissions_value'), { name: 'admissions_value', label, unit: 'BRL of 2026-04' })
  t.same(columnOf('clinical'), { name: 'clinical', label, unit: 'BRL of 2026-04' })
  t.match(columnOf('admissions'), { unit: 'admissions' })
  t.same(columnOf('named'), { name: 'named', label: 'Internações citadas', unit: 'admissions' })
  t.match(columnOf('average'), { label: /^Valor médio/, unit: undefined })
})

t.test('the first month of a release is a month', async (t) => {
  const call = await openTools('vital')
  const { releases } = await call('releases', {})
  t.ok(releases.length > 0)
  for (const { first_period } of releases) t.match(first_period, /^\d{4}-(0[1-9]|1[0-2])$/)
})

t.test('a search for an unknown metric without all words says both', async (t) => {
  const call = await openTools('vital')
  const { note } = await call('catalog', { metric: 'leitos xyzzy' })
  t.match(note, /no metric of this code/)
  t.match(note, /No metric has all of these words/)
})
