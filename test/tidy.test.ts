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
/** Code lists are data: as long as their list. */
const LINES_MAX = 400
const CODE_LISTS = 'model/cnes/codes/'
/** Most files directly in a folder: what a reader takes in at one look. Routes and code lists are tables, as long as they need to be. */
const FOLDER_FILES_MAX = 18

/** What each folder (or file) of src/ may import from src/ beside itself. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  model: [],
  'errors.ts': [],
  'turns.ts': ['errors.ts'],
  'slices.ts': [],
  'files.ts': [],
  'text-limits.ts': [],
  'json-size.ts': [],
  'machine.ts': [],
  'last-resort.ts': [],
  'setting-kinds.ts': [],
  'place-settings.ts': ['setting-kinds.ts'],
  'trino-settings.ts': ['setting-kinds.ts', 'engine/types.ts'],
  'source-settings.ts': ['setting-kinds.ts'],
  'settings.ts': [
    'machine.ts',
    'place-settings.ts',
    'setting-kinds.ts',
    'trino-settings.ts',
    'source-settings.ts',
    'trust/note.ts',
  ],
  'sql.ts': ['model', 'errors.ts'],
  release: ['model', 'engine/types.ts', 'files.ts', 'errors.ts'],
  engine: ['model', 'release', 'sql.ts', 'errors.ts', 'turns.ts', 'slices.ts'],
  // Schemas of answers list the names that answers hold.
  answers: [
    'model',
    'query',
    'release/manifest.ts',
    'release/changes.ts',
    'engine/types.ts',
    'keys/links.ts',
    'errors.ts',
  ],
  // Cursors and fingerprints are digests of canonical JSON, as release ids are.
  query: [
    'model',
    'answers',
    'release/view.ts',
    'release/coverage.ts',
    'release/published-months.ts',
    'release/manifest.ts',
    'release/digest.ts',
    'engine/types.ts',
    'sql.ts',
    'errors.ts',
    'text-limits.ts',
    'slices.ts',
  ],
  // Runs what query plans: the only code between a plan and the engine.
  analytics: [
    'model',
    'answers',
    'query',
    'release',
    'engine/types.ts',
    'sql.ts',
    'errors.ts',
    'slices.ts',
    'turns.ts',
  ],
  // Lists and records of a release, from its row files or from the engine.
  records: ['model', 'query', 'analytics', 'release', 'rows', 'engine/types.ts', 'sql.ts', 'errors.ts'],
  report: [
    'model',
    'query',
    'analytics',
    'release',
    'trust',
    'engine/types.ts',
    'workers/entry.ts',
    'sql.ts',
    'errors.ts',
    'turns.ts',
    'json-size.ts',
  ],
  import: [
    'model',
    'release',
    'engine',
    'rows',
    'workers/entry.ts',
    'sql.ts',
    'errors.ts',
    'files.ts',
    'json-size.ts',
    'machine.ts',
  ],
  // Fetching checks containers with the readers of the import.
  acquire: ['model', 'import', 'release/acquisition.ts', 'release/digest.ts', 'files.ts', 'settings.ts'],
  keys: ['model', 'trust/note.ts', 'files.ts', 'errors.ts'],
  // Signatures and the log of releases: of what is in a release it knows the id alone.
  trust: ['release', 'files.ts'],
  // Copies of releases between folders, servers and storage.
  places: ['release', 'trust', 'files.ts', 'errors.ts'],
  rows: [
    'model',
    'query',
    'release',
    'files.ts',
    // It quotes names and texts as every other part does.
    'sql.ts',
    'engine/types.ts',
    'engine/duckdb/decode.ts',
    'workers/entry.ts',
  ],
  // The explorer's pages know the API as its clients do: by its answers. The browser runs them, too.
  // Notes and areas are the exception: they carry codes, and the pages name these by their labels. Of answers it has the types.
  explorer: [
    'answers',
    'text-limits.ts',
    'model/areas.ts',
    'model/limits/levels.ts',
    'model/note-sentences.ts',
    'model/sheets/statuses.ts',
  ],
  // Tools know the API as its clients do, too.
  mcp: ['explorer/api.ts', 'text-limits.ts'],
  http: [
    'answers',
    'explorer',
    'mcp',
    'model',
    'release',
    'engine',
    'query',
    'analytics',
    'rows',
    'records',
    'report',
    'keys',
    'trust',
    'errors.ts',
    'settings.ts',
    'turns.ts',
  ],
  // Entry points of processes: each wires what it needs, as service.ts does.
  workers: [
    'model',
    'release',
    'engine',
    'query/analytics/dialect/trino.ts',
    'rows',
    'report',
    'import',
    'keys',
    'trust',
    'sql.ts',
    'errors.ts',
  ],
  'app.ts': [
    'model',
    'release',
    'engine/types.ts',
    'query',
    'rows',
    'report',
    'keys',
    'http',
    'errors.ts',
    'settings.ts',
  ],
  'preload.ts': ['engine', 'release'],
  'service.ts': [
    'model',
    'release',
    'engine',
    'query',
    'rows',
    'records',
    'report',
    'keys',
    'http',
    'places',
    'trust',
    'workers',
    'app.ts',
    'errors.ts',
    'settings.ts',
    'trino-settings.ts',
    'machine.ts',
    'preload.ts',
  ],
  'main.ts': ['http', 'service.ts', 'settings.ts', 'last-resort.ts'],
}

/**
 * Words that once were names of this project alone, and what says the same in everybody's words. The glossary of
 * docs/architecture.md has the names that are used.
 */
