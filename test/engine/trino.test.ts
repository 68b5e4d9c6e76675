/** The second engine without one at hand: how plans are printed for it, what its errors become, what goes on while it is gone. */
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { explainQuery } from '../../src/analytics/explain.ts'
import { answerQuery, prepareQuery, printQuery } from '../../src/analytics/query.ts'
import { createTrinoClient } from '../../src/engine/trino/client.ts'
import { connectTrino, createEngineWith } from '../../src/engine/trino/connect.ts'
import { TrinoError, toAppError } from '../../src/engine/trino/errors.ts'
import { registerReleases } from '../../src/engine/trino/register.ts'
import { createStatus } from '../../src/engine/trino/status.ts'
import { createStatements, trinoRelation, trinoType } from '../../src/engine/trino/tables.ts'
import type { TrinoSettings } from '../../src/engine/types.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { printForTrino, readsOf, TRINO_DIALECT } from '../../src/query/analytics/dialect/trino.ts'
import { parseQuery } from '../../src/query/analytics/request.ts'
import { manifestsOf } from '../../src/release/view.ts'
import { gathered, gatheredOf, sql, table } from '../../src/sql.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeEngine, makeSmallRelease, openReleases, temporaryFolder } from '../fixtures/small-release.ts'
import { trinoSettings } from '../fixtures/trino.ts'

/** A small release in service: its view, and how a query is answered with other settings of Trino, where nobody is. */
async function openSmall(t: Test, kind?: Parameters<typeof makeSmallRelease>[0]) {
  const { releasesDir } = await makeSmallRelease(kind)
  const local = await makeEngine(releasesDir)
  const parts = await openReleases(releasesDir)
  t.teardown(async () => {
    await parts.close()
    await local.close()
  })
  const view = parts.store.current()
  if (view === null) throw new Error('nothing is in service')
  const withSettings = (given: Partial<TrinoSettings> | null) => {
    const settings = given === null ? null : trinoSettings({ url: 'http://127.0.0.1:9', shared: '' }, given)
    const engine = createEngineWith(local, settings, TRINO_DIALECT, 5000)
    return { engine, view, capabilities: CAPABILITIES, language: 'en' as const }
  }
  return { view, withSettings }
}

/** @returns the address of a server that stands where Trino would */
async function standIn(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('plans are printed in the SQL that Trino takes', secondRing, async (t) => {
  const { view, withSettings } = await openSmall(t, 'admissions')
  const answer = withSettings(null)
  const printed = async (body: object): Promise<string[]> => {
    const prepared = await prepareQuery(parseQuery(body), answer)
    return gatheredOf(printQuery(prepared, view)).map((part) =>
      printForTrino(part, trinoRelation('sus', view)),
    )
  }
  const [months = ''] = await printed({
    metrics: ['admissions'],
    group_by: ['facility'],
    filters: [{ dimension: 'reference_period', operator: 'GTE', value: '2026-03' }],
  })
  t.match(months, /WHERE reference_period IN \(202603, 202604, 202605\)/, 'months are read at once')
  t.match(months, /^SELECT "cnes_code", CAST\("measure_0" AS VARCHAR\) AS "measure_0"/)
  const rates = await printed({ metrics: ['admissions_per_10k_standardized'], group_by: ['residence_state'] })
  const joined = rates.find((text) => text.includes('JOIN')) ?? ''
  t.match(
    joined,
    /coalesce\('=' \|\| CAST\(residents\."residence_uf" AS VARCHAR\), ''\) =/,
    'keys are never null',
  )
  t.notMatch(rates.join('\n'), /IS NOT DISTINCT FROM|HUGEINT| \/\/ |BY NAME|unnest|lambda/)
  const services = await printed({ metrics: ['services_outsourced'], group_by: ['state'] }).catch(() => [''])
  t.notMatch(services.join('\n'), /list_filter/)
  const hostile = await printed({
    metrics: ['bed_capacity_existing'],
    group_by: ['bed_type'],
    filters: [{ dimension: 'bed_type', operator: 'IN', value: ["' OR ''='", 'x; DROP SCHEMA sus'] }],
  })
  t.match(hostile.join('\n'), "IN (''' OR ''''=''', 'x; DROP SCHEMA sus')", 'a quote ends no text')
})

t.test('a part that another engine may run is named once and read as a table', async (t) => {
  const part = gathered(
    'own',
    [{ name: 'sum', type: 'HUGEINT' }],
    sql`SELECT ${7} AS sum FROM ${table('beds', 202605)}`,
  )
  t.same(
    gatheredOf(part).map(({ name }) => name),
    ['own'],
  )
  t.same(readsOf(part), [{ dataset: 'beds', periods: [202605] }])
  const [own] = gatheredOf(part)
  if (own === undefined) throw new Error('no part')
  t.equal(
    printForTrino(own, (dataset, periods) => `${dataset}/${periods}`),
    'SELECT CAST("sum" AS VARCHAR) AS "sum" FROM (\nSELECT 7 AS sum FROM beds/202605\n) AS gathered',
  )
})

t.test('types of columns', async (t) => {
  t.equal(trinoType('BIGINT'), 'bigint')
  t.equal(trinoType('DECIMAL(12, 2)'), 'decimal(12, 2)')
  t.equal(trinoType('VARCHAR[]'), 'array(varchar)')
  t.equal(
    trinoType('STRUCT(code VARCHAR, has_sus BOOLEAN)[]'),
    'array(row("code" varchar, "has_sus" boolean))',
  )
  t.throws(() => trinoType('HUGEINT'), TypeError)
})

t.test('tables are external, over the files of the release', async (t) => {
  const { cnes } = (await openSmall(t)).view.components
  if (cnes === null) throw new Error('no registry')
  const { schema, tables } = createStatements(cnes, 'sus', 's3://bucket/releases')
  t.match(schema, /^CREATE SCHEMA IF NOT EXISTS "sus"\."demo_cnes_br_202605_[0-9a-f]{64}"$/)
  const beds = tables.find((own) => own.table === 'bed_capacity')
  t.match(beds?.create, `external_location = 's3://bucket/releases/${cnes.release_id}/bed_capacity'`)
  t.match(beds?.create, /"reference_period" integer\) WITH .*partitioned_by = ARRAY\['reference_period'\]/)
  t.notOk(tables.some(({ table: name }) => name.includes('provenance')))
})

