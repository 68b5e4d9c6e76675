/**
 * The Python client: its own tests, run against a real server over the small demonstration. They need Python with urllib3, and
 * skip frames and signatures where pandas, polars, pyarrow or cryptography is missing.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { importPaths } from '../../src/import/import.ts'
import { createKey } from '../../src/keys/keys.ts'
import { createSigningKey, readPublicKey } from '../../src/keys/signing.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { writePointer } from '../../src/release/writer.ts'
import { withoutPython } from '../fixtures/python.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const home = fileURLToPath(new URL('../../clients/python', import.meta.url))
const interpreter = process.env.SUS_TEST_PYTHON ?? 'python3'

t.test('the Python client does what its tests say', { skip: withoutPython('urllib3') }, async (t) => {
  const small = await makeSmallRelease(2)
  const { releasesDir, snapshots } = small
  const older = await importPaths(
    ['cnes/2026-04', 'ibge'].map((folder) => join(snapshots, folder)),
    { releasesDir, maxRejected: 0.001 },
  )
  writePointer(releasesDir, small.result.analytics)
  const folder = temporaryFolder('python-client')
  const keysFile = join(folder, 'keys.json')
  const signingKeyFile = join(folder, 'signing-key.pem')
  createSigningKey(signingKeyFile)
  const make = (name: string, rate?: number): string =>
    createKey(keysFile, { name, capabilities: CAPABILITIES, ...(rate === undefined ? {} : { rate }) }).secret
  const key = make('client', 1_000_000)
  const slowKey = make('slow', 60)
  const env = { SUS_KEYS_FILE: keysFile, SUS_SIGNING_KEY_FILE: signingKeyFile }
  const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
  const signed = spawnSync(process.execPath, [bin, 'sign', small.result.analytics], {
    encoding: 'utf8',
    env: { ...process.env, ...env, SUS_RELEASES_DIR: releasesDir },
  })
  t.equal(signed.status, 0, signed.stderr)
  const server = await startServerProcess(releasesDir, { env })
  t.teardown(async () => {
    server.child.kill()
    await server.ended
  })
  const { status, stderr, stdout } = spawnSync(interpreter, ['-m', 'unittest', 'discover', '-s', 'tests'], {
    cwd: home,
    encoding: 'utf8',
    env: {
      ...process.env,
      PYTHONPATH: 'src',
      PYTHONDONTWRITEBYTECODE: '1',
      SUS_DATA_URL: `http://127.0.0.1:${server.port}`,
      SUS_DATA_KEY: key,
      SUS_DATA_SLOW_KEY: slowKey,
      SUS_DATA_SIGNING_KEY: readPublicKey(signingKeyFile) ?? '',
      SUS_DATA_OLDER_RELEASE: older.analytics,
    },
  })
  for (const line of stdout.split('\n').filter((text) => text.startsWith('skipped'))) t.comment(line)
  t.equal(status, 0, stderr)
  t.match(stderr, /Ran 1[0-9] tests/)
})

t.test('its types hold', { skip: withoutPython('mypy', 'pandas', 'polars', 'urllib3') }, (t) => {
  const { status, stdout } = spawnSync(interpreter, ['-m', 'mypy', '--cache-dir', temporaryFolder('mypy')], {
    cwd: home,
    encoding: 'utf8',
  })
  t.equal(status, 0, stdout)
  t.end()
})
