/**
 * The log as it is served, read by programs that others wrote: Tessera's `fsck` checks every tile, and a witness (torchwood) cosigns
 * checkpoints, which `log verify` shows. Go builds both from the module proxy; without it these tests skip.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { checkpointText } from '../../src/trust/checkpoint.ts'
import { appendToLog, logFolder } from '../../src/trust/log.ts'
import { encodeEntry } from '../../src/trust/log-entry.ts'
import { leafHash, rootOf } from '../../src/trust/merkle.ts'
import { type NoteSigner, signNote } from '../../src/trust/note.ts'
import { openClient } from '../fixtures/client.ts'
import { buildGoProgram, NO_GO } from '../fixtures/go-programs.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const folder = temporaryFolder('others')

const fsck = buildGoProgram('log-fsck', folder)
const witnessProgram = buildGoProgram('log-monitor', folder, './witness')
const skipWithout = (program: string | null) => ({ skip: program === null ? NO_GO : false })

const keyFile = join(folder, 'key.pem')
createSigningKey(keyFile)
const signer: NoteSigner | null = loadNoteSigner(keyFile, null)
if (signer === null) throw new Error('no key')
const { verifierKey, name: origin } = signer.verifier

/** A server whose log has as many entries, and the folder of the log. */
async function serveLog(t: Test, size: number) {
  const small = await makeSmallRelease()
  const releasesDir = join(temporaryFolder('served'), 'releases')
  cpSync(small.releasesDir, releasesDir, { recursive: true })
  const place = logFolder(releasesDir)
  const grow = (to: number) => {
    if (signer === null) return []
    return appendToLog(place, signer, (entries) =>
      Array.from({ length: to - entries.length }, (_, n) => ({
        kind: 'release',
        release_id: `demo-cnes-br-202605-${(entries.length + n).toString(16).padStart(64, '0')}`,
      })),
    ).log
  }
  grow(size)
  const client = await openClient(releasesDir)
  t.teardown(() => client.close())
  const address = `${await client.app.listen({ host: '127.0.0.1', port: 0 })}/v1/log`
  return { place, address, grow }
}

t.test("Tessera's fsck reads the served log", skipWithout(fsck), async (t) => {
  const { place, address } = await serveLog(t, 258)
  const run = async () => {
    const child = spawn(fsck ?? '', [`${address}/`, verifierKey], { timeout: 60_000 })
    const chunks: Buffer[] = []
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    const [code] = await once(child, 'close')
    return { code, text: Buffer.concat(chunks).toString() }
  }
  t.match(await run(), { code: 0, text: /Successfully fsck'd log with size 258/ })
  for (const path of ['tile/entries/000', 'tile/entries/001.p/2', 'tile/0/000', 'tile/0/001.p/2']) {
    const file = join(place, path)
    const bytes = readFileSync(file)
    const changed = Buffer.from(bytes)
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
    writeFileSync(file, changed)
    t.match(await run(), { code: 1, text: /failed|calculated root/ }, `${path} was changed`)
    writeFileSync(file, bytes)
  }
  t.match(await run(), { code: 0 }, 'as it was')
})

t.test('a witness cosigns the log, and log verify shows it', skipWithout(witnessProgram), async (t) => {
  const { place, address, grow } = await serveLog(t, 1)
  const child = spawn(witnessProgram ?? '', [verifierKey, 'example.org/witness'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.stdin.end())
  const [line] = await once(child.stdout, 'data')
  const witness: { readonly address: string; readonly key: string } = JSON.parse(String(line))
  const file = join(place, 'checkpoint')
  const submit = async (old: number, proof: readonly Buffer[], checkpoint: string) => {
    const lines = [`old ${old}`, ...proof.map((hash) => hash.toString('base64'))]
    const body = `${lines.join('\n')}\n\n${checkpoint}`
    const answer = await fetch(`${witness.address}/add-checkpoint`, { method: 'POST', body })
    return { status: answer.status, text: await answer.text() }
  }
  const verify = (...options: string[]) =>
    new Promise<{ readonly status: number | null; readonly stdout: string }>((resolve) => {
      const args = [bin, 'log', 'verify', '--log', address, '--key', verifierKey, ...options]
      const process_ = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      let stdout = ''
      process_.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk.toString()
      })
      process_.once('close', (status) => resolve({ status, stdout }))
    })

  t.match(await verify('--witness', witness.key), {
    status: 1,
    stdout: /differs\n.*checkpoint is not cosigned by example\.org\/witness/,
  })
  const first = readFileSync(file, 'utf8')
  t.equal((await submit(0, [], first.replace(origin, 'sus-data/other'))).status, 403)
  const cosigned = await submit(0, [], first)
  t.match(cosigned, { status: 200, text: /^— example\.org\/witness [A-Za-z0-9+/=]+\n$/ })
  appendFileSync(file, cosigned.text)
  t.match(await verify('--witness', witness.key), {
    status: 0,
    stdout: /^verified\n.*\ncosigned by example\.org\/witness\+[0-9a-f]{8} at 20\d\d-.*Z\n$/,
  })
  t.match(await verify(), {
    status: 0,
    stdout: /the signature of example\.org\/witness\+[0-9a-f]{8} is not checked, because its key is unknown/,
  })
  const [head, tail = ''] = readFileSync(file, 'utf8').split('— example.org/witness ')
  const forged = Buffer.from(tail, 'base64')
  forged[11] = (forged[11] ?? 0) ^ 1
  writeFileSync(file, `${head}— example.org/witness ${forged.toString('base64')}\n`)
  t.match(await verify('--witness', witness.key, '--json'), {
    status: 1,
    stdout: /"status":"invalid","time":null/,
  })

  // The log goes on under its next checkpoint, which the witness has to see again.
  const [, second] = grow(2)
  if (second === undefined || signer === null) throw new Error('not appended')
  const added = leafHash(encodeEntry(second))
  const next = readFileSync(file, 'utf8')
  t.notMatch(next, /witness/)
  t.match(await submit(0, [], next), { status: 409, text: '1\n' })
  const other = checkpointText({ origin, size: 2, root: rootOf([added, added]) })
  t.equal((await submit(1, [added], signNote(other, signer))).status, 422, 'another log of the same operator')
  const again = await submit(1, [added], next)
  t.equal(again.status, 200)
  appendFileSync(file, again.text)
  t.match(await verify('--witness', witness.key), { status: 0, stdout: /\ncosigned by / })
})