const BANNED: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\bfront\.ts\b|\bfront door\b/i, 'the way through Fastify'],
  [/\bshel(f|ves)\b|Shel(f|ves)\b|\bshelf[A-Z]/, 'row file'],
  [/\bdesks?\b|\bDesk\b/, 'buffer'],
  [/\b[Kk]eptAnswer|\bkeepAnswer/, 'cached response'],
  [/\bspellings?\b|\bspelled\b|Spelling/, 'request key'],
  [/\bstandingOf\b|[a-z]Standing\b/, 'access class, or municipalities with facilities'],
  [/\bpeopleOf\b|\bperPeople\b|[a-z]People\b/, 'population'],
  [/\bexpectations?\b(?!_failed)|\bcheckExpectations\b/, 'promotion checks'],
  [/\btrials?\b|\btryRelease\b/i, 'release check'],
  [/\bprograms\.ts\b|-program\.ts\b/, 'workers'],
  [/\bworld\.ts\b|\b(open|make)World\b/, 'fixture'],
  [/\bhot(Bytes|Tables|Relations|\.ts)\b|[a-z]Hot\b/, 'resident tables'],
  [/\bdoorOf\b|[a-z]Door\b/, 'handler'],
  [
    /\b(const|let) (told|said)\b|\b(type|interface) (Told|Said)\b|[a-z](Told|Said)\b/,
    'what it is: an answer, a line of a log, an expected value',
  ],
]
/** A comment is a sentence with a subject: these openings begin a fragment. */
const FRAGMENT = /^\s*(?:\/\/|\/\*\*|\*) +(?:Of|What|Whose|Where|Whoever|Nobody|So long|So often) /
/** Names that say whose a value is, or that it came from a caller, instead of what it holds. */
const EMPTY_NAME = /\b(?:const|let|readonly) (?:own|whole|asked|given|told|known|said|beside)\b/
/** Where a banned word is meant: by path, the words. */
const MEANT: Readonly<Record<string, readonly RegExp[]>> = {
  // Keys of JSON and codes of HTTP that programs read.
  'tools/commands/promote.ts': [/expectations: checks/],
  'src/errors.ts': [/Expectation failed/],
}

/** Arrows that only types may follow: the file they point at holds nothing else. */
const TYPES_ONLY: readonly (readonly [string, string])[] = [['release', 'engine/types.ts']]

