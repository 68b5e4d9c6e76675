/**
 * The build of the tests (`pretest`): the files *.test.ts below test/, and a program that one starts, → dist/test/, after dist/
 * itself, whose command some of them start. A process that loads 400 modules through a loader takes 3 s before its first test,
 * one of the build 0.7 s; building all of them takes 3 s. A single file also runs as it stands: node --import tsx FILE.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { forNode } from './build.js'

const files = readdirSync(new URL('../test', import.meta.url), { recursive: true }).filter(
  (path) => path.endsWith('.test.ts') || path.endsWith('make-report.ts'),
)
const command = new URL('../dist/cli.js', import.meta.url)
/**
 * A module that asks for its own address gets that of its source, beside which its files are; the one that starts worker
 * processes gets that of the command, beside which they are built.
 */
const addresses = {
  name: 'addresses',
  setup(own) {
    own.onLoad({ filter: /[\\/](src|test|tools)[\\/].*\.tsx?$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.url') || path.includes('node_modules')) return null
      const address = /[\\/]workers[\\/]entry\.ts$/.test(path) ? command : pathToFileURL(path)
      return {
        contents: text.replaceAll('import.meta.url', JSON.stringify(address.href)),
        loader: path.endsWith('x') ? 'tsx' : 'ts',
      }
    })
  },
}
/** Without its translator of TypeScript, tap is put together once; it does so by itself only after the first run. */
const tap = existsSync(new URL('../.tap/plugins', import.meta.url))
  ? null
  : spawn('npx', ['tap', 'build'], { stdio: ['ignore', 'ignore', 'inherit'] })
const { devDependencies } = JSON.parse(
  readFileSync(fileURLToPath(new URL('../package.json', import.meta.url)), 'utf8'),
)
await build({
  ...forNode,
  entryPoints: files.map((path) => `test/${path}`),
  outdir: 'dist/test',
  outbase: 'test',
  external: [...forNode.external, ...Object.keys(devDependencies)],
  plugins: [addresses],
})
if (tap !== null) {
  const [code] = await once(tap, 'close')
  process.exitCode = code ?? 1
}
