/**
 * Each accident or attack on a log and on the proofs beside releases is refused or healed. The second ring
 * has Tessera's integrity check read the log after each.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { LogError, logFolder, readLog } from '../../src/trust/log.ts'
import { findProofProblem } from '../../src/trust/log-proofs.ts'
import { type LogProblem, watchLog } from '../../src/trust/log-watch.ts'
import type { NoteSigner } from '../../src/trust/note.ts'
import { createRecorder } from '../../src/trust/recorder.ts'
import { isTileOf, pathOf } from '../../src/trust/tiles.ts'
import { buildGoProgram, NO_GO } from '../fixtures/go-programs.ts'
import { secondRing } from '../fixtures/rings.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('forks')
const keyFile = join(folder, 'key.pem')
createSigningKey(keyFile)
const signerOf = (name: string | null = null, file = keyFile): NoteSigner => {
  const signer = loadNoteSigner(file, name)
  if (signer === null) throw new Error('no key')
  return signer
}
const signer = signerOf()
const fsck = secondRing.skip === false ? buildGoProgram('log-fsck', folder) : null
if (secondRing.skip === false && fsck === null) t.comment(`${NO_GO}: Tessera's check is left out`)

const idOf = (n: number): string => `demo-analytics-br-202605-${n.toString(16).padStart(64, '0')}`
const ids = Array.from({ length: 6 }, (_, n) => idOf(n))
const proofOf = (releasesDir: string, id: string): string => join(releasesDir, id, 'log.tlog-proof')

/** A folder of six releases, of which the first are recorded. */
function makeFolder(name: string, count: number): string {
  const releasesDir = join(folder, name)
  for (const id of ids) mkdirSync(join(releasesDir, id), { recursive: true })
  createRecorder(releasesDir, signer).recordReleases(ids.slice(0, count))
  return releasesDir
}
const record = (releasesDir: string, releaseIds: readonly string[], by = signer): void =>
  createRecorder(releasesDir, by).recordReleases(releaseIds)
const promote = (releasesDir: string, id: string, previous: string | null): void =>
  createRecorder(releasesDir, signer).recordPromotion({ releaseIds: [id], previous, forced: false })
const promotionsOf = (releasesDir: string) =>
  (readLog(logFolder(releasesDir), signer)?.entries ?? []).flatMap((entry) =>
    entry.kind === 'promotion' ? [{ id: entry.release_id, previous: entry.previous }] : [],
  )

/** The log and all proofs are whole, for us and for Tessera. */
async function requireWhole(t: Test, releasesDir: string, size: number): Promise<void> {
  t.equal(readLog(logFolder(releasesDir), signer)?.checkpoint.size, size)
  const watch = watchLog({
    releasesDir,
    verifiers: () => [signer.verifier],
    operatorKey: () => signer.verifier,
  })
  await watch.look()
  watch.close()
  t.same(watch.problems(), [])
  if (fsck === null) return
  const { status, stderr } = spawnSync(fsck, [logFolder(releasesDir), signer.verifier.verifierKey], {
    encoding: 'utf8',
  })
  t.equal(status, 0, `Tessera agrees: ${stderr}`)
}

t.test('a lost log is not begun anew with the same key', async (t) => {
  const releasesDir = makeFolder('lost', 4)
  cpSync(logFolder(releasesDir), join(folder, 'lost-copy'), { recursive: true })
  rmSync(logFolder(releasesDir), { recursive: true })
  for (const change of [
    () => record(releasesDir, ids),
    () => promote(releasesDir, idOf(0), null),
    () => record(releasesDir, ids.slice(0, 1)),
  ])
    t.throws(change, {
      name: 'LogError',
      message:
        /log\.tlog-proof proves a log of 4 entries, and this one has 0: it is lost, .*\(SUS_SIGNING_NAME\)/,
    })
  t.notOk(existsSync(join(logFolder(releasesDir), 'checkpoint')), 'nothing was signed')
  cpSync(join(folder, 'lost-copy'), logFolder(releasesDir), { recursive: true })
  record(releasesDir, ids)
  await requireWhole(t, releasesDir, 6)
})

