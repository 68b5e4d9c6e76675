/** An import killed at any moment leaves the old state or the new, never half a release. */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { writeDemonstration } from '../../src/demo/demonstration.ts'
import { createChance } from '../../src/demo/random.ts'
import { RELEASE_ID } from '../../src/release/manifest.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { temporaryFolder } from '../fixtures/small-release.ts'

const KILLS = 20
const command = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const folder = temporaryFolder('kill')
const snapshots = join(folder, 'data')
const releasesDir = join(folder, 'releases')
mkdirSync(releasesDir)
await writeDemonstration({ out: snapshots, scale: 'small', periods: 1, seed: 1 })

/** @param killAfterMs null: let it end; @returns exit code, null when killed */
function runImport(killAfterMs: number | null): Promise<number | null> {
  return new Promise((resolve) => {
    const child = spawn(
      process.execPath,
      [command, 'import', snapshots, '--releases', releasesDir, '--json'],
      { stdio: 'ignore' },
    )
    const timer = killAfterMs === null ? null : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
    child.on('exit', (code) => {
      if (timer !== null) clearTimeout(timer)
      resolve(code)
    })
  })
}

t.test(`${KILLS} kills, two imports at a time`, async (t) => {
  const chance = createChance(11)
  let killed = 0
  for (let index = 0; index < KILLS; index += 2) {
    // A whole import takes a second or two: delays fall into every part of it.
    const codes = await Promise.all(
      [index, index + 1].map((place) => runImport(50 + Math.floor(chance(place, 1) * 2450))),
    )
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
  const left = readdirSync(releasesDir)
  t.same(
    left.filter((name) => !RELEASE_ID.test(name)),
    [],
    'and cleans up',
  )
  t.equal(left.length, 3)
})
