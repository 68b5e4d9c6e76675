/** `prune --apply` killed at its writes: every release that is there is complete, and the next call does the rest. */
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { promoteRelease } from '../../src/release/promote.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { createDraws } from '../fixtures/draws.ts'
import { forgeRelease, joinForged } from '../fixtures/forged-release.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const preload = fileURLToPath(new URL('../fixtures/kill-at-write.js', import.meta.url))
const { releasesDir, result } = await makeSmallRelease()
const folder = temporaryFolder('prune-kills')
const dir = join(folder, 'releases')

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    ['--import', preload, bin, ...args],
    { cwd: folder, encoding: 'utf8', env: { PATH: process.env.PATH, SUS_RELEASES_DIR: dir, ...env } },
  )
  return { stdout, stderr, status, signal }
}
const names = (): string[] => readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()

const versions: string[] = [result.analytics]
for (const version of ['2', '3', '4']) {
  const cnes = await forgeRelease(releasesDir, result.cnes ?? '', (_folder, manifest) => {
    Object.assign(manifest, { importer_version: version })
  })
  versions.push(await joinForged(releasesDir, result.analytics, cnes))
}
const original = join(folder, 'original')
cpSync(releasesDir, dir, { recursive: true })
run(['keys', 'signing', 'create'])
for (const id of versions) {
  run(['sign', id])
  await promoteRelease(dir, id)
}
cpSync(dir, original, { recursive: true })
const reset = (): void => {
  rmSync(dir, { recursive: true })
  cpSync(original, dir, { recursive: true, preserveTimestamps: true })
  // The copy is newer than its pointer was.
  run(['promote', versions.at(-1) ?? '', '--force', 'the same'])
}

t.test('kills at the writes of prune', async (t) => {
  const kills = countOf(3, 0)
  if (kills === 0) return
  reset()
  const countFile = join(folder, 'count')
  t.equal(run(['prune', '--apply'], { COUNT_TO: countFile }).status, 0)
  const writes = Number(readFileSync(countFile, 'utf8'))
  const left = names()
  t.equal(left.filter((name) => /^demo-analytics-[^/]*$/.test(name)).length, 2)
  const { draw } = createDraws(1)
  for (let turn = 0; turn < kills; turn += 1) {
    const at = 1 + draw(writes)
    const what = `killed at write ${at} of ${writes}`
    reset()
    t.equal(run(['prune', '--apply'], { KILL_AT: String(at) }).signal, 'SIGKILL', what)
    for (const id of readdirSync(dir).filter((name) => /^demo-.*-[0-9a-f]{64}$/.test(name))) {
      const { components } = await verifyRelease(dir, id)
      for (const component of Object.values(components)) await verifyRelease(dir, component)
    }
    const again = run(['prune', '--apply'])
    t.equal(again.status, 0, `${what}: ${again.stderr}`)
    t.same(
      names().filter((name) => !name.startsWith('log')),
      left.filter((name) => !name.startsWith('log')),
      `${what}: nothing is left, nothing is missing`,
    )
    t.equal(run(['log', 'verify']).status, 0, `${what}: the log`)
  }
})
