/** What happens to files while a server runs: the store says what is damaged or gone, and takes back what is repaired. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKey, listKeys } from '../../src/keys/keys.ts'
import { openStore } from '../../src/release/store.ts'
import { openClient } from '../fixtures/client.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const SECONDS_MAX = 10
/** @returns the seconds it took */
async function until(is: () => boolean): Promise<number> {
  const began = performance.now()
  while (!is() && performance.now() - began < 2 * SECONDS_MAX * 1000) await wait(50)
  return (performance.now() - began) / 1000
}

t.test('a damaged current.json is said, and the release in service stays', async (t) => {
  const { releasesDir, result } = await makeSmallRelease()
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const pointer = join(releasesDir, 'current.json')
  const text = readFileSync(pointer, 'utf8')
  for (const [damage, problem] of [
    ['{"analytics": "demo-', 'is not JSON'],
    ['', 'is not JSON'],
    ['null', 'does not name an analytics release'],
    ['{"analytics":"../x"}', 'does not name an analytics release'],
  ] as const) {
    writeFileSync(pointer, damage)
    await client.store.refresh()
    const { status, body } = await client.get('/ready')
    t.equal(status, 200)
    t.equal(body.data.pointer, problem)
    t.equal(body.data.release_id, result.analytics)
  }
  rmSync(pointer)
  await client.store.refresh()
  t.match((await client.get('/ready')).body.data, { pointer: 'is missing', release_id: result.analytics })
  writeFileSync(pointer, text)
  await client.store.refresh()
  t.equal((await client.get('/ready')).body.data.pointer, null)
  const manifest = join(releasesDir, result.cnes ?? '', 'manifest.json')
  const bytes = readFileSync(manifest)
  writeFileSync(manifest, '{')
  await client.store.guard.look()
  const { status, body } = await client.get('/ready')
  t.equal(status, 200, 'a manifest that was read before is not needed')
  t.match(body.data.damaged_files, [{ file: `${result.cnes}/manifest.json` }])
  writeFileSync(manifest, bytes)
  await client.store.guard.look()
  t.same((await client.get('/ready')).body.data.damaged_files, [])
})

t.test('a server without a release says that current.json is damaged', async (t) => {
  const { releasesDir } = await makeSmallRelease()
  writeFileSync(join(releasesDir, 'current.json'), '{')
  const problems: string[] = []
  const store = await openStore({ releasesDir, onProblem: (id, reason) => problems.push(`${id} ${reason}`) })
  t.teardown(() => store.close())
  await store.refresh()
  t.equal(store.current(), null)
  t.same(problems, ['current.json is not JSON'], 'once in the log')
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const { status, body } = await client.get('/ready')
  t.equal(status, 503)
  t.equal(body.pointer, 'is not JSON')
  t.equal(body.detail, 'O arquivo current.json está danificado.')
})

t.test('a refused release is forgotten once it was removed or repaired', secondRing, async (t) => {
  const { releasesDir, result } = await makeSmallRelease()
  const [other, broken] = ['0', '1'].map((digit) => result.analytics.replace(/.{8}$/, digit.repeat(8)))
  for (const id of [other, broken])
    cpSync(join(releasesDir, result.analytics), join(releasesDir, id ?? ''), { recursive: true })
  const store = await openStore({ releasesDir })
  t.teardown(() => store.close())
  const refused = (): string[] => store.problems().map(({ release_id }) => release_id)
  await store.list()
  t.same(refused().sort(), [other, broken].sort(), 'neither has the digest of its name')
  rmSync(join(releasesDir, other ?? ''), { recursive: true })
  t.ok((await until(() => !refused().includes(other ?? ''))) < SECONDS_MAX)
  t.same(refused(), [broken])
  const population = join(releasesDir, result.demography ?? '', 'manifest.json')
  const text = readFileSync(population)
  rmSync(join(releasesDir, broken ?? ''), { recursive: true })
  t.ok((await until(() => refused().length === 0)) < SECONDS_MAX)
  writeFileSync(population, '{')
  const second = await openStore({ releasesDir })
  t.teardown(() => second.close())
  t.equal(second.problems().length, 2, 'the component and what joins it')
  writeFileSync(population, text)
  t.ok((await until(() => second.problems().length === 0)) < SECONDS_MAX)
  t.equal(second.current()?.id, result.analytics)
})

t.test('a release whose file was damaged and restored is served again within 10 s', secondRing, async (t) => {
  const { releasesDir, result } = await makeSmallRelease()
  const folder = join(releasesDir, result.cnes ?? '')
  const { files } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  const file = join(folder, files[0].path)
  const bytes = readFileSync(file)
  const damaged = Buffer.from(bytes)
  damaged[bytes.length >> 1] = (damaged[bytes.length >> 1] ?? 0) ^ 1
  writeFileSync(file, damaged)
  const store = await openStore({ releasesDir })
  t.teardown(() => store.close())
  t.equal(store.current(), null)
  t.match(store.problems(), [{ reason: /SHA-256/ }, {}])
  await wait(4000)
  t.equal(store.current(), null, 'it stays refused')
  writeFileSync(file, bytes)
  const seconds = await until(() => store.current() !== null)
  t.ok(seconds < SECONDS_MAX, `served after ${seconds.toFixed(1)} s`)
  t.same(store.problems(), [])
})

t.test('a file that is gone from the release in service is said', secondRing, async (t) => {
  const { releasesDir, result } = await makeSmallRelease()
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  t.same((await client.get('/ready')).body.data.missing_files, [])
  const folder = join(releasesDir, result.demography ?? '')
  const { files } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
  const file = join(folder, files[0].path)
  renameSync(file, join(releasesDir, 'elsewhere'))
  const seconds = await until(() => client.store.guard.damaged().length > 0)
  t.ok(seconds < SECONDS_MAX, `said after ${seconds.toFixed(1)} s`)
  t.same((await client.get('/ready')).body.data.missing_files, [`${result.demography}/${files[0].path}`])
  renameSync(join(releasesDir, 'elsewhere'), file)
  await until(() => client.store.guard.damaged().length === 0)
  t.same((await client.get('/ready')).body.data.missing_files, [])
})

t.test(
  'a disk that takes no byte leaves no lock behind',
  { skip: process.platform === 'win32' },
  async (t) => {
    const file = join(temporaryFolder('full'), 'keys.json')
    createKey(file, { name: 'a', capabilities: ['geo.read'] })
    const id = listKeys(file)[0]?.id ?? ''
    const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
    const env = { PATH: process.env.PATH, SUS_KEYS_FILE: file }
    // No file may grow: names can be made, bytes cannot be written, as on a full disk.
    const full = spawnSync(
      'sh',
      ['-c', `trap '' XFSZ; ulimit -f 0; exec "$0" "$@"`, process.execPath, bin, 'keys', 'revoke', id],
      {
        env,
        encoding: 'utf8',
      },
    )
    t.not(full.status, 0, full.stdout)
    t.notOk(lstatSync(`${file}.lock`, { throwIfNoEntry: false }), 'no lock')
    t.equal(listKeys(file).filter(({ revoked_at }) => revoked_at !== null).length, 0)
    const began = performance.now()
    execFileSync(process.execPath, [bin, 'keys', 'revoke', id], { env })
    t.ok(performance.now() - began < 20_000)
    t.equal(
      listKeys(file).filter(({ revoked_at }) => revoked_at !== null).length,
      1,
      'revoked as soon as it can be',
    )
    t.notOk(existsSync(`${file}.lock`))
  },
)
