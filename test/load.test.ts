/**
 * How programs are loaded: a copy of the sources in a folder of its own, started as people start it. Each start tells by a
 * mark that is put into a translation whether it ran that one.
 */
import { execFile } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('..', import.meta.url))
const copy = mkdtempSync(join(tmpdir(), 'sus-load-'))
t.teardown(() => rmSync(copy, { recursive: true, force: true }))
const cache = join(copy, 'node_modules/.cache/sus-data')
const MARK = 'this is the translation\n'
const NO_KEYS = 'There are no keys.\n'
const LONG_AGO = new Date(2020, 1, 1)

for (const path of ['src', 'tools', 'package.json'])
  cpSync(join(root, path), join(copy, path), { recursive: true })
mkdirSync(join(copy, 'node_modules'))
for (const name of readdirSync(join(root, 'node_modules')).filter((entry) => !entry.startsWith('.')))
  symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name))
const listOfPackages = 'node_modules/.package-lock.json'
cpSync(join(root, listOfPackages), join(copy, listOfPackages))

interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}
const start = (...args: string[]): Promise<Run> =>
  new Promise((resolve) => {
    const options = { cwd: copy, env: { PATH: process.env.PATH, SUS_RELEASES_DIR: join(copy, 'releases') } }
    execFile(process.execPath, ['tools/sus-data.js', ...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
/** Folders of whole translations, the newest first. */
const translations = (): string[] =>
  readdirSync(cache)
    .map((name) => join(cache, name))
    .sort((left, right) => statSync(right).mtimeMs - statSync(left).mtimeMs)
const mark = (): void => {
  for (const folder of translations()) {
    appendFileSync(join(folder, 'cli.js'), `\nprocess.stderr.write(${JSON.stringify(MARK)})\n`)
  }
}
const edit = (path: string, from: string, to: string): void => {
  const text = readFileSync(join(copy, path), 'utf8')
  if (!text.includes(from)) throw new Error(`${path} has no ${from}`)
  const { atime, mtime } = statSync(join(copy, path))
  writeFileSync(join(copy, path), text.replace(from, to))
  // An edit that keeps size and time is an edit all the same.
  utimesSync(join(copy, path), atime, mtime)
}

t.test('without a folder to write to, the sources are loaded one by one', async (t) => {
  mkdirSync(join(copy, 'node_modules/.cache'))
  writeFileSync(cache, 'not a folder')
  t.same(await start('keys', 'list'), { code: 0, stdout: NO_KEYS, stderr: '' })
  rmSync(cache)
})

t.test('first starts at once make one translation, whole', async (t) => {
  const abandoned = join(cache, 'making-it-was-killed')
  mkdirSync(abandoned, { recursive: true })
  utimesSync(abandoned, LONG_AGO, LONG_AGO)
  const runs = await Promise.all([start('serve', '--help'), start('serve', '--help')])
  for (const { code, stdout, stderr } of runs) {
    t.same({ code, stderr }, { code: 0, stderr: '' })
    t.match(stdout, 'Serve the promoted release.')
  }
  t.equal(translations().length, 1)
  t.match(translations()[0], /[0-9a-f]{64}$/)
})

t.test('later starts load it', async (t) => {
  mark()
  t.same(await start('keys', 'list'), { code: 0, stdout: NO_KEYS, stderr: MARK })
})

t.test('sources that are others are translated; stacks name their lines', async (t) => {
  edit('tools/commands/serve.ts', 'Serve the promoted release.', 'Serve the released promote.')
  edit('tools/commands/serve.ts', 'readSettings()', 'thrown()')
  appendFileSync(
    join(copy, 'tools/commands/serve.ts'),
    "function thrown(): never {\n  throw new TypeError('on purpose')\n}\n",
  )
  const { stdout, stderr } = await start('serve', '--help')
  t.equal(stderr, '', 'the one that was marked is not run')
  t.match(stdout, 'Serve the released promote.')
  t.equal(translations().length, 2, 'a server that runs may still load from the older one')
  const failed = await start('serve')
  t.equal(failed.code, 1)
  const line = readFileSync(join(copy, 'tools/commands/serve.ts'), 'utf8')
    .split('\n')
    .findIndex((text) => text.includes('on purpose'))
  t.match(failed.stderr, `TypeError: on purpose\n    at thrown (file://`)
  t.match(failed.stderr, new RegExp(`tools/commands/serve\\.ts:${line + 1}:9\\)`))
})

t.test('a package that was edited by hand is translated again', async (t) => {
  mark()
  t.match(await start('keys', 'list'), { stderr: MARK })
  const list = join(translations()[0] ?? '', 'packages.json')
  const packages = JSON.parse(readFileSync(list, 'utf8')) as [string, string][]
  t.ok(packages.some(([file]) => file.includes('node_modules/fastify/')))
  t.notOk(packages.some(([file]) => file.startsWith('src/')))
  writeFileSync(list, JSON.stringify(packages.map(([file]) => [file, '1 1'])))
  t.same(await start('keys', 'list'), { code: 0, stdout: NO_KEYS, stderr: '' })
  t.notOk(readdirSync(cache).some((name) => name.startsWith('making-')))
})

t.test('packages that are not known are not translated', async (t) => {
  rmSync(join(copy, listOfPackages))
  const before = translations()
  mark()
  t.same(await start('keys', 'list'), { code: 0, stdout: NO_KEYS, stderr: '' })
  t.same(new Set(translations()), new Set(before))
  t.notOk(existsSync(join(copy, listOfPackages)))
})
