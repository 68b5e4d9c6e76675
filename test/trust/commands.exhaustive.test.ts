/** The commands of signing, as an operator and an auditor call them: the real bin in processes of its own. */
import { spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DuckDBConnection } from '@duckdb/node-api'
import t from 'tap'
import { canonicalJson, digestJson, sha256Hex } from '../../src/release/digest.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const { releasesDir, snapshots, result } = await makeSmallRelease()
const folder = temporaryFolder('commands')
const id = result.analytics

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [bin, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SUS_RELEASES_DIR: releasesDir, ...env },
  })
  return { stdout, stderr, status }
}
const stranger = { SUS_SIGNING_KEY_FILE: join(folder, 'stranger.pem') }
const keyOf = (env = {}): string =>
  JSON.parse(run(['keys', 'signing', 'create', '--json'], env).stdout).verifier_key
const log = join(releasesDir, 'log')

t.test('without a key', async (t) => {
  t.match(run(['sign', id]), { status: 2, stderr: /there is no signing key; keys signing create makes one/ })
  t.match(run(['attest', id]), { status: 2, stderr: /there is no signing key/ })
  t.match(run(['log', 'verify']), { status: 2, stderr: /name one with --key VERIFIER_KEY/ })
  t.notOk(existsSync(log))
})

const key = keyOf()
const strange = keyOf(stranger)

