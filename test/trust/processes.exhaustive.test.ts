/** The log with several processes at once, with processes that are killed, and as another implementation reads it. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { createSigningKey, loadNoteSigner } from '../../src/keys/signing.ts'
import { checkpointText } from '../../src/trust/checkpoint.ts'
import { appendToLog, logFolder, proveEntry, readLog } from '../../src/trust/log.ts'
import { encodeEntry } from '../../src/trust/log-entry.ts'
import { verifyLog } from '../../src/trust/log-verify.ts'
import { leafHash, rootOf } from '../../src/trust/merkle.ts'
import { signNote } from '../../src/trust/note.ts'
import { bundlesOf, encodeBundle, hashTilesOf, pathOf } from '../../src/trust/tiles.ts'
import { buildGoProgram, NO_GO } from '../fixtures/go-programs.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = temporaryFolder('log-processes')
const keyFile = join(folder, 'key.pem')
createSigningKey(keyFile)
const signer = loadNoteSigner(keyFile, null)
if (signer === null) throw new Error('no key')
const { verifier } = signer
const appender = (releasesDir: string, first: number, count: number) =>
  spawn(
    process.execPath,
    ['--import=tsx', fixture('append-entries.ts'), releasesDir, keyFile, String(first), String(count)],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
  )
const verify = (place: string, earlier: string[] = []) =>
  verifyLog(
    (path) => readFile(join(place, path)).catch(() => null),
    [verifier],
    earlier.map((text) => ({ name: 'before', text })),
  )

t.test('several processes append at once, and nothing is lost', async (t) => {
  const releasesDir = join(folder, 'several')
  const counts = [40, 40, 40]
  const processes = counts.map((count, at) => appender(releasesDir, at * 1000, count))
  const ends = await Promise.all(processes.map((each) => once(each, 'exit')))
  t.same(
    ends.map(([code]) => code),
    [0, 0, 0],
  )
  const { entries, findings, size } = await verify(logFolder(releasesDir))
  t.same(findings, [])
  t.equal(size, 120)
  t.equal(new Set(entries.map(({ release_id }) => release_id)).size, 120)
})

t.test('a process that is killed leaves a log that goes on', async (t) => {
  const releasesDir = join(folder, 'killed')
  let before: string[] = []
  for (let round = 0; round < 8; round += 1) {
    const killed = appender(releasesDir, round * 10_000, 10_000)
    await once(killed.stdout, 'data')
    await new Promise((resolve) => setTimeout(resolve, 40 + round * 37))
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    appendToLog(logFolder(releasesDir), signer, () => [
      { kind: 'release', release_id: `demo-sih-br-202605-${round.toString(16).padStart(64, '0')}` },
    ])
    const { findings, agreed } = await verify(logFolder(releasesDir), before)
    t.same(findings, [], `round ${round}`)
    t.equal(agreed, before.length)
    before = [...before, readFileSync(join(logFolder(releasesDir), 'checkpoint'), 'utf8')]
  }
})

const monitor = buildGoProgram('log-monitor', folder)

t.test(
  'Go reads the same log: root, entries, proofs, and what was changed',
  { skip: monitor === null ? NO_GO : false },
  async (t) => {
    const releasesDir = join(folder, 'read')
    const place = logFolder(releasesDir)
    const id = (n: number): string => `demo-cnes-br-202605-${n.toString(16).padStart(64, '0')}`
    const kept: string[] = []
    const keep = (text: string): void => {
      kept.push(join(folder, `kept-${kept.length}`))
      writeFileSync(kept.at(-1) ?? '', text)
    }
    for (const size of [1, 3, 100, 256, 300]) {
      appendToLog(place, signer, (entries) =>
        Array.from({ length: size - entries.length }, (_, n) => ({
          kind: 'release',
          release_id: id(entries.length + n),
        })),
      )
      keep(readFileSync(join(place, 'checkpoint'), 'utf8'))
    }
    const entries = readLog(place, signer)?.entries ?? []
    for (const index of [0, 1, 99, 255, 256, 299]) keep(proveEntry(entries, index, signer))
    let served = place
    const server = createServer(async (request, response) => {
      const bytes = await readFile(join(served, (request.url ?? '').replace(/^\/log\//, ''))).catch(
        () => null,
      )
      response.writeHead(bytes === null ? 404 : 200).end(bytes)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const ask = (...files: string[]) =>
      promisify(execFile)(monitor ?? '', [
        `http://127.0.0.1:${(server.address() as AddressInfo).port}/log/`,
        verifier.verifierKey,
        ...files,
      ])
    const listed = JSON.parse((await ask(...kept)).stdout)
    const verdict = await verify(place)
    t.match(listed, { origin: verifier.name, size: 300, root: verdict.root })
    t.same(
      listed.entries,
      entries.map((entry) => encodeEntry(entry).toString()),
    )

    // An operator who leaves out an entry and signs all of the log again: by itself it is whole, from what was kept it is not.
    const remade = join(folder, 'remade')
    mkdirSync(remade)
    const changed = entries.filter((_, index) => index !== 50).map(encodeEntry)
    const leaves = changed.map(leafHash)
    cpSync(place, remade, { recursive: true })
    for (const { tile, bytes } of hashTilesOf(leaves)) writeFileSync(join(remade, pathOf(tile)), bytes)
    for (const tile of bundlesOf(changed.length))
      writeFileSync(
        join(remade, pathOf(tile)),
        encodeBundle(changed.slice(tile.index * 256, tile.index * 256 + tile.width)),
      )
    const checkpoint = { origin: verifier.name, size: changed.length, root: rootOf(leaves) }
    writeFileSync(join(remade, 'checkpoint'), signNote(checkpointText(checkpoint), signer))
    served = remade
    t.equal(JSON.parse((await ask()).stdout).size, 299)
    const [one = '', , hundred = ''] = kept
    t.equal(JSON.parse((await ask(one)).stdout).size, 299, 'before the entry all is as it was')
    await t.rejects(ask(hundred), /kept-2/)
    t.match((await verify(remade, [readFileSync(hundred, 'utf8')])).findings, [/of the first 100 entries/])
  },
)
