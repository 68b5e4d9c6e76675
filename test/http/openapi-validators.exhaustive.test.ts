/**
 * The OpenAPI document as others read it: validators find no error, code that generators make of it type-checks in natural use and
 * runs, and Schemathesis finds nothing in a server that tools/validators does not list with its reason.
 */
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { runPython, withoutPython } from '../fixtures/python.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { validatorFile, withoutValidators } from '../fixtures/validators.ts'

const run = promisify(execFile)
const document = fileURLToPath(new URL('openapi.json', import.meta.url))
const folder = temporaryFolder('validators')
const small = await makeSmallRelease()
const keysFile = join(folder, 'keys.json')
const key = createKey(keysFile, { name: 'client', capabilities: CAPABILITIES, rate: 1_000_000 }).secret
const server = await startServerProcess(small.releasesDir, { env: { SUS_KEYS_FILE: keysFile } })
t.teardown(async () => {
  server.child.kill()
  await server.ended
})
const baseUrl = `http://127.0.0.1:${server.port}`
const pythonBin = dirname(process.env.SUS_TEST_PYTHON ?? '')

/** Runs a program, which is to end well. @returns what it printed */
async function succeeds(t: Test, file: string, args: readonly string[], env = {}): Promise<string> {
  try {
    const options = { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 1 << 26 }
    const { stdout } = await run(file, args, options)
    t.pass(String(file.split('/').at(-1)))
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    t.fail(`${file.split('/').at(-1)}: ${stdout.slice(-3000)}${stderr.slice(-1000)}`)
    return ''
  }
}
const node = (t: Test, path: string, ...args: string[]): Promise<string> =>
  succeeds(t, process.execPath, [validatorFile(path), ...args])

t.test('openapi-spec-validator', { skip: withoutPython('openapi_spec_validator') }, async (t) => {
  const script =
    'import json, sys; from openapi_spec_validator import validate; validate(json.load(open(sys.argv[1])))'
  const { code, stderr } = await runPython(script, document)
  t.equal(code, 0, stderr.slice(-500))
})

const linters = withoutValidators('@redocly/cli', '@stoplight/spectral-cli')
t.test('Redocly and Spectral', { skip: linters }, async (t) => {
  await node(t, '@redocly/cli/bin/cli.js', 'lint', document, '--extends', 'recommended')
  const rules = join(folder, 'rules.json')
  writeFileSync(rules, JSON.stringify({ extends: ['spectral:oas'] }))
  // Warnings, too.
  await node(t, '@stoplight/spectral-cli/dist/index.js', 'lint', document, '--ruleset', rules, '-F', 'warn')
})

const TYPESCRIPT = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'
const client = createClient<paths, 'application/json' | 'application/problem+json'>({
  baseUrl: process.env.SUS_DATA_URL ?? '',
  headers: { authorization: \`Bearer \${process.env.SUS_DATA_KEY}\` },
})
const { data, error } = await client.GET('/v1/facilities', {
  params: { query: { uf: ['RR', 'AC'], limit: 5, has_beds: true } },
})
if (error) throw new Error(error.detail)
const [first]: components['schemas']['Facility'][] = data.data
console.log(data.data.length, first?.trade_name?.toLowerCase(), data.pagination.next_cursor?.length)
const answer = await client.POST('/v1/analytics/query', {
  body: {
    metrics: ['bed_capacity_existing'],
    group_by: ['state'],
    filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
    order_by: ['-bed_capacity_existing'],
  },
})
if (answer.error) throw new Error(answer.error.code)
for (const { dimensions, metrics } of answer.data.data) console.log(dimensions.state?.code, metrics.bed_capacity_existing)
console.log(answer.data.meta.fingerprint, answer.data.meta.query.metrics[0])
const { data: one } = await client.GET('/v1/facilities/{cnes_code}', { params: { path: { cnes_code: '2648359' } } })
console.log(one?.data.address?.street, one?.data.coordinates_suspect)
// @ts-expect-error no such metric
void (() => client.POST('/v1/analytics/query', { body: { metrics: ['beds'] } }))
// @ts-expect-error a limit is a number
void (() => client.GET('/v1/facilities', { params: { query: { limit: '5' } } }))
// @ts-expect-error no such parameter
void (() => client.GET('/v1/facilities', { params: { query: { planet: 'mars' } } }))
`
const typescript = withoutValidators('openapi-typescript', 'openapi-fetch', 'typescript')
t.test('openapi-typescript and openapi-fetch', { skip: typescript }, async (t) => {
  await node(t, 'openapi-typescript/bin/cli.js', document, '-o', join(folder, 'api.ts'))
  writeFileSync(join(folder, 'use.ts'), TYPESCRIPT)
  symlinkSync(validatorFile('.'), join(folder, 'node_modules'))
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'preserve',
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [fileURLToPath(new URL('../../node_modules/@types', import.meta.url))],
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }))
  await node(t, 'typescript/bin/tsc', '-p', join(folder, 'tsconfig.json'))
  const tsx = fileURLToPath(import.meta.resolve('tsx'))
  const printed = await succeeds(t, process.execPath, ['--import', `file://${tsx}`, join(folder, 'use.ts')], {
    SUS_DATA_URL: baseUrl,
    SUS_DATA_KEY: key,
  })
  t.match(printed, /^5 .+\n(AC|RR) \d+\n(AC|RR) \d+\n[0-9a-f]{64} bed_capacity_existing\nRua /)
})

