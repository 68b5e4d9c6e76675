/**
 * Damage to the files under the folder of releases that are neither tables nor row files: pointer, keys, promotions, the log,
 * signatures, proofs, attestations, manifests and the index of row files. Every answer is right or a refusal, while the server runs
 * and at its start, and the damaged file is named within ten seconds.
 */
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { readKeysFile } from '../../src/keys/keys-file.ts'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { openService, type Service } from '../../src/service.ts'
import { readSettings } from '../../src/settings.ts'
import { readNote } from '../../src/trust/note.ts'
import { createRecorder } from '../../src/trust/recorder.ts'
import { attest, writeAttestation } from '../../src/trust/release-notes.ts'
import { createChance } from '../../tools/demo/random.ts'
import { damageFile } from '../fixtures/damage.ts'
import { requireDocumented } from '../fixtures/documented.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const DAMAGES = countOf(12, 4)
const LANES = 4
const NAMED_MS_MAX = 10_000
const small = await makeSmallRelease(1)
const { releasesDir: original } = small
const id = small.result.analytics
const component = small.result.cnes ?? ''
const signingKeyFile = join(original, 'signing-key.pem')
createSigningKey(signingKeyFile)
const signer = loadNoteSigner(signingKeyFile, null)
if (signer === null) throw new Error('no signing key')
const recorder = createRecorder(original, signer)
recorder.recordReleases([component, id])
rmSync(join(original, 'current.json'))
await promoteRelease(original, id, null, (previous) =>
  recorder.recordPromotion({ releaseIds: [id], previous, forced: false }),
)
const rebuild = {
  time: '2026-06-01T00:00:00.000Z',
  duckdb_version: '1',
  importer_version: '1',
  catalog_version: '1',
  platform: 'linux',
}
writeAttestation(original, id, attest(id, rebuild, signer), signer)
const { secret } = createKey(join(original, 'keys.json'), {
  name: 'state files',
  capabilities: CAPABILITIES,
  rate: 10_000_000,
})
const chance = createChance(313)

const query = { metrics: ['beds_existing_per_100k'], group_by: ['state'] }
const PATHS = [
  '/v1/states',
  '/v1/facilities?uf=RR&limit=20&count=true',
  `/v1/analytics/query?q=${encodeURIComponent(JSON.stringify(query))}`,
  '/v1/releases',
  `/v1/releases/${id}`,
  `/v1/releases/${component}`,
  `/v1/releases/${id}/datapackage.json`,
  `/v1/releases/${component}/files/manifest.json`,
  `/v1/releases/${id}/files/manifest.sig`,
  `/v1/releases/${id}/files/log.tlog-proof`,
  `/v1/releases/${id}/files/attestations/${signer.verifier.keyId}.note`,
  '/v1/log/checkpoint',
  '/v1/log/tile/0/000.p/2',
  '/v1/log/tile/0/000.p/3',
  '/v1/log/tile/entries/000.p/2',
  '/v1/log/tile/entries/000.p/3',
]

interface Kind {
  readonly name: string
  readonly files: RegExp
  /** @returns whether a server can see that the damaged file is not as it was */
  readonly isVisible: (text: string, before: string, path: string) => boolean
}
const always = (): boolean => true
const pointerOf = (text: string): unknown => {
  try {
    return (JSON.parse(text) as { analytics?: unknown } | null)?.analytics
  } catch {
    return null
  }
}
const signs = (text: string): boolean => {
  try {
    return readNote(text, [signer.verifier]).signatures.some(({ verified }) => verified)
  } catch {
    return true
  }
}
const KINDS: readonly Kind[] = [
  {
    name: 'pointer',
    files: /^current\.json$/,
    isVisible: (text, before) => pointerOf(text) !== pointerOf(before),
  },
  {
    name: 'keys',
    files: /^keys\.json$/,
    // A changed digest or name is a valid key of somebody else.
    isVisible: (_text, _before, path) => {
      try {
        readKeysFile(path)
        return false
      } catch {
        return true
      }
    },
  },
  {
    name: 'promotions',
    files: /^promotions\.log$/,
    // A changed digit of the time or of an id is a promotion of another time or release.
    isVisible: (text) => {
      const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
      const release = String.raw`(demo-)?analytics-[a-z]{2}-\d{6}-[0-9a-f]{64}`
      return text !== '' && !new RegExp(`^${time} (-|${release}) ${release}\n?$`).test(text)
    },
  },
  { name: 'log', files: /^log\/(checkpoint|tile\/.*p\/3)$/, isVisible: always },
  // The server looks at partial tiles of earlier checkpoints when they are read.
  { name: 'earlier tiles of the log', files: /^log\/tile\/.*p\/2$/, isVisible: () => false },
  // Who made a signature of an unknown name cannot be known. An attestation is named by its key, so that its signature must be there.
  {
    name: 'signatures',
    files: /manifest\.sig$|attestations\//,
    isVisible: (text, _before, path) => path.includes('attestations') || signs(text),
  },
  { name: 'proofs', files: /log\.tlog-proof$/, isVisible: always },
  { name: 'manifests', files: /manifest\.json$/, isVisible: always },
  {
    name: 'index of row files',
    files: /^\.derived\/.*index\.json$/,
    isVisible: (text, before) => text.trimEnd() !== before.trimEnd(),
  },
  { name: 'others', files: /signing-key\.pem$|\.cursor$|acquisition\.json$/, isVisible: () => false },
]

