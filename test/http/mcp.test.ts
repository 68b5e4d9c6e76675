/**
 * The Model Context Protocol over both transports, spoken by both lines of the SDK's client: the same conversation of tools over
 * streamable HTTP, over standard input with the releases of this machine, and over standard input with a server elsewhere. The older
 * line (sdk) begins with `initialize`; the newer one (client) does so, too, or names version 2026-07-28 in every request.
 */
import { fileURLToPath } from 'node:url'
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewHttpTransport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport as NewStdioTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { mcpHosts } from '../../src/http/mcp.ts'
import { describeCodes } from '../../src/mcp/codes.ts'
import { STATELESS_VERSION } from '../../src/mcp/stateless.ts'
import { RELEASE_ID_MAX, SEARCH_MAX } from '../../src/text-limits.ts'
import { openClient } from '../fixtures/client.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const small = await makeSmallRelease(2)
const client = await openClient(small.releasesDir)
t.teardown(() => client.close())
const address = await client.app.listen({ host: '127.0.0.1', port: 0 })
const key = client.keyWithout()
const QUESTION = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
  group_by: ['state'],
  filters: [{ dimension: 'state', operator: 'IN', value: ['RR', 'AC'] }],
}

/** What tools answer, as an agent reads it. */
// biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
type Json = any
/** Members of a client that the tests use; both lines of the SDK have them. */
interface SdkClient {
  listTools(): Promise<{ readonly tools: readonly Json[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<Json>
  getInstructions(): string | undefined
  close(): Promise<void>
}
interface Agent {
  readonly client: SdkClient
  call(name: string, args?: Record<string, unknown>): Promise<Json>
  refused(name: string, args: Record<string, unknown>): Promise<string>
}

/** @returns a schema whose objects have no member but those that it lists */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([name, value]) => [name, closed(value)])
  return {
    ...Object.fromEntries(entries),
    ...('properties' in schema && schema.type === 'object' ? { additionalProperties: false } : {}),
  }
}

async function converse(transport: StreamableHTTPClientTransport | StdioClientTransport): Promise<Agent> {
  const sdk = new Client({ name: 'test', version: '1.0.0' })
  await sdk.connect(transport as Parameters<Client['connect']>[0])
  return agentOf(sdk)
}

/** @param mode of the newer line: with a handshake, or by the revision that has none */
async function converseNew(
  transport: NewHttpTransport | NewStdioTransport,
  mode: 'legacy' | 'auto' | { pin: string } = { pin: STATELESS_VERSION },
): Promise<Agent> {
  const sdk = new NewClient({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  await sdk.connect(transport)
  t.equal(sdk.getNegotiatedProtocolVersion(), mode === 'legacy' ? '2025-11-25' : STATELESS_VERSION)
  return agentOf(sdk)
}

async function agentOf(agent: SdkClient): Promise<Agent> {
  const ajv = new Ajv2020({ allowUnionTypes: true })
  const validators = new Map<string, ValidateFunction>(
    (await agent.listTools()).tools.map(({ name, outputSchema }) => [
      name,
      ajv.compile(closed(outputSchema)),
    ]),
  )
  const ask = async (name: string, args: Record<string, unknown>): Promise<[boolean, string]> => {
    const { content, structuredContent, isError } = await agent.callTool({ name, arguments: args })
    const [part] = content as { type: string; text: string }[]
    const text = part?.text ?? ''
    if (isError === true) return [true, text]
    if (JSON.stringify(structuredContent) !== text)
      throw new Error(`${name}: ${text} is not what is structured`)
    const validate = validators.get(name)
    if (validate?.(structuredContent) !== true)
      throw new Error(`${name}: ${ajv.errorsText(validate?.errors)}: ${text}`)
    return [false, text]
  }
  return {
    client: agent,
    async call(name, args = {}) {
      const [isError, text] = await ask(name, args)
      if (isError) throw new Error(text)
      if (text.length > 8000) throw new Error(`${name}: ${text.length} characters are no small answer`)
      return JSON.parse(text)
    },
    async refused(name, args) {
      const [isError, text] = await ask(name, args)
      return isError ? text : `not refused: ${text}`
    },
  }
}
const overHttp = (bearer: string): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(`${address}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${bearer}` } },
  })

