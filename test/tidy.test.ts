/**
 * Reads the source as text and keeps its shape: who may import whom, who may touch what, how long a file may be.
 *
 * A folder of src/ that is not in the table below fails: name it and what it may know.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('..', import.meta.url))
const LINES_MAX = 600

/** What a server is made of. */
const SERVED = [
  'model',
  'release',
  'engine',
  'query',
  'rows',
  'export',
  'keys',
  'errors.ts',
  'settings.ts',
] as const
/** What each folder (or file) of src/ may import from src/ beside itself. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  model: [],
  'errors.ts': [],
  'machine.ts': [],
  'settings.ts': ['machine.ts'],
  'sql.ts': ['model', 'errors.ts'],
  release: ['model', 'engine/types.ts'],
  engine: ['release', 'model', 'sql.ts', 'errors.ts'],
  // Cursors and fingerprints are digests of canonical JSON, as release ids are.
  query: [
    'model',
    'release/view.ts',
    'release/manifest.ts',
    'release/digest.ts',
    'sql.ts',
    'errors.ts',
    'engine/types.ts',
  ],
  export: ['model', 'query', 'release', 'sql.ts', 'errors.ts', 'engine/types.ts'],
  gate: ['model', 'query', 'release', 'engine/types.ts'],
  import: ['model', 'release', 'engine', 'sql.ts', 'errors.ts', 'machine.ts'],
  demo: ['model', 'release'],
  keys: ['model', 'errors.ts'],
  rows: ['model', 'query', 'release', 'programs.ts', 'sql.ts', 'engine/types.ts'],
  http: [...SERVED, 'sql.ts'],
  'app.ts': [...SERVED, 'http'],
  'background.ts': [],
  'programs.ts': [],
  // The thread that makes reports: wires as main.ts does.
  'report-worker.ts': ['background.ts', 'engine', 'export', 'keys', 'errors.ts'],
  'rows-program.ts': ['background.ts', 'model', 'rows'],
  'release-trial.ts': ['release', 'engine', 'sql.ts'],
  'trial.ts': ['release', 'programs.ts'],
  'main.ts': [...SERVED, 'http', 'app.ts', 'background.ts', 'programs.ts', 'trial.ts'],
}

/** Arrows that only types may follow: the file they point at holds nothing else. */
const TYPES_ONLY: readonly (readonly [string, string])[] = [['release', 'engine/types.ts']]

/** Packages that belong to folders; a prefix names a family. */
const PACKAGES: readonly { readonly prefix: string; readonly owners: readonly string[] }[] = [
  { prefix: '@duckdb/', owners: ['engine', 'import', 'rows', 'rows-program.ts'] },
  { prefix: 'fastify', owners: ['http', 'app.ts', 'main.ts'] },
  { prefix: '@redis/', owners: ['http'] },
  { prefix: '@fastify/', owners: ['http', 'app.ts', 'main.ts'] },
]

interface Import {
  readonly from: string
  readonly typeOnly: boolean
}

interface SourceFile {
  /** Path below src/, with /. */
  readonly path: string
  /** First part of the path: a folder, or a file at the top. */
  readonly part: string
  readonly text: string
  readonly imports: readonly Import[]
}

const slashed = (path: string): string => path.split(sep).join('/')

/** @returns specifiers of static imports, re-exports and dynamic imports */
function readImports(text: string): Import[] {
  const statements = text.matchAll(
    /^\s*(?:import|export)(\s+type)?\s(?:[\w*\s{},$]+?\sfrom\s+)?['"]([^'"]+)['"]/gm,
  )
  const dynamic = text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)
  return [
    ...[...statements].map((match) => ({ from: match[2] ?? '', typeOnly: match[1] !== undefined })),
    ...[...dynamic].map((match) => ({ from: match[1] ?? '', typeOnly: false })),
  ]
}

function listFiles(folder: string, skip: (path: string) => boolean): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (skip(slashed(relative(root, path)))) return []
    if (entry.isDirectory()) return listFiles(path, skip)
    return entry.isFile() ? [path] : []
  })
}

const src = join(root, 'src')
const sources: readonly SourceFile[] = listFiles(
  src,
  (path) => path.startsWith('src/') && /\.(?!ts$)\w+$/.test(path),
)
  .map((file) => {
    const path = slashed(relative(src, file))
    const text = readFileSync(file, 'utf8')
    return { path, part: path.split('/')[0] ?? '', text, imports: readImports(text) }
  })
  .sort((left, right) => (left.path < right.path ? -1 : 1))

