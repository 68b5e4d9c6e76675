/** The documentation holds what the code holds: tables, links, paths, commands, settings. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { SETTINGS } from '../src/settings.ts'
import { ADMISSIONS } from '../tools/bench/admissions.ts'
import { ANALYTICS } from '../tools/bench/analytics.ts'
import { EXPLORER } from '../tools/bench/explorer.ts'
import { FIRST_REQUESTS } from '../tools/bench/first-requests.ts'
import { NEW_QUERIES } from '../tools/bench/new-queries.ts'
import { OPERATIONS } from '../tools/bench/operations.ts'
import { ROUTES } from '../tools/bench/routes.ts'
import { SETUP } from '../tools/bench/setup.ts'
import { SOAK } from '../tools/bench/soak.ts'
import { VITAL_RECORDS } from '../tools/bench/vital-records.ts'
import { WIRE } from '../tools/bench/wire.ts'
import { COMMANDS } from '../tools/cli.ts'
import { PAGES, pathOf, TABLES, withTables } from '../tools/docs.ts'

const root = pathOf('.')
const pages = ['.', 'docs', 'docs/decisions', 'data', 'releases'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => ({
      path: normalize(join(folder, name)),
      text: readFileSync(join(root, folder, name), 'utf8'),
    })),
)
const textOf = (path: string): string => pages.find((page) => page.path === path)?.text ?? ''

t.test('tables are those of the code; npm run docs writes them', async (t) => {
  for (const page of PAGES) t.equal(textOf(page), await withTables(textOf(page)), page)
  const shown = PAGES.flatMap((page) => [...textOf(page).matchAll(/<!-- table: (\w+) -->/g)])
  t.same(shown.map(([, name]) => name).sort(), Object.keys(TABLES).sort(), 'each table stands in one page')
})

/** Anchors of the headings of a page, as GitHub makes them. */
const anchorsOf = (text: string): Set<string> =>
  new Set(
    [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  )

t.test('links lead to pages, files and headings that are there', async (t) => {
  for (const { path, text } of pages)
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = '', anchor] = target.split('#')
      const goal = file === '' ? path : normalize(join(dirname(path), file))
      t.ok(existsSync(join(root, goal)), `${path} → ${target}`)
      if (anchor !== undefined) t.ok(anchorsOf(textOf(goal)).has(anchor), `${path} → ${target}`)
    }
})

t.test('files and folders named in the text are there', async (t) => {
  // The change list names what is gone, too.
  for (const { path, text } of pages.filter((page) => page.path !== 'CHANGELOG.md'))
    for (const [, named = ''] of text.matchAll(/`((?:src|tools|test|docs)\/[\w./-]*[\w/])`/g))
      t.ok(existsSync(join(root, named)), `${path} names ${named}`)
})

t.test('every numbered rule has a test, and every rule that the code names is in the index', async (t) => {
  const rows = [...textOf('docs/rules.md').matchAll(/^\| ([\d.]+) \| [^|]+ \| ([^|]+) \|$/gm)]
  const rules = new Map(
    rows.map(([, rule = '', tests = '']) => [rule, tests.match(/`test\/[\w./-]+\.test\.ts`/g)]),
  )
  t.equal(rules.size, rows.length, 'no number stands twice')
  const numbers = Array.from({ length: 25 }, (_, index) => index + 1).flatMap((section) =>
    section === 7 ? Array.from({ length: 10 }, (_, index) => `7.${index + 1}`) : [String(section)],
  )
  t.same([...rules.keys()], numbers)
  for (const [rule, tests] of rules) t.ok((tests ?? []).length > 0, `rule ${rule} has a test`)
  for (const file of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  ))
    for (const [, named = ''] of readFileSync(join(root, 'src', file), 'utf8').matchAll(
      /[Cc]ontract (\d+(?:\.\d+)?(?: and \d+(?:\.\d+)?)*)/g,
    ))
      for (const rule of named.split(' and '))
        t.ok(numbers.includes(rule) || rule === '7', `${file} names rule ${rule}`)
})

t.test('commands and settings named in the text are there', async (t) => {
  // One is of the tests, not of the server: test/fixtures/rings.ts.
  const settings = new Set<string>([...Object.values(SETTINGS).map(({ name }) => name), 'SUS_TESTS'])
  for (const { path, text } of pages.filter((page) => page.path !== 'CHANGELOG.md')) {
    for (const [name] of text.matchAll(/\bSUS_[A-Z_]+\b/g)) t.ok(settings.has(name), `${path} names ${name}`)
    for (const [, name = ''] of text.matchAll(/npx sus-data ([a-z][a-z-]*)/g))
      t.ok(Object.hasOwn(COMMANDS, name), `${path} names the command ${name}`)
  }
})

t.test('every scenario of the benchmark is a line of docs/performance.md', async (t) => {
  const scenarios = [
    ROUTES,
    ANALYTICS,
    ADMISSIONS,
    VITAL_RECORDS,
    NEW_QUERIES,
    WIRE,
    FIRST_REQUESTS,
    OPERATIONS,
    SOAK,
    EXPLORER,
    SETUP,
  ].flat()
  const lines = [...textOf('docs/performance.md').matchAll(/^\| `([a-z][a-z-]*)` \|/gm)].map(
    ([, name]) => name,
  )
  t.same(lines.sort(), scenarios.map(({ name }) => name).sort())
})

t.test('the code map names every folder and file of src/', async (t) => {
  for (const { name, isDirectory } of readdirSync(join(root, 'src'), { withFileTypes: true }).map(
    (entry) => ({
      name: entry.name,
      isDirectory: entry.isDirectory(),
    }),
  ))
    t.ok(textOf('docs/architecture.md').includes(`| \`src/${name}${isDirectory ? '/' : ''}\` |`), name)
})
