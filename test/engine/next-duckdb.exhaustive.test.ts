/**
 * The statements of the server on the next major version of DuckDB, which Python's registry has before that of Node.js: each list
 * with each of its parameters and orders, and drawn queries as explain shows them, have equal rows, types and order on both.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { describeApi } from '../../src/http/openapi/document.ts'
import { ROUTES } from '../../src/http/routes/index.ts'
import { factDatasetsOf, type MetricCode } from '../../src/model/metrics.ts'
import { componentManifests, type ReleaseView } from '../../src/release/view.ts'
import { type Code, createAnyQuestions } from '../fixtures/any-questions.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { createStatementRecorder } from '../fixtures/recorded-statements.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const SCRIPT = readFileSync(fileURLToPath(new URL('../fixtures/next-duckdb.py', import.meta.url)), 'utf8')
/** Releases with the number of their drawn queries: 38, and 304 with `SUS_TESTS_FACTOR=8`. Two of them have every list between them. */
const RELEASES = [
  { kind: 'production', drawn: countOf(20, 1), hasLists: true },
  { kind: 'financing', drawn: countOf(10, 1), hasLists: true },
  { kind: 'gaps', drawn: countOf(8, 1), hasLists: false },
] as const

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly example?: unknown
  readonly schema: { readonly items?: { readonly enum?: readonly string[] } }
}
interface Operation {
  readonly parameters?: readonly Parameter[]
}
const { paths } = JSON.parse(JSON.stringify(describeApi(ROUTES))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** @returns addresses of each route that is read: plain, with the example of each parameter, and in each order */
function addressesOf(path: string, parameters: readonly Parameter[]): string[] {
  const written = (value: unknown): string =>
    encodeURIComponent(Array.isArray(value) ? value.join(',') : String(value))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    written(parameters.find((other) => other.name === name)?.example),
  )
  const queries = parameters.filter((parameter) => parameter.in === 'query')
  const required = queries.filter((parameter) => parameter.required)
  const valuesOf = ({ name, example, schema }: Parameter): readonly unknown[] =>
    name === 'sort' ? (schema.items?.enum ?? []) : example === undefined ? [] : [example]
  const address = (pairs: readonly (readonly [string, unknown])[]): string =>
    `${filled}?${pairs.map(([name, value]) => `${name}=${written(value)}`).join('&')}`
  const always = required.map((parameter) => [parameter.name, parameter.example] as const)
  return [
    address(always),
    ...queries.flatMap((parameter) =>
      valuesOf(parameter).map((value) => address([...always, [parameter.name, value]])),
    ),
  ]
}

/** Reads every list, and the second page of those that have one. @param answered gets the paths that answer */
async function readLists(client: Client, answered: Set<string>): Promise<void> {
  for (const [path, { get }] of Object.entries(paths))
    for (const address of get === undefined ? [] : addressesOf(path, get.parameters ?? [])) {
      const { status, body } = await client.get(address)
      if (status !== 200) continue
      answered.add(path)
      const cursor = body?.pagination?.next_cursor
      if (typeof cursor === 'string') await client.get(`${address}&cursor=${encodeURIComponent(cursor)}`)
    }
}

t.test('every statement has equal rows on the next version', { skip: withoutPython('duckdb') }, async (t) => {
  const answered = new Set<string>()
  for (const { kind, drawn, hasLists } of RELEASES) {
    const { releasesDir } = await makeSmallRelease(kind)
    const recorder = createStatementRecorder()
    const client = await openClient(releasesDir, 1, { watch: recorder.record })
    t.teardown(() => client.close())
    const view = client.store.current() as ReleaseView
    if (hasLists) await readLists(client, answered)
    const manifests = [...componentManifests(view), view.analytics]
    const isThere = (metric: MetricCode): boolean =>
      factDatasetsOf(metric).every((name) => manifests.some(({ datasets }) => name in datasets))
    const codesOf = async (metric: string, dimension: string): Promise<Code[]> => {
      const { body } = await client.query({ metrics: [metric], group_by: [dimension], limit: 20 })
      return (body.data ?? []).flatMap(
        (row: { dimensions: Record<string, { code: Code | null }> }) => row.dimensions[dimension]?.code ?? [],
      )
    }
    const next = createAnyQuestions(codesOf, isThere, 2000)
    for (let explained = 0; explained < drawn; ) {
      const question = await next()
      const { status, body } = await client.post('/v1/analytics/explain', question)
      if (status !== 200) continue
      explained += 1
      recorder.add({ text: body.data.sql, values: body.data.parameters })
      await client.query(question)
    }
    const file = join(temporaryFolder('statements'), 'statements.jsonl')
    const written = await recorder.write(file, releasesDir)
    const { code, stdout, stderr } = await runPython(SCRIPT, file)
    t.equal(code, 0, stderr.slice(-1000))
    const { version, statements, rows, different, differences } = JSON.parse(stdout)
    t.comment(`${kind}: DuckDB ${version}, ${statements} statements, ${rows} rows`)
    t.match(version, /^2\./)
    t.equal(statements, written)
    t.equal(different, 0, JSON.stringify(differences, null, 2))
  }
  const lists = ROUTES.filter(({ kind }) => kind === 'list' || kind === 'all').map(({ path }) => path)
  t.same(
    lists.filter((path) => !answered.has(path)),
    [],
    'every list is read',
  )
})