const reaches = (allowed: string, target: string): boolean =>
  target === allowed || target.startsWith(`${allowed}/`)

t.test('imports are read as they are written', async (t) => {
  const text = [
    "import a from 'one'",
    "import type { B } from './two.ts'",
    "import {\n  c,\n  type D,\n} from '../three.ts'",
    "import 'four'",
    "export * from './five.ts'",
    "export { e } from './six.ts'",
    "const f = await import('./seven.ts')",
    "import * as g from 'eight'",
    "const text = 'not from here'",
  ].join('\n')
  t.same(
    readImports(text).map(({ from }) => from),
    ['one', './two.ts', '../three.ts', 'four', './five.ts', './six.ts', 'eight', './seven.ts'],
  )
  t.same(
    readImports(text)
      .filter(({ typeOnly }) => typeOnly)
      .map(({ from }) => from),
    ['./two.ts'],
  )
  t.ok(sources.length > 20)
  t.ok(sources.some(({ imports }) => imports.length > 5))
})

t.test('imports follow the arrows', async (t) => {
  for (const { path, part, imports } of sources) {
    const arrows = ARROWS[part]
    if (arrows === undefined) {
      t.fail(`${part} is not in the table of arrows`)
      continue
    }
    const wrong = imports.filter(({ from, typeOnly }) => {
      if (!from.startsWith('.')) return part === 'model' && from !== 'zod'
      const target = slashed(relative(src, resolve(src, dirname(path), from)))
      const typesOnly = TYPES_ONLY.some(([folder, file]) => part === folder && target === file)
      if (typesOnly && !typeOnly) return true
      return !reaches(part, target) && !arrows.some((allowed) => reaches(allowed, target))
    })
    t.same(wrong, [], `${path} imports what it may`)
  }
})

t.test('packages stay in their folders', async (t) => {
  for (const { prefix, owners } of PACKAGES) {
    const users = sources.filter(({ imports }) => imports.some(({ from }) => from.startsWith(prefix)))
    t.same(
      users.filter(({ part }) => !owners.includes(part)).map(({ path }) => path),
      [],
      `only ${owners.join(', ')} import ${prefix}`,
    )
  }
})

t.test('only settings.ts reads the environment', async (t) => {
  const tools = listFiles(join(root, 'tools'), () => false).map((file) => slashed(relative(root, file)))
  const readers = [
    ...sources
      .filter(({ text }) => /\bprocess\.env\b|\benv\b.*from 'node:process'/.test(text))
      .map(({ path }) => path),
    ...tools.filter((path) => /\bprocess\.env\b/.test(readFileSync(join(root, path), 'utf8'))),
  ]
  t.same(readers, ['settings.ts'])
})

t.test(`no file of src is longer than ${LINES_MAX} lines`, async (t) => {
  for (const { path, text } of sources) {
    const lines = text.split('\n').length - 1
    t.ok(lines <= LINES_MAX, `${path}: ${lines} lines`)
  }
})

t.test('no text names a folder of one machine', async (t) => {
  const ignored =
    /^(\.git|\.tap|node_modules|data\/(?!README)|releases\/(?!README)|package-lock\.json|.*\.log)/
  // Put together here, so that this file does not hold what it forbids.
  const workFolder = new RegExp(`(?<![\\w.:/-])/${'work'}/`)
  const temporaryFolder = new RegExp(`(?<![\\w.:/-])/${'tmp'}/`)
  const homeFolder = new RegExp(`(?<![\\w.:/-])/(${['home', 'Users', 'root'].join('|')})/\\w`)
  const found = listFiles(root, (path) => ignored.test(path)).flatMap((file) => {
    if (statSync(file).size > 2 ** 24) return []
    const path = slashed(relative(root, file))
    const text = readFileSync(file, 'latin1')
    const forbidden = path.startsWith('test/')
      ? [workFolder, homeFolder]
      : [workFolder, homeFolder, temporaryFolder]
    return forbidden.filter((pattern) => pattern.test(text)).map((pattern) => `${path}: ${pattern.source}`)
  })
  t.same(found, [])
})
