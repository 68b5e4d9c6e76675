/** The README names every route, error and command: a table that grows without it fails here. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { ERRORS } from '../src/errors.ts'
import { methodOf } from '../src/http/route.ts'
import { ROUTES } from '../src/http/routes/index.ts'
import { COMMANDS } from '../tools/cli.ts'

const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8')

t.test('routes', async (t) => {
  for (const route of ROUTES)
    t.ok(
      readme.includes(`| ${methodOf(route)} \`${route.path}\` | ${route.capability ?? 'none'} |`),
      route.path,
    )
})
t.test('errors', async (t) => {
  for (const [code, { status }] of Object.entries(ERRORS))
    t.ok(readme.includes(`| \`${code}\` | ${status} |`), code)
})
t.test('commands', async (t) => {
  for (const name of Object.keys(COMMANDS))
    t.ok(new RegExp(`sus-data ${name}|npm ${name}`).test(readme), name)
})
