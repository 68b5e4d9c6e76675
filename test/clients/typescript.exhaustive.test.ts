/** The TypeScript client against a real server: pins, walks, queries, lineage, reports, releases, and waits as it is told. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as esbuild from 'esbuild'
import t from 'tap'
import { type Row, SusData, SusDataError, verifyReport } from '../../clients/typescript/src/index.ts'
import { downloadRelease } from '../../clients/typescript/src/node.ts'
import { createKey } from '../../src/keys/keys.ts'
import { createSigningKey } from '../../src/keys/signing.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { validatorFile, withoutValidators } from '../fixtures/validators.ts'

const small = await makeSmallRelease()
const key = createKey(join(small.releasesDir, 'keys.json'), {
  name: 'client',
  capabilities: CAPABILITIES,
}).secret
createSigningKey(join(small.releasesDir, 'signing-key.pem'))
const server = await startServerProcess(small.releasesDir)
t.teardown(async () => {
  server.child.kill()
  await server.ended
})
const baseUrl = `http://127.0.0.1:${server.port}`
const client = new SusData({ baseUrl, key, language: 'en' })
const pinned = await client.pin()
const QUESTION = {
  metrics: ['bed_capacity_existing', 'beds_existing_per_100k'] as const,
  group_by: ['state'] as const,
  filters: [{ dimension: 'state' as const, operator: 'IN' as const, value: ['RR', 'AC'] }],
}
const question = {
  metrics: [...QUESTION.metrics],
  group_by: [...QUESTION.group_by],
  filters: QUESTION.filters,
}

t.test('pins the release in service', async (t) => {
  t.equal(pinned.release, small.result.analytics)
  const { meta } = await pinned.get('/v1/states', {})
  t.equal(meta.release_id, small.result.demography)
  const gone = new SusData({ baseUrl, key }, `analytics-br-202605-${'0'.repeat(64)}`)
  const refused = await gone.get('/v1/states', {}).catch((error: unknown) => error)
  t.ok(refused instanceof SusDataError)
  t.match(refused, { status: 409, code: 'release_mismatch' })
})

t.test('walks a list to its end', async (t) => {
  const codes: string[] = []
  for await (const facility of pinned.list('/v1/facilities', { uf: ['RR'], limit: 250 }))
    codes.push(facility.cnes_code)
  const { pagination } = await pinned.get('/v1/facilities', { uf: ['RR'], count: true })
  t.ok(codes.length > 250)
  t.equal(codes.length, pagination.total)
  t.equal(new Set(codes).size, codes.length)
})

t.test('records, queries, lineage, comparisons', async (t) => {
  const { data } = await pinned.get('/v1/municipalities/{ibge_code}', { ibge_code: '1400100' })
  t.equal(data.name, 'Boa Vista')
  const answer = await pinned.query({ ...question, order_by: ['-bed_capacity_existing'] })
  t.equal(answer.meta.release_id, small.result.analytics)
  const rows: Row[] = []
  for await (const row of pinned.rows(question)) rows.push(row)
  t.same(
    rows.map(({ dimensions }) => dimensions.state?.code),
    ['AC', 'RR'],
  )
  const beds = rows[1]?.metrics.bed_capacity_existing ?? 0
  const trace = await pinned.lineage({
    ...question,
    metric: 'bed_capacity_existing',
    key: { state: 'RR' },
    limit: 1000,
  })
  t.equal(
    trace.data.reduce((sum, { contribution }) => sum + contribution, 0),
    beds,
  )
  t.type(trace.data[0]?.sources[0]?.row, 'number')
  t.ok((await pinned.explain(question)).data.rows_read > 0)
  const same = await pinned.compare({ ...question, old_release_id: small.result.analytics })
  t.equal(same.meta.changed_rows, 0)
})

t.test('refusals say what to change, in the language of the client', async (t) => {
  const refused = await client
    .query({ metrics: ['bed_capacity_existing'], group_by: ['provider_kind'] })
    .catch((error: unknown) => error)
  t.match(refused, { status: 400, code: 'incompatible_dimension', errors: [{ message: /^[a-z]/ }] })
  const stranger = await new SusData({ baseUrl, key: 'sus_wrong' })
    .get('/v1/states', {})
    .catch((error) => error)
  t.match(stranger, { status: 401, code: 'unauthorized', requestId: /./ })
})

t.test('reports verify, and changed ones do not', async (t) => {
  const { data } = await client.get('/.well-known/sus-data-signing-key', {})
  for (const format of ['csv', 'json'] as const) {
    const report = await pinned.report(question, format)
    t.equal(report.rows, 2)
    const verified = await verifyReport(report.bytes, data.public_key)
    t.match(verified, { signed: true, table: format === 'csv' })
    t.equal(verified.manifest.fingerprint, report.fingerprint)
    t.ok(await pinned.reproduces(verified.manifest))
    t.notOk(await pinned.reproduces({ ...verified.manifest, fingerprint: '0'.repeat(64) }))
    await t.rejects(verifyReport(report.bytes, Buffer.alloc(32, 1).toString('base64')))
    const text = new TextDecoder().decode(report.bytes)
    const changed = format === 'csv' ? text.replace(/\d\r\n$/, '0\r\n0') : text.replace('"demo-', '"real-')
    t.not(changed, text)
    await t.rejects(verifyReport(new TextEncoder().encode(changed)), { code: 'not_verified' })
  }
  t.ok((await pinned.report(question, 'xlsx')).bytes.length > 1000)
})

t.test('a release is downloaded, verified, and not twice', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sus-data-client-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const manifests = await downloadRelease(client, small.result.analytics, folder)
  t.ok(manifests.length >= 3)
  for (const { release_id } of manifests) await verifyRelease(folder, release_id)
  const [manifest] = manifests
  const [file] = manifest?.files ?? []
  if (manifest === undefined || file === undefined) throw new Error('no files')
  const path = join(folder, manifest.release_id, file.path)
  const whole = readFileSync(path)
  writeFileSync(path, 'cut')
  await downloadRelease(client, manifest.release_id, folder)
  t.same(readFileSync(path), whole, 'what is damaged is sent again')
  await t.rejects(client.file(manifest.release_id, { ...file, sha256: '0'.repeat(64) }), {
    code: 'not_verified',
  })
  await t.rejects(client.manifest('demo-cnes-br-202605-none'), { code: 'not_found' })
})

t.test('waits as it is told, and no longer', async (t) => {
  const answers = [
    { status: 429, wait: '1' },
    { status: 503, wait: '0' },
    { status: 200, wait: null },
    { status: 429, wait: '3600' },
    { status: 503, wait: null },
  ]
  const times: number[] = []
  const fake = createServer((_request, response) => {
    times.push(Date.now())
    const { status, wait } = answers.shift() ?? { status: 200, wait: null }
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(wait === null ? {} : { 'retry-after': wait }),
    })
    response.end(
      JSON.stringify(status === 200 ? { data: [] } : { code: 'rate_limited', detail: 'later', errors: [] }),
    )
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => fake.once('listening', resolve))
  t.teardown(() => fake.close())
  const { port } = fake.address() as AddressInfo
  const patient = new SusData({ baseUrl: `http://127.0.0.1:${port}`, key })
  t.same((await patient.get('/v1/states', {})).data, [])
  t.ok((times[1] ?? 0) - (times[0] ?? 0) >= 990, 'a second')
  await t.rejects(patient.get('/v1/states', {}), { code: 'rate_limited' }, 'an hour is too long')
  await t.rejects(patient.get('/v1/states', {}), { code: 'rate_limited' }, 'nobody said when')
  t.equal(times.length, 5)
  const nobody = new SusData({ baseUrl: 'http://127.0.0.1:9', retries: 1 })
  await t.rejects(nobody.get('/health', {}))
})

t.test('it is for browsers, too: nothing of Node.js, and no package', async (t) => {
  const entry = fileURLToPath(new URL('../../clients/typescript/src/index.ts', import.meta.url))
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    minify: true,
  })
  t.ok(Object.keys(metafile.inputs).every((path) => !path.includes('node_modules')))
  t.ok((outputFiles[0]?.contents.length ?? 0) < 12_000)
})

const skip = withoutValidators('openapi-typescript', 'typescript')

t.test('it compiles with the types of the API document of today', { skip }, async (t) => {
  const source = fileURLToPath(new URL('../../clients/typescript', import.meta.url))
  const folder = temporaryFolder('typescript-client')
  cpSync(source, folder, { recursive: true })
  const document = fileURLToPath(new URL('../http/openapi.json', import.meta.url))
  const run = (path: string, ...args: string[]): string =>
    execFileSync(process.execPath, [validatorFile(path), ...args], { encoding: 'utf8', cwd: folder })
  run('openapi-typescript/bin/cli.js', document, '-o', join(folder, 'src/api.ts'))
  if (readFileSync(join(folder, 'src/api.ts'), 'utf8') !== readFileSync(join(source, 'src/api.ts'), 'utf8'))
    t.comment(
      'npx openapi-typescript test/http/openapi.json -o clients/typescript/src/api.ts writes the types anew',
    )
  const types = fileURLToPath(new URL('../../node_modules/@types', import.meta.url))
  t.equal(run('typescript/bin/tsc', '-p', 'tsconfig.json', '--typeRoots', types), '')
  t.ok(existsSync(join(folder, 'dist/index.d.ts')))
})
