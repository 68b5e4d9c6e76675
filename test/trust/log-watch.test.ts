/** A running server sends the bytes of the log that its checkpoint covers, and names damaged files beside releases. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { appendToLog, CHECKPOINT, logFolder } from '../../src/trust/log.ts'
import { type LogProblem, watchLog } from '../../src/trust/log-watch.ts'
import { attest, signRelease, writeAttestation } from '../../src/trust/release-notes.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const releasesDir = temporaryFolder('log-watch')
const keyFile = join(releasesDir, 'signing-key.pem')
createSigningKey(keyFile)
const signer = loadNoteSigner(keyFile, null)
if (signer === null) throw new Error('no signing key')
const idOf = (n: number): string => `demo-cnes-br-202605-${n.toString(16).padStart(64, '0')}`
const append = (size: number): void => {
  appendToLog(logFolder(releasesDir), signer, (entries) =>
    Array.from({ length: size - entries.length }, (_, n) => ({
      kind: 'release',
      release_id: idOf(entries.length + n),
    })),
  )
}
const logFile = (path: string): string => join(logFolder(releasesDir), path)
const problems: LogProblem[] = []
const watch = watchLog({
  releasesDir,
  verifiers: () => [signer.verifier],
  operatorKey: () => signer.verifier,
  onProblem: (problem) => problems.push(problem),
})
t.teardown(() => watch.close())

t.test('without a log there is nothing to read', async (t) => {
  t.equal(await watch.read(CHECKPOINT), null)
  t.equal(await watch.read('tile/0/000.p/1'), null)
})

t.test('files of the log are read as the checkpoint says, and never otherwise', async (t) => {
  append(3)
  const paths = [CHECKPOINT, 'tile/0/000.p/3', 'tile/entries/000.p/3']
  for (const path of paths) t.same(await watch.read(path), readFileSync(logFile(path)), path)
  t.equal(await watch.read('tile/0/000.p/4'), null, 'beyond the checkpoint')
  append(5)
  for (const path of [CHECKPOINT, 'tile/0/000.p/5', 'tile/entries/000.p/5', ...paths.slice(1)])
    t.same(await watch.read(path), readFileSync(logFile(path)), `${path}, after the log grew`)
  for (const path of [CHECKPOINT, 'tile/0/000.p/5', 'tile/entries/000.p/5', ...paths.slice(1)]) {
    const bytes = readFileSync(logFile(path))
    const changed = Buffer.from(bytes)
    changed[9] = (changed[9] ?? 0) ^ 1
    writeFileSync(logFile(path), changed)
    await t.rejects(watch.read(path), { code: 'release_damaged', extra: { file: /^log/ } }, path)
    rmSync(logFile(path))
    if (!paths.slice(1).includes(path)) await t.rejects(watch.read(path), { code: 'release_damaged' }, path)
    writeFileSync(logFile(path), bytes)
    t.same(await watch.read(path), bytes, `${path}, put back`)
  }
  t.same(watch.problems(), [])
})

t.test('damaged signatures, attestations and promotions are named', async (t) => {
  const id = idOf(1)
  mkdirSync(join(releasesDir, id), { recursive: true })
  const signature = join(releasesDir, id, 'manifest.sig')
  writeFileSync(signature, signRelease(id, signer))
  const rebuild = {
    time: '2026-06-01T00:00:00.000Z',
    duckdb_version: '1',
    importer_version: '1',
    catalog_version: '1',
    platform: 'linux',
  }
  const note = writeAttestation(releasesDir, id, attest(id, rebuild, signer), signer)
  const promotions = join(releasesDir, 'promotions.log')
  const analytics = `demo-analytics-br-202605-${'0'.repeat(64)}`
  writeFileSync(promotions, `2026-06-01T00:00:00.000Z - ${analytics}\n`)
  await watch.look()
  t.same(watch.problems(), [])
  for (const [path, file] of [
    [signature, `${id}/manifest.sig`],
    [note, `${id}/attestations/${signer.verifier.keyId}.note`],
    [promotions, 'promotions.log'],
  ] as const) {
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.subarray(0, bytes.length - 9))
    await watch.look()
    t.match(watch.problems(), [{ file, reason: /\w/ }], file)
    t.same(problems.at(-1)?.file, file, 'and reported')
    writeFileSync(path, bytes)
    await watch.look()
    t.same(watch.problems(), [], `${file}, put back`)
  }
})
