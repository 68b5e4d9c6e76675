/** Signed releases, their log over HTTP, and the proofs in reports: the operator's side and the auditor's. */
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { promoteRelease } from '../../src/release/promote.ts'
import { openStore } from '../../src/release/store.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { logFolder, proveEntry } from '../../src/trust/log.ts'
import { verifyLog } from '../../src/trust/log-verify.ts'
import { type NoteSigner, openNote, signNote } from '../../src/trust/note.ts'
import { createRecorder } from '../../src/trust/recorder.ts'
import {
  attest,
  checkTrust,
  readAttestations,
  readSignatures,
  writeAttestation,
} from '../../src/trust/release-notes.ts'
import { verifyReport } from '../../tools/commands/verify-report.ts'
import { withComponents } from '../../tools/recorder.ts'
import { openClient } from '../fixtures/client.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const { releasesDir, result } = await makeSmallRelease()
const client = await openClient(releasesDir)
t.teardown(() => client.close())
const id = result.analytics
const ids = await withComponents(releasesDir, id)
const folder = temporaryFolder('trust')
const makeSigner = (file: string, name: string | null = null): NoteSigner => {
  createSigningKey(file)
  const signer = loadNoteSigner(file, name)
  if (signer === null) throw new Error('no key')
  return signer
}
const QUERY = { metrics: ['bed_capacity_existing'], group_by: ['state'] }
const report = async (format: string): Promise<Buffer> =>
  (await client.post(`/v1/analytics/export?format=${format}`, QUERY)).bytes
const settings = readSettings({ SUS_RELEASES_DIR: releasesDir, SUS_SIGNING_KEY_FILE: client.signingKeyFile })
const save = (name: string, bytes: Buffer | string): string => {
  writeFileSync(join(folder, name), bytes)
  return join(folder, name)
}
const unsigned = await report('csv')
const signer = makeSigner(client.signingKeyFile)
const stranger = makeSigner(join(folder, 'stranger.pem'))
const recorder = createRecorder(releasesDir, signer)

t.test('before anything is signed', async (t) => {
  t.equal((await client.get('/v1/log/checkpoint', { authorization: '' })).status, 404)
  t.match((await client.get(`/v1/releases/${id}`)).body.meta, { signatures: [], attestations: [], log: null })
  t.same(checkTrust(releasesDir, id, []), [])
  t.throws(() => checkTrust(releasesDir, id, [signer.verifier]), {
    name: 'ReleaseRefused',
    message: `${id}/manifest.sig: is missing, and SUS_TRUSTED_KEYS wants releases signed; sus-data sign signs this one`,
  })
})

t.test('a release is signed, logged and promoted', async (t) => {
  recorder.recordReleases(ids)
  const [signature, proof] = ['manifest.sig', 'log.tlog-proof'].map((name) =>
    readFileSync(join(releasesDir, id, name), 'utf8'),
  )
  t.equal(openNote(signature ?? '', [signer.verifier]).text, `sus-data release\n${id}\n`)
  recorder.recordReleases(ids)
  t.equal(readFileSync(join(releasesDir, id, 'manifest.sig'), 'utf8'), signature, 'once is enough')
  t.equal(readFileSync(join(releasesDir, id, 'log.tlog-proof'), 'utf8'), proof)
  for (const each of ids) {
    await verifyRelease(releasesDir, each)
    t.match(checkTrust(releasesDir, each, [stranger.verifier, signer.verifier]), [{ trusted: true }])
  }
  const previous = await client.store.current()?.id
  rmSync(join(releasesDir, 'current.json'))
  const record = (before: string | null): void =>
    recorder.recordPromotion({ releaseIds: ids, previous: before, forced: false })
  await promoteRelease(releasesDir, id, null, record)
  await promoteRelease(releasesDir, id, null, record)
  t.equal(previous, id)
  const read = (path: string) =>
    Promise.resolve(
      existsSync(join(logFolder(releasesDir), path))
        ? readFileSync(join(logFolder(releasesDir), path))
        : null,
    )
  const { entries, findings } = await verifyLog(read, [signer.verifier], [])
  t.same(findings, [])
  t.same(
    entries.map(({ kind, release_id }) => [kind, release_id]),
    [...ids.map((each) => ['release', each]), ['promotion', id]],
    'components first; the second promotion moved nothing',
  )
})