/** @returns whether the file was removed */
const damage = (path: string, bytes: Buffer, turn: number): boolean =>
  damageFile(path, bytes, turn, chance, 0.1) === 'removed'

interface Opened {
  readonly service: Service
  readonly log: () => string
}
async function open(releasesDir: string): Promise<Opened> {
  let text = ''
  const settings = readSettings({
    SUS_RELEASES_DIR: releasesDir,
    SUS_LOG_LEVEL: 'warn',
    SUS_DUCKDB_MEMORY: '256MiB',
    SUS_DUCKDB_THREADS: '1',
  })
  const service = await openService(settings, {
    log: {
      write(line) {
        text += line
      },
    },
  })
  return { service, log: () => text }
}
interface Answer {
  readonly status: number
  readonly text: string
}
/**
 * The answer without what may differ: the id of the request, whether a release is in service, and cursors, which a server that starts
 * with another secret signs otherwise.
 */
async function ask({ service }: Opened, url: string): Promise<Answer> {
  const reply = await service.app.inject({
    method: 'GET',
    url,
    headers: { authorization: `Bearer ${secret}` },
  })
  requireDocumented('GET', url, reply.statusCode)
  const text = reply.body.replaceAll(
    /"request_id":"[^"]+"|"promoted":(true|false)|"next_cursor":"[^"]+"/g,
    '',
  )
  return { status: reply.statusCode, text }
}

interface Described {
  readonly data: unknown
  readonly meta: {
    readonly signatures: readonly { trusted: boolean }[]
    readonly attestations: readonly { trusted: boolean }[]
    readonly log: unknown
  }
}
/** A description of a release may lack damaged notes, and shows unknown signatures as not trusted. */
function isHonest(text: string, expected: string): boolean {
  const [answer, right] = [JSON.parse(text) as Described, JSON.parse(expected) as Described]
  const trusted = ({ meta }: Described, kind: 'signatures' | 'attestations'): string[] =>
    meta[kind].filter((note) => note.trusted).map((note) => JSON.stringify(note))
  return (
    JSON.stringify(answer.data) === JSON.stringify(right.data) &&
    trusted(answer, 'signatures').every((note) => trusted(right, 'signatures').includes(note)) &&
    trusted(answer, 'attestations').every((note) => trusted(right, 'attestations').includes(note)) &&
    (answer.meta.log === null || JSON.stringify(answer.meta.log) === JSON.stringify(right.meta.log))
  )
}

/** A server that refuses releases lists the others. */
function isPartOfList(text: string, right: string): boolean {
  const itemsOf = (list: string): string[] =>
    (JSON.parse(list.replaceAll(',,', ',')) as { data: unknown[] }).data.map((item) => JSON.stringify(item))
  return itemsOf(text).every((item) => itemsOf(right).includes(item))
}

const expected = new Map<string, string>()
const tally = { answers: 0, refusals: 0, starts: 0, invisible: 0, slowestMs: 0 }
const damagedKinds: Record<string, number> = {}
const wrong: string[] = []
const unnamed: string[] = []

/** @returns the path that a file below the folder of releases is served at */
function pathOf(file: string): string {
  const [folder = '', ...rest] = file.split('/')
  return folder === 'log' ? `/v1/log/${rest.join('/')}` : `/v1/releases/${folder}/files/${rest.join('/')}`
}

/** @param isHidden the server cannot see that the file is damaged */
async function askAll(opened: Opened, what: string, file: string, isHidden: boolean): Promise<void> {
  for (const path of PATHS) {
    const { status, text } = await ask(opened, path)
    const right = expected.get(path) ?? ''
    const isRelease = /^\/v1\/releases\/[^/]+$/.test(path)
    if (
      status === 200 &&
      (text === right ||
        (path === '/v1/releases' && isPartOfList(text, right)) ||
        (isRelease && isHonest(text, right)))
    )
      tally.answers += 1
    else if (status === 503 || status === 401 || (status === 404 && path === pathOf(file)))
      tally.refusals += 1
    // An invisible change of a key may take capabilities away; an invisible one of a signature shows its unknown signer.
    else if (status === 403 && file === 'keys.json') tally.refusals += 1
    else if (status === 200 && isHidden && path === pathOf(file) && file.endsWith('.sig')) tally.refusals += 1
    else wrong.push(`${what}: ${path}: ${status} ${text.slice(0, 300)}`)
  }
}

