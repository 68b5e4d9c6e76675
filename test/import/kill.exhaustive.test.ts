/** An import, a promote, a rollback or a server killed at any moment leaves the old state or the new, never half of one. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startServer } from '../../src/main.ts'
import { RELEASE_ID } from '../../src/release/manifest.ts'
import { readPointer } from '../../src/release/pointer.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { readSettings } from '../../src/settings.ts'
import { writeDemonstration } from '../../tools/demo/demonstration.ts'
import { createChance } from '../../tools/demo/random.ts'
import { countOf } from '../fixtures/rings.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const KILLS = countOf(16, 16)
const command = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const folder = temporaryFolder('kill')
const snapshots = join(folder, 'data')
const releasesDir = join(folder, 'releases')
mkdirSync(releasesDir)
/** Without the files that take longest: what is killed is the writing of releases, not the reading of each source. */
async function writeSnapshots(out: string, seed: number): Promise<void> {
  await writeDemonstration({ out, scale: 'small', periods: 1, seed })
  for (const name of ['datasus', 'territory', 'ibge/malha_municipios_demonstracao.json'])
    rmSync(join(out, name), { recursive: true, force: true })
}
await writeSnapshots(snapshots, 1)

/** @param killAfterMs null: let it end; @returns exit code, null when killed */
function run(args: readonly string[], killAfterMs: number | null): Promise<number | null> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [command, ...args], {
      env: { PATH: process.env.PATH, SUS_RELEASES_DIR: releasesDir, PORT: '0', SUS_LOG_LEVEL: 'silent' },
      stdio: 'ignore',
    })
    const timer = killAfterMs === null ? null : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
    child.on('exit', (code) => {
      if (timer !== null) clearTimeout(timer)
      resolve(code)
    })
  })
}
/**
 * The time a command needs depends on the machine and on what runs beside it, so the delays follow what happened before:
 * shorter after a run that ended, longer after one that was killed. About half of the runs are killed on any machine.
 *
 * @returns what to multiply the next delays by
 */
const nextScale = (scale: number, codes: readonly (number | null)[]): number =>
  codes.reduce<number>((product, code) => product * (code === null ? 1.25 : 0.8), scale)

const runImport = (killAfterMs: number | null): Promise<number | null> =>
  run(['import', snapshots, '--releases', releasesDir, '--json'], killAfterMs)

t.test(`${KILLS} kills, two imports at a time`, async (t) => {
  const chance = createChance(11)
  let [killed, scale] = [0, 2500]
  for (let index = 0; index < KILLS; index += 2) {
    const codes = await Promise.all(
      [index, index + 1].map((place) => runImport(50 + Math.floor(chance(place, 1) * scale))),
    )
    scale = nextScale(scale, codes)
    killed += codes.filter((code) => code === null).length
    t.same(
      codes.filter((code) => code !== null && code !== 0),
      [],
      'one that was not killed succeeds beside one that was',
    )
    for (const name of readdirSync(releasesDir)) {
      if (RELEASE_ID.test(name)) t.ok(await verifyRelease(releasesDir, name), name.slice(0, 24))
      else t.match(name, /^\./, 'anything else is a hidden staging folder')
    }
  }
  t.ok(killed > KILLS / 4, `${killed} were killed before they ended`)
  t.equal(await runImport(null), 0, 'an undisturbed import works')
  const left = readdirSync(releasesDir).filter((name) => name !== '.derived')
  t.same(
    left.filter((name) => !RELEASE_ID.test(name)),
    [],
    'and cleans up',
  )
  t.equal(left.length, 3)
})

const CHANGES = countOf(24, 24)

t.test(`${CHANGES} kills of promotes, rollbacks and servers`, async (t) => {
  const newer = join(folder, 'newer')
  await writeSnapshots(newer, 2)
  t.equal(await run(['import', newer, '--releases', releasesDir, '--json'], null), 0)
  const ids = readdirSync(releasesDir).filter((name) => name.startsWith('demo-analytics-'))
  t.equal(ids.length, 2)
  const [first = '', second = ''] = ids
  const startedAt = performance.now()
  t.equal(await run(['promote', first, '--force', 'the first'], null), 0)
  t.equal(await run(['promote', second, '--force', 'the second'], null), 0)
  let wholeMs = (performance.now() - startedAt) / 2

  const chance = createChance(12)
  const digests = new Map<string, string>()
  for (const id of ids) digests.set(id, JSON.stringify(await verifyRelease(releasesDir, id)))
  let [killed, moved, before] = [0, 0, second]
  for (let index = 0; index < CHANGES; index += 2) {
    const current = await readPointer(releasesDir)
    const change =
      chance(index, 3) < 0.3
        ? ['rollback']
        : ['promote', current === first ? second : first, '--force', 'another']
    // A server never ends by itself, so only the change says how long the next delays are to be.
    const codes = await Promise.all([
      run(change, wholeMs * (0.3 + 2 * chance(index, 1))),
      run(['serve'], wholeMs * (0.1 + 2 * chance(index, 2))),
    ])
    killed += codes.filter((code) => code === null).length
    wholeMs = nextScale(wholeMs, codes.slice(0, 1))
    const now = (await readPointer(releasesDir)) ?? ''
    if (!digests.has(now)) t.fail(`current.json names ${now}`)
    moved += Number(now !== before)
    before = now
  }
  t.ok(killed > CHANGES / 2, `${killed} were killed, and ${moved} times the pointer had moved all the same`)
  t.ok(moved > 3)
  for (const [id, manifest] of digests)
    t.equal(JSON.stringify(await verifyRelease(releasesDir, id)), manifest)

  const current = (await readPointer(releasesDir)) ?? ''
  const other = current === first ? second : first
  t.equal(await run(['promote', other, '--force', 'the last'], null), 0, 'a promote works')
  t.equal(await readPointer(releasesDir), other)
  t.equal(await run(['rollback'], null), 0, 'and a rollback finds what was in service before')
  t.equal(await readPointer(releasesDir), current)

  const server = await startServer(
    readSettings({ SUS_RELEASES_DIR: releasesDir, PORT: '0', SUS_LOG_LEVEL: 'silent' }),
  )
  const ready = await fetch(`${server.address}/ready`)
  t.equal(ready.status, 200, 'and a server serves it')
  t.match(await ready.text(), current)
  await server.close()
})