t.test('no table is created after one has failed', async (t) => {
  const { view } = await openSmall(t)
  let created = 0
  const url = await standIn(t, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const createsTable = Buffer.concat(parts).toString().startsWith('CREATE TABLE')
      if (createsTable) created += 1
      const isRefused = createsTable && created === 1
      response.statusCode = isRefused ? 403 : 200
      setTimeout(() => response.end(JSON.stringify({ id: 'x' })), isRefused ? 0 : 50)
    })
  })
  const client = createTrinoClient({ url, user: 'sus', authorization: null })
  const target = { client, catalog: 'sus', location: 'local:///releases' }
  await t.rejects(registerReleases(manifestsOf(view), target), { code: 'engine_unavailable' })
  t.ok(created <= 4, `${created} tables, as many as are created at once`)
  await wait(200)
  t.ok(created <= 4, 'and none later')
})

t.test("Trino's errors become ours", async (t) => {
  const codeOf = (name: string): string => toAppError(new TrinoError(name, 'secret words')).code
  t.equal(codeOf('EXCEEDED_LOCAL_MEMORY_LIMIT'), 'query_too_large')
  t.equal(codeOf('CLUSTER_OUT_OF_MEMORY'), 'query_too_large')
  t.equal(codeOf('EXCEEDED_TIME_LIMIT'), 'query_timeout')
  t.equal(codeOf('QUERY_QUEUE_FULL'), 'overloaded')
  t.equal(codeOf('NO_NODES_AVAILABLE'), 'engine_unavailable')
  t.equal(codeOf('REMOTE_TASK_ERROR'), 'engine_unavailable')
  t.equal(codeOf('SYNTAX_ERROR'), 'internal')
  const missing = toAppError(new TrinoError('SCHEMA_NOT_FOUND', 'secret words'))
  t.equal(missing.code, 'engine_unavailable')
  t.match(missing.detail.en, /sus-data trino register/)
  t.match(missing.headers, { 'Retry-After': /^\d+$/ })
  t.notMatch(JSON.stringify(missing), /secret/)
})

t.test('a coordinator that is no Trino, that redirects, or that sends elsewhere, is not used', async (t) => {
  const answers: Record<string, (response: import('node:http').ServerResponse) => void> = {
    '/elsewhere': (response) =>
      response.end(JSON.stringify({ id: 'x', nextUri: 'http://127.0.0.2:1/v1/statement/x' })),
  }
  let mode = 'html'
  let seen = 0
  const url = await standIn(t, (_request, response) => {
    seen += 1
    if (mode === 'html') response.end('<html>')
    else if (mode === 'redirect') response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end()
    else if (mode === 'forbidden') response.writeHead(403).end()
    else if (mode === 'unknown') response.writeHead(401).end()
    else if (mode === 'busy') response.writeHead(503).end()
    else answers['/elsewhere']?.(response)
  })
  const client = createTrinoClient({ url, user: 'me', authorization: () => 'Bearer x' })
  for (mode of ['html', 'redirect', 'forbidden', 'unknown', 'elsewhere', 'busy']) {
    seen = 0
    await t.rejects(
      async () => {
        for await (const rows of client.query('SELECT 1')) t.fail(String(rows))
      },
      mode === 'unknown'
        ? { code: 'engine_unavailable', cause: { message: /SUS_TRINO_PASSWORD_FILE/ } }
        : { code: 'engine_unavailable' },
      mode,
    )
    t.equal(seen >= (mode === 'busy' ? 4 : 1), true)
    t.equal(await client.isUp(), false)
  }
})

