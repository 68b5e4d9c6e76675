/**
 * The build, run by `npm ci` (as `prepare`) and `npm run build`: the sources of the command line and of the worker processes
 * → dist/, with source maps. Development runs the sources (`npm run dev`).
 *
 * esbuild is a package of development. Without it, an installation goes on, with the dist/ that is there if one is
 * (an image copies it from a machine that built it); the build asked for by name fails.
 *
 * tools/build-tests.js builds the tests in the same way: `forNode`.
 */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { build } = await import('esbuild').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  process.stderr.write(
    'sus-data: dist/ was not built: esbuild is not installed. Run "npm ci" with the development packages, or copy dist/ here.\n',
  )
  process.exit(process.env.npm_lifecycle_event === 'prepare' ? 0 : 1)
})
/** @returns digest of files below folders whose names match, and of the versions of packages */
function digestFiles(folders, pattern) {
  const digest = createHash('sha256')
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && pattern.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  )
  for (const path of [...files.sort(), 'package-lock.json'])
    digest.update(`${path}\n`).update(readFileSync(join(root, path)))
  return digest.digest('hex').slice(0, 16)
}
const BUILT_FROM = join(root, 'dist/built-from.txt')
const everything = digestFiles(['src', 'tools'], /./)
// `npx sus-data` in a clone runs `prepare` as well: a server may run from the dist/ that is there.
if (
  process.env.npm_lifecycle_event === 'prepare' &&
  existsSync(BUILT_FROM) &&
  readFileSync(BUILT_FROM, 'utf8') === everything
)
  process.exit(0)
/** How modules that Node.js runs are built. */
export const forNode = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  // Native modules, and large packages that few starts need.
  external: ['@duckdb/node-bindings', '@e965/xlsx', '@redis/client', 'apache-arrow'],
  // Packages written as CommonJS ask for these names of their module.
  banner: {
    js: [
      "import { createRequire as requireFrom } from 'node:module'",
      'const require = requireFrom(import.meta.url)',
      'const [__dirname, __filename] = [import.meta.dirname, import.meta.filename]',
    ].join('\n'),
  },
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: 'linked',
  sourcesContent: false,
  // Answers come from the sources and the packages.
  define: { SUS_DATA_BUILD: JSON.stringify(digestFiles(['src'], /\.tsx?$/)) },
  logLevel: 'warning',
}
rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
await build({
  ...forNode,
  entryPoints: {
    cli: 'tools/cli.ts',
    'workers/report': 'src/workers/report.ts',
    'workers/release-check': 'src/workers/release-check.ts',
    'workers/report-check': 'src/workers/report-check.ts',
    'workers/rows': 'src/workers/rows.ts',
    'workers/decoder': 'src/workers/decoder.ts',
    'workers/digests': 'src/workers/digests.ts',
  },
  outdir: 'dist',
})
// Files that the demonstration reads as they are.
for (const file of ['seats.csv', 'outlines.topojson.gz'])
  cpSync(new URL(`demo/brazil/${file}`, import.meta.url), new URL(`../dist/brazil/${file}`, import.meta.url))
await build({
  absWorkingDir: root,
  entryPoints: { browser: 'src/explorer/browser.tsx', styles: 'src/explorer/styles.css' },
  outdir: 'dist/explorer',
  entryNames: '[name]-[hash]',
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022'],
  logLevel: 'warning',
})
writeFileSync(BUILT_FROM, everything)
