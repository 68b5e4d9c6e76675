/**
 * The second engine on a real Trino: drawn questions of every area have the answer of the first, files that ask queries run on it
 * unchanged, commands register and check, reports are the same bytes on both, and what happens to a statement whose client leaves,
 * whose worker dies, whose cluster is gone.
 *
 * One cluster for all of it, because a node takes ten seconds of a core to start. TRINO_FILES names files of test/ to run on it,
 * with all their cases where SUS_TESTS=all; TRINO_DRAWN says how many questions are drawn of each release.
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'
import t from 'tap'
import { answerQuery } from '../../src/analytics/query.ts'
import { createEngineWith } from '../../src/engine/trino/connect.ts'
import { checkRegistered, registerReleases, unregisterRelease } from '../../src/engine/trino/register.ts'
import { schemaOf } from '../../src/engine/trino/tables.ts'
import type { Engine, TrinoSettings } from '../../src/engine/types.ts'
import { createKey } from '../../src/keys/keys.ts'
import { startServer } from '../../src/main.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { factDatasetsOf, type MetricCode } from '../../src/model/metrics.ts'
import { TRINO_DIALECT } from '../../src/query/analytics/dialect/trino.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { manifestsOf, type ReleaseView } from '../../src/release/view.ts'
import { readSettings } from '../../src/settings.ts'
import { endNode } from '../../tools/deploy/trino/cluster.ts'
import { type Code, createAnyQuestions } from '../fixtures/any-questions.ts'
import { makeEngine, makeSmallRelease, openReleases, temporaryFolder } from '../fixtures/small-release.ts'
import { shareRelease, startTrino, trinoSettings, withoutTrino } from '../fixtures/trino.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Files are run as this one is: as built, or as they stand. */
const [LOADER, FOLDER, ENDING] = process.argv[1]?.endsWith('.js')
  ? ([[], ['dist', 'test'], '.js'] as const)
  : ([['--import=tsx'], ['test'], '.ts'] as const)
const run = promisify(execFile)
/** Of the oracle, which takes longest, some datasets. */
const FILES: readonly (readonly [file: string, grep?: string])[] = process.env.TRINO_FILES?.split(',').map(
  (file) => [file] as const,
) ?? [
  ['query/traps.test.ts'],
  ['query/laws.exhaustive.test.ts'],
  ['query/oracle.test.ts', '/^(population|beds)$/'],
]
/** Releases that questions are drawn of, and how many: the registry with and without gaps, admissions, production, money. */
const DRAWN = Number(process.env.TRINO_DRAWN ?? 15)
const RELEASES = ['production', 'gaps', 'financing'] as const

/** Questions of every kind of relation: facts, pre-aggregates, residents, places, services, totals and changes. */
const QUESTIONS: readonly object[] = [
  {
    metrics: ['bed_capacity_existing', 'beds_existing_per_100k'],
    group_by: ['state', 'municipality'],
    totals: [['state'], []],
  },
  { metrics: ['admissions_per_10k_standardized'], group_by: ['residence_health_region'] },
  {
    metrics: ['outpatient_quantity_approved', 'outpatient_value_per_capita'],
    group_by: ['state', 'reference_period'],
    filters: [{ dimension: 'reference_period', operator: 'GTE', value: '2009-01' }],
  },
  {
    metrics: ['bed_occupancy_share', 'average_stay_days'],
    group_by: ['facility'],
    rank: true,
    order_by: [{ field: 'average_stay_days', direction: 'desc' }],
  },
  { metrics: ['federal_health_transfers_per_capita'], group_by: ['region'] },
  { metrics: ['admissions'], group_by: ['diagnosis_category', 'sex'], share_of: ['sex'] },
  {
    metrics: ['admissions', 'average_distance_km', 'admissions_outside_state_share'],
    group_by: ['state', 'residence_state'],
    totals: true,
  },
  { metrics: ['icsap_share', 'icsap_per_10k'], group_by: ['residence_municipality'] },
]

interface DrawnRow {
  readonly dimensions: Readonly<Record<string, { readonly code: Code | null }>>
}