t.test('Trino is gone: aggregations end with 503, what is small goes on in auto', async (t) => {
  const { view, withSettings } = await openSmall(t)
  const ask = (mode: 'trino' | 'auto', minRows: number) =>
    answerQuery({ metrics: ['bed_capacity_existing'], group_by: ['state'] }, withSettings({ mode, minRows }))
  await t.rejects(ask('trino', 0), { code: 'engine_unavailable', headers: { 'Retry-After': '5' } })
  await t.rejects(ask('auto', 1), { code: 'engine_unavailable' })
  t.equal((await ask('auto', 1_000_000)).data.length, 27)
  const { engine } = withSettings({})
  t.same(await engine.distributed?.status(view), { up: false, registered: false })
  t.same(
    await engine.run(sql`SELECT count(*) AS n FROM ${table('states')}`, view),
    [{ n: 27 }],
    'lists have no such parts',
  )
})

t.test('what is known of Trino is told while it is slow to say more', async (t) => {
  let isSlow = true
  const held: (() => void)[] = []
  const url = await standIn(t, (_request, response) => {
    const answer = (): void => void response.end(JSON.stringify({ starting: false, coordinator: true }))
    if (isSlow) held.push(answer)
    else answer()
  })
  const client = createTrinoClient({ url, user: 'me', authorization: null })
  const status = createStatus(client, 'sus', 20)
  t.same(await status(null), { up: false, registered: false }, 'nothing is known yet')
  while (held.length === 0) await wait(5)
  t.same(await status(null), { up: false, registered: false })
  t.equal(held.length, 1, 'it is asked once')
  isSlow = false
  held[0]?.()
  while (!(await status(null)).up) await wait(5)
  t.same(await status(null), { up: true, registered: false }, 'a late answer counts')
})

t.test('explain names the engine, and why', async (t) => {
  const { view, withSettings } = await openSmall(t)
  const explained = async (given: Partial<TrinoSettings> | null) => {
    const { data } = await explainQuery(
      { metrics: ['bed_capacity_existing', 'beds_existing_per_100k'], group_by: ['state'] },
      withSettings(given),
    )
    return (data as { engine: { name: string; because: string; rows: number; min_rows: number } }).engine
  }
  t.same(await explained(null), { name: 'duckdb', because: 'only_engine', rows: null, min_rows: null })
  const all = await explained({})
  t.match(all, { name: 'trino', because: 'all_facts', min_rows: null })
  const largest = Math.max(
    ...manifestsOf(view).flatMap(({ files }) =>
      files.filter(({ path }) => /^(beds_by_municipality|population)\//.test(path)).map(({ rows }) => rows),
    ),
  )
  t.ok(all.rows > 0 && all.rows <= largest, `${all.rows} rows, of at most ${largest}`)
  for (const [minRows, name, because] of [
    [all.rows, 'trino', 'many_rows'],
    [all.rows + 1, 'duckdb', 'few_rows'],
  ] as const)
    t.same(await explained({ mode: 'auto', minRows }), {
      name,
      because,
      rows: all.rows,
      min_rows: minRows,
    })
})

t.test(
  'a statement says to Trino how long it may run, and that what facts are joined to goes to them',
  async (t) => {
    const sessions: (string | undefined)[] = []
    const url = await standIn(t, (request, response) => {
      sessions.push(request.headers['x-trino-session'] as string | undefined)
      response.end(JSON.stringify({ id: 'x', data: [[1]] }))
    })
    const client = createTrinoClient({ url, user: 'me', authorization: null })
    for (const options of [{}, { timeoutMs: 1500.2, session: TRINO_DIALECT.session }])
      for await (const rows of client.query('SELECT 1', options)) t.same(rows, [[1]])
    t.same(sessions, [undefined, 'join_distribution_type=BROADCAST,query_max_run_time=1501ms'])
  },
)

t.test('a password or token is what its file says now', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await standIn(t, (request, response) => {
    seen.push(request.headers.authorization)
    response.end(JSON.stringify({ id: 'x', data: [[1]] }))
  })
  const [passwordFile, tokenFile] = ['password', 'token'].map((name) => join(temporaryFolder('secret'), name))
  const connect = (files: { passwordFile: string | null; tokenFile: string | null }) =>
    connectTrino({ url, user: 'api', ...files })
  const ask = async (client: ReturnType<typeof connect>): Promise<void> => {
    for await (const rows of client.query('SELECT 1')) t.same(rows, [[1]])
  }
  t.throws(() => connect({ passwordFile: passwordFile ?? '', tokenFile: null }), { code: 'ENOENT' })
  writeFileSync(passwordFile ?? '', 'correct horse\n')
  await ask(connect({ passwordFile: passwordFile ?? '', tokenFile: null }))
  writeFileSync(tokenFile ?? '', 'one\n')
  const client = connect({ passwordFile: null, tokenFile: tokenFile ?? '' })
  await ask(client)
  writeFileSync(tokenFile ?? '', 'two\n')
  await ask(client)
  rmSync(tokenFile ?? '')
  await t.rejects(ask(client), { code: 'engine_unavailable' })
  const basic = `Basic ${Buffer.from('api:correct horse').toString('base64')}`
  t.same(seen, [basic, 'Bearer one', 'Bearer two'])
})
