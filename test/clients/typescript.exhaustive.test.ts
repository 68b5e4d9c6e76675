/**
 * The TypeScript client against a real server: pins, walks, queries, lineage, reports, releases and who signed them, and waits as
 * it is told; in Node.js, and in a browser where Chromium is installed.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as esbuild from 'esbuild'
import { chromium } from 'playwright-core'
import t from 'tap'
import { type Row, SusData, SusDataError, verifyReport } from '../../clients/typescript/src/index.ts'
import { downloadRelease, verifyRelease as verifyCopy } from '../../clients/typescript/src/node.ts'
import { createKey } from '../../src/keys/keys.ts'
import { createSigningKey } from '../../src/keys/signing.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { verifierOf } from '../../src/trust/note.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'
import { validatorFile, withoutValidators } from '../fixtures/validators.ts'

const small = await makeSmallRelease()
const key = createKey(join(small.releasesDir, 'keys.json'), {
  name: 'client',
  capabilities: CAPABILITIES,
}).secret
createSigningKey(join(small.releasesDir, 'signing-key.pem'))
const command = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
execFileSync(process.execPath, [command, 'sign', small.result.analytics], {
  env: { PATH: process.env.PATH, SUS_RELEASES_DIR: small.releasesDir },
})
/** Serves the client, as it is built for browsers, to pages of an origin of their own. */
const bundle = await esbuild.build({
  entryPoints: [fileURLToPath(new URL('../../clients/typescript/src/index.ts', import.meta.url))],
  bundle: true,
  write: false,
  metafile: true,
  platform: 'browser',
  format: 'esm',
  minify: true,
})
const pages: Server = createServer((request, response) => {
  const isScript = request.url === '/client.js'
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html; charset=utf-8')
  response.end(isScript ? bundle.outputFiles[0]?.text : '<!doctype html><title>A notebook</title>')
}).listen(0, '127.0.0.1')
await new Promise((resolve) => pages.once('listening', resolve))
const pagesOrigin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`
const server = await startServerProcess(small.releasesDir, { env: { SUS_CORS_ORIGINS: pagesOrigin } })
t.teardown(async () => {
  server.child.kill()
  await server.ended
  pages.close()
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

t.test('walks the members of a dimension, which are paged by offset', async (t) => {
  const path = '/v1/analytics/dimensions/{dimensionCode}/values'
  const codes: unknown[] = []
  for await (const { code } of pinned.list(path, { dimensionCode: 'municipality' })) codes.push(code)
  const { pagination } = await pinned.get(path, { dimensionCode: 'municipality' })
  t.ok(pagination.has_more)
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

t.test('the example of its page', async (t) => {
  const home = fileURLToPath(new URL('../../clients/typescript/', import.meta.url))
  const [, contents = ''] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(home, 'README.md'), 'utf8')) ?? []
  const { outputFiles } = await esbuild.build({
    stdin: { contents, loader: 'ts', resolveDir: home },
    alias: { 'sus-data-client': join(home, 'src/index.ts') },
    bundle: true,
    write: false,
    format: 'esm',
  })
  const script = join(temporaryFolder('typescript-example'), 'example.mjs')
  writeFileSync(script, outputFiles[0]?.text ?? '')
  const { data } = await client.get('/.well-known/sus-data-signing-key', {})
  const printed = execFileSync(process.execPath, [script], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, API_URL: baseUrl, API_KEY: key, PUBLIC_KEY: data.public_key },
  })
  t.match(printed, /Boa Vista[\s\S]*rlEstabComplementar\d+\.csv \d+\n[\s\S]*SUS-DATA\. /)
})

t.test('who signed a release, and where the log names it', async (t) => {
  const { data } = await client.get('/.well-known/sus-data-signing-key', {})
  const key = data.verifier_key
  const [name = ''] = key.split('+')
  const release = small.result.analytics
  const verified = await client.verifyRelease(release, key)
  t.equal(verified.length, 3, 'those that it joins, too')
  for (const { manifest, log } of verified) t.equal(log?.entry.release_id, manifest.release_id)
  const folder = temporaryFolder('signed-copy')
  await downloadRelease(client, release, folder)
  const copy = join(folder, release)
  t.same(await verifyCopy(copy, key), verified)

  const other = verifierOf(name, Buffer.alloc(32, 1).toString('base64')).verifierKey
  const named = verifierOf('sus-data/elsewhere', data.public_key).verifierKey
  for (const [wrong, message] of [
    [other, /not signed by the key/],
    [named, /not signed by the key/],
    [key.replace(/\+[0-9a-f]{8}\+/, '+00000000+'), /key id/],
    ['key', /name\+keyid\+key/],
  ] as const) {
    await t.rejects(client.verifyRelease(release, wrong), { code: 'not_verified', message })
    await t.rejects(verifyCopy(copy, wrong), { code: 'not_verified', message })
  }

  const whole = new Map(
    ['manifest.json', 'manifest.sig', 'log.tlog-proof'].map((path) => [
      path,
      readFileSync(join(copy, path), 'utf8'),
    ]),
  )
  const [cnes] = verified.flatMap(({ manifest }) => (manifest.area === 'cnes' ? [manifest.release_id] : []))
  const refuses = async (
    path: string,
    change: (text: string) => string | null,
    message: RegExp,
  ): Promise<void> => {
    const before = whole.get(path) ?? ''
    const changed = change(before)
    t.not(changed, before)
    if (changed === null) rmSync(join(copy, path))
    else writeFileSync(join(copy, path), changed)
    await t.rejects(verifyCopy(copy, key), { code: 'not_verified', message }, `${path}: ${message}`)
    writeFileSync(join(copy, path), before)
  }
  await refuses('manifest.json', (text) => text.replace('"area"', '"AREA"'), /not that of/)
  await refuses('manifest.json', (text) => text.slice(1), /not that of/)
  await refuses('manifest.sig', () => null, /is not signed/)
  await refuses(
    'manifest.sig',
    () => readFileSync(join(folder, cnes ?? '', 'manifest.sig'), 'utf8'),
    /no signature of/,
  )
  await refuses('manifest.sig', (text) => text.replace(release, cnes ?? ''), /was not signed by the key/)
  await refuses(
    'manifest.sig',
    (text) => text.replace(/(.{9})$/m, ''),
    /no signed note|not signed|that is none/,
  )
  await refuses('log.tlog-proof', () => null, /in no log/)
  await refuses(
    'log.tlog-proof',
    () => readFileSync(join(folder, cnes ?? '', 'log.tlog-proof'), 'utf8'),
    /entry is not that of/,
  )
  await refuses('log.tlog-proof', (text) => text.replace(/^index .*$/m, 'index 0'), /does not lead/)
  const redated = (text: string): string =>
    text.replace(/^extra (.*)$/m, (_, entry: string) => {
      const changed = Buffer.from(entry, 'base64').toString().replace('"time":"20', '"time":"19')
      return `extra ${Buffer.from(changed).toString('base64')}`
    })
  await refuses('log.tlog-proof', redated, /does not lead/)
  await refuses(
    'log.tlog-proof',
    (text) => text.slice(0, text.lastIndexOf('—')),
    /no signed note|that is none|not signed/,
  )
  t.same(await verifyCopy(copy, key), verified, 'whole again')

  const file = verified[1]?.manifest.files[0]
  writeFileSync(join(folder, verified[1]?.manifest.release_id ?? '', file?.path ?? ''), 'cut')
  await t.rejects(verifyCopy(copy), { code: 'not_verified', message: /is not what the manifest names/ })

  const report = await pinned.report(question, 'csv')
  t.match(await verifyReport(report.bytes, data.public_key, key), {
    signed: true,
    log: { entry: { release_id: release } },
  })
  await t.rejects(verifyReport(report.bytes, undefined, other), { code: 'not_verified' })
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
  t.ok(Object.keys(bundle.metafile.inputs).every((path) => !path.includes('node_modules')))
  t.ok((bundle.outputFiles[0]?.contents.length ?? 0) < 16_000)
})

const chromiumPath = [process.env.SUS_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (path) => path !== undefined && existsSync(path),
)

t.test('a page of another origin does all of it in a browser', async (t) => {
  if (chromiumPath === undefined)
    return t.comment('skipped: Chromium is not installed (apt-get install chromium, or SUS_CHROMIUM)')
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  await page.goto(pagesOrigin)
  const { data } = await client.get('/.well-known/sus-data-signing-key', {})
  const found = await page.evaluate(
    async ({ baseUrl, key, question, publicKey, verifierKey }) => {
      const address = '/client.js'
      const { SusData, verifyReport } = (await import(
        address
      )) as typeof import('../../clients/typescript/src/index.ts')
      const sus = await new SusData({ baseUrl, key }).pin()
      const facilities: string[] = []
      for await (const { cnes_code } of sus.list('/v1/facilities', { uf: ['RR'], limit: 250 }))
        facilities.push(cnes_code)
      const { pagination } = await sus.get('/v1/facilities', { uf: ['RR'], count: true })
      const rows: unknown[] = []
      for await (const { metrics } of sus.rows(question)) rows.push(metrics)
      const lineage = await sus.lineage({
        ...question,
        metric: 'bed_capacity_existing',
        key: { state: 'RR' },
      })
      const report = await sus.report(question, 'csv')
      const verified = await verifyReport(report.bytes, publicKey, verifierKey)
      const [release] = await sus.verifyRelease(sus.release ?? '', verifierKey)
      const stranger = verifierKey.replace(/.{8}\+.*/, '00000000+AQ')
      const refused = await sus.verifyRelease(sus.release ?? '', stranger).catch((error) => error.code)
      const unknown = await sus
        .query({ ...question, group_by: ['provider_kind'] })
        .catch((error) => [error.status, error.code])
      return {
        release: sus.release,
        walked: [facilities.length, new Set(facilities).size, pagination.total],
        rows,
        source: lineage.data[0]?.sources[0]?.row,
        report: { signed: verified.signed, table: verified.table, log: verified.log?.index },
        logged: release?.log?.entry.release_id,
        refused,
        unknown,
      }
    },
    { baseUrl, key, question, publicKey: data.public_key, verifierKey: data.verifier_key },
  )
  const answer = await pinned.query(question)
  const { total } = (await pinned.get('/v1/facilities', { uf: ['RR'], count: true })).pagination
  t.match(found, {
    release: small.result.analytics,
    walked: [total, total, total],
    rows: answer.data.map(({ metrics }) => metrics),
    source: Number,
    report: { signed: true, table: true, log: Number },
    logged: small.result.analytics,
    refused: 'not_verified',
    unknown: [400, 'incompatible_dimension'],
  })
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
    t.comment('npm run api writes the types anew')
  const types = fileURLToPath(new URL('../../node_modules/@types', import.meta.url))
  t.equal(run('typescript/bin/tsc', '-p', 'tsconfig.json', '--typeRoots', types), '')
  t.ok(existsSync(join(folder, 'dist/index.d.ts')))
})
