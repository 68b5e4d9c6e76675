/**
 * Runs test files: `npm test [-- FILE…]` the first ring, `npm run test:all [-- FILE…]` both rings.
 *
 * In: the files *.test.ts below test/. Out: a line of TAP for each, all that one wrote where it fails, and counts of assertions in the last
 * line but one. Each file is a process of its own, two at a time (--jobs N).
 *
 * The files are built first, as the command is, into a folder that goes when they have run: a process that loads 400 modules through
 * a loader takes 3 s before its first test, one of the build 0.7 s. Building all takes 3 s. With --sources they run as they
 * stand, as node --import tsx FILE does.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
// Builds dist/, too: tests start the command.
import { forNode, workers } from './build.js'

const TIMEOUT_S = 900
const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '2' },
    sources: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const slashed = (path) => path.split(sep).join('/')
const files =
  positionals.length > 0
    ? positionals.map((path) => slashed(relative(root, resolve(path))))
    : readdirSync(join(root, 'test'), { recursive: true })
        .map((path) => `test/${slashed(path)}`)
        .filter((path) => path.endsWith('.test.ts') && (values.all || !path.endsWith('.exhaustive.test.ts')))
        .sort()

const cache = join(root, 'node_modules/.cache')
mkdirSync(cache, { recursive: true })
const folder = mkdtempSync(join(cache, 'tests-'))
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

/** A module that asks for its own address gets that of its source; the one that starts worker processes finds those of the build. */
const addresses = {
  name: 'addresses',
  setup(own) {
    own.onLoad({ filter: /[\\/](src|test|tools)[\\/].*\.tsx?$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url') || path.includes('node_modules')) return null
      const address = path.endsWith(join('workers', 'entry.ts')) ? join(folder, 'entry.js') : path
      return {
        contents: text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(address).href)),
        loader: path.endsWith('x') ? 'tsx' : 'ts',
      }
    })
  },
}
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
if (!values.sources)
  await build({
    ...forNode,
    entryPoints: {
      ...workers,
      ...Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ''), file])),
    },
    outdir: folder,
    external: [...forNode.external, ...Object.keys(devDependencies)],
    plugins: [addresses],
  })

const sum = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 }
const skipped = new Map()
let done = 0

const withoutPassed = (text) =>
  text
    .split('\n')
    .filter((line) => !/^ *(ok \d|1\.\.\d|TAP version|$)/.test(line))
    .map((line) => `    ${line}\n`)
    .join('')

function runFile(file) {
  return new Promise((end) => {
    const started = Date.now()
    const child = spawn(
      process.execPath,
      values.sources
        ? ['--import=tsx', file]
        : ['--enable-source-maps', join(folder, file.replace(/\.ts$/, '.js'))],
      {
        cwd: root,
        env: {
          ...process.env,
          TAP_TIMEOUT: String(TIMEOUT_S),
          ...(values.all ? { SUS_TESTS: 'all' } : {}),
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    running.add(child)
    // A file ends its tests itself when their time is over, unless its process does not come to it.
    const late = setTimeout(() => child.kill('SIGKILL'), (TIMEOUT_S + 30) * 1000)
    const parts = []
    child.stdout.on('data', (part) => parts.push(part))
    child.on('close', (code, signal) => {
      clearTimeout(late)
      running.delete(child)
      done += 1
      const text = Buffer.concat(parts).toString()
      const counts = Object.fromEntries(
        [...(/^# \{ (.*) \}$/m.exec(text)?.[1] ?? '').matchAll(/(\w+): (\d+)/g)].map(([, name, count]) => [
          name,
          Number(count),
        ]),
      )
      // A process that ends badly without a failed assertion has failed.
      if (code !== 0 && !(counts.fail > 0)) counts.fail = 1
      for (const name of Object.keys(sum)) sum[name] += counts[name] ?? 0
      for (const [, reason] of text.matchAll(/ # SKIP (.*)$/gm))
        skipped.set(reason, (skipped.get(reason) ?? 0) + 1)
      const isOk = code === 0
      if (!isOk) process.stdout.write(`# Subtest: ${file}\n${withoutPassed(text)}`)
      const seconds = ((Date.now() - started) / 1000).toFixed(1)
      const how = isOk ? `${counts.pass ?? 0} passed` : `ended with ${signal ?? `code ${code}`}`
      process.stdout.write(`${isOk ? 'ok' : 'not ok'} ${done} - ${file} # ${how}, ${seconds} s\n`)
      end()
    })
  })
}

const started = Date.now()
process.stdout.write(`TAP version 14\n1..${files.length}\n`)
const waiting = [...files]
const work = async () => {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await runFile(file)
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work))
for (const [reason, count] of skipped) process.stdout.write(`# ${count} skipped: ${reason}\n`)
const counts = Object.entries(sum).filter(([name, count]) => count > 0 || name === 'total')
process.stdout.write(`# { ${counts.map(([name, count]) => `${name}: ${count}`).join(', ')} }\n`)
process.stdout.write(`# ${files.length} files in ${Math.round((Date.now() - started) / 1000)} s\n`)
process.exitCode = sum.fail > 0 || files.length === 0 ? 1 : 0
