/** Copies of releases between folders: verified, by content, resumed, and refused where something is wrong. */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { copyLog, logInFolder } from '../../src/places/copy-log.ts'
import { fetchRelease, repairFile } from '../../src/places/fetch-release.ts'
import { folderPlace } from '../../src/places/folder.ts'
import { follow } from '../../src/places/follow.ts'
import { openPlace } from '../../src/places/open-place.ts'
import type { Place } from '../../src/places/place.ts'
import { PlaceError } from '../../src/places/place.ts'
import { readManifest, verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { openRecorder, withComponents } from '../../tools/recorder.ts'
import { forgeRelease } from '../fixtures/forged-release.ts'
import { secondRing } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const { releasesDir, result } = await makeSmallRelease()
const id = result.analytics
const ids = await withComponents(releasesDir, id)
const source = folderPlace(releasesDir)
const options = { trusted: [] }
const target = (): string => temporaryFolder('copies')
const releasesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .sort()
const cnes = result.cnes ?? ''
const path = (await readManifest(releasesDir, cnes)).files[0]?.path ?? ''

/** A place whose answers a test changes. */
const changed = (change: Partial<Place>): Place => ({ ...source, ...change })

/** @returns the state of a replica that has looked once at the place */
async function followOnce(folder: string, cacheBytes: number | null) {
  const problems: string[] = []
  const follower = follow({
    place: { ...source, current: async () => id },
    releasesDir: folder,
    trusted: [],
    cacheBytes,
    listRefused: () => [],
    listDamaged: () => [],
    onPointer: async () => undefined,
    onArrived: () => undefined,
    onProblem: (reason) => problems.push(reason),
    onMended: () => undefined,
  })
  await follower.look()
  const { reason } = follower.state()
  await follower.close()
  return { reason, problems }
}

type Answer = (file: string, request: IncomingMessage, response: ServerResponse) => unknown

const sendFile: Answer = (file, _request, response) => {
  try {
    response.end(readFileSync(file))
  } catch {
    response.writeHead(404).end()
  }
}

/** @returns address of a server that ends with the test */
async function listen(t: Test, answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** @returns storage that has the releases, and whose answers to requests for files a test changes */
async function openBucket(t: Test, answer: Answer): Promise<Place> {
  const endpoint = await listen(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    if (searchParams.has('list-type')) response.end('<ListBucketResult/>')
    else answer(join(releasesDir, decodeURIComponent(pathname).replace('/bucket/', '')), request, response)
  })
  return openPlace('s3://bucket', readSettings({ SUS_S3_ENDPOINT: endpoint })).place
}

t.test('addresses of places', async (t) => {
  const settings = readSettings({ SUS_S3_ENDPOINT: 'http://127.0.0.1:1' })
  t.same(
    ['s3://bucket/a/b/', 's3://bucket', 'https://data.example.org/', 'file:///srv/x', './x'].map(
      (address) => {
        const { kind, place } = openPlace(address, settings)
        return [kind, place.name.replace(process.cwd(), '')]
      },
    ),
    [
      ['storage', 's3://bucket/a/b'],
      ['storage', 's3://bucket'],
      ['server', 'https://data.example.org'],
      ['folder', '/srv/x'],
      ['folder', '/x'],
    ],
  )
  for (const address of [
    's3://',
    's3://b',
    's3://bucket/a//b',
    's3://bucket/../x',
    'ftp://x/y',
    'https://u:p@x.org',
    'https://x.org/?a=1',
  ])
    t.throws(() => openPlace(address, settings), PlaceError, address)
  for (const address of [
    's3://AKID:TOPSECRET@bucket/x',
    'S3://AKID:TOPSECRET@bucket/x',
    'ftp://u:TOPSECRET@x.org/y',
    'https://u:TOPSECRET@x.org',
    'HTTPS://u:TOPSECRET@x.org',
    'file://u:TOPSECRET@x.org/y',
    'file:///srv/%zz',
    'file:///srv/%2Fx',
    'file://%zz/x',
  ])
    try {
      openPlace(address, settings)
      t.fail(address)
    } catch (error) {
      t.ok(error instanceof PlaceError, String(error))
      t.notMatch(String(error), /TOPSECRET|AKID/)
    }
})

t.test('refusals of storage and servers say what to change', async (t) => {
  const answers: readonly [number, string, RegExp][] = [
    [
      400,
      'AuthorizationHeaderMalformed',
      /\(AuthorizationHeaderMalformed\); check SUS_S3_REGION and SUS_S3_END/,
    ],
    [301, 'PermanentRedirect', /\(PermanentRedirect\); check SUS_S3_REGION and SUS_S3_ENDPOINT\.$/],
    [
      403,
      'RequestTimeTooSkewed',
      /refuses the time of this machine \(RequestTimeTooSkewed\); set its clock\.$/,
    ],
    [403, 'AccessDenied', /to list its objects \(AccessDenied\); .*SUS_S3_SECRET_ACCESS_KEY.*s3:ListBucket/],
    [404, '', /^s3:\/\/bucket answers a request to list its objects with status 404\.$/],
  ]
  for (const [status, code, message] of answers) {
    const endpoint = await listen(t, (_request, response) =>
      response.writeHead(status).end(code === '' ? '' : `<Error><Code>${code}</Code></Error>`),
    )
    const { place } = openPlace('s3://bucket', readSettings({ SUS_S3_ENDPOINT: endpoint }))
    await t.rejects(place.list(), { name: 'PlaceError', message }, code)
  }
  t.throws(() => openPlace('s3://ab', readSettings({})), { message: /3 to 63 characters/ })

  const settings = readSettings({})
  const moved = await listen(t, ({ url }, response) =>
    response.writeHead(301, { location: `https://data.example.org${url}?secret` }).end(),
  )
  await t.rejects(openPlace(moved, settings).place.current(), {
    message: `${moved} has moved to https://data.example.org; use that address.`,
  })
  for (const answer of [{ status: 404 }, { status: 302, location: '/login' }]) {
    const other = await listen(t, (_request, response) =>
      response
        .writeHead(answer.status, answer.location === undefined ? {} : { location: answer.location })
        .end(),
    )
    await t.rejects(openPlace(other, settings).place.current(), {
      message: `${other} does not answer /ready as a sus-data server does.`,
    })
  }
})

t.test('a release arrives with what it joins, and is not copied twice', async (t) => {
  const folder = target()
  const first = await fetchRelease(source, folder, id, options)
  t.same(first.map(({ release_id }) => release_id).sort(), [...ids].sort())
  t.equal(first.at(-1)?.release_id, id, 'components come first')
  for (const each of ids) await verifyRelease(folder, each)
  const bytes = (await Promise.all(ids.map((each) => readManifest(folder, each))))
    .flatMap(({ files }) => files)
    .reduce((sum, file) => sum + file.bytes, 0)
  t.equal(
    first.reduce((sum, { copied_bytes, linked_bytes }) => sum + copied_bytes + linked_bytes, 0),
    bytes,
  )
  t.ok((await fetchRelease(source, folder, id, options)).every(({ present }) => present))
  const other = await forgeRelease(releasesDir, cnes, (_folder, manifest) => {
    Object.assign(manifest, { importer_version: 'other' })
  })
  const again = (await fetchRelease(source, folder, other, options)).at(-1)
  t.same([again?.release_id, again?.copied_bytes], [other, 0], 'the same content is linked')
  t.equal(lstatSync(join(folder, other, path)).ino, lstatSync(join(folder, cnes, path)).ino)
  await verifyRelease(folder, other)
})

t.test(
  'a flipped byte, a missing file and a cut file are named, and nothing has the name of the release',
  async (t) => {
    const damaged = temporaryFolder('damaged')
    cpSync(releasesDir, damaged, { recursive: true })
    const file = join(damaged, cnes, path)
    const bytes = readFileSync(file)
    const flipped = Buffer.from(bytes)
    flipped[100] = (flipped[100] ?? 0) ^ 1
    const cases = [
      [() => writeFileSync(file, flipped), { name: 'ReleaseRefused', message: /does not have the SHA-256/ }],
      [
        () => truncateSync(file, 50),
        { name: 'ReleaseRefused', message: /has 50 bytes at .* where the manifest says/ },
      ],
      [() => rmSync(file), { name: 'PlaceError', message: /is missing at/ }],
    ] as const
    const folder = target()
    for (const [damage, expected] of cases) {
      damage()
      await t.rejects(fetchRelease(folderPlace(damaged), folder, id, options), expected)
      t.notOk(releasesIn(folder).includes(cnes))
      t.notOk(releasesIn(folder).includes(id))
    }
    writeFileSync(file, bytes)
    await fetchRelease(folderPlace(damaged), folder, id, options)
    await verifyRelease(folder, cnes)
    t.same(readdirSync(folder).sort(), [...ids].sort(), 'nothing hidden is left')
  },
)

t.test('a damaged file or manifest is copied anew, and a release that is gone stays gone', async (t) => {
  const folder = target()
  await fetchRelease(source, folder, cnes, options)
  for (const name of [path, 'manifest.json']) {
    truncateSync(join(folder, cnes, name), 50)
    await t.rejects(verifyRelease(folder, cnes), { name: 'ReleaseRefused' }, name)
    await repairFile(source, folder, cnes, name)
    await verifyRelease(folder, cnes)
  }
  const hidden = (): string[] => readdirSync(folder).filter((name) => name.startsWith('.'))
  t.same(hidden(), [], 'nothing hidden is left')
  rmSync(join(folder, cnes), { recursive: true })
  await repairFile(source, folder, cnes, path)
  t.notOk(existsSync(join(folder, cnes)))
})

t.test('pull repairs a release that is here, and offers no promotion where it cannot', async (t) => {
  const folder = target()
  await fetchRelease(source, folder, id, options)
  const pull = () =>
    spawnSync(process.execPath, [bin, 'pull', releasesDir], {
      env: { PATH: process.env.PATH, SUS_RELEASES_DIR: folder },
      encoding: 'utf8',
    })
  const bytes = readFileSync(join(folder, cnes, path))
  bytes[60] = (bytes[60] ?? 0) ^ 1
  writeFileSync(join(folder, cnes, path), bytes)
  rmSync(join(folder, id, 'manifest.json'))
  const repaired = pull()
  t.match(repaired, { status: 0, stdout: `present  ${cnes}  copied anew: ${path}\n` })
  t.match(repaired.stdout, `present  ${id}  copied anew: manifest.json\n`)
  for (const each of ids) await verifyRelease(folder, each)
  writeFileSync(join(folder, cnes, 'stranger'), '')
  t.match(pull(), {
    status: 1,
    stdout: /^$/,
    stderr: `stranger: is not in the manifest; move ${join(folder, cnes)} away and pull again.\n`,
  })
})

t.test('a place that sends a file without end fills no disk', async (t) => {
  let sent = 0
  const endless = changed({
    open: async () =>
      Readable.from(
        (function* () {
          for (;;) {
            sent += 1 << 20
            yield Buffer.alloc(1 << 20)
          }
        })(),
      ),
  })
  const folder = target()
  await t.rejects(fetchRelease(endless, folder, cnes, options), {
    name: 'ReleaseRefused',
    message: /has more than \d+ bytes at .* where the manifest says/,
  })
  t.ok(sent < 300 << 20, `${sent >> 20} MiB were sent`)
  t.same(releasesIn(folder), [])
})

t.test('a manifest of another release is refused', async (t) => {
  const other = changed({ read: async (file) => source.read(file.replace(cnes, result.demography ?? '')) })
  await t.rejects(fetchRelease(other, target(), id, options), { name: 'ReleaseRefused' })
  await t.rejects(fetchRelease(source, target(), `cnes-br-202605-${'0'.repeat(64)}`, options), {
    name: 'PlaceError',
    message: /has no release/,
  })
})

t.test('a connection that ends is continued where it ended', secondRing, async (t) => {
  const starts: number[] = []
  let cuts = 2
  const flaky = changed({
    async open(file, start) {
      const body = await source.open(file, start)
      if (file !== `${cnes}/${path}` || body === null) return body
      starts.push(start)
      if (cuts === 0) return body
      cuts -= 1
      async function* cut() {
        for await (const chunk of body as AsyncIterable<Buffer>) {
          yield chunk.subarray(0, 10)
          throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
        }
      }
      return Readable.from(cut())
    },
  })
  const folder = target()
  await fetchRelease(flaky, folder, cnes, options)
  t.same(starts, [0, 10, 20])
  await verifyRelease(folder, cnes)
})

t.test('what a killed copy left is used, and bytes in it that are wrong are not', async (t) => {
  const folder = target()
  const staging = join(folder, `.pull-99999999-${cnes}`)
  mkdirSync(join(staging, path, '..'), { recursive: true })
  writeFileSync(join(staging, `${path}.part`), 'wrong')
  await fetchRelease(source, folder, cnes, options)
  await verifyRelease(folder, cnes)
  t.notOk(existsSync(staging))
})

t.test('an interrupted copy ends at places that ignore Range, or begin earlier than requested', async (t) => {
  const ranges: (string | undefined)[] = []
  for (const early of [null, 2]) {
    const place = await openBucket(t, (file, request, response) => {
      const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
      if (start > 0) ranges.push(request.headers.range)
      if (start === 0 || early === null) return sendFile(file, request, response)
      const bytes = readFileSync(file)
      const first = start - early
      response.writeHead(206, { 'content-range': `bytes ${first}-${bytes.length - 1}/${bytes.length}` })
      return response.end(bytes.subarray(first))
    })
    const folder = target()
    const part = join(folder, `.pull-99999999-${cnes}`, `${path}.part`)
    mkdirSync(join(part, '..'), { recursive: true })
    writeFileSync(part, readFileSync(join(releasesDir, cnes, path)).subarray(0, 10))
    await fetchRelease(place, folder, cnes, options)
    await verifyRelease(folder, cnes)
  }
  t.same(ranges, ['bytes=10-', 'bytes=10-'])
})

t.test('a copy that fails has ended before its error is thrown', async (t) => {
  let open = 0
  const place = await openBucket(t, (file, request, response) => {
    if (!file.includes(cnes) || !file.endsWith('.parquet')) return sendFile(file, request, response)
    if (file.endsWith(path)) return setTimeout(() => response.writeHead(404).end(), 200)
    open += 1
    response.once('close', () => {
      open -= 1
    })
    // Nothing comes after this byte.
    return response.writeHead(200, { 'content-length': 1000 }).write('P')
  })
  const folder = target()
  await fetchRelease(source, folder, result.demography ?? '', options)
  const startedMs = Date.now()
  await t.rejects(fetchRelease(place, folder, cnes, options), { message: /is missing at/ })
  for (let turn = 0; turn < 20 && open > 0; turn += 1) await wait(50)
  t.equal(open, 0, 'no file is read any more')
  t.ok(Date.now() - startedMs < 5000)
  await fetchRelease(source, folder, cnes, options)
  await verifyRelease(folder, cnes)
})

t.test(
  'a full disk is what a replica reports, and the copy leaves no bytes on it',
  { skip: !existsSync('/dev/full') && 'no device is always full here' },
  async (t) => {
    const folder = target()
    const staging = join(folder, `.pull-${process.pid}-${cnes}`)
    const fill = (): void => {
      mkdirSync(join(staging, path, '..'), { recursive: true })
      symlinkSync('/dev/full', join(staging, `${path}.part`))
    }
    for (let turn = 0; turn < 5; turn += 1) {
      fill()
      await t.rejects(fetchRelease(source, folder, cnes, options), { code: 'ENOSPC' })
      await wait(20)
      t.notOk(existsSync(staging))
    }
    fill()
    const { reason, problems } = await followOnce(folder, null)
    t.equal(reason, 'cache_full')
    t.match(problems, [/ENOSPC/])
  },
)

t.test(
  'a disk that takes a part of a file gets no release',
  { skip: process.platform === 'win32' },
  async (t) => {
    const folder = target()
    const demography = result.demography ?? ''
    await fetchRelease(source, folder, demography, options)
    const command = [process.execPath, bin, 'pull', releasesDir, cnes]
    // A write that reaches the limit is short, as on a nearly full disk, and only the next one fails.
    const full = spawnSync('sh', ['-c', `trap '' XFSZ; ulimit -f 100; exec "$0" "$@"`, ...command], {
      env: { PATH: process.env.PATH, SUS_RELEASES_DIR: folder },
      encoding: 'utf8',
    })
    t.match(full, { status: 1, stderr: /sus-data: EFBIG: file too large, write\n$/ })
    t.same(releasesIn(folder), [demography])
  },
)

t.test('a replica removes what killed copies of other releases left, so that a new one fits', async (t) => {
  const sizes = await Promise.all(
    ids.map(async (each) => (await readManifest(releasesDir, each)).files.map(({ bytes }) => bytes)),
  )
  const needed = sizes.flat().reduce((sum, bytes) => sum + bytes, 0)
  const other = `cnes-br-202001-${'a'.repeat(64)}`
  const leave = (folder: string, pid: number, each: string, bytes: number): string => {
    const staging = join(folder, `.pull-${pid}-${each}`)
    mkdirSync(join(staging, path, '..'), { recursive: true })
    writeFileSync(join(staging, `${path}.part`), Buffer.alloc(bytes))
    return staging
  }
  for (const cacheBytes of [needed, null]) {
    const folder = target()
    const leftovers = [
      leave(folder, 99_999_999, other, needed),
      leave(folder, process.pid, other, needed),
      // Bytes of the release itself are needed once, not twice.
      leave(folder, 99_999_999, cnes, 1),
    ]
    const running = leave(folder, process.ppid, other, 0)
    t.equal((await followOnce(folder, cacheBytes)).reason, null, `limit ${cacheBytes}`)
    for (const leftover of leftovers) t.notOk(existsSync(leftover), leftover)
    t.ok(existsSync(running), 'a copy of a running process stays')
    for (const each of ids) await verifyRelease(folder, each)
  }
  const full = target()
  leave(full, process.ppid, other, 1)
  t.equal((await followOnce(full, needed)).reason, 'cache_full')
})

t.test('signatures are demanded where keys are trusted', async (t) => {
  const keys = temporaryFolder('copies-keys')
  const signerOf = (name: string) => {
    createSigningKey(join(keys, name))
    const signer = loadNoteSigner(join(keys, name), null)
    if (signer === null) throw new Error('no key')
    return signer
  }
  const operator = signerOf('operator.pem')
  const stranger = signerOf('stranger.pem')
  const folder = target()
  const trusting = { trusted: [operator.verifier] }
  await t.rejects(fetchRelease(source, folder, id, trusting), { message: /manifest\.sig: is missing/ })
  const settings = readSettings({
    SUS_RELEASES_DIR: releasesDir,
    SUS_SIGNING_KEY_FILE: join(keys, 'operator.pem'),
  })
  const recorder = await openRecorder(releasesDir, settings)
  recorder?.recordReleases(ids)
  await t.rejects(fetchRelease(source, folder, id, { trusted: [stranger.verifier] }), {
    name: 'ReleaseRefused',
    message: /none of the keys in SUS_TRUSTED_KEYS/,
  })
  const forged = changed({
    read: async (file) =>
      file === `${cnes}/manifest.sig` ? source.read(`${result.demography}/manifest.sig`) : source.read(file),
  })
  await t.rejects(fetchRelease(forged, folder, id, trusting), {
    message: /is the signature of another release/,
  })
  t.notOk(releasesIn(folder).includes(cnes))
  await fetchRelease(source, folder, id, trusting)
  for (const name of ['manifest.sig', 'log.tlog-proof'])
    t.equal(readFileSync(join(folder, id, name), 'utf8'), readFileSync(join(releasesDir, id, name), 'utf8'))

  t.test('the log follows, and never goes back or into another history', async (t) => {
    const copy = logInFolder(folder)
    t.equal(await copyLog(source, copy, trusting.trusted), true)
    t.equal(await copyLog(source, copy, trusting.trusted), false)
    const early = temporaryFolder('early-log')
    cpSync(join(releasesDir, 'log'), join(early, 'log'), { recursive: true })
    recorder?.recordPromotion({ releaseIds: ids, previous: null, forced: false })
    await t.rejects(copyLog(source, copy, [stranger.verifier]), { name: 'PlaceError' })
    const written: string[] = []
    const watched = {
      ...copy,
      write(file: string, bytes: Buffer) {
        written.push(file)
        return copy.write(file, bytes)
      },
    }
    t.equal(await copyLog(source, watched, trusting.trusted), true)
    t.equal(written.at(-1), 'log/checkpoint', 'the checkpoint comes last')
    await t.rejects(copyLog(folderPlace(early), copy, trusting.trusted), {
      message: /has 4 entries, and that at .* only 3/,
    })
    const tile = join(early, 'log/tile/entries/000.p/3')
    writeFileSync(tile, readFileSync(tile, 'latin1').replace('demo-', 'Demo-'), 'latin1')
    rmSync(join(early, 'log/checkpoint'))
    cpSync(join(releasesDir, 'log/checkpoint'), join(early, 'log/checkpoint'))
    await t.rejects(copyLog(folderPlace(early), logInFolder(target()), []), { name: 'PlaceError' })
  })
})
