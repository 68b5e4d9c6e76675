/** Signed notes, the Merkle tree and the log: against known vectors, and against those who would change what was logged. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import {
  checkProof,
  checkpointText,
  formatProof,
  openCheckpoint,
  parseProof,
} from '../../src/trust/checkpoint.ts'
import { appendToLog, LogError, proveEntry, readLog } from '../../src/trust/log.ts'
import { encodeEntry, type LogEntry, type NewEntry } from '../../src/trust/log-entry.ts'
import { verifyLog } from '../../src/trust/log-verify.ts'
import { inclusionPath, leafHash, rootFromPath, rootOf } from '../../src/trust/merkle.ts'
import {
  type NoteSigner,
  openNote,
  parseVerifier,
  readNote,
  signNote,
  type Verifier,
  verifierOf,
} from '../../src/trust/note.ts'
import { attest, checkBeside, PROOF_FILE } from '../../src/trust/release-notes.ts'
import {
  bundlesOf,
  decodeBundle,
  encodeBundle,
  hashTilesOf,
  pathOf,
  TILE_PATH,
} from '../../src/trust/tiles.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const folder = temporaryFolder('log')
let keys = 0
function makeSigner(name: string | null = null): NoteSigner {
  keys += 1
  const file = join(folder, `key-${keys}.pem`)
  createSigningKey(file)
  const signer = loadNoteSigner(file, name)
  if (signer === null) throw new Error('no key')
  return signer
}
const signer = makeSigner()
const id = (n: number): string => `demo-cnes-br-202605-${n.toString(16).padStart(64, '0')}`
const release = (n: number): NewEntry => ({ kind: 'release', release_id: id(n) })
const promotion = (n: number): NewEntry => ({
  kind: 'promotion',
  release_id: id(n),
  previous: n === 0 ? null : id(n - 1),
  forced: false,
})
const reader = (place: string) => (path: string) => readFile(join(place, path)).catch(() => null)
const append = (place: string, by: NoteSigner, ...entries: NewEntry[]): readonly LogEntry[] =>
  appendToLog(place, by, () => entries).log
const verify = (place: string, known: readonly Verifier[] = [signer.verifier], earlier: string[] = []) =>
  verifyLog(
    reader(place),
    known,
    earlier.map((text) => ({ name: 'before', text })),
  )

t.test('a note that another implementation signed', async (t) => {
  // The example of the Go package golang.org/x/mod/sumdb/note.
  const verifier = parseVerifier('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')
  const note = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.

— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`
  if (verifier === null) throw new Error('not read')
  t.match(openNote(note, [verifier]), {
    signatures: [{ name: 'PeterNeumann', keyId: 'c74f20a3', verified: true }],
  })
  t.throws(
    () => openNote(note.replace('think', 'thing'), [verifier]),
    /was not signed by the key PeterNeumann/,
  )
  t.throws(() => openNote(note, [signer.verifier]), /none of the keys that are known/)
  t.equal(
    parseVerifier('PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'),
    null,
    'id of the key',
  )
})

t.test('notes', async (t) => {
  const text = 'one\n\ntwo\n'
  const note = signNote(text, signer)
  t.same(openNote(note, [signer.verifier]).text, text)
  const other = makeSigner('data.example.org/log')
  const both = `${note}${other.signatureLine(text)}`
  t.same(
    openNote(both, [other.verifier]).signatures.map(({ verified }) => verified),
    [false, true],
    'signatures by keys that are not known are passed over',
  )
  t.same(parseVerifier(other.verifier.verifierKey), other.verifier)
  t.not(verifierOf('another', other.verifier.publicKey).keyId, other.verifier.keyId)
  for (const bad of [
    '',
    'text\n',
    `${text}\n`,
    note.slice(0, -1),
    note.replace('one', 'o\u0001e'),
    `${note}x\n`,
  ])
    t.throws(() => readNote(bad, []), { name: 'NoteError' }, JSON.stringify(bad.slice(0, 20)))
})

t.test('the tree of RFC 6962', async (t) => {
  // Inputs and roots of the reference implementation of Certificate Transparency.
  const leaves = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ].map((hex) => leafHash(Buffer.from(hex, 'hex')))
  const roots = [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ]
  for (const [size, root] of roots.entries()) t.equal(rootOf(leaves.slice(0, size)).toString('hex'), root)
  for (let size = 1; size <= leaves.length; size += 1)
    for (let index = 0; index < size; index += 1) {
      const path = inclusionPath(leaves.slice(0, size), index)
      const [leaf, root] = [leaves[index] as Buffer, rootOf(leaves.slice(0, size))]
      t.ok(rootFromPath(leaf, index, size, path)?.equals(root), `${index} of ${size}`)
      const wrong = [
        rootFromPath(leaf, index, size, [...path, root]),
        rootFromPath(leaf, index, size, path.slice(1)),
        rootFromPath(leaf, (index + 1) % size, size, path),
        rootFromPath(root, index, size, path),
      ]
      t.notOk(wrong.some((found, at) => found?.equals(root) === true && !(size === 1 && at > 0)))
    }
})

t.test('paths and bundles', async (t) => {
  t.equal(pathOf({ level: 0, index: 1_234_067, width: 256 }), 'tile/0/x001/x234/067')
  t.equal(pathOf({ level: 'entries', index: 5, width: 17 }), 'tile/entries/005.p/17')
  const tiles = hashTilesOf(Array.from({ length: 70_000 }, (_, at) => leafHash(Buffer.from(String(at)))))
  t.equal(tiles.length, 273 + 1 + 1 + 1 + 1, 'the example of the specification')
  t.same(
    tiles.filter(({ tile }) => tile.width < 256).map(({ tile }) => pathOf(tile)),
    ['tile/0/273.p/112', 'tile/1/001.p/17', 'tile/2/000.p/1'],
  )
  t.equal(bundlesOf(70_000).length, 274)
  t.ok(tiles.every(({ tile }) => TILE_PATH.test(pathOf(tile))))
  for (const path of ['tile/0/../../keys.json', 'tile/0/000.p/0', 'tile/64/000', 'tile/0/0', 'tile/x/000'])
    t.notOk(TILE_PATH.test(path), path)
  const entries = ['', 'a', 'bc'].map((text) => Buffer.from(text))
  t.same(decodeBundle(encodeBundle(entries)), entries)
  t.equal(decodeBundle(Buffer.from([0, 2, 65])), null)
})

t.test('entries are appended, and each has its proof', async (t) => {
  const place = join(folder, 'grows')
  for (let n = 0; n < 5; n += 1) append(place, signer, release(n), promotion(n))
  const log = append(place, signer)
  t.equal(log.length, 10)
  const verdict = await verify(place)
  t.match(verdict, { size: 10, findings: [], origin: signer.verifier.name })
  t.same(verdict.entries, log)
  for (const [index, entry] of log.entries()) {
    const text = proveEntry(log, index, signer)
    t.match(checkProof(parseProof(text), [signer.verifier], true), { size: index + 1, trusted: true })
    t.equal(proveEntry(log.slice(0, index + 1), index, signer), text, 'however the log grows')
    const other = { ...parseProof(text), entry: encodeEntry({ ...entry, time: '2020-01-01T00:00:00.000Z' }) }
    t.throws(() => checkProof(parseProof(formatProof(other)), [signer.verifier], true), /does not lead/)
  }
  t.throws(() => parseProof('c2sp.org/tlog-proof@v1\nindex 0\n\nx\n'), /no|not/)
})

t.test(
  'a proof or an attestation beside a release is refused where one of its characters was changed',
  async (t) => {
    const log = append(join(folder, 'beside'), signer, release(0), release(1), release(2))
    const rebuild = {
      time: '2026-06-01T00:00:00.000Z',
      duckdb_version: '1',
      importer_version: '1',
      catalog_version: '1',
      platform: 'linux',
    }
    const attestation = `attestations/${signer.verifier.keyId}.note`
    for (const [name, text] of [
      [PROOF_FILE, proveEntry(log, 1, signer)],
      [attestation, attest(id(1), rebuild, signer)],
    ] as const) {
      const check = (changed: string): void => checkBeside(id(1), name, changed, [signer.verifier])
      t.doesNotThrow(() => check(text), name)
      const passed: string[] = []
      for (const at of Array.from(text, (_, index) => index))
        for (const other of ['A', '4', '\n']) {
          const changed = `${text.slice(0, at)}${other}${text.slice(at + 1)}`
          if (changed === text) continue
          try {
            check(changed)
            passed.push(`${at}: ${changed}`)
          } catch (error) {
            if ((error as Error).name !== 'ReleaseRefused') throw error
          }
        }
      t.same(passed, [], name)
    }
    t.throws(
      () => checkBeside(id(1), 'attestations/00000000.note', attest(id(1), rebuild, signer), []),
      /named by/,
    )
  },
)

t.test('what was logged cannot be changed without being found', async (t) => {
  const place = join(folder, 'original')
  append(place, signer, release(0), release(1), promotion(1))
  const before = readFileSync(join(place, 'checkpoint'), 'utf8')
  append(place, signer, release(2), promotion(2), release(3))
  const log = readLog(place, signer)?.entries ?? []
  const first = proveEntry(log, 1, signer)
  const [a, b, c, ...more] = log as [LogEntry, LogEntry, LogEntry, ...LogEntry[]]
  const earlier = { ...b, time: '2020-01-01T00:00:00.000Z' }
  const changes: Readonly<Record<string, readonly LogEntry[]>> = {
    removed: [a, c, ...more],
    're-dated': [a, earlier, c, ...more],
    reordered: [b, a, c, ...more],
    'cut at its end': [a, b],
    renamed: [a, { ...b, release_id: id(9) }, c, ...more],
  }
  for (const [change, entries] of Object.entries(changes)) {
    const bytes = entries.map(encodeEntry)
    const leaves = bytes.map(leafHash)
    // By somebody without the key, who changes the bundle: with the tiles made to fit, and without.
    for (const fits of [false, true]) {
      const changed = join(folder, `${change}-${fits}`)
      cpSync(place, changed, { recursive: true })
      writeFileSync(join(changed, 'tile/entries/000.p/6'), encodeBundle(bytes))
      if (fits) writeFileSync(join(changed, 'tile/0/000.p/6'), Buffer.concat(leaves))
      const { findings } = await verify(changed)
      t.not(findings.length, 0, `${change}, fits: ${fits}`)
      t.throws(() => append(changed, signer, release(4)), LogError, 'and nothing is appended to it')
    }
    // By the operator, who has the key and makes the whole log again: what somebody kept of before shows it.
    const remade = join(folder, `${change}-remade`)
    cpSync(place, remade, { recursive: true })
    writeFileSync(
      join(remade, pathOf(bundlesOf(entries.length)[0] ?? { level: 0, index: 0, width: 1 })),
      encodeBundle(bytes),
    )
    for (const { tile, bytes } of hashTilesOf(leaves)) writeFileSync(join(remade, pathOf(tile)), bytes)
    const checkpoint = { origin: signer.verifier.name, size: entries.length, root: rootOf(leaves) }
    writeFileSync(join(remade, 'checkpoint'), signNote(checkpointText(checkpoint), signer))
    const alone = await verify(remade)
    const isInOrder = change !== 're-dated' && change !== 'reordered'
    if (isInOrder) t.same(alone.findings, [], `${change}: by itself it looks whole`)
    const found = await verify(remade, [signer.verifier], [before])
    t.match(found.findings.at(-1), /^before: /, `${change}: ${found.findings.at(-1)}`)
    if (change !== 'cut at its end')
      t.match(
        (await verify(remade, [signer.verifier], [first])).findings.at(-1),
        /^before: .*(proves another|one was removed)/,
      )
  }
  t.match(await verify(place, [signer.verifier], [before, first]), { findings: [], agreed: 2 })
  const other = makeSigner()
  await t.rejects(verify(place, [other.verifier]), /none of the keys/)
  t.throws(() => append(place, other, release(4)), /move the folder away to begin another log/)
  t.match(
    (
      await verify(
        place,
        [signer.verifier, other.verifier],
        [signNote(openNote(before, [signer.verifier]).text, other)],
      )
    ).agreed,
    1,
  )
})

t.test('a crash between tiles and checkpoint leaves the log as it was', async (t) => {
  const [place, whole] = [join(folder, 'crash'), join(folder, 'whole')]
  append(place, signer, release(0))
  cpSync(place, whole, { recursive: true })
  append(whole, signer, release(1), promotion(1))
  // The tiles of what never was signed stay behind.
  for (const path of ['tile/0', 'tile/entries'])
    cpSync(join(whole, path), join(place, path), { recursive: true })
  t.match(await verify(place), { size: 1, findings: [] })
  append(place, signer, release(5))
  t.match(await verify(place), {
    size: 2,
    findings: [],
    entries: [{ release_id: id(0) }, { release_id: id(5) }],
  })
})

t.test('a tree of more than one tile', async (t) => {
  const place = join(folder, 'large')
  append(place, signer, ...Array.from({ length: 254 }, (_, n) => release(n)))
  const before = readFileSync(join(place, 'checkpoint'), 'utf8')
  append(place, signer, ...Array.from({ length: 5 }, (_, n) => release(300 + n)))
  t.match(await verify(place, [signer.verifier], [before]), { size: 259, findings: [], agreed: 1 })
  t.match(openCheckpoint(before, [signer.verifier]), { size: 254 })
  for (const path of [
    'tile/0/000',
    'tile/0/001.p/3',
    'tile/1/000.p/1',
    'tile/entries/000',
    'tile/entries/001.p/3',
  ])
    t.ok(readFileSync(join(place, path)).length > 0, path)
})

t.test('a clock that was set back', async (t) => {
  const place = join(folder, 'clock')
  const [first] = append(place, signer, release(0))
  const { toISOString } = Date.prototype
  t.teardown(() => {
    Date.prototype.toISOString = toISOString
  })
  Date.prototype.toISOString = () => '2020-01-01T00:00:00.000Z'
  t.same(
    append(place, signer, release(1)).map(({ time }) => time),
    [first?.time, first?.time],
    'does not make an entry older than the one in front of it',
  )
})
