/** `push` and `pull` as commands: S3-compatible storage that others wrote, and a server in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { openPlace } from '../../src/places/open-place.ts'
import { storeRelease } from '../../src/places/store-release.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { withComponents } from '../../tools/recorder.ts'
import { createDraws } from '../fixtures/draws.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { countOf } from '../fixtures/rings.ts'
import { startS3, withoutS3 } from '../fixtures/s3.ts'
import { startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const { releasesDir, result } = await makeSmallRelease()
const id = result.analytics
const cnes = result.cnes ?? ''
const ids = await withComponents(releasesDir, id)

type Env = Readonly<Record<string, string>>
const start = (args: readonly string[], dir: string, env: Env): ChildProcess =>
  spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: dir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
async function run(args: readonly string[], dir: string, env: Env = {}) {
  const child = start(args, dir, env)
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [status] = (await once(child, 'close')) as [number | null]
  return { stdout, stderr, status }
}
const verifyAll = async (folder: string): Promise<void> => {
  for (const each of ids) await verifyRelease(folder, each)
}

t.test('a folder: push copies releases, log and pointer', async (t) => {
  const folder = join(temporaryFolder('push'), 'new')
  const pushed = await run(['push', folder], releasesDir)
  t.match(pushed, { status: 0, stdout: new RegExp(`has ${id} in service`) }, pushed.stderr)
  await verifyAll(folder)
  t.equal(await readPointer(folder), id)
  const again = JSON.parse((await run(['push', `file://${folder}`, '--json'], releasesDir)).stdout)
  t.same(
    again.releases.map(({ sent_bytes }: { sent_bytes: number }) => sent_bytes),
    ids.map(() => 0),
  )
  t.match(await run(['push', 'http://127.0.0.1:9'], releasesDir), {
    status: 2,
    stderr: /a server takes no releases/,
  })
  t.match(await run(['pull', join(folder, 'nothing')], folder), {
    status: 1,
    stderr: /No release is in service at/,
  })
})

t.test('a server: pull with a key, by range after an interruption', async (t) => {
  const serving = temporaryFolder('serving')
  cpSync(releasesDir, serving, { recursive: true })
  const secretOf = (capabilities: readonly (typeof CAPABILITIES)[number][]): string =>
    createKey(join(serving, 'keys.json'), { name: 'copies', capabilities, rate: 1_000_000 }).secret
  const key = secretOf(CAPABILITIES)
  const few = secretOf(['geo.read'])
  const server = await startServerProcess(serving)
  t.teardown(() => server.child.kill('SIGKILL'))
  const address = `http://127.0.0.1:${server.port}`
  const folder = temporaryFolder('pulled')
  t.match(await run(['pull', address], folder), {
    status: 1,
    stderr: /demands a key, and SUS_KEY is not set/,
  })
  t.match(await run(['pull', address], folder, { SUS_KEY: few }), { status: 1, stderr: /lacks a capability/ })
  const pulled = await run(['pull', address], folder, { SUS_KEY: key })
  t.match(
    pulled,
    { status: 0, stdout: new RegExp(`sus-data promote ${id} puts it in service`) },
    pulled.stderr,
  )
  await verifyAll(folder)
  t.match(await run(['pull', address, `cnes-br-202605-${'0'.repeat(64)}`], folder, { SUS_KEY: key }), {
    status: 1,
    stderr: /has no release/,
  })
  server.child.kill('SIGKILL')
  await server.ended
  t.match(await run(['pull', address], folder, { SUS_KEY: key }), {
    status: 1,
    stderr: /cannot be reached \(ECONNREFUSED\)\.\n$/,
  })
})

t.test('S3-compatible storage', { skip: withoutS3 }, async (t) => {
  const s3 = await startS3()
  t.teardown(() => s3.close())
  const place = 's3://releases/sus/data'
  const pushed = await run(['push', place, '--json'], releasesDir, s3.env)
  t.equal(pushed.status, 0, pushed.stderr)
  const keys = await s3.keys()
  t.ok(keys.includes('sus/data/current.json'))
  t.ok(keys.includes(`sus/data/${cnes}/manifest.json`))
  const sent = (text: string): number[] =>
    JSON.parse(text).releases.map(({ sent_bytes }: { sent_bytes: number }) => sent_bytes)
  t.ok(sent(pushed.stdout).every((bytes) => bytes > 0))
  t.same(
    sent((await run(['push', place, '--json'], releasesDir, s3.env)).stdout),
    ids.map(() => 0),
  )

  const other = await forgeRelease(releasesDir, cnes, (_folder, manifest) => {
    Object.assign(manifest, { importer_version: 'other' })
  })
  const copied = JSON.parse(
    (await run(['push', place, other, '--json'], releasesDir, s3.env)).stdout,
  ).releases.at(-1)
  t.match(copied, { release_id: other, sent_bytes: 0 }, 'the storage copies what it has')
  t.ok(copied.copied_bytes > 0)
  t.equal(
    (await s3.object('GET', 'sus/data/current.json')).toString(),
    `{"analytics":"${id}"}\n`,
    'ids move no pointer',
  )

  const folder = temporaryFolder('from-s3')
  const pulled = await run(['pull', place, id, other], folder, s3.env)
  t.equal(pulled.status, 0, pulled.stderr)
  await verifyAll(folder)
  await verifyRelease(folder, other)

  t.test('what is wrong there is named, and gets no name here', async (t) => {
    const key = keys.find((name) => name.includes(cnes) && name.endsWith('.parquet')) ?? ''
    const bytes = await s3.object('GET', key)
    const flipped = Buffer.from(bytes)
    flipped[60] = (flipped[60] ?? 0) ^ 1
    const empty = temporaryFolder('damaged-s3')
    await s3.object('PUT', key, flipped)
    t.match(await run(['pull', place], empty, s3.env), {
      status: 1,
      stderr: /does not have the SHA-256 of the manifest at s3:/,
    })
    await s3.object('DELETE', key)
    t.match(await run(['pull', place], empty, s3.env), {
      status: 1,
      stderr: /is missing at s3:\/\/releases\/sus\/data/,
    })
    t.notOk(readdirSync(empty).includes(cnes))
    const mended = JSON.parse((await run(['push', place, '--json'], releasesDir, s3.env)).stdout)
    t.equal(
      mended.releases.reduce(
        (sum: number, { sent_bytes, copied_bytes }: Record<string, number>) =>
          sum + (sent_bytes ?? 0) + (copied_bytes ?? 0),
        0,
      ),
      bytes.length,
      'push sends what lacks',
    )
    t.equal((await run(['pull', place], empty, s3.env)).status, 0)
    await verifyAll(empty)
    t.match(await run(['pull', 's3://nothing'], empty, s3.env), { status: 1, stderr: /NoSuchBucket/ })
  })

  t.test('a deleted object comes from here, although another release there has its content', async (t) => {
    const file = keys.find((name) => name.includes(cnes) && name.endsWith('.parquet')) ?? ''
    const pair = [file, file.replace(cnes, other)]
    const bytes = await s3.object('GET', file)
    const damaged = Buffer.from(bytes).fill(0, 60, 70)
    const push = async (releaseId: string) =>
      JSON.parse((await run(['push', place, releaseId, '--json'], releasesDir, s3.env)).stdout).releases.at(
        -1,
      )
    for (const key of pair) await s3.object('PUT', key, damaged)
    await s3.object('DELETE', file)
    t.match(await push(cnes), { sent_bytes: bytes.length, copied_bytes: 0 })
    t.same(await s3.object('GET', file), bytes)

    for (const key of pair) await s3.object('DELETE', key)
    t.match(await push(other), { sent_bytes: bytes.length, copied_bytes: 0 })
    const third = await forgeRelease(releasesDir, cnes, (_folder, manifest) => {
      Object.assign(manifest, { importer_version: 'third' })
    })
    await s3.object('DELETE', pair[1] ?? '')
    const stored = await push(third)
    t.equal(stored.sent_bytes, bytes.length, 'no release there has this content')
    t.ok(stored.copied_bytes > 0, 'other content is copied there')
    const { files } = await verifyRelease(releasesDir, third)
    for (const each of files) await s3.object('DELETE', `sus/data/${third}/${each.path}`)
    await s3.object('DELETE', `sus/data/${third}/manifest.json`)
    const opened = openPlace(place, readSettings(s3.env))
    if (opened.kind !== 'storage') throw new Error(opened.kind)
    const gone = new Map(files.map(({ sha256 }) => [sha256, `${cnes}/deleted.parquet`]))
    t.equal((await storeRelease(releasesDir, opened.place, third, gone)).copied_bytes, 0)
    t.equal((await push(cnes)).sent_bytes, bytes.length)
    t.equal((await push(other)).sent_bytes, bytes.length)
  })

  t.test('a pull that is killed goes on', async (t) => {
    const { draw } = createDraws(7)
    const killed = temporaryFolder('killed')
    for (let turn = 0; turn < countOf(3, 0); turn += 1) {
      rmSync(killed, { recursive: true, force: true })
      const child = start(['pull', place], killed, s3.env)
      // A quick machine may have copied everything before the kill.
      const closed = once(child, 'close')
      await wait(300 + draw(900))
      child.kill('SIGKILL')
      await closed
      for (const name of readdirSync(temporaryExisting(killed)).filter(
        (entry) => /-[0-9a-f]{64}$/.test(entry) && !entry.startsWith('.'),
      ))
        await verifyRelease(killed, name)
      t.equal((await run(['pull', place], killed, s3.env)).status, 0)
      await verifyAll(killed)
      t.same(
        readdirSync(killed).filter((name) => name.startsWith('.')),
        [],
        'nothing is left',
      )
    }
  })
  t.equal(
    readFileSync(join(folder, id, 'manifest.json'), 'utf8'),
    readFileSync(join(releasesDir, id, 'manifest.json'), 'utf8'),
  )
})

/** @returns a folder that exists: a command that was killed early made none */
function temporaryExisting(folder: string): string {
  cpSync(temporaryFolder('empty'), folder, { recursive: true })
  return folder
}