t.test('the log is static files that anybody may read', async (t) => {
  const anybody = { authorization: '' }
  const checkpoint = await client.get('/v1/log/checkpoint', anybody)
  t.equal(checkpoint.status, 200)
  t.match(checkpoint.headers, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'public, no-cache',
  })
  const etag = String(checkpoint.headers.etag)
  t.equal((await client.get('/v1/log/checkpoint', { ...anybody, 'if-none-match': etag })).status, 304)
  const size = ids.length + 1
  for (const path of [`0/000.p/${size}`, `entries/000.p/${size}`]) {
    const tile = await client.get(`/v1/log/tile/${path}`, anybody)
    t.equal(tile.status, 200, path)
    t.match(tile.headers, {
      'content-type': 'application/octet-stream',
      'cache-control': 'public, max-age=31536000, immutable',
    })
  }
  // Tiles that a crash left before the checkpoint differ from those of the next entry.
  writeFileSync(join(logFolder(releasesDir), `tile/0/000.p/${size + 1}`), 'left by a crash')
  for (const path of [
    `0/000.p/${size + 1}`,
    '0/000',
    '0/000.p/200',
    '..%2fcheckpoint',
    '0/..%2f..%2f..%2fcurrent.json',
    '64/000',
    '',
  ])
    t.equal((await client.get(`/v1/log/tile/${path}`, anybody)).status, 404, path)
  const key = (await client.get('/.well-known/sus-data-signing-key', anybody)).body.data
  t.match(key, { name: signer.verifier.name, verifier_key: signer.verifier.verifierKey })
  // What a stranger does with the address alone.
  const read = async (path: string) => {
    const { status, bytes } = await client.get(`/v1/log/${path}`, anybody)
    return status === 200 ? bytes : null
  }
  const verdict = await verifyLog(read, [signer.verifier], [{ name: 'before', text: checkpoint.text }])
  t.match(verdict, { size, findings: [], agreed: 1 })
})

t.test('signatures and attestations stand beside the release', async (t) => {
  const rebuild = {
    time: '2026-06-01T00:00:00.000Z',
    duckdb_version: 'v1.5.5',
    importer_version: '0.1.0',
    catalog_version: 'v1.2.0',
    platform: 'linux x64',
  }
  const note = attest(id, rebuild, stranger)
  writeAttestation(releasesDir, id, note, stranger)
  // One of another release, one that is no note, one in the operator's name that the operator never signed.
  const attestations = join(releasesDir, id, 'attestations')
  writeFileSync(join(attestations, '00000001.note'), attest(ids[0] ?? '', rebuild, stranger))
  writeFileSync(join(attestations, '00000002.note'), 'no note\n')
  const forged = note.replace('linux', 'linus').replace(/— \S+ /, `— ${signer.verifier.name} `)
  const line = signer.signatureLine('something else\n')
  writeFileSync(
    join(attestations, '00000003.note'),
    `${forged.slice(0, forged.lastIndexOf('\n\n') + 2)}${line}`,
  )
  t.match(readAttestations(releasesDir, id, [signer.verifier]), [
    { name: stranger.verifier.name, trusted: false, ...rebuild },
  ])
  t.match(
    readAttestations(releasesDir, id, [stranger.verifier]).find(
      ({ name }) => name === stranger.verifier.name,
    ),
    { trusted: true },
  )
  const { data, meta } = (await client.get(`/v1/releases/${id}`)).body
  t.equal(meta.attestations.length, 1)
  t.match(meta.attestations[0], { trusted: false, note })
  t.match(meta.signatures, [{ name: signer.verifier.name, key_id: signer.verifier.keyId, trusted: true }])
  t.match(meta.log, { origin: signer.verifier.name, index: ids.length - 1 })
  t.same(
    data,
    JSON.parse(readFileSync(join(releasesDir, id, 'manifest.json'), 'utf8')),
    'data is the manifest alone',
  )
  for (const name of ['manifest.sig', 'log.tlog-proof', `attestations/${stranger.verifier.keyId}.note`]) {
    const file = await client.get(`/v1/releases/${id}/files/${name}`)
    t.equal(file.text, readFileSync(join(releasesDir, id, name), 'utf8'), name)
    t.match(file.headers, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'private, no-cache',
    })
  }
  t.equal((await client.get(`/v1/releases/${id}/files/attestations/00000009.note`)).status, 404)
  t.equal((await client.get(`/v1/releases/${id}/files/acquisition.json`)).status, 404)
  await verifyRelease(releasesDir, id)
  rmSync(attestations, { recursive: true })
})

