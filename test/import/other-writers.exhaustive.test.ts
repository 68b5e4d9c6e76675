/**
 * Releases that other versions of DuckDB wrote: they verify, and answer as those of the version in use. Each is made here, by the
 * package of that version, which .ci/run installs into node_modules/.cache/duckdb; without it its test is skipped.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { checkRelease } from '../../src/import/check-release.ts'
import type { ImportResult } from '../../src/import/import.ts'
import { createSigningKey } from '../../src/keys/signing.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import type { ReleaseView } from '../../src/release/view.ts'
import { writePointer } from '../../src/release/writer.ts'
import { buildReport } from '../../src/report/build.ts'
import { type Client, openClient } from '../fixtures/client.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/**
 * The version that the releases of sus-data 0.1 were written by, and a later one. That in use needs no comparison with itself: its
 * releases are those that all other tests are of.
 */
const VERSIONS: readonly { readonly name: string; readonly writes: string }[] = [
  { name: '1.5.5-r.5', writes: 'v1.5.5' },
  { name: '1.5.6-r.1', writes: 'v1.5.6' },
]
const LISTS = [
  '/v1/facilities?status=all&limit=100',
  '/v1/bed-capacity?limit=100',
  '/v1/equipment-inventory?limit=100',
  '/v1/specialized-service-offerings?limit=100',
  '/v1/municipalities?limit=100',
  '/v1/demography/population?limit=100',
]
const QUERIES = [
  { metrics: ['bed_capacity_existing', 'beds_existing_per_100k'], group_by: ['municipality'] },
  { metrics: ['facilities_count', 'facilities_sus'], group_by: ['state', 'facility_type'] },
  { metrics: ['equipment_existing'], group_by: ['equipment_type'], totals: [[]] },
]

const small = await makeSmallRelease()
const signingKey = join(temporaryFolder('key'), 'key')
createSigningKey(signingKey)
const inUse: string = JSON.parse(
  readFileSync(join(root, 'node_modules/@duckdb/node-api/package.json'), 'utf8'),
).version
const manifestOf = (dir: string, id: string): Manifest =>
  JSON.parse(readFileSync(join(dir, id, 'manifest.json'), 'utf8'))
const todays = await openClient(small.releasesDir)
t.teardown(() => todays.close())

/** What clients get, without what names the release. */
async function answersOf(client: Client): Promise<unknown[]> {
  const lists = await Promise.all(LISTS.map((url) => client.get(url)))
  const queries = await Promise.all(QUERIES.map((query) => client.query(query)))
  const reports = await Promise.all(
    QUERIES.map((query) => client.post('/v1/analytics/export?format=json', query)),
  )
  return [
    ...lists.map(({ status, body }) => [status, body.data]),
    ...queries.map(({ status, body }) => [status, body.data, body.totals]),
    ...reports.map(({ status, body }) => [status, body.manifest.rows_sha256, body.manifest.table_sha256]),
  ]
}

/** Runs a command of the command line on a folder of releases, with a signing key. */
const runCommand = (releasesDir: string, command: string, args: readonly string[]) =>
  promisify(execFile)(process.execPath, ['--import=tsx', join(root, 'tools/dev.js'), command, ...args], {
    cwd: root,
    maxBuffer: 2 ** 26,
    env: { ...process.env, SUS_RELEASES_DIR: releasesDir, SUS_SIGNING_KEY_FILE: signingKey },
  })

for (const { name, writes } of VERSIONS) {
  if (name === inUse) continue
  const folder = join(root, 'node_modules/.cache/duckdb', name)
  const isThere = existsSync(join(folder, 'node_modules/@duckdb/node-api'))
  const skip = isThere ? false : `@duckdb/node-api ${name} is not in node_modules/.cache/duckdb`
  t.test(
    `a release written by DuckDB ${writes} verifies and answers as one of today`,
    { skip },
    async (t) => {
      const releasesDir = temporaryFolder('writer')
      const script = join(root, 'test/fixtures/import-with-duckdb.ts')
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--import=tsx', script, folder, small.snapshots, releasesDir],
        { cwd: root, maxBuffer: 2 ** 26 },
      )
      const result = JSON.parse(stdout) as ImportResult
      for (const id of [result.cnes, result.demography, result.analytics])
        if (id !== null) {
          const manifest = await checkRelease(releasesDir, id, temporaryFolder('scratch'))
          t.equal(manifest.duckdb_version, writes, 'the manifest names the writer')
        }
      writePointer(releasesDir, result.analytics)
      const client = await openClient(releasesDir)
      t.teardown(() => client.close())
      const [expected, found] = [await answersOf(todays), await answersOf(client)]
      t.equal(found.length, LISTS.length + 2 * QUERIES.length)
      for (const [index, answer] of found.entries()) {
        t.same((answer as unknown[])[0], 200, `${index}`)
        t.same(answer, expected[index], `answer ${index}`)
      }
      const oursJoined = manifestOf(small.releasesDir, small.result.analytics)
      const [ours, theirs] = [
        manifestOf(small.releasesDir, small.result.cnes ?? ''),
        manifestOf(releasesDir, result.cnes ?? ''),
      ]
      t.same(theirs.snapshots, ours.snapshots)
      t.same(theirs.datasets, ours.datasets, 'the same rows, columns and keys')
      t.not(theirs.release_id, ours.release_id, 'the id says which version wrote it')
      t.equal(theirs.content_id, ours.content_id, 'the content is the same')
      t.not(
        theirs.files.map(({ sha256 }) => sha256).join(),
        ours.files.map(({ sha256 }) => sha256).join(),
        'the bytes are others',
      )
      const compared = await client.post('/v1/analytics/compare', {
        metrics: ['bed_capacity_existing'],
        old_release_id: result.analytics,
      })
      t.equal(compared.status, 200)

      await t.test('attest says that the content is the same', async (t) => {
        const { stdout: attested } = await runCommand(releasesDir, 'attest', [
          result.analytics,
          `--snapshots=${small.snapshots}`,
          '--json',
        ])
        t.match(JSON.parse(attested), { rebuilt: true, result: 'same content', made: small.result.analytics })
        const release = await client.get(`/v1/releases/${result.analytics}`)
        t.match(release.body.meta, { content_id: release.body.data.content_id })
        t.match(release.body.meta.attestations, [{ result: 'same content' }])
      })

      await t.test('a report of the one is made again on the other', async (t) => {
        for (const format of ['csv', 'xlsx', 'json', 'parquet'] as const) {
          const file = join(temporaryFolder('report'), `report.${format}`)
          await buildReport(QUERIES[0], format, file, {
            engine: client.engine,
            view: client.store.current() as ReleaseView,
            capabilities: CAPABILITIES,
            language: 'en',
            sign: null,
          })
          const { stdout: verified } = await runCommand(small.releasesDir, 'verify-report', [file, '--json'])
          t.match(JSON.parse(verified), {
            verdict: 'reproduced',
            release_id: result.analytics,
            content_id: oursJoined.content_id,
            replayed_on: small.result.analytics,
          })
        }
      })
    },
  )
}
