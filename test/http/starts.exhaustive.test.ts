/**
 * Servers that start and stop at random moments, while any file under the folder of releases is damaged and repaired: each process
 * ends in time, no answer is wrong, and the log or /ready names the damaged file.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKey } from '../../src/keys/keys.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { createChance } from '../../tools/demo/random.ts'
import { damageFile } from '../fixtures/damage.ts'
import { countOf } from '../fixtures/rings.ts'
import { type ServerProcess, spawnServer } from '../fixtures/server.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const STARTS = countOf(4, 2)
const LANES = 4
const EXIT_SECONDS_MAX = 60
const NAMED_SECONDS_MAX = 10
const small = await makeSmallRelease()
const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
// With a signing key, a signature and a log of releases.
for (const args of [
  ['keys', 'signing', 'create'],
  ['sign', small.result.analytics],
  ['promote', small.result.analytics],
]) {
  const { status, stderr } = spawnSync(process.execPath, [bin, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: small.releasesDir },
  })
  if (status !== 0) throw new Error(stderr)
}
const { secret } = createKey(join(small.releasesDir, 'keys.json'), {
  name: 'starts',
  capabilities: CAPABILITIES,
  rate: 10_000_000,
})
const chance = createChance(31)
const [uf, query] = ['RR', { metrics: ['beds_existing_per_100k'], group_by: ['state'] }]
const PATHS = [
  '/v1/states',
  `/v1/facilities?uf=${uf}&limit=40&count=true`,
  '/v1/municipalities?limit=50',
  '/v1/bed-capacity?limit=40',
  `/v1/analytics/query?q=${encodeURIComponent(JSON.stringify(query))}`,
  `/v1/releases/${small.result.analytics}/files/manifest.json`,
]

/** Each kind of file is damaged equally often. Every change of the first three is seen, and a removal of the next two. */
const KINDS: readonly (readonly [kind: string, RegExp])[] = [
  ['tables', /\.parquet$/],
  ['manifests', /manifest\.json$/],
  ['row files', /^\.derived\/.*\.rows$/],
  ['pointer', /^current\.json$/],
  ['keys', /^keys\.json$/],
  ['signatures', /manifest\.sig$|\.tlog-proof$/],
  ['log', /^log\//],
  ['others', /./],
]
const ALWAYS_SEEN = ['tables', 'manifests', 'row files']
const SEEN_WHEN_REMOVED = ['pointer', 'keys']
const kindOf = (file: string): string => KINDS.find(([, pattern]) => pattern.test(file))?.[0] ?? 'others'

interface Tally {
  answers: number
  refusals: number
  readonly wrong: string[]
  readonly unnamed: string[]
  readonly late: string[]
  readonly ends: Record<string, number>
  slowestSeconds: number
}
const tally: Tally = {
  answers: 0,
  refusals: 0,
  wrong: [],
  unnamed: [],
  late: [],
  ends: {},
  slowestSeconds: 0,
}
const damagedKinds: Record<string, number> = {}

const damage = (path: string, bytes: Buffer, turn: number): string =>
  damageFile(path, bytes, turn, chance, 0.1)

async function ask(port: number, path: string): Promise<{ status: number; text: string } | null> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    return { status: answer.status, text: await answer.text() }
  } catch {
    return null
  }
}
const untilReady = async ({ port, child }: ServerProcess): Promise<void> => {
  for (let turn = 0; turn < 600 && child.exitCode === null; turn += 1) {
    if ((await ask(port, '/ready'))?.status === 200) return
    await wait(50)
  }
}

/** How long a start takes on this machine now: stops and repairs come at random moments of it, and shortly after. */
let startMs = 0
let expected: ReadonlyMap<string, string> = new Map()
async function askAll({ port }: ServerProcess, what: string): Promise<void> {
  for (const path of PATHS) {
    const answer = await ask(port, path)
    if (answer === null) continue
    const isRight = answer.status === 200 && answer.text === expected.get(path)
    if (isRight) tally.answers += 1
    else if (answer.status === 503 || answer.status === 401) tally.refusals += 1
    else tally.wrong.push(`${what}: ${path}: ${answer.status} ${answer.text.slice(0, 200)}`)
  }
}

