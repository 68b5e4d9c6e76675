/**
 * Servers that copy their releases from S3-compatible storage (SUS_RELEASES_URL): two replicas from empty folders under load, a
 * promotion, the storage gone, damage, wrong signatures, a full cache, and kills.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { withComponents } from '../../tools/recorder.ts'
import { createDraws } from '../fixtures/draws.ts'
import { forgeRelease, joinForged } from '../fixtures/forged-release.ts'
import { countOf } from '../fixtures/rings.ts'
import { startS3, withoutS3 } from '../fixtures/s3.ts'
import { type ServerProcess, spawnServer, startServerProcess } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const PLACE = 's3://releases/sus'
const QUERY = JSON.stringify({ metrics: ['bed_capacity_existing'], group_by: ['state'] })

t.test('replicas', { skip: withoutS3 || process.env.SUS_TESTS !== 'all' }, async (t) => {
  const { releasesDir, result } = await makeSmallRelease()
  const first = result.analytics
  const keysFile = join(temporaryFolder('replica-keys'), 'keys.json')
  const key = createKey(keysFile, { name: 'load', capabilities: CAPABILITIES, rate: 10_000_000 }).secret
  const signingKey = join(temporaryFolder('replica-signer'), 'key.pem')
  createSigningKey(signingKey)
  const trusted = loadNoteSigner(signingKey, null)?.verifier.verifierKey ?? ''
  const s3 = await startS3()
  const servers: ServerProcess[] = []
  t.teardown(async () => {
    for (const { child } of servers) child.kill('SIGKILL')
    await s3.close()
  })
  const run = (...args: string[]) => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [bin, ...args], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        SUS_RELEASES_DIR: releasesDir,
        SUS_SIGNING_KEY_FILE: signingKey,
        ...s3.env,
      },
    })
    return { stdout, stderr, status }
  }
  const env = { ...s3.env, SUS_RELEASES_URL: PLACE, SUS_KEYS_FILE: keysFile, SUS_LOG_LEVEL: 'info' }
  const replica = async (folder: string, more: Record<string, string> = {}): Promise<ServerProcess> => {
    const server = await startServerProcess(folder, { env: { ...env, ...more }, waitsFor: '/health' })
    servers.push(server)
    return server
  }
  const ready = async ({ port }: ServerProcess) => {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`)
    // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
    const body = (await answer.json()) as any
    return {
      status: answer.status,
      release: body.data?.release_id ?? null,
      source: body.data?.source ?? body.source,
      body,
    }
  }
  const until = async <Value>(
    what: string,
    read: () => Promise<Value>,
    holds: (value: Value) => boolean,
  ): Promise<Value> => {
    let value = await read()
    for (let turn = 0; turn < 600 && !holds(value); turn += 1) {
      await wait(50)
      value = await read()
    }
    if (!holds(value)) throw new Error(`${what}: ${JSON.stringify(value)}`)
    return value
  }
  const ask = async ({ port }: ServerProcess, pin: string | null = null) => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/analytics/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: pin === null ? QUERY : JSON.stringify({ ...JSON.parse(QUERY), expected_release_id: pin }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: answers are compared, not typed, in tests
    return { status: answer.status, body: (await answer.json()) as any }
  }

  run('sign', first)
  t.equal(run('promote', first).status, 0)
  t.equal(run('push', PLACE).status, 0)
  const folders = [temporaryFolder('replica-a'), temporaryFolder('replica-b')]
  const startedMs = Date.now()
  const pair = await Promise.all(folders.map((folder) => replica(folder, { SUS_TRUSTED_KEYS: trusted })))
  const [a, b] = pair as [ServerProcess, ServerProcess]
  await Promise.all(
    pair.map((server) =>
      until(
        'ready',
        () => ready(server),
        ({ status }) => status === 200,
      ),
    ),
  )
  t.comment(`two replicas ready from empty folders after ${Date.now() - startedMs} ms`)
  t.match(await ready(a), { release: first, source: { up: true, release_id: first, reason: null } })
  const expected = await ask(a)
  t.equal(expected.status, 200)
  const checkpoint = await fetch(`http://127.0.0.1:${b.port}/v1/log/checkpoint`).then((answer) =>
    answer.text(),
  )
  t.equal(checkpoint, readFileSync(join(releasesDir, 'log/checkpoint'), 'utf8'), 'the log came, too')

  const failures: string[] = []
  let isOver = false
  const load = pair.flatMap((server) =>
    Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const { status } = await ask(server).catch((error: Error) => ({ status: error.message }))
        if (status !== 200) failures.push(String(status))
        await wait(5)
      }
    }),
  )
  const cnes = await forgeRelease(releasesDir, result.cnes ?? '', (_folder, manifest) => {
    Object.assign(manifest, { importer_version: '2' })
  })
  const second = await joinForged(releasesDir, first, cnes)
  run('sign', cnes, second)
  t.equal(run('promote', second, '--force', 'the same data').status, 0)

  await t.test('a promotion at the place reaches the replicas', async (t) => {
    t.equal(run('push', PLACE).status, 0)
    for (const server of pair)
      await until(
        'second',
        () => ready(server),
        ({ release }) => release === second,
      )
    t.equal((await ask(a, first)).status, 200, 'the release of before can be pinned')
  })

  await t.test('a request pins a release that is only at the place', async (t) => {
    const other = await forgeRelease(releasesDir, second, (_folder, manifest) => {
      Object.assign(manifest, { importer_version: '3' })
    })
    run('sign', other)
    t.equal(run('push', PLACE, other).status, 0)
    const { status } = await until(
      'pinned',
      () => ask(a, other),
      (answer) => answer.status !== 503,
    )
    t.equal(status, 200)
    t.equal((await ask(a, `demo-analytics-br-202605-${'0'.repeat(64)}`)).status, 409)
  })

  await t.test('the storage is gone for a while', async (t) => {
    s3.freeze()
    const c = await replica(temporaryFolder('replica-late'))
    t.match((await ready(c)).status, 503)
    // The first replica restarts without the storage.
    a.child.kill('SIGKILL')
    await a.ended
    const again = await replica(folders[0] ?? '', { SUS_TRUSTED_KEYS: trusted })
    await until(
      'ready from its cache',
      () => ready(again),
      ({ release }) => release === second,
    )
    t.same((await ask(again)).body.data, expected.body.data)
    await wait(1000)
    t.equal((await ask(b)).status, 200)
    s3.thaw()
    await until(
      'ready late',
      () => ready(c),
      ({ release }) => release === second,
    )
    c.child.kill('SIGKILL')
  })
  isOver = true
  await Promise.all(load)
  t.same(
    failures.filter((failure) => failure !== 'fetch failed'),
    [],
    'no answer of a replica was an error',
  )

  await t.test('a damaged copy is replaced at the next start', async (t) => {
    const folder = folders[1] ?? ''
    b.child.kill('SIGKILL')
    await b.ended
    const file = join(folder, cnes, (await verifyRelease(folder, cnes)).files[0]?.path ?? '')
    const bytes = readFileSync(file)
    bytes[60] = (bytes[60] ?? 0) ^ 1
    writeFileSync(file, bytes)
    const again = await replica(folder)
    await until(
      'mended',
      () => ready(again),
      ({ release }) => release === second,
    )
    t.equal((await verifyRelease(folder, cnes)).release_id, cnes)
    again.child.kill('SIGKILL')
  })

  await t.test('a file that is damaged while the server runs is copied again', async (t) => {
    const folder = temporaryFolder('replica-damaged')
    const server = await replica(folder)
    await until(
      'ready',
      () => ready(server),
      ({ status }) => status === 200,
    )
    const { files } = await verifyRelease(folder, cnes)
    for (const { path } of files.slice(0, 2)) {
      const bytes = readFileSync(join(folder, cnes, path))
      bytes[60] = (bytes[60] ?? 0) ^ 1
      writeFileSync(join(folder, cnes, path), bytes)
    }
    await until(
      'damaged',
      () => ready(server),
      ({ body }) => body.data?.damaged_files?.length === 2,
    )
    await until(
      'mended',
      () => ready(server),
      ({ body }) => body.data?.damaged_files?.length === 0,
    )
    t.equal((await verifyRelease(folder, cnes)).release_id, cnes)
    t.equal((await ask(server)).status, 200)
    t.same(
      readdirSync(folder).filter((name) => name.startsWith('.pull')),
      [],
      'nothing is left',
    )
    server.child.kill('SIGKILL')
  })

  await t.test('a wrong signature and a full cache keep the release out, and /ready says why', async (t) => {
    const stranger = join(temporaryFolder('replica-stranger'), 'key.pem')
    createSigningKey(stranger)
    const verifier = loadNoteSigner(stranger, null)?.verifier.verifierKey ?? ''
    const wary = await replica(temporaryFolder('replica-wary'), { SUS_TRUSTED_KEYS: verifier })
    t.match(
      await until(
        'refused',
        () => ready(wary),
        ({ source }) => source?.reason === 'refused',
      ),
      { status: 503 },
    )
    const small = await replica(temporaryFolder('replica-small'), { SUS_RELEASES_CACHE_BYTES: '10000' })
    t.match(
      await until(
        'full',
        () => ready(small),
        ({ source }) => source?.reason === 'cache_full',
      ),
      { status: 503 },
    )
    await until(
      'the log',
      async () => small.log(),
      (text) => text.includes('SUS_RELEASES_CACHE_BYTES is 10000'),
    )
    for (const server of [wary, small]) server.child.kill('SIGKILL')
  })

  await t.test('a cache with a limit lets the releases of before go', async (t) => {
    const folder = temporaryFolder('replica-limited')
    // A replica removes at its start what a killed one left behind; that would make room without a release going.
    const isLeft = (path: string): boolean => /^\.(?!derived$)/.test(basename(path))
    cpSync(folders[1] ?? '', folder, { recursive: true, filter: (path) => !isLeft(path) })
    const promoted = await forgeRelease(releasesDir, second, (_folder, manifest) => {
      Object.assign(manifest, { importer_version: '4' })
    })
    run('sign', promoted)
    await promoteRelease(releasesDir, promoted)
    t.equal(run('push', PLACE).status, 0)
    const bytes = sizeOf(folder)
    const limited = await replica(folder, { SUS_RELEASES_CACHE_BYTES: String(bytes - 1) })
    await until(
      'promoted',
      () => ready(limited),
      ({ release }) => release === promoted,
    )
    t.notOk(existsSync(join(folder, first)), 'the one that came first went')
    t.ok(existsSync(join(folder, second)), 'the one that was in service stays')
    limited.child.kill('SIGKILL')
    await limited.ended
  })

  await t.test('killed while it copies', async (t) => {
    const { draw } = createDraws(3)
    const folder = temporaryFolder('replica-killed')
    for (let turn = 0; turn < countOf(2, 0); turn += 1) {
      const server = await spawnServer(folder, { env })
      await wait(300 + draw(1500))
      server.child.kill('SIGKILL')
      await server.ended
      mkdirSync(folder, { recursive: true })
      for (const id of readdirSync(folder).filter((name) => /^demo-.*-[0-9a-f]{64}$/.test(name)))
        await verifyRelease(folder, id)
      const pointer = await readPointer(folder)
      if (pointer !== null)
        for (const id of await withComponents(folder, pointer)) await verifyRelease(folder, id)
    }
    const server = await replica(folder)
    await until(
      'ready',
      () => ready(server),
      ({ status }) => status === 200,
    )
    t.same(
      readdirSync(folder).filter((name) => name.startsWith('.pull')),
      [],
      'nothing is left',
    )
  })
})

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + readFileSync(join(entry.parentPath, entry.name)).length, 0)
}
