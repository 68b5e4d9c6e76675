/**
 * The build: the command runs from dist/ and says so in one sentence where there is none, traces of errors name places in
 * the sources, an installation without the packages of development does not fail, and development runs the sources.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../fixtures/small-release.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bin = join(root, 'tools/sus-data.js')
function node(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
  })
  return { stdout, stderr, status }
}

t.test('npm ci builds; the command and its sources say the same', async (t) => {
  const { scripts, bin: bins } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.equal(scripts.prepare, 'node tools/build.js')
  t.equal(scripts.dev, 'node --import tsx tools/dev.js')
  t.same(bins, { 'sus-data': 'tools/sus-data.js' })
  const built = node([bin, '--help'])
  t.match(built, { status: 0, stderr: '' })
  t.same(node(['--import', 'tsx', join(root, 'tools/dev.js'), '--help']).stdout, built.stdout)
})

t.test('without dist/ the command says in one sentence what to do', async (t) => {
  const folder = temporaryFolder('unbuilt')
  mkdirSync(join(folder, 'tools'))
  cpSync(bin, join(folder, 'tools/sus-data.js'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  t.same(node([join(folder, 'tools/sus-data.js'), 'serve']), {
    stdout: '',
    stderr: 'sus-data: dist/ is missing; run "npm ci" or "npm run build" first\n',
    status: 1,
  })
})

t.test('traces name places in the sources', async (t) => {
  // The command's first call is broken, so that it fails as a defect does. (tap itself uses the stream in child processes.)
  const breaks = `const { on } = process.stdout
    process.stdout.on = function (name, ...rest) {
      if (name === 'error') throw new Error('broken')
      return on.call(this, name, ...rest)
    }`
  const broken = `--import=data:text/javascript,${encodeURIComponent(breaks)}`
  const { stderr, status } = node([bin, '--help'], { NODE_OPTIONS: broken })
  t.equal(status, 1, stderr)
  const [, line = ''] = /at main \(.*tools[\\/]cli\.ts:(\d+):\d+\)/.exec(stderr) ?? []
  t.match(
    readFileSync(join(root, 'tools/cli.ts'), 'utf8').split('\n')[Number(line) - 1],
    /process\.stdout\.on\(/,
  )
})

t.test('without esbuild an installation goes on, and a build that was asked for fails', async (t) => {
  const folder = temporaryFolder('production')
  mkdirSync(join(folder, 'tools'))
  mkdirSync(join(folder, 'dist'))
  cpSync(join(root, 'tools/build.js'), join(folder, 'tools/build.js'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'dist/cli.js'), '')
  for (const [script, status] of [
    ['prepare', 0],
    ['build', 1],
  ] as const) {
    // The name under which npm runs it.
    const built = node([join(folder, 'tools/build.js')], { npm_lifecycle_event: script })
    t.equal(built.status, status, script)
    t.match(built.stderr, /dist\/ was not built: esbuild is not installed\. Run "npm ci"/)
  }
  t.ok(existsSync(join(folder, 'dist/cli.js')), 'what was built before stays')
})