async function stop(server: ServerProcess, what: string): Promise<void> {
  const began = performance.now()
  server.child.kill('SIGTERM')
  const end = await Promise.race([server.ended, wait(2 * EXIT_SECONDS_MAX * 1000).then(() => 'still there')])
  const seconds = (performance.now() - began) / 1000
  tally.slowestSeconds = Math.max(tally.slowestSeconds, seconds)
  // A signal that comes before the program listens for it ends the process by itself.
  const name = String(end ?? server.child.signalCode)
  tally.ends[name] = (tally.ends[name] ?? 0) + 1
  if (seconds > EXIT_SECONDS_MAX)
    tally.late.push(`${what}: ${seconds.toFixed(0)} s, ${server.log().slice(-500)}`)
  // A server does not start with a keys file that it cannot read, and says so.
  const isRefused = name === '1' && /keys\.json/.test(server.log())
  if (!['0', 'SIGTERM'].includes(name) && !isRefused)
    tally.wrong.push(`${what}: ended with ${name}: ${server.log().slice(-500)}`)
  if (server.child.exitCode === null) server.child.kill('SIGKILL')
}

/** Is the file named in the log, or in /ready, within ten seconds? */
async function isNamed(server: ServerProcess, file: string): Promise<boolean> {
  const name = file.startsWith('.derived/')
    ? (file
        .split('/')
        .at(-1)
        ?.replace(/\.\w+$/, '') ?? '')
    : file
  for (
    const began = performance.now();
    performance.now() - began < NAMED_SECONDS_MAX * 1000;
    await wait(100)
  ) {
    const texts = `${server.log()} ${(await ask(server.port, '/ready'))?.text ?? ''}`
    if (texts.includes(name)) return true
  }
  return false
}

async function runLane(lane: number): Promise<void> {
  const releasesDir = join(temporaryFolder('starts'), 'releases')
  cpSync(small.releasesDir, releasesDir, { recursive: true })
  const files = readdirSync(releasesDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(releasesDir, join(entry.parentPath, entry.name)))
    .filter((file) => statSync(join(releasesDir, file)).size > 0)
    .sort()
  for (let turn = lane; turn < STARTS; turn += LANES) {
    const [kind] = KINDS[turn % KINDS.length] as (typeof KINDS)[number]
    const candidates = files.filter((file) => kindOf(file) === kind)
    const file = candidates[Math.floor(chance(turn, 1) * candidates.length)]
    if (file === undefined) continue
    damagedKinds[kind] = (damagedKinds[kind] ?? 0) + 1
    const path = join(releasesDir, file)
    const { mode } = statSync(path)
    const bytes = readFileSync(path)
    const repair = (): void => writeFileSync(path, bytes, { mode })
    const isEarly = chance(turn, 5) < 0.5
    const what = `start ${turn}, ${file} ${isEarly ? 'at the start' : 'while it runs'}`
    if (isEarly) damage(path, bytes, turn)
    const server = await spawnServer(releasesDir)
    if (isEarly) {
      await wait(chance(turn, 6) * startMs)
      await askAll(server, what)
      if (chance(turn, 7) < 0.5) repair()
      await wait(chance(turn, 8) * startMs)
    } else {
      await untilReady(server)
      await askAll(server, what)
      const isRemoved = damage(path, bytes, turn) === 'removed'
      const mustBeSeen = ALWAYS_SEEN.includes(kind) || (isRemoved && SEEN_WHEN_REMOVED.includes(kind))
      await askAll(server, what)
      const isSeen = await isNamed(server, file)
      if (!isSeen && mustBeSeen) tally.unnamed.push(what)
      await askAll(server, `${what}, named`)
      repair()
      await wait(chance(turn, 9) * startMs)
    }
    await stop(server, what)
    repair()
  }
  const server = await spawnServer(releasesDir)
  await untilReady(server)
  const before = tally.answers
  await askAll(server, 'repaired')
  if (tally.answers - before < PATHS.length) tally.wrong.push('not everything is answered after the repairs')
  await stop(server, 'repaired')
}

t.test(`${STARTS} starts and stops, with damage and repair between them`, async (t) => {
  const began = performance.now()
  const first = await spawnServer(small.releasesDir)
  await untilReady(first)
  startMs = performance.now() - began
  const answers = new Map<string, string>()
  for (const path of PATHS) {
    const answer = await ask(first.port, path)
    t.equal(answer?.status, 200, path)
    answers.set(path, answer?.text ?? '')
  }
  expected = answers
  await stop(first, 'first')
  await Promise.all(Array.from({ length: LANES }, (_, lane) => runLane(lane)))
  t.comment(JSON.stringify({ ...tally, startMs, wrong: tally.wrong.length, damagedKinds }))
  t.same(tally.wrong.slice(0, 5), [], `${tally.wrong.length} wrong answers`)
  t.same(tally.unnamed, [], 'each damaged file was named within ten seconds')
  t.same(tally.late, [], `each process ended within ${EXIT_SECONDS_MAX} s`)
})
