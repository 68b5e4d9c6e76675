/**
 * `npm run docs`: regenerates the tables of docs/ from the code: routes, lists, errors, commands, settings, metrics,
 * dimensions, notes. It replaces only the text between two comments that name a table. test/docs.test.ts fails when a table
 * is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PUBLISHER } from '../src/acquire/publishers.ts'
import { SOURCES } from '../src/acquire/sources.ts'
import { ERRORS } from '../src/errors.ts'
import { costOf, methodOf } from '../src/http/route.ts'
import { ROUTES } from '../src/http/routes/index.ts'
import { DIMENSION_CODES, dimensionOf } from '../src/model/dimensions.ts'
import { METRIC_CODES, metricOf } from '../src/model/metrics.ts'
import { NOTE_CODES, NOTES } from '../src/model/notes.ts'
import { SETTINGS } from '../src/settings.ts'
import { COMMANDS } from './cli.ts'

type Rows = readonly (readonly (string | number)[])[]

const code = (text: string): string => `\`${text}\``
const codes = (texts: readonly string[]): string => (texts.length === 0 ? '–' : texts.map(code).join(', '))
const table = (header: readonly string[], rows: Rows): string =>
  [header, header.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

/** Name of a table → its Markdown. */
export const TABLES: Readonly<Record<string, () => Promise<string>>> = {
  routes: async () =>
    table(
      ['method and path', 'capability', 'cost', 'what'],
      ROUTES.map((route) => [
        `${methodOf(route)} ${code(route.path)}`,
        route.capability ?? 'none',
        costOf(route),
        route.summary,
      ]),
    ),
  lists: async () =>
    table(
      ['list', 'limit', 'at most', 'filters', 'sort'],
      ROUTES.flatMap((route) =>
        route.kind === 'list'
          ? [
              [
                code(route.path),
                route.limit.default,
                route.limit.max,
                codes(route.filters),
                codes(route.dataset.sorts ?? []),
              ],
            ]
          : [],
      ),
    ),
  errors: async () =>
    table(
      ['code', 'status', 'title', 'what to change'],
      Object.entries(ERRORS).map(([name, { status, title_en, hint_en }]) => [
        code(name),
        status,
        title_en,
        hint_en,
      ]),
    ),
  commands: async () => {
    const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
    return table(
      ['command', 'does'],
      commands.map(({ command }) => [
        command.usage.map((usage) => code(`sus-data ${usage}`)).join('<br>'),
        command.summary,
      ]),
    )
  },
  settings: async () =>
    table(
      ['setting', 'default', 'unit', 'what', 'allowed'],
      Object.values(SETTINGS).map((setting) => [
        code(setting.name),
        setting.default,
        setting.unit ?? '',
        setting.help,
        setting.allowed,
      ]),
    ),
  sources: async () =>
    table(
      ['source', 'areas', 'publisher', 'what', 'since', 'changes', 'how'],
      SOURCES.map((source) => [
        code(source.code),
        codes(source.areas),
        source.kind === 'by hand' ? source.publisher : PUBLISHER[source.publisher].name,
        source.what,
        source.first ?? '–',
        source.changes,
        source.kind === 'by hand' ? `by hand: ${source.how}` : 'fetch',
      ]),
    ),
  metrics: async () =>
    table(
      ['metric', 'kind', 'unit', 'what'],
      METRIC_CODES.map((name) => {
        const { kind, tier, unit, description } = metricOf(name)
        return [`${code(name)}${tier === 'core' ? ' (core)' : ''}`, kind, unit, description.en]
      }),
    ),
  notes: async () =>
    table(
      ['code', 'when', 'parameters'],
      NOTE_CODES.map((name) => [code(name), NOTES[name].when, codes(Object.keys(NOTES[name].params))]),
    ),
  dimensions: async () =>
    table(
      ['dimension', 'what', 'order', 'goes with'],
      DIMENSION_CODES.map((name) => {
        const { label_en, order, datasets } = dimensionOf(name)
        return [code(name), label_en, order, codes(datasets)]
      }),
    ),
}

export const PAGES = [
  'docs/api.md',
  'docs/analytics.md',
  'docs/operating.md',
  'docs/bringing-data-in.md',
] as const

const MARKED = /<!-- table: (\w+) -->\n[\s\S]*?<!-- end of table -->/g

/** @returns the page with current tables; @throws Error for an unknown table name */
export async function withTables(text: string): Promise<string> {
  const written = new Map<string, string>()
  for (const [, name = ''] of text.matchAll(MARKED)) {
    const make = TABLES[name]
    if (make === undefined) throw new Error(`there is no table ${name}`)
    written.set(name, await make())
  }
  return text.replaceAll(
    MARKED,
    (_, name: string) => `<!-- table: ${name} -->\n${written.get(name)}\n<!-- end of table -->`,
  )
}

export const pathOf = (page: string): string => fileURLToPath(new URL(`../${page}`, import.meta.url))

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const page of PAGES) {
    const text = readFileSync(pathOf(page), 'utf8')
    const next = await withTables(text)
    if (next === text) continue
    writeFileSync(pathOf(page), next)
    process.stdout.write(`${page} is written anew\n`)
  }