t.test('an older copy of the log is not gone on with', secondRing, async (t) => {
  const releasesDir = makeFolder('older', 2)
  const [older, newest] = [join(folder, 'older-copy'), join(folder, 'newest-copy')]
  cpSync(logFolder(releasesDir), older, { recursive: true })
  record(releasesDir, ids.slice(0, 4))
  cpSync(logFolder(releasesDir), newest, { recursive: true })
  rmSync(logFolder(releasesDir), { recursive: true })
  cpSync(older, logFolder(releasesDir), { recursive: true })
  const checkpoint = readFileSync(join(older, 'checkpoint'), 'utf8')
  t.throws(() => record(releasesDir, ids), {
    name: 'LogError',
    message: /and this one has 2: it is lost, or an older copy/,
  })
  t.throws(() => promote(releasesDir, idOf(1), null), LogError)
  t.equal(readFileSync(join(logFolder(releasesDir), 'checkpoint'), 'utf8'), checkpoint)
  cpSync(newest, logFolder(releasesDir), { recursive: true })
  promote(releasesDir, idOf(5), null)
  await requireWhole(t, releasesDir, 6)
})

t.test('a log with another history is not gone on with', secondRing, async (t) => {
  const releasesDir = makeFolder('fork', 3)
  const other = makeFolder('fork-other', 0)
  record(other, [idOf(5), idOf(4), idOf(3), idOf(2)])
  cpSync(logFolder(releasesDir), join(folder, 'fork-copy'), { recursive: true })
  rmSync(logFolder(releasesDir), { recursive: true })
  cpSync(logFolder(other), logFolder(releasesDir), { recursive: true })
  t.throws(() => record(releasesDir, ids), {
    name: 'LogError',
    message: /proves other first \d entries than the log has/,
  })
  rmSync(logFolder(releasesDir), { recursive: true })
  cpSync(join(folder, 'fork-copy'), logFolder(releasesDir), { recursive: true })
  record(releasesDir, ids)
  await requireWhole(t, releasesDir, 6)
})

t.test('another name begins another log beside proofs of the first', secondRing, async (t) => {
  const releasesDir = makeFolder('renamed', 3)
  rmSync(logFolder(releasesDir), { recursive: true })
  const renamed = signerOf('saude.example/2027')
  record(releasesDir, ids, renamed)
  for (const id of ids) t.equal(findProofProblem(releasesDir, id, [renamed.verifier]), null)
})

t.test('a proof that was swapped, damaged or cut is found and made again', async (t) => {
  const releasesDir = makeFolder('swapped', 4)
  const text = readFileSync(proofOf(releasesDir, idOf(1)), 'utf8')
  const stranger = join(folder, 'stranger.pem')
  createSigningKey(stranger)
  const other = makeFolder('swapped-other', 0)
  record(other, ids, signerOf(signer.verifier.name, stranger))
  const problems: LogProblem[] = []
  const watch = watchLog({
    releasesDir,
    verifiers: () => [signer.verifier],
    operatorKey: () => signer.verifier,
    onProblem: (problem) => problems.push(problem),
  })
  t.teardown(() => watch.close())
  for (const [what, changed, reason] of [
    ['that of another release', readFileSync(proofOf(releasesDir, idOf(2)), 'utf8'), /not this release/],
    ['cut', text.slice(0, 200), /./],
    ['empty', '', /is not a proof of inclusion/],
    ['another index', text.replace('index 1', 'index 0'), /does not lead from its entry/],
    [
      'another byte of the signature',
      text.replace(/.(?=.{8}\n$)/, (digit) => (digit === 'A' ? 'B' : 'A')),
      /./,
    ],
    ['a log of this name by another key', readFileSync(proofOf(other, idOf(1)), 'utf8'), /none of the keys/],
  ] as const) {
    writeFileSync(proofOf(releasesDir, idOf(1)), changed)
    t.match(findProofProblem(releasesDir, idOf(1), [signer.verifier]), reason, what)
    await watch.look()
    t.match(watch.problems(), [{ file: `${idOf(1)}/log.tlog-proof`, reason }], what)
    record(releasesDir, [idOf(1)])
    t.equal(readFileSync(proofOf(releasesDir, idOf(1)), 'utf8'), text, `${what}: made again`)
    await watch.look()
    t.same(watch.problems(), [])
  }
  t.equal(problems.length, 6, 'each is reported once')
  await requireWhole(t, releasesDir, 4)
})