/** Packages that belong to folders; a prefix names a family. */
const PACKAGES: readonly { readonly prefix: string; readonly owners: readonly string[] }[] = [
  { prefix: '@duckdb/', owners: ['engine', 'import', 'rows', 'workers'] },
  { prefix: 'fastify', owners: ['http', 'app.ts', 'service.ts', 'main.ts'] },
  { prefix: '@redis/', owners: ['keys'] },
  { prefix: 'basic-ftp', owners: ['acquire'] },
  { prefix: '@fastify/', owners: ['http', 'app.ts', 'service.ts', 'main.ts'] },
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
  (path) => path.startsWith('src/') && /\.(?!tsx?$)\w+$/.test(path),
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

t.test('nothing that depends on the locale or on ICU of Node.js takes part in a release', async (t) => {
  // Ids must be the same on every version of Node.js. Unicode normalization and the case of letters are stable by Unicode's policies.
  const localized = /\bIntl\b|\.localeCompare\(|\.toLocale\w*\(|new TextDecoder\((?!'utf-8')/
  const makers = sources.filter(({ part }) => ['import', 'model', 'release', 'rows', 'sql.ts'].includes(part))
  t.ok(makers.length > 100)
  t.same(
    makers
      .filter(({ text }) => localized.test(text.replaceAll(/^ *(\*|\/\/).*$/gm, '')))
      .map(({ path }) => path),
    [],
  )
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
  // The build may start as an install script, and the benchmark starts servers: both look at what npm or the shell set.
  const tools = listFiles(join(root, 'tools'), (path) =>
    ['tools/bench', 'tools/build.js'].includes(path),
  ).map((file) => slashed(relative(root, file)))
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
    if (path.startsWith(CODE_LISTS)) continue
    const lines = text.split('\n').length - 1
    t.ok(lines <= LINES_MAX, `${path}: ${lines} lines`)
  }
})

t.test(`no folder of src has more than ${FOLDER_FILES_MAX} files`, async (t) => {
  const counts = new Map<string, number>()
  for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  for (const [folder, count] of counts) {
    if (folder === 'http/routes' || CODE_LISTS.startsWith(folder)) continue
    t.ok(count <= FOLDER_FILES_MAX, `${folder}: ${count} files`)
  }
})

t.test('names and comments use the words of the glossary', async (t) => {
  const texts = [
    ...['src', 'tools', 'docs'].flatMap((folder) =>
      listFiles(join(root, folder), (path) => /openapi\.json$/.test(path)),
    ),
    ...['README.md', 'CONTRIBUTING.md'].map((name) => join(root, name)),
  ].filter((file) => existsSync(file))
  t.ok(texts.length > 100)
  for (const file of texts) {
    const path = slashed(relative(root, file))
    const meant = MEANT[path] ?? []
    const found = readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const text = meant.reduce((rest, pattern) => rest.replace(pattern, ''), line)
        const banned = BANNED.find(([word]) => word.test(text))
        return banned === undefined ? [] : [`${path}:${index + 1} ${banned[0].source}: say ${banned[1]}`]
      })
    if (found.length > 0) t.fail(`${path} has a banned word`, { found })
  }
})

t.test('comments are sentences, and names say what they hold', async (t) => {
  const files = ['src', 'tools'].flatMap((folder) =>
    listFiles(join(root, folder), (path) => /\.(?!tsx?$)\w+$/.test(path)),
  )
  t.ok(files.length > 100)
  const found = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        FRAGMENT.test(line) || EMPTY_NAME.test(line)
          ? [`${slashed(relative(root, file))}:${index + 1} ${line.trim()}`]
          : [],
      ),
  )
  t.same(found, [])
})

t.test('no text names a folder of one machine', async (t) => {
  const ignored =
    /^(\.git|\.tap|dist\/test|node_modules|data\/(?!README)|releases\/(?!README)|package-lock\.json|.*\.log)/
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
