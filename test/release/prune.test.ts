/** Pruning: what stays and why, what is freed, and what a running server and the log of releases make of it. */
import {
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createKey, revokeKey } from '../../src/keys/keys.ts'
import { readLinkedReleases, recordLink } from '../../src/keys/link-record.ts'
import { createSigningKey } from '../../src/keys/signing.ts'
import { CAPABILITIES } from '../../src/model/capabilities.ts'
import { createFileGuard } from '../../src/release/guard.ts'
import type { Manifest } from '../../src/release/manifest.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { type PruneOptions, planPrune, pruneReleases } from '../../src/release/prune.ts'
import { openStore } from '../../src/release/store.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { prune } from '../../tools/prune.ts'
import { openRecorder, withComponents } from '../../tools/recorder.ts'
import { forgeRelease, joinForged } from '../fixtures/forged-release.ts'
import { makeSmallRelease } from '../fixtures/small-release.ts'

const { releasesDir, result } = await makeSmallRelease()
const keysFile = join(releasesDir, 'keys.json')
const day = 86_400_000
const options: PruneOptions = { keep: 2, olderThan: null, readPins: () => readLinkedReleases(keysFile) }

/** @returns a release with the same files as hard links, as an import makes them */
async function release(name: string): Promise<string> {
  const cnes = await forgeRelease(releasesDir, result.cnes ?? '', (folder, manifest: Manifest) => {
    Object.assign(manifest, { importer_version: name })
    for (const { path } of manifest.files.slice(1)) {
      rmSync(join(folder, path))
      linkSync(join(releasesDir, result.cnes ?? '', path), join(folder, path))
    }
  })
  return joinForged(releasesDir, result.analytics, cnes)
}
async function promote(id: string): Promise<void> {
  await wait(10)
  await promoteRelease(releasesDir, id)
}
/** Bytes of all files, each counted once however many names it has. */
function bytesOnDisk(): number {
  const sizes = new Map<number, number>()
  for (const entry of readdirSync(releasesDir, { recursive: true, withFileTypes: true })) {
    const stat = lstatSync(join(entry.parentPath, entry.name))
    if (stat.isFile() && !/^(promotions|current|keys)/.test(entry.name)) sizes.set(stat.ino, stat.size)
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}
const idsOf = (plan: { removable: readonly { release_id: string }[] }): string[] =>
  plan.removable.map(({ release_id }) => release_id)
const cnesOf = async (id: string): Promise<string> => (await withComponents(releasesDir, id))[0] ?? ''

const first = result.analytics
const second = await release('2')
const third = await release('3')
const fourth = await release('4')

t.test('without a release in service nothing can be removed', async (t) => {
  const pointer = join(releasesDir, 'current.json')
  renameSync(pointer, `${pointer}.away`)
  await t.rejects(planPrune(releasesDir, options), {
    name: 'PruneError',
    message: /No release is in service/,
  })
  renameSync(`${pointer}.away`, pointer)
})

t.test('what is in service, what was before, and what came later stays', async (t) => {
  for (const id of [first, second, third]) await promote(id)
  const { kept, removable } = await planPrune(releasesDir, options)
  const reasons = new Map(kept.map(({ release_id, reason }) => [release_id, reason]))
  t.equal(reasons.get(third), 'in service')
  t.equal(reasons.get(second), 'in service before')
  t.equal(reasons.get(await cnesOf(second)), `joined by ${second}`)
  t.match(reasons.get(result.demography ?? ''), /^joined by /, 'of CNES, which the one in service joins')
  t.same(idsOf({ removable }).slice(0, 2).sort(), [first, fourth].sort(), 'the others go')
  utimesSync(join(releasesDir, 'current.json'), 0, 0)
  t.same(idsOf(await planPrune(releasesDir, options)), [], 'all of them came after that')
  await promote(third)
  const cut = await planPrune(releasesDir, { ...options, olderThan: Date.now() - day })
  t.same(cut.removable, [], 'none came here before yesterday')
  t.same(
    (await planPrune(releasesDir, { ...options, keep: 3 })).kept.length,
    kept.length + 2,
    'first with its component',
  )
})

t.test('a link that lives keeps its release, and one whose key is revoked does not', async (t) => {
  const { id: keyId } = createKey(keysFile, { name: 'links', capabilities: CAPABILITIES })
  const component = await cnesOf(fourth)
  recordLink(keysFile, { releaseIds: [component], keyId, expiresMs: Date.now() + day })
  const { kept } = await planPrune(releasesDir, options)
  const reasons = new Map(kept.map(({ release_id, reason }) => [release_id, reason]))
  t.match(reasons.get(component), /^pinned by a link until 20/)
  t.match(
    reasons.get(fourth),
    /^pinned by a link until 20/,
    'answers of a component need a release that joins it',
  )
  t.same(readLinkedReleases(keysFile, Date.now() + 3 * day), new Map(), 'the link has ended')
  revokeKey(keysFile, keyId)
  t.ok(idsOf(await planPrune(releasesDir, options)).includes(fourth))
})

t.test('a running server forgets what is removed, and what it said is freed is freed', async (t) => {
  const problems: string[] = []
  const guard = createFileGuard({ onDamaged: ({ file }) => problems.push(file) })
  const closed: string[] = []
  const store = await openStore({
    releasesDir,
    guard,
    onProblem: (id, reason) => problems.push(`${id} ${reason}`),
    onClosed: async (id) => void closed.push(id),
  })
  t.teardown(() => store.close())
  t.equal((await store.pin(first))?.id, first)
  const before = bytesOnDisk()
  const plan = await pruneReleases(releasesDir, options)
  t.same(idsOf(plan).slice(0, 2).sort(), [first, fourth].sort(), 'analytics releases go first')
  t.ok(plan.freed_bytes > 0)
  t.ok(plan.freed_bytes < plan.removable.reduce((sum, { bytes }) => sum + bytes, 0), 'linked files stay')
  t.equal(before - bytesOnDisk(), plan.freed_bytes)
  await guard.look()
  await store.refresh()
  t.equal(await store.pin(first), null)
  t.same(closed, [first])
  t.equal(store.current()?.id, third)
  await guard.look()
  t.same([problems, guard.damaged()], [[], []], 'no damage is reported')
  for (const id of [second, third])
    for (const each of await withComponents(releasesDir, id)) await verifyRelease(releasesDir, each)
  t.same(idsOf(await planPrune(releasesDir, options)), [])
  t.notOk(readdirSync(releasesDir).some((name) => name.startsWith('.removed')))
})

t.test('the log of releases says what was removed, and what came back', async (t) => {
  const signingKeyFile = join(releasesDir, 'signing-key.pem')
  createSigningKey(signingKeyFile)
  const settings = readSettings({ SUS_RELEASES_DIR: releasesDir })
  const recorder = await openRecorder(releasesDir, settings)
  const gone = await forgeRelease(releasesDir, third, (_folder, manifest) => {
    Object.assign(manifest, { importer_version: '5' })
  })
  recorder?.recordReleases([gone])
  const proof = readFileSync(join(releasesDir, gone, 'log.tlog-proof'), 'utf8')
  await promote(third)
  t.same(idsOf(await prune(settings, { apply: true })), [gone])
  const again = await forgeRelease(releasesDir, third, (_folder, manifest) => {
    Object.assign(manifest, { importer_version: '5' })
  })
  t.equal(again, gone)
  recorder?.recordReleases([gone])
  recorder?.recordReleases([gone])
  t.not(
    readFileSync(join(releasesDir, gone, 'log.tlog-proof'), 'utf8'),
    proof,
    'the proof of its second entry',
  )
  const log = readFileSync(join(releasesDir, 'log/tile/entries/000.p/3'), 'utf8')
  t.same(
    [...log.matchAll(/"kind":"(\w+)"/g)].map((match) => match[1]),
    ['release', 'removal', 'release'],
  )
})

t.test('a pointer with a time in the future makes nothing removable', async (t) => {
  const newest = await forgeRelease(releasesDir, third, (_folder, manifest) => {
    Object.assign(manifest, { importer_version: 'newest' })
  })
  const plan = await planPrune(releasesDir, options)
  const kept = plan.kept.find(({ release_id }) => release_id === newest)
  t.equal(kept?.reason, 'came after the last promotion')
  const pointer = join(releasesDir, 'current.json')
  const future = new Date(Date.now() + 200 * day)
  utimesSync(pointer, future, future)
  t.same(await planPrune(releasesDir, options), plan, 'promotions.log has the time')
  const log = join(releasesDir, 'promotions.log')
  const text = readFileSync(log, 'utf8')
  const late = text.replaceAll(/^20\d\d-/gm, '2999-')
  for (const changed of [late, '']) {
    writeFileSync(log, changed)
    await t.rejects(planPrune(releasesDir, options), { name: 'PruneError', message: /time in the future/ })
  }
  writeFileSync(log, text)
  await promote(third)
  t.ok(idsOf(await planPrune(releasesDir, options)).includes(newest), 'a promotion sets it right')
})