t.test('a server names no problem for a proof of the log of another operator that it trusts', async (t) => {
  const releasesDir = makeFolder('mixed', 4)
  const stranger = join(folder, 'operator.pem')
  createSigningKey(stranger)
  const operator = signerOf('operator.example', stranger)
  const other = makeFolder('mixed-other', 0)
  record(other, ids, operator)
  cpSync(proofOf(other, idOf(5)), proofOf(releasesDir, idOf(5)))
  const verifiers = [signer.verifier, operator.verifier]
  const watch = watchLog({ releasesDir, verifiers: () => verifiers, operatorKey: () => signer.verifier })
  t.teardown(() => watch.close())
  await watch.look()
  t.same(watch.problems(), [])
  // The log of the other operator does not stand for that of the operator's own key.
  rmSync(logFolder(releasesDir), { recursive: true })
  cpSync(logFolder(other), logFolder(releasesDir), { recursive: true })
  await watch.look()
  t.match(watch.problems(), [{ file: 'log', reason: /is of another log/ }])
})

t.test('damage of the log is named while a server runs', secondRing, async (t) => {
  const releasesDir = makeFolder('damaged', 4)
  const log = logFolder(releasesDir)
  const watch = watchLog({
    releasesDir,
    verifiers: () => [signer.verifier],
    operatorKey: () => signer.verifier,
  })
  t.teardown(() => watch.close())
  await watch.look()
  t.same(watch.problems(), [])
  for (const name of ['checkpoint', 'tile/0/000.p/4', 'tile/entries/000.p/4']) {
    const bytes = readFileSync(join(log, name))
    const flipped = Buffer.from(bytes)
    flipped[40] = (flipped[40] ?? 0) ^ 1
    writeFileSync(join(log, name), flipped)
    await watch.look()
    t.ok(watch.problems().length > 0, `${name} with another byte`)
    t.match(watch.problems()[0]?.file, name === 'checkpoint' ? 'log/checkpoint' : 'log')
    rmSync(join(log, name))
    await watch.look()
    t.match(watch.problems()[0]?.reason, /is missing|is not there/, `${name} removed`)
    writeFileSync(join(log, name), bytes)
    await watch.look()
    t.same(watch.problems(), [], `${name} put back`)
  }
  await requireWhole(t, releasesDir, 4)
})

t.test('a crash between tiles and checkpoint leaves tiles that are nobody’s', secondRing, async (t) => {
  const releasesDir = makeFolder('crashed', 4)
  const log = logFolder(releasesDir)
  // The tiles that an entry which was never signed would have had.
  for (const path of ['tile/0/000.p/5', 'tile/entries/000.p/5']) {
    writeFileSync(join(log, path), 'left by a crash')
    t.notOk(isTileOf(path, 4), `${path} is beyond the checkpoint`)
    t.ok(isTileOf(path, 5))
  }
  await requireWhole(t, releasesDir, 4)
  record(releasesDir, ids)
  await requireWhole(t, releasesDir, 6)
  t.same(readdirSync(join(log, 'tile/0/000.p')).sort(), ['1', '2', '3', '4', '5', '6'])
})

t.test('tiles that a tree of a size has', async (t) => {
  const size = 256 * 300 + 7
  for (const [tile, is] of [
    [{ level: 0, index: 299, width: 256 }, true],
    [{ level: 0, index: 300, width: 7 }, true],
    [{ level: 0, index: 300, width: 8 }, false],
    [{ level: 'entries', index: 300, width: 7 }, true],
    [{ level: 'entries', index: 300, width: 256 }, false],
    [{ level: 1, index: 1, width: 44 }, true],
    [{ level: 1, index: 1, width: 45 }, false],
    [{ level: 2, index: 0, width: 1 }, true],
    [{ level: 2, index: 0, width: 2 }, false],
    [{ level: 63, index: 0, width: 1 }, false],
  ] as const)
    t.equal(isTileOf(pathOf(tile), size), is, pathOf(tile))
  t.notOk(isTileOf('checkpoint', size))
})

t.test('a promotion that was killed after it was logged ends the same when it is done again', async (t) => {
  const releasesDir = makeFolder('interrupted', 0)
  promote(releasesDir, idOf(0), null)
  // Logged, and killed before current.json was replaced.
  promote(releasesDir, idOf(1), idOf(0))
  promote(releasesDir, idOf(1), idOf(0))
  t.same(promotionsOf(releasesDir), [
    { id: idOf(0), previous: null },
    { id: idOf(1), previous: idOf(0) },
  ])
  // Or the release in service is promoted: the log says that it is in service again.
  promote(releasesDir, idOf(0), idOf(0))
  promote(releasesDir, idOf(0), idOf(0))
  t.same(promotionsOf(releasesDir).slice(2), [{ id: idOf(0), previous: idOf(1) }])
  await requireWhole(t, releasesDir, 5)
})