if (withoutTrino !== false) {
  t.pass(withoutTrino, { skip: withoutTrino })
} else {
  const [cluster, { releasesDir }] = await Promise.all([startTrino(), makeSmallRelease('production')])
  t.teardown(() => cluster.close())
  const parts = await openReleases(releasesDir)
  const local = await makeEngine(releasesDir)
  t.teardown(async () => {
    await parts.close()
    await local.close()
  })
  const view = parts.store.current() as ReleaseView
  const engineOf = (given: Partial<TrinoSettings> = {}, timeoutMs = 60_000): Engine =>
    createEngineWith(local, trinoSettings(cluster, given), TRINO_DIALECT, timeoutMs)
  const ask = (engine: Engine, body: object, signal?: AbortSignal) =>
    answerQuery(body, {
      engine,
      view,
      capabilities: CAPABILITIES,
      language: 'en',
      ...(signal === undefined ? {} : { signal }),
    })
  const expected = await Promise.all(QUESTIONS.map((body) => ask(local, body)))
  const settings = {
    ...process.env,
    SUS_RELEASES_DIR: releasesDir,
    SUS_TRINO_URL: cluster.url,
    SUS_TRINO_LOCATION: 'local:///releases',
  }
  const cli = (...args: string[]) =>
    run(process.execPath, [join(root, 'tools/sus-data.js'), ...args], { env: settings }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    )

  const place = { client: cluster.client, catalog: 'sus', location: 'local:///releases' }
  /** What is known of Trino follows it after some seconds, on a busy machine later. */
  const eventually = async (isSo: () => Promise<boolean>): Promise<boolean> => {
    for (let tries = 0; tries < 300; tries += 1) {
      if (await isSo()) return true
      await wait(200)
    }
    return false
  }

  t.test('a release that is not registered is said to be that', async (t) => {
    await t.rejects(ask(engineOf(), QUESTIONS[0] as object), {
      code: 'engine_unavailable',
      detail: { en: /sus-data trino register/ },
    })
    const { distributed } = engineOf()
    t.ok(await eventually(async () => (await distributed?.status(view))?.up === true))
    t.same(await distributed?.status(view), { up: true, registered: false })
  })

  t.test('a release that two register at once is registered', async (t) => {
    await shareRelease(cluster, view, releasesDir)
    // That which joins the others has most tables: three times of three, one of the two failed before each tried again.
    t.ok(await unregisterRelease(view.id, place))
    await Promise.all([registerReleases([view.analytics], place), registerReleases([view.analytics], place)])
    t.same(await checkRegistered(view.analytics, place), [])
    for (const { release_id } of manifestsOf(view)) t.ok(await unregisterRelease(release_id, place))
  })

  t.test('register, check, unregister: twice is once', async (t) => {
    const first = await cli('trino', 'register')
    t.match(first.stdout, /tables of \d releases in catalog sus/, first.stderr)
    t.equal((await cli('trino', 'register', view.id)).stdout, first.stdout)
    t.match(await cli('trino', 'check'), { code: 0, stdout: /Trino reads the files that were verified/ })
    const ofAdmissions = view.components.sih as Manifest
    const sih = ofAdmissions.release_id
    const folder = join(cluster.shared, 'releases', sih, 'hospital_admissions')
    const [month = ''] = readdirSync(folder)
    const [file, taken] = [join(folder, month, 'part-0.parquet'), join(cluster.shared, 'taken')]
    renameSync(file, taken)
    t.match(await cli('trino', 'check'), {
      code: 1,
      stdout: new RegExp(`${sih}: hospital_admissions lacks .*${month}`),
    })
    renameSync(taken, file)
    t.match(await cli('trino', 'unregister', sih), { code: 0, stdout: /files are as they were/ })
    t.match(await cli('trino', 'unregister', sih), { code: 0, stdout: /was not registered/ })
    t.same(await checkRegistered(ofAdmissions, place), ['is not registered'])
    t.ok(existsSync(file))
    await registerReleases([ofAdmissions], place)
    t.match(await cli('trino', 'check', 'nothing'), { code: 2, stderr: /is not a release/ })
    t.match(await cli('trino'), { code: 2, stderr: /takes register, unregister or check/ })
  })

  t.test('a release that is half registered is not read', async (t) => {
    const schema = schemaOf(view.id)
    const say = async (statement: string): Promise<void> => {
      for await (const rows of cluster.client.query(statement)) t.ok(rows)
    }
    // As register leaves it when it ends after the tables, and before their months.
    await say(`DROP VIEW sus.${schema}.registered`)
    const newest = Math.max(...(view.analytics.datasets.beds_by_municipality?.periods ?? []))
    await say(
      `CALL sus.system.unregister_partition('${schema}', 'beds_by_municipality', ARRAY['reference_period'], ARRAY['${newest}'])`,
    )
    const half = engineOf()
    await t.rejects(ask(half, QUESTIONS[0] as object), {
      code: 'engine_unavailable',
      detail: { en: /sus-data trino register/ },
    })
    t.same(await checkRegistered(view.analytics, place), ['is not registered to its end'])
    await registerReleases([view.analytics], place)
    t.same(await checkRegistered(view.analytics, place), [])
    t.same(await ask(half, QUESTIONS[0] as object), expected[0])
  })

  t.test('the same answers, to the fingerprint, from one worker', async (t) => {
    const engine = engineOf()
    for (const [index, body] of QUESTIONS.entries())
      t.same(await ask(engine, body), expected[index], JSON.stringify(body))
    t.match(engine.distributed?.stats(), { answered: QUESTIONS.length, failed: {}, running: 0, waiting: 0 })
  })

  for (const kind of RELEASES)
    t.test(`drawn questions over ${kind} have the answers of DuckDB`, async (t) => {
      const own = await makeSmallRelease(kind)
      const drawnParts = await openReleases(own.releasesDir)
      const plain = await makeEngine(own.releasesDir)
      t.teardown(async () => {
        await drawnParts.close()
        await plain.close()
      })
      const release = drawnParts.store.current() as ReleaseView
      await shareRelease(cluster, release, own.releasesDir)
      const distributed = createEngineWith(plain, trinoSettings(cluster), TRINO_DIALECT, 60_000)
      const answerOf = (engine: Engine, body: object) =>
        answerQuery(body, { engine, view: release, capabilities: CAPABILITIES, language: 'en' })
      const outcome = (engine: Engine, body: object): Promise<unknown> =>
        answerOf(engine, body).catch((error: { code: string; detail: object }) => [error.code, error.detail])
      const codesOf = async (metric: string, dimension: string): Promise<Code[]> => {
        const body = { metrics: [metric], group_by: [dimension], limit: 100 }
        // Nobody lives in a facility: a rate has none.
        const { data } = await answerOf(plain, body).catch(() => ({ data: [] }))
        return (data as unknown as DrawnRow[]).flatMap(({ dimensions }) => dimensions[dimension]?.code ?? [])
      }
      const isThere = (metric: MetricCode): boolean =>
        factDatasetsOf(metric).every((name) => manifestsOf(release).some(({ datasets }) => name in datasets))
      const next = createAnyQuestions(codesOf, isThere, 476)
      const wrong: string[] = []
      let answered = 0
      const work = async (): Promise<void> => {
        for (; answered < DRAWN; ) {
          const body = await next()
          const expected = await outcome(plain, body)
          if (!Array.isArray(expected)) answered += 1
          if (!isDeepStrictEqual(await outcome(distributed, body), expected)) wrong.push(JSON.stringify(body))
        }
      }
      await Promise.all([work(), work()])
      t.same(wrong, [], `${answered} questions`)
    })

  for (const [file, grep] of FILES)
    t.test(`${file} on Trino`, async (t) => {
      // A test of its own: what the runner tells this one is not for it.
      const env = Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !/^(_?TAP|NODE_OPTIONS$)/.test(name)),
      )
      Object.assign(env, {
        TAP_TIMEOUT: '900',
        TRINO_OF_TESTS: JSON.stringify({ url: cluster.url, shared: cluster.shared }),
        ...(grep === undefined ? {} : { TAP_GREP: grep }),
      })
      // Fewer drawn cases, unless files are named.
      if (process.env.TRINO_FILES === undefined) delete env.SUS_TESTS
      const child = spawn(
        process.execPath,
        [...LOADER, join(root, ...FOLDER, file.replace(/\.ts$/, ENDING))],
        {
          env,
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      )
      let output = ''
      child.stdout.on('data', (bytes) => {
        output += String(bytes)
      })
      const code = await new Promise((resolve) => child.on('close', resolve))
      t.equal(
        code,
        0,
        output
          .split('\n')
          .filter((line) => /^ *not ok/.test(line))
          .join('\n'),
      )
      t.match(output, /^ok \d+ - [^#]+# time=/m, 'something was tested')
    })

  t.test('auto sends what is large, and what does not fit into the process', async (t) => {
    const named: string[] = []
    const asked = async (engine: Engine): Promise<string[]> => {
      named.length = 0
      const noting: Engine = {
        ...engine,
        runInBatches: (statement, release, options) =>
          engine.runInBatches(statement, release, { ...options, onEngine: (name) => named.push(name) }),
      }
      t.same(await ask(noting, QUESTIONS[0] as object), expected[0])
      return named
    }
    t.same(await asked(engineOf({ mode: 'auto', minRows: 1_000_000_000 })), ['duckdb'])
    t.same(await asked(engineOf({ mode: 'auto', minRows: 1 })), ['trino'])
    await t.rejects(ask(engineOf({ rowsMax: 10 }), QUESTIONS[0] as object), {
      code: 'query_too_large',
      detail: { en: /more than 10 groups/ },
    })
  })

  /** States of the statements that hold a text, the newest first. */
  const statesOf = async (text: string): Promise<string[]> => {
    const states: string[] = []
    for await (const rows of cluster.client.query(
      `SELECT state, error_code FROM system.runtime.queries WHERE query LIKE '%${text}%' AND query NOT LIKE '%runtime%' ORDER BY created DESC`,
    ))
      states.push(...rows.map(([state, code]) => `${state} ${code ?? ''}`.trim()))
    return states
  }
  /** A statement that takes minutes, as a relation of a plan would be printed. */
  const slow = (mark: string, minutes = 5): string =>
    `SELECT '${mark}', count(*) FROM UNNEST(sequence(1, 10000)) AS a (x) CROSS JOIN UNNEST(sequence(1, 10000)) AS b (y) CROSS JOIN UNNEST(sequence(1, ${minutes * 10})) AS c (z) WHERE (x * y + z) % 7 = 3`

  t.test('a client that leaves, and a time-out, end the statement in Trino, too', async (t) => {
    const read = async (statement: string, options: object): Promise<void> => {
      for await (const rows of cluster.client.query(statement, options)) t.fail(String(rows))
    }
    const leaving = new AbortController()
    const left = read(slow('left'), { signal: leaving.signal })
    setTimeout(() => leaving.abort(), 1500)
    await t.rejects(left, { code: 'query_timeout', detail: { en: 'The client has left.' } })
    await wait(1000)
    t.match((await statesOf('left'))[0], /^FAILED USER_CANCELED$/)
    await t.rejects(read(slow('late'), { timeoutMs: 1000 }), {
      name: 'TrinoError',
      errorName: 'EXCEEDED_TIME_LIMIT',
    })
    await t.rejects(ask(engineOf({}, 1), QUESTIONS[1] as object), { code: 'query_timeout' })
    const gone = new AbortController()
    gone.abort()
    await t.rejects(ask(engineOf(), QUESTIONS[1] as object, gone.signal), { code: 'query_timeout' })
  })

  const keysFile = join(temporaryFolder('keys'), 'keys.json')
  const { secret } = createKey(keysFile, { name: 'all', capabilities: CAPABILITIES })
  const server = await startServer(
    readSettings({
      PORT: '0',
      SUS_RELEASES_DIR: releasesDir,
      SUS_KEYS_FILE: keysFile,
      SUS_LOG_LEVEL: 'silent',
      SUS_ENGINE: 'trino',
      SUS_TRINO_URL: cluster.url,
      SUS_QUERY_TIMEOUT_MS: '60000',
      SUS_METRICS_PORT: 'local',
    }),
  )
  t.teardown(() => server.close())
  const fetchFrom = (path: string, body?: object): Promise<Response> =>
    fetch(server.address + path, {
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'accept-language': 'en',
      },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
  const beds = { metrics: ['bed_capacity_existing'], group_by: ['state'] }

  t.test('the server says which engine answered, and what it knows of Trino', async (t) => {
    const answer = await fetchFrom('/v1/analytics/query', beds)
    t.equal(answer.status, 200)
    t.match(answer.headers.get('server-timing'), /^app;dur=[\d.]+, engine;desc=trino$/)
    t.notMatch((await fetchFrom('/v1/facilities?limit=1')).headers.get('server-timing'), /engine/)
    const known = async () => (await (await fetchFrom('/ready')).json()).data.trino
    t.ok(await eventually(async () => (await known()).registered))
    t.same(await known(), { used: 'for all queries', up: true, registered: true })
    const explained = (await (await fetchFrom('/v1/analytics/explain', beds)).json()).data
    t.match(explained.engine, { name: 'trino', because: 'all_facts', rows: Number, min_rows: null })
    t.ok(explained.engine.rows > 0 && explained.engine.rows <= explained.rows_read)
    const metrics = await (await fetchFrom('/metrics')).text()
    t.match(metrics, /^sus_trino_up 1$/m)
    t.match(metrics, /^sus_trino_release_registered 1$/m)
    t.match(metrics, /^sus_trino_queries_total [1-9]/m)
  })

  t.test('reports are the same bytes, and verify on either engine', async (t) => {
    const request = { ...(QUESTIONS[2] as object), title: 'Produção' }
    const answer = await fetchFrom('/v1/analytics/exports/xlsx', request)
    t.equal(answer.status, 200, await answer.clone().text())
    t.match(answer.headers.get('server-timing'), /engine;desc=trino/)
    const file = join(temporaryFolder('report'), 'report.xlsx')
    writeFileSync(file, Buffer.from(await answer.arrayBuffer()))
    for (const engine of ['duckdb', 'trino', 'auto'])
      t.match(
        await run(process.execPath, [join(root, 'tools/sus-data.js'), 'verify-report', file], {
          env: { ...settings, SUS_ENGINE: engine },
        }),
        { stdout: /^reproduced/ },
        engine,
      )
    const digest = answer.headers.get('x-artifact-sha256')
    const alone = await startServer(
      readSettings({
        PORT: '0',
        SUS_RELEASES_DIR: releasesDir,
        SUS_KEYS_FILE: keysFile,
        SUS_LOG_LEVEL: 'silent',
      }),
    )
    t.teardown(() => alone.close())
    const other = await fetch(`${alone.address}/v1/analytics/exports/xlsx`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'accept-language': 'en',
      },
      body: JSON.stringify(request),
    })
    t.equal(other.headers.get('x-artifact-sha256'), digest)
    t.equal(other.headers.get('x-report-fingerprint'), answer.headers.get('x-report-fingerprint'))
    t.notMatch(other.headers.get('server-timing'), /engine/)
  })

  t.test('two workers answer alike; one that dies in the middle gives an error or the answer', async (t) => {
    const worker = await cluster.addWorker()
    for (const [index, body] of QUESTIONS.entries()) t.same(await ask(engineOf(), body), expected[index])
    const sia = schemaOf(view.components.sia?.release_id ?? '')
    const long = `SELECT count(*) FROM sus.${sia}.outpatient_production CROSS JOIN UNNEST(sequence(1, 10000)) AS a (x) CROSS JOIN UNNEST(sequence(1, 10000)) AS b (y) WHERE (x * y) % 7 = 3`
    const seen = (async () => {
      for await (const rows of cluster.client.query(long, { signal: AbortSignal.timeout(45_000) }))
        return `rows ${rows}`
      return 'none'
    })().catch((error: Error) => `${error.name} ${'errorName' in error ? error.errorName : ''}`)
    await wait(3000)
    const asked = QUESTIONS.map((body) =>
      ask(engineOf({ concurrency: 8 }), body).then(
        (answer) => ({ answer }),
        (error: { code: string }) => ({ code: error.code }),
      ),
    )
    await endNode(worker, 'SIGKILL')
    for (const [index, own] of (await Promise.all(asked)).entries())
      if ('answer' in own) t.same(own.answer, expected[index], 'the right answer')
      else t.equal(own.code, 'engine_unavailable', 'or an error that says so')
    // It takes hours: what it ended with is that of the dead worker, or of our time-out where that had no part of it.
    t.match(await seen, /^(TrinoError [A-Z_]+|AppError )$/)
    // What is left goes on.
    let left: unknown = null
    for (let tries = 0; tries < 30 && left === null; tries += 1) {
      left = await ask(engineOf(), QUESTIONS[0] as object).catch(() => null)
      if (left === null) await wait(1000)
    }
    t.same(left, expected[0])
  })

  t.test('Trino is gone: aggregations end with 503, lists, records and cached answers go on', async (t) => {
    const warm = await fetchFrom('/v1/analytics/query', beds)
    await cluster.close()
    const refused = await fetchFrom('/v1/analytics/query', { ...beds, group_by: ['bed_type'] })
    t.equal(refused.status, 503)
    t.equal(refused.headers.get('retry-after'), '5')
    t.match(await refused.json(), { code: 'engine_unavailable' })
    t.equal((await fetchFrom('/v1/analytics/exports/xlsx', { ...beds, title: 'Leitos' })).status, 503)
    const cached = await fetchFrom('/v1/analytics/query', beds)
    t.equal(cached.status, 200)
    t.match({ ...(await cached.json()), request_id: '' }, { data: (await warm.json()).data })
    t.equal((await fetchFrom('/v1/facilities?uf=RR&limit=2')).status, 200)
    const known = async () => (await (await fetchFrom('/ready')).json()).data.trino
    t.ok(await eventually(async () => !(await known()).up))
    t.match(await known(), { up: false, registered: false })
    t.match(
      await (await fetchFrom('/metrics')).text(),
      /^sus_trino_failures_total\{code="engine_unavailable"\} [1-9]/m,
    )
    t.match(await cli('trino', 'check'), { code: 1, stderr: /Trino at http/ })
    t.ok(manifestsOf(view).every(({ release_id }) => !schemaOf(release_id).includes('-')))
  })
}