t.test('a release of before is signed, promoted and found in the log', async (t) => {
  t.match(run(['log', 'verify']), { status: 1, stderr: /checkpoint is not there/ })
  t.match(run(['verify', id], { SUS_TRUSTED_KEYS: key }), {
    status: 1,
    stderr: /is missing, and SUS_TRUSTED_KEYS wants/,
  })
  t.match(run(['promote', id], { SUS_TRUSTED_KEYS: key }), { status: 1, stderr: /manifest\.sig: is missing/ })
  t.match(run(['sign', id]), { status: 0, stdout: /: signed by sus-data\// })
  rmSync(join(releasesDir, 'current.json'))
  t.match(run(['promote', id], { SUS_TRUSTED_KEYS: key }), {
    status: 0,
    stdout: new RegExp(`promoted ${id}`),
  })
  t.match(run(['verify', id], { SUS_TRUSTED_KEYS: key }), { status: 0, stdout: /, signed by sus-data\// })
  t.match(run(['verify', id], { SUS_TRUSTED_KEYS: strange }), {
    status: 1,
    stderr: /none of the keys in SUS_TRUSTED_KEYS/,
  })
  const entries = JSON.parse(run(['log', 'list', '--json']).stdout)
  t.match(entries.at(-1), { kind: 'promotion', release_id: id, previous: null, forced: false })
  t.match(JSON.parse(run(['log', 'verify', '--json']).stdout), {
    verified: true,
    size: entries.length,
    findings: [],
  })
  const proof = join(releasesDir, id, 'log.tlog-proof')
  t.match(run(['log', 'verify', '--log', log, '--key', key, '--from', proof]), {
    status: 0,
    stdout: /It extends 1 earlier checkpoint\.$/m,
  })
  t.match(run(['log', 'verify', '--key', strange]), { status: 1, stderr: /none of the keys that are known/ })
})

t.test('verify shows who cosigned the checkpoint', async (t) => {
  const file = join(log, 'checkpoint')
  const checkpoint = readFileSync(file, 'utf8')
  const name = 'example.org/witness'
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const encoded = Buffer.concat([
    Buffer.from([4]),
    publicKey.export({ type: 'spki', format: 'der' }).subarray(-32),
  ])
  const keyId = createHash('sha256').update(`${name}\n`).update(encoded).digest().subarray(0, 4)
  const witness = `${name}+${keyId.toString('hex')}+${encoded.toString('base64')}`
  t.match(run(['verify', id, '--witness', witness]), {
    status: 1,
    stderr: /checkpoint is not cosigned by example\.org\/witness/,
  })
  t.match(run(['verify', id, '--witness', key]), { status: 2, stderr: /--witness takes keys of witnesses/ })
  const seconds = 1_790_000_000
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(seconds))
  const text = checkpoint.slice(0, checkpoint.indexOf('\n\n') + 1)
  const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), privateKey)
  const line = (bytes: Buffer): string =>
    `— ${name} ${Buffer.concat([keyId, time, bytes]).toString('base64')}\n`
  writeFileSync(file, checkpoint + line(signature))
  t.match(run(['verify', id, '--witness', witness]), {
    status: 0,
    stdout: new RegExp(`checkpoint: cosigned by ${name}\\+[0-9a-f]{8} at 2026-09-21T`),
  })
  t.match(JSON.parse(run(['verify', id, '--witness', witness, '--json']).stdout), {
    release_id: id,
    cosignatures: [{ name, status: 'valid' }],
  })
  t.match(run(['verify', id]), { status: 0, stdout: /witness\S+ is not checked, because its key is unknown/ })
  writeFileSync(file, checkpoint + line(Buffer.alloc(64)))
  t.match(run(['verify', id, '--witness', witness]), {
    status: 1,
    stdout: /not cosigned by example\.org\/witness/,
    stderr: /checkpoint was not cosigned by example\.org\/witness/,
  })
  writeFileSync(file, checkpoint)
})

t.test('a proof of another release is found, and made again by sign', async (t) => {
  const proof = join(releasesDir, id, 'log.tlog-proof')
  const text = readFileSync(proof)
  cpSync(join(releasesDir, result.cnes ?? '', 'log.tlog-proof'), proof)
  t.match(run(['verify', id]), {
    status: 1,
    stderr: /log\.tlog-proof: proves .* not this release; sus-data sign makes it again/,
  })
  t.match(run(['log', 'verify']), { status: 1, stdout: /not this release; sus-data sign \S+ makes it again/ })
  t.equal(run(['sign', id]).status, 0)
  t.same(readFileSync(proof), text)
  t.equal(run(['log', 'verify']).status, 0)
})

t.test('somebody makes the release again, and says so', async (t) => {
  const { stdout, status } = run(['attest', id, '--snapshots', snapshots, '--json'], stranger)
  t.equal(status, 0)
  const { note, file } = JSON.parse(stdout)
  t.equal(readFileSync(file, 'utf8'), note)
  t.match(note, /^sus-data attestation\n/)
  t.equal(run(['verify', id]).status, 0, 'a release with an attestation verifies')
  const other = run(['attest', id, '--snapshots', join(snapshots, 'ibge')], stranger)
  t.equal(other.status, 1)
  t.match(other.stdout, /was not rebuilt: the snapshots give /)
  t.match(other.stdout, /no snapshot of cnes was given/)
})

t.test('a release whose rows were changed is not attested, whatever its manifest states', async (t) => {
  const releases = join(folder, 'forged')
  const id = result.demography ?? ''
  cpSync(join(releasesDir, id), join(releases, id), { recursive: true })
  const { release_id: _id, ...manifest } = JSON.parse(
    readFileSync(join(releases, id, 'manifest.json'), 'utf8'),
  )
  const file = manifest.files.find(({ path }: { path: string }) => path.startsWith('population'))
  const path = join(releases, id, file.path)
  const connection = await DuckDBConnection.create()
  await connection.run(
    `COPY (SELECT * REPLACE (population * 10 AS population) FROM read_parquet('${path}', hive_partitioning = false))
     TO '${path}.changed' (FORMAT parquet)`,
  )
  connection.closeSync()
  renameSync(`${path}.changed`, path)
  const bytes = readFileSync(path)
  Object.assign(file, { bytes: bytes.length, sha256: sha256Hex(bytes) })
  const forged = id.replace(/[0-9a-f]{64}$/, digestJson(manifest))
  writeFileSync(
    join(releases, id, 'manifest.json'),
    `${canonicalJson({ ...manifest, release_id: forged })}\n`,
  )
  for (const name of ['manifest.sig', 'log.tlog-proof']) rmSync(join(releases, id, name))
  renameSync(join(releases, id), join(releases, forged))
  const env = { ...stranger, SUS_RELEASES_DIR: releases }
  t.equal(run(['verify', forged], env).status, 0, 'its bytes are those of its manifest')
  t.match(run(['attest', forged, '--snapshots', snapshots], env), {
    status: 1,
    stderr: /population\S*: does not have the content digest that is stated/,
  })
  t.notOk(existsSync(join(releases, forged, 'attestations')))
})

t.test('an import with a key signs and logs what it makes', async (t) => {
  const releases = join(folder, 'imported')
  const { status, stdout } = run(['import', snapshots, '--releases', releases, '--json'], stranger)
  t.equal(status, 0)
  const { analytics, cnes } = JSON.parse(stdout)
  t.equal(analytics, id, 'a signature changes no id')
  for (const each of [analytics, cnes])
    for (const name of ['manifest.sig', 'log.tlog-proof']) t.ok(existsSync(join(releases, each, name)), name)
  const env = { SUS_RELEASES_DIR: releases, SUS_TRUSTED_KEYS: strange }
  t.match(run(['verify', id], env), { status: 0, stdout: /, signed by / })
  const entries = JSON.parse(run(['log', 'list', '--json'], { ...env, ...stranger }).stdout)
  t.equal(entries.at(-1).release_id, id)
})

t.test('a damaged signature is made again by sign, and one that cannot be read is named', async (t) => {
  const file = join(releasesDir, id, 'manifest.sig')
  const text = readFileSync(file, 'utf8')
  const line = text.slice(text.indexOf('— '))
  const other = run(['sign', id], { ...stranger, SUS_RELEASES_DIR: join(folder, 'imported') })
  t.equal(other.status, 0)
  const theirs = readFileSync(join(folder, 'imported', id, 'manifest.sig'), 'utf8').slice(text.indexOf('— '))
  const damaged = line.replace(/.(?=.{8}\n$)/, (digit) => (digit === 'A' ? 'B' : 'A'))
  writeFileSync(file, text.replace(line, theirs + damaged + damaged))
  t.match(run(['verify', id], { SUS_TRUSTED_KEYS: key }), { status: 1, stderr: /was not signed by the key/ })
  t.match(run(['sign', id]), { status: 0, stdout: /: signed by sus-data\// })
  t.equal(
    readFileSync(file, 'utf8'),
    text.replace(line, theirs + line),
    'the signature of the other key stays',
  )
  t.equal(run(['verify', id], { SUS_TRUSTED_KEYS: key }).status, 0)
  writeFileSync(file, text.slice(0, 40))
  t.match(run(['sign', id]), {
    status: 1,
    stderr: /manifest\.sig: is not a signed note; remove the file, and sus-data sign \S+ makes it again/,
  })
  writeFileSync(file, text)
})

t.test(
  'a proof of the log of another operator, copied with a release, says nothing about the log',
  async (t) => {
    const proof = join(releasesDir, result.cnes ?? '', 'log.tlog-proof')
    const text = readFileSync(proof)
    const theirs = readFileSync(join(folder, 'imported', result.cnes ?? '', 'log.tlog-proof'), 'utf8')
    writeFileSync(proof, theirs)
    for (const env of [{}, { SUS_TRUSTED_KEYS: strange }])
      t.match(run(['log', 'verify'], env), { status: 0, stdout: /^verified/ })
    const from = join(folder, 'theirs.tlog-proof')
    writeFileSync(from, theirs)
    t.match(
      run(['log', 'verify', '--from', from], { SUS_TRUSTED_KEYS: strange }),
      { status: 1, stdout: /is of another log/ },
      'unless the auditor names it',
    )
    writeFileSync(proof, theirs.replace('index ', 'index 1'))
    t.match(run(['log', 'verify']), { status: 1, stdout: /does not lead from its entry/ })
    writeFileSync(proof, text)
  },
)

t.test('a log that cannot be read is named', async (t) => {
  t.match(run(['log', 'verify', '--key', key, '--log', 'http://127.0.0.1:1/v1/log']), {
    status: 1,
    stderr:
      /^sus-data: http:\/\/127\.0\.0\.1:1\/v1\/log cannot be read: no server answers there \(.+\); check/,
  })
  t.match(run(['log', 'verify', '--from', folder]), {
    status: 1,
    stderr: `sus-data: ${folder} cannot be read (EISDIR)\n`,
  })
})

t.test('what was changed is found, and a log without its key is not gone on with', async (t) => {
  const keyFile = join(releasesDir, 'signing-key.pem')
  renameSync(keyFile, `${keyFile}.away`)
  t.match(run(['promote', id]), { status: 1, stderr: /is a log, but its signing key is not at/ })
  t.match(run(['promote', id], stranger), { status: 1, stderr: /move the folder away to begin another log/ })
  renameSync(`${keyFile}.away`, keyFile)
  writeFileSync(
    join(releasesDir, 'current.json'),
    `${JSON.stringify({ analytics: id.replace(/.$/, '0') })}\n`,
  )
  t.match(run(['log', 'verify']), {
    status: 1,
    stdout: /current\.json names .*; the last promotion in the log is of/,
  })
  const bundles = join(log, 'tile/entries/000.p')
  const bundle = join(bundles, '4')
  const bytes = readFileSync(bundle, 'latin1')
  writeFileSync(bundle, bytes.replace(/"time":"\d{4}/, '"time":"2020'), 'latin1')
  t.match(run(['log', 'verify']), {
    status: 1,
    stdout: /^differs\n[\s\S]*entry 0 is not the one that was logged/,
  })
})