/** Is the file named by the log since `from`, or by /ready, within ten seconds? */
async function isNamed(opened: Opened, names: readonly string[], from: number): Promise<boolean> {
  const began = performance.now()
  while (performance.now() - began < NAMED_MS_MAX) {
    const texts = `${opened.log().slice(from)} ${(await ask(opened, '/ready')).text}`
    if (names.some((name) => texts.includes(name))) {
      tally.slowestMs = Math.max(tally.slowestMs, performance.now() - began)
      return true
    }
    await wait(50)
  }
  return false
}

/** @param onDone called after each damage */
async function runLane(lane: number, onDone: () => void): Promise<void> {
  const releasesDir = join(temporaryFolder('state-files'), 'releases')
  cpSync(original, releasesDir, { recursive: true })
  const files = readdirSync(releasesDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(releasesDir, join(entry.parentPath, entry.name)))
    .filter((file) => statSync(join(releasesDir, file)).size > 0)
    .sort()
  const running = await open(releasesDir)
  const ready = (await ask(running, '/ready')).text
  for (let turn = lane; turn < DAMAGES; turn += LANES) {
    const kind = KINDS[turn % KINDS.length] as Kind
    const candidates = files.filter((file) => kind.files.test(file))
    const file = candidates[Math.floor(chance(turn, 1) * candidates.length)]
    if (file === undefined) throw new Error(`no file of ${kind.name}`)
    damagedKinds[kind.name] = (damagedKinds[kind.name] ?? 0) + 1
    const path = join(releasesDir, file)
    const { mode } = statSync(path)
    const bytes = readFileSync(path)
    const before = bytes.toString()
    const from = running.log().length
    const isRemoved = damage(path, bytes, turn)
    const what = `${turn}, ${file}${isRemoved ? ' removed' : ''}`
    const isVisible = isRemoved
      ? !['signatures', 'proofs', 'promotions', 'earlier tiles of the log', 'others'].includes(kind.name)
      : kind.isVisible(readFileSync(path, 'utf8'), before, path)
    // Problems of the log name it, or the file in it; a pointer that names no release, that release.
    const isLog = kind.name === 'log'
    const names = isLog
      ? ['"file":"log']
      : kind.name === 'index of row files'
        ? ['the index of its row files']
        : kind.name === 'pointer'
          ? ['current.json', '"pointer":"', 'is not a folder here']
          : kind.name === 'keys'
            ? ['keys.json', 'keys file']
            : [file]
    if (!isVisible) tally.invisible += 1
    await askAll(running, `${what}, running`, file, !isVisible)
    if (isVisible && !(await isNamed(running, names, from)))
      unnamed.push(`${what}, running: ${running.log().slice(from)}`)
    await askAll(running, `${what}, running, named`, file, !isVisible)
    // Each kind is damaged at a start every second time.
    if ((turn + Math.floor(turn / KINDS.length)) % 2 === 1) {
      tally.starts += 1
      const started = await open(releasesDir).catch((error: Error) => error.message)
      if (typeof started === 'string') {
        if (!started.includes(file)) wrong.push(`${what}, at the start: ${started}`)
      } else {
        await askAll(started, `${what}, at the start`, file, !isVisible)
        // A server that never saw a log, row files or keys cannot miss them.
        const canMiss = !isRemoved || kind.name === 'manifests'
        if (isVisible && canMiss && !(await isNamed(started, names, 0)))
          unnamed.push(`${what}, at the start: ${started.log()}`)
        await started.service.close()
      }
    }
    writeFileSync(path, bytes, { mode })
    const began = performance.now()
    while ((await ask(running, '/ready')).text !== ready && performance.now() - began < 2 * NAMED_MS_MAX)
      await wait(50)
    if ((await ask(running, '/ready')).text !== ready)
      wrong.push(`${what}, repaired: ${(await ask(running, '/ready')).text}`)
    onDone()
  }
  const beforeEnd = tally.answers
  await askAll(running, 'repaired', '', false)
  if (tally.answers - beforeEnd < PATHS.length) wrong.push('not everything is answered after the repairs')
  await running.service.close()
}

t.test(`${DAMAGES} damages to state files`, async (t) => {
  const first = await open(original)
  for (const path of PATHS) {
    const { status, text } = await ask(first, path)
    t.equal(status, 200, path)
    expected.set(path, text)
  }
  await first.service.close()
  let done = 0
  // A run of a thousand takes half an hour or more, so it says how far it is.
  const report = (): void => {
    done += 1
    if (done % 24 === 0 || done === DAMAGES)
      t.comment(
        JSON.stringify({ done, ...tally, wrong: wrong.length, unnamed: unnamed.length, damagedKinds }),
      )
  }
  await Promise.all(Array.from({ length: LANES }, (_, lane) => runLane(lane, report)))
  t.same(wrong.slice(0, 20), [], `${wrong.length} wrong answers`)
  t.same(unnamed.slice(0, 20), [], `${unnamed.length} damaged files were not named`)
})