const PYTHON = `
import os
from sus_data_client import AuthenticatedClient
from sus_data_client.api.analytics_query import query_analytics
from sus_data_client.api.facilities import list_facilities
from sus_data_client.models import (
    AnalyticsFilter, AnalyticsQueryRequest, AnalyticsQueryResponse, DimensionCode, FacilityListResponse,
    FilterOperator, ListFacilitiesUfItem, MetricCode,
)

client = AuthenticatedClient(base_url=os.environ["SUS_DATA_URL"], token=os.environ["SUS_DATA_KEY"])
states = [ListFacilitiesUfItem.RR, ListFacilitiesUfItem.AC]
page = list_facilities.sync(client=client, uf=states, limit=5, has_beds=True)
assert isinstance(page, FacilityListResponse), page
assert page.pagination.next_cursor is not None
more = list_facilities.sync(client=client, uf=states, limit=5, has_beds=True, cursor=page.pagination.next_cursor)
assert isinstance(more, FacilityListResponse), more
print(len(page.data), page.data[0].municipality_ibge_code + 0)
answer = query_analytics.sync(client=client, body=AnalyticsQueryRequest(
    metrics=[MetricCode.BED_CAPACITY_EXISTING], group_by=[DimensionCode.STATE],
    filters=[AnalyticsFilter(dimension=DimensionCode.STATE, operator=FilterOperator.IN, value=["RR", "AC"])]))
assert isinstance(answer, AnalyticsQueryResponse), answer
for row in answer.data:
    print(row.label, row.metrics["bed_capacity_existing"])
print(answer.meta.fingerprint)
`
const python = withoutPython('openapi_python_client', 'mypy')
t.test('openapi-python-client', { skip: python }, async (t) => {
  const made = join(folder, 'made')
  const env = { PATH: `${pythonBin}:${process.env.PATH}`, PYTHONPATH: made, MYPYPATH: made }
  const generate = ['-m', 'openapi_python_client', 'generate', '--path', document, '--output-path', made]
  const interpreter = process.env.SUS_TEST_PYTHON ?? 'python3'
  await succeeds(t, interpreter, generate, env)
  const use = join(folder, 'use.py')
  writeFileSync(use, PYTHON)
  await succeeds(t, interpreter, ['-m', 'mypy', '--strict', use], env)
  const printed = await succeeds(t, interpreter, [use], { ...env, SUS_DATA_URL: baseUrl, SUS_DATA_KEY: key })
  t.match(printed, /^5 \d{7}\nAcre \d+\nRoraima \d+\n[0-9a-f]{64}\n$/)
})

t.test(
  'Schemathesis: all checks, some cases of each operation',
  { skip: withoutPython('schemathesis') },
  async (t) => {
    const script = fileURLToPath(new URL('../../tools/validators/schemathesis.sh', import.meta.url))
    const options = ['--phases', 'examples,fuzzing', '--max-examples', '6', '--workers', '2', '--seed', '1']
    const printed = await succeeds(t, script, [baseUrl, key, ...options], {
      SCHEMATHESIS: join(pythonBin, 'schemathesis'),
    })
    t.match(printed, /\d{3,} generated/)
  },
)

t.test('what is read here is what the server gives', async (t) => {
  const response = await fetch(`${baseUrl}/openapi.json`)
  t.same(await response.json(), JSON.parse(readFileSync(document, 'utf8')))
})