const overNewHttp = (send?: typeof fetch): NewHttpTransport =>
  new NewHttpTransport(new URL(`${address}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
    ...(send === undefined ? {} : { fetch: send }),
  })

/** Ten calls, each made of what the one before said. @param origin of links */
async function tenCalls(t: Test, agent: Agent, origin: string): Promise<void> {
  const { tools } = await agent.client.listTools()
  t.same(tools.map(({ name }) => name).sort(), [
    'catalog',
    'compare',
    'explain',
    'facility',
    'lineage',
    'members',
    'query',
    'releases',
  ])
  t.ok(tools.every(({ annotations }) => annotations?.readOnlyHint === true))
  t.match(agent.client.getInstructions(), /cite|Cite/)

  const everything = await agent.call('catalog')
  const codes = [
    ...everything.metrics.map(({ code }: { code: string }) => code),
    ...Object.values(everything.other_metrics).flat(),
  ]
  const { data: whole } = (await client.get('/v1/analytics/catalog')).body
  t.same(codes.sort(), whole.metrics.map(({ code }: { code: string }) => code).sort(), 'every metric')
  const few = await agent.call('catalog', { search: 'bed occupancy' })
  t.match(few.metrics, [{ code: 'bed_occupancy_share', dimensions: /health_region/, meaning: String }])
  const fewer = await agent.call('catalog', { search: 'produção ambulatorial' })
  t.match(fewer, { note: /most of them/, metrics: Array })
  t.ok(fewer.metrics.some(({ code }: { code: string }) => code === 'outpatient_value_approved'))
  const found = await agent.call('catalog', { search: 'leitos existentes' })
  t.ok(found.metrics.some(({ code }: { code: string }) => code === 'bed_capacity_existing'))
  const { metric } = await agent.call('catalog', { metric: 'bed_capacity_existing' })
  t.ok(metric.dimensions.includes('municipality'))
  const places = await agent.call('members', { dimension: 'municipality', search: 'boa vista' })
  const boaVista = places.members.find(({ name }: { name: string }) => name === 'Boa Vista')
  t.equal(boaVista.code, 1400100)

  const answer = await agent.call('query', { ...QUESTION, totals: [[]] })
  const expected = (await client.query({ ...QUESTION, totals: [[]] })).body
  t.same(
    answer.rows,
    expected.data.map((row: Json) => [
      row.dimensions.state.code,
      row.dimensions.state.name,
      row.metrics.bed_capacity_existing,
      row.metrics.beds_existing_per_100k,
    ]),
  )
  t.same(answer.totals[0].rows, [Object.values(expected.totals[0].data[0].metrics)])
  t.equal(answer.totals[0].total_rows, 1)
  t.match(answer.columns[3], { name: 'beds_existing_per_100k', label: /Leitos/, unit: /100/ })
  t.match(answer, {
    release_id: expected.meta.release_id,
    fingerprint: expected.meta.fingerprint,
    citation: expected.meta.citation.abnt,
    synthetic: true,
  })
  t.ok(answer.link.startsWith(`${origin}/v1/analytics/query?q=`))
  const linked = await client.get(answer.link.slice(origin.length))
  t.equal(linked.body.meta.fingerprint, answer.fingerprint, 'the link asks the same, pinned')
  t.match(linked.headers['cache-control'], /immutable/)

  const options = {
    group_by: ['municipality'],
    compare_to: { with: 'state' },
    status: true,
    totals: [['municipality'], []],
  }
  const rated = { ...QUESTION, metrics: ['beds_existing_per_100k'], ...options, limit: 30 }
  const inTable = await agent.call('query', rated)
  const inFull = (await client.query(rated)).body
  const columnOf = (name: string): number =>
    inTable.columns.findIndex((column: { name: string }) => column.name === name)
  t.same(
    inTable.rows.map((row: unknown[]) => row[columnOf('beds_existing_per_100k__status')]),
    inFull.data.map((row: Json) => row.status.beds_existing_per_100k),
  )
  for (const [suffix, unit] of [
    ['', true],
    ['__comparator', true],
    ['__ratio', false],
    ['__significance', false],
    ['__status', false],
  ] as const)
    t.equal('unit' in inTable.columns[columnOf(`beds_existing_per_100k${suffix}`)], unit, `unit ${suffix}`)
  t.same(
    inTable.totals.map(({ rows, total_rows }: Json) => [rows.length, total_rows]),
    inFull.totals.map(({ data }: Json) => [Math.min(20, data.length), data.length]),
    'totals that are cut say how many there are',
  )
  t.ok(inFull.totals[0].data.length > 20)

  const { filters } = QUESTION
  const [{ operator: _in, ...withoutOperator } = {}] = filters
  const short = await agent.call('query', { ...QUESTION, filters: [withoutOperator], totals: [[]] })
  t.equal(short.fingerprint, answer.fingerprint, 'a list without an operator is IN')

  const plan = await agent.call('explain', { ...QUESTION, with_sql: true })
  t.match(plan, { sql: /SELECT/, estimated_rows: 2 })
  const cell = { ...QUESTION, metrics: ['bed_capacity_existing'], key: { state: 'RR' }, limit: 2 }
  const traced = await agent.call('lineage', cell)
  t.equal(traced.value, answer.rows.find(([code]: [string]) => code === 'RR')[2])
  t.match(traced.shown[0].published[0], { file: String, row: Number, column: String, raw_value: String })
  t.match(traced.fingerprint, /^[0-9a-f]{64}$/)
  const traceOf = (await client.get(traced.link.slice(origin.length))).body
  t.equal(traceOf.meta.fingerprint, traced.fingerprint)
  t.equal(traceOf.data.length, traceOf.pagination.total_rows, 'the link is to the whole answer')

  const { releases } = await agent.call('releases')
  const compared = await agent.call('compare', {
    metrics: ['bed_capacity_existing'],
    group_by: ['state'],
    old_release_id: releases[0].release_id,
  })
  t.match(compared, {
    changed_rows: 0,
    same_content: true,
    rows: [],
    fingerprint: /^[0-9a-f]{64}$/,
    citation: String,
  })
  const nearby = await agent.call('facility', { uf: 'RR', search: 'hospital', limit: 3 })
  t.ok(nearby.facilities.length > 0 && nearby.facilities.length <= 3)
  const [first] = nearby.facilities
  const { facility } = await agent.call('facility', { cnes_code: first.cnes_code })
  t.equal(facility.cnes_code, first.cnes_code)
}

/** Wrong questions, and what is said to them. */
async function wrongQuestions(t: Test, agent: Agent): Promise<void> {
  t.match(
    await agent.refused('query', { metrics: ['bed_capacity_existin'] }),
    /unknown_metric[\s\S]*bed_capacity_existing/,
  )
  t.match(
    await agent.refused('query', { metrics: ['population_census'], group_by: ['bed_type'] }),
    /incompatible_dimension/,
  )
  t.match(
    await agent.refused('query', { metric: 'beds' }),
    /does not take "metric"; it takes metrics, group_by/,
  )
  t.match(await agent.refused('query', {}), /query needs metrics/)
  const named = (dimension: string, value: string) => ({ ...QUESTION, filters: [{ dimension, value }] })
  t.match(
    await agent.refused('query', named('state', 'Roraima')),
    /"RR" \(Roraima\)/,
    'a name is told its code',
  )
  t.match(await agent.refused('query', named('municipality', 'Boa Vista')), /1400100 \(Boa Vista\)/)
  const none = await agent.call('query', named('bed_type', 'UTI'))
  t.match(
    none.notes[0],
    { code: 'unknown_code', message: /"UTI" is no code of bed_type; codes with this name: "\d+" \(/ },
    'nor is 0 beds believed',
  )
  for (const written of [named('state', 'sp'), named('municipality', '355030')])
    t.notMatch(
      (await agent.call('query', written)).notes,
      [{ code: 'unknown_code' }],
      'a code in another form is one',
    )
  t.match(
    await agent.refused('query', named('municipality', 'Atlantis')),
    /is no code of municipality; members lists the codes/,
  )
  const nowhere = await agent.call('members', { dimension: 'state', search: 'Atlantis' })
  t.match(nowhere, { members: [], note: /without search/ })
  const together = await agent.refused('query', { metrics: ['admissions'], group_by: ['state', 'sex'] })
  t.match(together, /sex [^()]* state [^()]*\((?!.*\bsex\b).*procedure_group/, 'what does go together')
  t.match(
    await agent.refused('query', { ...QUESTION, limit: 10_000 }),
    /limit is a whole number from 1 to 200/,
  )
  t.match(await agent.refused('members', { dimension: 'bairro' }), /unknown_dimension[\s\S]*municipality/)
  t.match(await agent.refused('facility', { uf: 'XX' }), /invalid_request[\s\S]*uf/)
  t.match(await agent.refused('compare', { ...QUESTION, old_release_id: 'none' }), /release_mismatch/)
  await t.rejects(agent.client.callTool({ name: 'delete', arguments: {} }), /tools: query, explain/)
}

t.test('ten calls over streamable HTTP', async (t) => {
  const agent = await converse(overHttp(key))
  await tenCalls(t, agent, address)
  await wrongQuestions(t, agent)
  await agent.client.close()
})

t.test('ten calls over streamable HTTP without a handshake, the list of tools from the cache', async (t) => {
  let sent = 0
  const agent = await converseNew(
    overNewHttp((...request) => {
      sent += 1
      return fetch(...request)
    }),
  )
  const before = sent
  await tenCalls(t, agent, address)
  t.equal(sent - before, 15, 'the calls alone were sent, because the list is fresh for an hour')
  await t.rejects(agent.client.callTool({ name: 'delete', arguments: {} }), /tools: query, explain/)
  await agent.client.close()
})

t.test('the newer client with a handshake, and looking for the version itself', secondRing, async (t) => {
  for (const mode of ['legacy', 'auto'] as const) {
    const agent = await converseNew(overNewHttp(), mode)
    await tenCalls(t, agent, address)
    await wrongQuestions(t, agent)
    await agent.client.close()
  }
})

/** How clients start the command. */
const startHere = {
  command: process.execPath,
  args: [bin, 'mcp', '--releases', small.releasesDir],
  stderr: 'ignore',
} as const
const startThere = {
  command: process.execPath,
  args: [bin, 'mcp', '--url', address],
  env: { ...(process.env as Record<string, string>), SUS_KEY: key },
  stderr: 'ignore',
} as const

t.test('ten calls over standard input, with the releases of this machine', secondRing, async (t) => {
  for (const agent of [
    await converse(new StdioClientTransport({ ...startHere, args: [...startHere.args] })),
    await converseNew(new NewStdioTransport({ ...startHere, args: [...startHere.args] })),
  ]) {
    await tenCalls(t, agent, '')
    await wrongQuestions(t, agent)
    await agent.client.close()
  }
})

t.test('ten calls over standard input, with a server elsewhere', secondRing, async (t) => {
  for (const agent of [
    await converse(new StdioClientTransport({ ...startThere, args: [...startThere.args] })),
    await converseNew(new NewStdioTransport({ ...startThere, args: [...startThere.args] })),
    await converseNew(new NewStdioTransport({ ...startThere, args: [...startThere.args] }), 'auto'),
  ]) {
    await tenCalls(t, agent, address)
    for (const name of ['ação', '=?base64?cXVlcnk=?=', ' query', 'q'.repeat(300)])
      await t.rejects(agent.client.callTool({ name, arguments: {} }), /There is no tool|Mcp-Name/, name)
    await agent.client.close()
  }
})

t.test('codes are looked up in the release that a question names', async (t) => {
  const get = async (path: string): Promise<Json> => {
    const { status, body } = await client.get(path)
    if (status !== 200) throw new Error(`${path} is ${status}`)
    return body
  }
  const codesIn = (release: unknown) =>
    describeCodes({ dimension: 'state', value: 'Roraima' }, { get, post: get }, release)
  for (const release of [small.result.analytics, undefined])
    t.match(await codesIn(release), [/"RR" \(Roraima\)/])
  t.same(await codesIn('of-another-server'), [], 'not those of the release in service')
})

const post = (message: unknown, headers: Record<string, string> = {}) => client.post('/mcp', message, headers)
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'query', arguments: QUESTION } }

t.test(
  'the key of the call decides: none, one that lacks a capability, one that has used up its rate',
  async (t) => {
    t.equal((await post(CALL, { authorization: '' })).status, 401)
    await t.rejects(converse(overHttp('sus_none')), /401|Unauthorized|credenciais/)
    const limited = await converse(overHttp(client.keyWithout('bed_capacity.read')))
    t.match(await limited.refused('query', QUESTION), /forbidden[\s\S]*bed_capacity_existing/)
    const { metrics } = await limited.call('catalog', { search: 'leitos' })
    t.notOk(
      metrics.some(({ code }: { code: string }) => code === 'bed_capacity_existing'),
      'what it cannot reach is not listed',
    )
    const unreachable = { metric: 'bed_capacity_existing' }
    t.match(await limited.refused('catalog', unreachable), /forbidden[\s\S]*bed_capacity\.read/)
    const unknown = await limited.call('catalog', { metric: 'leitos' })
    t.match(unknown.note, /There is no metric of this code/)
    await limited.client.close()
    const slow = await openClient(small.releasesDir, 1, { perMinute: 8 })
    // A message costs 1, what its tool asks costs what it always does: 5 for a query, 1 for the catalog.
    t.equal((await slow.post('/mcp', CALL)).body.result.isError, undefined)
    t.match((await slow.post('/mcp', CALL)).body.result, {
      isError: true,
      content: [{ text: /429, rate_limited/ }],
    })
    t.equal((await slow.post('/mcp', CALL)).status, 429)
    await slow.close()
  },
)

t.test(
  'the protocol: versions, notifications, what is no message, other methods, other origins',
  async (t) => {
    const initialize = async (protocolVersion: string) =>
      (await post({ jsonrpc: '2.0', id: 'a', method: 'initialize', params: { protocolVersion } })).body.result
    t.match(await initialize('2025-03-26'), {
      protocolVersion: '2025-03-26',
      serverInfo: { name: 'sus-data' },
    })
    t.equal((await initialize('1999-01-01')).protocolVersion, '2025-11-25')
    const noted = await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    t.same([noted.status, noted.text], [202, ''])
    t.match((await post({ jsonrpc: '2.0', id: 1, method: 'ping' })).body, { id: 1, result: {} })
    for (const [message, code] of [
      [{ jsonrpc: '2.0', id: 1, method: 'resources/list' }, -32601],
      [{ id: 1, method: 'ping' }, -32600],
      [[CALL], -32600],
      ['"text"', -32600],
    ] as const)
      t.equal((await post(message)).body.error.code, code, JSON.stringify(message))
    t.equal((await post('{')).status, 400)
    t.match(await post(CALL, { 'mcp-protocol-version': '1999-01-01' }), {
      status: 400,
      body: { errors: [{ allowed: Array }] },
    })
    for (const method of ['GET', 'DELETE']) {
      const answer = await client.send({ method, url: '/mcp' })
      t.same([answer.status, answer.headers.allow], [405, 'POST'])
    }
    t.equal((await post(CALL, { origin: 'https://evil.example' })).status, 403)
    t.equal((await post(CALL, { origin: 'http://dados.example.br', host: 'dados.example.br' })).status, 200)
    const answer = await post(CALL, { host: 'dados.example.br', 'accept-language': 'en' })
    const answered = JSON.parse(answer.body.result.content[0].text)
    t.match(answered.link, /^http:\/\/dados\.example\.br\/v1\/analytics\/query\?q=/)
    t.match(answered.columns[2].label, /beds/i, 'labels follow Accept-Language')
    t.equal(answer.headers['cache-control'], 'no-store')
  },
)

const PREFIX = 'io.modelcontextprotocol/'
const META = { [`${PREFIX}protocolVersion`]: STATELESS_VERSION, [`${PREFIX}clientCapabilities`]: {} }
/** A request without a handshake, and the headers that repeat it. */
const statelessly = (method: string, params: Json = {}, changed: Record<string, string> = {}) => {
  const headers: Record<string, string> = {
    'mcp-protocol-version': STATELESS_VERSION,
    'mcp-method': method,
    ...(method === 'tools/call' ? { 'mcp-name': params.name } : {}),
    ...changed,
  }
  const message = { jsonrpc: '2.0', id: 7, method, params: { _meta: META, ...params } }
  return post(message, Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== '-')))
}

t.test('requests without a handshake say what they are, in the body and in headers', async (t) => {
  const server = { [`${PREFIX}serverInfo`]: { name: 'sus-data', version: String } }
  const fresh = { resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'public', _meta: server }
  t.match(await statelessly('server/discover'), {
    status: 200,
    body: {
      id: 7,
      result: {
        ...fresh,
        supportedVersions: [STATELESS_VERSION],
        capabilities: { tools: {} },
        instructions: /Cite/,
      },
    },
  })
  const { result: listed } = (await statelessly('tools/list')).body
  t.match(listed, fresh)
  const list = { jsonrpc: '2.0', id: 7, method: 'tools/list' }
  const { result: older } = (await post(list)).body
  t.same(older, { tools: listed.tools }, 'older clients get the same tools and nothing else')
  for (const { outputSchema, annotations } of listed.tools) {
    t.match(outputSchema, { type: 'object', properties: {} })
    t.match(annotations, { readOnlyHint: true })
  }
  const called = (await statelessly('tools/call', CALL.params)).body.result
  t.match(called, { resultType: 'complete', structuredContent: { fingerprint: String }, _meta: server })
  t.notOk('ttlMs' in called, 'the revision lets lists be cached, not calls')
  const refused = (await statelessly('tools/call', { name: 'query', arguments: {} })).body.result
  t.match(refused, { resultType: 'complete', isError: true, structuredContent: undefined })
  t.equal((await statelessly('tools/call', CALL.params, { 'mcp-name': '=?base64?cXVlcnk=?=' })).status, 200)

  const { [`${PREFIX}protocolVersion`]: version, [`${PREFIX}clientCapabilities`]: capabilities } = META
  const unsupported = { [`${PREFIX}protocolVersion`]: '2099-01-01', [`${PREFIX}clientCapabilities`]: {} }
  for (const [status, code, method, params, changed] of [
    [400, -32602, 'tools/list', { _meta: undefined }, {}],
    [400, -32602, 'server/discover', { _meta: undefined }, { 'mcp-protocol-version': '-' }],
    [400, -32602, 'tools/list', { _meta: { [`${PREFIX}protocolVersion`]: version } }, {}],
    [400, -32602, 'tools/list', { _meta: { [`${PREFIX}clientCapabilities`]: capabilities } }, {}],
    [400, -32602, 'tools/list', { _meta: { ...META, [`${PREFIX}clientCapabilities`]: [] } }, {}],
    [400, -32602, 'tools/list', { _meta: { ...META, [`${PREFIX}protocolVersion`]: 1 } }, {}],
    [400, -32602, 'initialize', { _meta: undefined }, {}],
    [400, -32020, 'tools/list', {}, { 'mcp-protocol-version': '-' }],
    [400, -32020, 'tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }],
    [400, -32020, 'tools/list', { _meta: unsupported }, {}],
    [400, -32022, 'tools/list', { _meta: unsupported }, { 'mcp-protocol-version': '2099-01-01' }],
    [400, -32020, 'tools/list', {}, { 'mcp-method': '-' }],
    [400, -32020, 'tools/list', {}, { 'mcp-method': 'Tools/List' }],
    [400, -32020, 'tools/call', CALL.params, { 'mcp-name': '-' }],
    [400, -32020, 'tools/call', CALL.params, { 'mcp-name': 'explain' }],
    [400, -32020, 'tools/call', CALL.params, { 'mcp-name': '=?base64?cXVlcnk?=' }],
    [400, -32020, 'tools/call', CALL.params, { 'mcp-name': '=?base64?ZXhwbGFpbg==?=' }],
    [200, -32602, 'tools/call', { name: 'delete' }, {}],
    [404, -32601, 'initialize', {}, {}],
    [404, -32601, 'ping', {}, {}],
    [404, -32601, 'resources/list', {}, {}],
    [404, -32601, 'subscriptions/listen', {}, {}],
    [404, -32601, 'constructor', {}, {}],
  ] as const) {
    const answer = await statelessly(method, params, changed)
    t.match(
      answer,
      { status, body: { id: 7, error: { code } } },
      `${method} ${JSON.stringify([params, changed])}`,
    )
    t.equal(answer.headers['cache-control'], 'no-store')
    if (code === -32022)
      t.same(answer.body.error.data, { supported: [STATELESS_VERSION], requested: '2099-01-01' })
  }
  const noted = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: META } }
  t.equal((await post(noted, { 'mcp-protocol-version': STATELESS_VERSION })).status, 202)
  t.equal((await statelessly('tools/list', {}, { authorization: '' })).status, 401)
})

t.test('a name that is led to this machine, and pages of other origins, are refused', async (t) => {
  t.same(mcpHosts('0.0.0.0', []), null, 'open to the network, under any name')
  t.same(mcpHosts('127.0.0.1', []), ['localhost', '127.0.0.1', '[::1]', '127.0.0.1'])
  t.same(mcpHosts('0.0.0.0', ['dados.example.br'])?.at(-1), 'dados.example.br')
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  // The server of these tests is on this machine, and behind a proxy that passes on dados.example.br.
  for (const [host, origin, status] of [
    ['localhost:8080', undefined, 200],
    ['LOCALHOST', undefined, 200],
    ['127.0.0.1:8080', 'http://127.0.0.1:8080', 200],
    ['dados.example.br', undefined, 200],
    ['dados.example.br', 'https://dados.example.br', 200],
    ['evil.example', undefined, 403],
    ['evil.example:8080', 'http://evil.example:8080', 403],
    ['localhost.evil.example', undefined, 403],
    ['localhost', 'http://evil.example', 403],
    ['localhost:8080', 'http://localhost:3000', 403],
    ['dados.example.br', 'null', 403],
    ['dados.example.br', 'http://dados.example.br.evil.example', 403],
  ] as const) {
    const answer = await post(ping, { host, ...(origin === undefined ? {} : { origin }) })
    t.equal(answer.status, status, `${host} ${origin}`)
    const newer = await statelessly('tools/list', {}, { host, ...(origin === undefined ? {} : { origin }) })
    t.equal(newer.status, status, `${host} ${origin} without a handshake`)
    if (status === 403) t.match(answer.body, { code: 'forbidden', detail: /SUS_ALLOWED_HOSTS/ })
  }
})

t.test('half a surrogate pair and a name that is no text are no fault of the server', async (t) => {
  const send = (params: string): Promise<Json> =>
    client.post('/mcp', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
  const named = await send('{"name":{"toString":1}}')
  t.match(named.body, { error: { code: -32602, message: /whose name is no text/ } })
  for (const call of [
    '{"name":"members","arguments":{"dimension":"\\ud800"}}',
    '{"name":"facility","arguments":{"cnes_code":"\\ud800"}}',
  ])
    t.match(await send(call), { status: 200, body: { result: { isError: true } } }, call)
})

t.test('texts are bounded on every way in, and a long one costs nothing', async (t) => {
  const { tools } = (await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).body.result
  const call = async (name: string, args: object): Promise<Json> =>
    (await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })).body
      .result
  const many = '('.repeat(400_000)
  let longest = 0
  /** CPU time, because other programs may hold the machine. */
  const timed = async <Value>(work: Promise<Value>): Promise<Value> => {
    const before = process.cpuUsage()
    const value = await work
    const { user, system } = process.cpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
    return value
  }
  let bounded = 0
  for (const { name, inputSchema } of tools as { name: string; inputSchema: Json }[]) {
    const required = Object.fromEntries(
      (inputSchema.required ?? []).map((argument: string) => [
        argument,
        argument === 'metrics' ? ['population'] : 'state',
      ]),
    )
    for (const [argument, { type, maxLength }] of Object.entries<Json>(inputSchema.properties)) {
      const refused = new RegExp(`^${argument} is a text of at most ${maxLength} characters`)
      if (type === 'string') {
        bounded += 1
        t.equal(
          maxLength,
          argument.endsWith('release_id') ? RELEASE_ID_MAX : SEARCH_MAX,
          `${name} ${argument}`,
        )
        const [last, first] = await Promise.all(
          [maxLength, maxLength + 1].map((length) =>
            call(name, { ...required, [argument]: 'a'.repeat(length) }),
          ),
        )
        t.notMatch(last.content[0].text, refused, `${name} ${argument} of ${maxLength}`)
        t.match(
          [first.isError, first.content[0].text],
          [true, refused],
          `${name} ${argument} of ${maxLength + 1}`,
        )
        t.match((await call(name, { ...required, [argument]: ['a'] })).content[0].text, refused)
      }
      for (const value of [
        many,
        [many],
        { dimension: many, value: many },
        [{ dimension: many, operator: 'EQ', value: many }],
      ])
        t.equal(
          (await timed(call(name, { ...required, [argument]: value }))).isError,
          true,
          `${name} ${argument}`,
        )
    }
  }
  t.ok(bounded >= 15, `${bounded} texts`)
  const pieces = Array.from({ length: 100_000 }, (_, index) => `a${index}`)
  for (const body of [
    { metrics: [many] },
    { metrics: ['population'], group_by: [many] },
    { metrics: pieces },
    { metrics: ['population'], group_by: pieces },
    { metrics: ['population'], order_by: pieces },
    { metrics: ['population'], filters: [{ dimension: 'state', operator: 'IN', value: pieces }] },
    { metrics: ['population'], filters: [{ dimension: 'facility', operator: 'EQ', value: many }] },
    Object.fromEntries(pieces.slice(0, 70_000).map((name) => [name, 1])),
  ]) {
    t.equal((await timed(client.query(body))).status, 400)
    t.equal((await timed(client.post('/v1/analytics/export', body))).status, 400)
  }
  for (const path of [
    '/v1/facilities',
    '/v1/municipalities',
    '/v1/health-regions',
    '/v1/analytics/dimensions/municipality/values',
    '/v1/analytics/dimensions/facility_type/values',
  ])
    for (const [length, status] of [
      [SEARCH_MAX, 200],
      [SEARCH_MAX + 1, 400],
      [400_000, 400],
    ] as const)
      t.equal(
        (await timed(client.get(`${path}?search=${'('.repeat(length)}`))).status,
        status,
        `${path} ${length}`,
      )
  t.comment(`the longest took ${longest.toFixed(0)} ms of CPU time`)
  t.ok(longest < 1000, `${longest} ms of CPU time`)
})
