/** Commands that are killed at one of their writes: the next call does the work, nothing is lost, and nothing is left over. */
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createKey, listKeys } from '../../src/keys/keys.ts'
import { verifyRelease } from '../../src/release/verify.ts'
import { createDraws } from '../fixtures/draws.ts'
import { countOf } from '../fixtures/rings.ts'
import { makeSmallRelease, temporaryFolder } from '../fixtures/small-release.ts'

const bin = fileURLToPath(new URL('../../tools/sus-data.js', import.meta.url))
const preload = fileURLToPath(new URL('../fixtures/kill-at-write.js', import.meta.url))
const { releasesDir, result } = await makeSmallRelease()
const id = result.analytics
const folder = temporaryFolder('kills')
const dir = join(folder, 'releases')

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    ['--import', preload, bin, ...args],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, SUS_RELEASES_DIR: dir, ...env },
    },
  )
  return { stdout, stderr, status, signal }
}
const names = (): string[] => readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()

const original = join(folder, 'original')
cpSync(releasesDir, original, { recursive: true })
rmSync(join(original, 'current.json'))
cpSync(original, dir, { recursive: true })
run(['keys', 'signing', 'create'])
createKey(join(dir, 'keys.json'), { name: 'old', capabilities: ['geo.read'] })
const [{ id: keyId = '' } = {}] = listKeys(join(dir, 'keys.json'))
rmSync(original, { recursive: true })
cpSync(dir, original, { recursive: true })
const reset = (): void => {
  rmSync(dir, { recursive: true })
  cpSync(original, dir, { recursive: true })
}

const COMMANDS = [
  ['sign', id],
  ['promote', id],
  ['keys', 'create', '--name', 'new', '--capabilities', 'geo.read'],
  ['keys', 'revoke', keyId],
  ['keys', 'rotate', keyId],
] as const
/** Writes of each command, and the files that are there after it. */
const uninterrupted = COMMANDS.map((args) => {
  reset()
  const countFile = join(folder, 'count')
  const { status, stderr } = run(args, { COUNT_TO: countFile })
  if (status !== 0) throw new Error(stderr)
  return { args, writes: Number(readFileSync(countFile, 'utf8')), names: names() }
})

t.test('kills at the writes of sign, promote and keys', async (t) => {
  const { draw } = createDraws(1)
  const kills = countOf(15, 0)
  for (let turn = 0; turn < kills; turn += 1) {
    const command = uninterrupted[turn % uninterrupted.length]
    if (command === undefined) return
    const { args, writes } = command
    const at = 1 + draw(writes)
    const what = `${args.slice(0, 2).join(' ').slice(0, 30)} killed at write ${at} of ${writes}`
    reset()
    t.equal(run(args, { KILL_AT: String(at) }).signal, 'SIGKILL', what)
    for (const release of readdirSync(dir).filter((name) => /-[0-9a-f]{64}$/.test(name)))
      await verifyRelease(dir, release)
    t.ok(
      listKeys(join(dir, 'keys.json')).some((key) => key.id === keyId),
      'no key is lost',
    )
    const again = run(args)
    t.equal(again.status, 0, `${what}: ${again.stderr}`)
    t.same(names(), command.names, `${what}: nothing is left, nothing is missing`)
    if (args[0] === 'sign' || args[0] === 'promote') {
      const verdict = run(['log', 'verify'])
      t.equal(verdict.status, 0, `${what}: ${verdict.stdout}${verdict.stderr}`)
    }
  }
})