t.test('a server that trusts keys refuses what none of them signed', async (t) => {
  const copy = join(folder, 'copy')
  cpSync(releasesDir, copy, { recursive: true })
  const open = (trusted: NoteSigner) =>
    openStore({ releasesDir: copy, checkTrust: (each) => checkTrust(copy, each, [trusted.verifier]) })
  const good = await open(signer)
  t.equal(good.current()?.id, id)
  good.close()
  const bad = await open(stranger)
  t.equal(bad.current(), null)
  t.match(
    bad.problems()[0]?.reason,
    /manifest\.sig: has signatures of sus-data\/\S+ alone, none of the keys in SUS_TRUSTED_KEYS/,
  )
  // Signed beside, it is served: the signature of the other key stays.
  createRecorderOf(copy, stranger).recordReleases(ids)
  await bad.refresh()
  t.equal(bad.current()?.id, id)
  t.equal(
    readSignatures(copy, id, [signer.verifier, stranger.verifier]).filter(({ trusted }) => trusted).length,
    2,
  )
  bad.close()
  // A signature of another release, moved here, is none.
  const [component = ''] = ids
  cpSync(join(copy, component, 'manifest.sig'), join(copy, id, 'manifest.sig'))
  t.throws(() => checkTrust(copy, id, []), /is the signature of another release/)
  writeFileSync(join(copy, id, 'manifest.sig'), signNote(`sus-data attestation\n${id}\n`, signer))
  t.throws(
    () => checkTrust(copy, id, [signer.verifier]),
    /is the signature of another release/,
    'nor is an attestation',
  )
})

/** A log of its own: that of the other key cannot be gone on with. */
function createRecorderOf(dir: string, by: NoteSigner) {
  t.throws(() => createRecorder(dir, by).recordReleases(ids), /move the folder away to begin another log/)
  renameSync(logFolder(dir), join(dir, 'log-before'))
  for (const each of ids) rmSync(join(dir, each, 'log.tlog-proof'))
  return createRecorder(dir, by)
}

t.test('reports carry the proof, and it is checked offline', async (t) => {
  const nowhere = join(folder, 'no-releases')
  mkdirSync(nowhere, { recursive: true })
  const offline = (file: string, key = signer) => verifyReport(file, nowhere, null, settings, key.verifier)
  for (const format of ['json', 'csv', 'xlsx', 'parquet', 'arrow', 'json-stat']) {
    const bytes = await report(format)
    const file = save(`report.${format}`, bytes)
    t.match(
      await offline(file),
      {
        verdict: 'whole, not replayed',
        log: { origin: signer.verifier.name, index: ids.length - 1, trusted: true },
      },
      format,
    )
    t.match(
      await offline(file, stranger),
      { verdict: 'differs', differences: [/log_proof\) is signed by/] },
      format,
    )
  }
  const once = await report('xlsx')
  recorder.recordPromotion({ releaseIds: ids, previous: id, forced: true })
  t.ok(once.equals(await report('xlsx')), 'the bytes repeat, though the log has grown')
  t.match(await verifyReport(join(folder, 'report.csv'), releasesDir, null, settings), {
    verdict: 'reproduced',
    log: { trusted: true },
  })
  // Reports of before have no proof: they are whole, unless one is demanded.
  const old = save('old.csv', unsigned)
  t.match(await verifyReport(old, releasesDir, null, settings), { verdict: 'reproduced', log: null })
  t.match(await offline(old), { verdict: 'differs', differences: [/\(log_proof\) is missing/] })
})

t.test('a proof that was changed, or is of another release', async (t) => {
  const { sealManifest } = await import('../../src/report/manifest.ts')
  const whole = JSON.parse((await report('json')).toString())
  const proofOf = (each: string): string => readFileSync(join(releasesDir, each, 'log.tlog-proof'), 'utf8')
  const entry = {
    format: 'sus-data-log-1',
    kind: 'release',
    release_id: id,
    time: '2020-01-01T00:00:00Z',
  } as const
  const changes: Readonly<Record<string, [string, RegExp]>> = {
    're-dated': [
      proofOf(id).replace(
        /^extra (.*)$/m,
        (_, entry: string) =>
          `extra ${Buffer.from(
            Buffer.from(entry, 'base64')
              .toString()
              .replace(/"time":"\d{4}/, '"time":"2020'),
          ).toString('base64')}`,
      ),
      /does not lead from its entry/,
    ],
    'of another release': [proofOf(ids[0] ?? ''), /is not of the release of this report/],
    'of a log of this name by another key': [
      proveEntry([entry], 0, makeSigner(join(folder, 'forger.pem'), signer.verifier.name)),
      /log_proof\) is signed by \S+, none of the keys that are known/,
    ],
    'no proof': ['c2sp.org/tlog-proof@v1\n', /is not a proof of inclusion/],
  }
  for (const [change, [log_proof, message]] of Object.entries(changes)) {
    const { manifest_sha256: _old, ...manifest } = whole.manifest
    const file = save(
      'changed.json',
      JSON.stringify({ ...whole, manifest: sealManifest({ ...manifest, log_proof }) }),
    )
    const { verdict, differences } = await verifyReport(file, folder, null, settings)
    t.equal(verdict, 'differs', change)
    t.match(differences.join(), message)
  }
})
