/**
 * The build, run by `npm ci` (as `prepare`) and `npm run build`: the sources of the command line and of the worker processes
 * → dist/, with source maps. Packages stay in node_modules and are loaded from there. Development runs the sources (`npm run dev`).
 */
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
await build({
  absWorkingDir: root,
  entryPoints: {
    cli: 'tools/cli.ts',
    'workers/report': 'src/workers/report.ts',
    'workers/release-check': 'src/workers/release-check.ts',
    'workers/rows': 'src/workers/rows.ts',
  },
  outdir: 'dist',
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
  logLevel: 'warning',
})
