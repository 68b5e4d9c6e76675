/**
 * The command line: finds the command, parses its options, and turns errors into one line and an exit code.
 * Exit codes: 0 when the command succeeded, 1 when it failed, 2 when the call was invalid. A command is loaded only when
 * called, so that `keys list` does not wait for DuckDB.
 */
import { parseArgs } from 'node:util'
import {
  alignRows,
  type Command,
  commandHelp,
  optionNames,
  type ParsedArgs,
  parseConfig,
  UsageError,
} from './command.ts'

export const COMMANDS: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  start: () => import('./commands/start.ts'),
  serve: () => import('./commands/serve.ts'),
  demo: () => import('./commands/demo.ts'),
  fetch: () => import('./commands/fetch.ts'),
  update: () => import('./commands/update.ts'),
  import: () => import('./commands/import.ts'),
  verify: () => import('./commands/verify.ts'),
  content: () => import('./commands/content.ts'),
  promote: () => import('./commands/promote.ts'),
  rollback: () => import('./commands/rollback.ts'),
  releases: () => import('./commands/releases.ts'),
  prune: () => import('./commands/prune.ts'),
  push: () => import('./commands/push.ts'),
  pull: () => import('./commands/pull.ts'),
  'published-rows': () => import('./commands/published-rows.ts'),
  sign: () => import('./commands/sign.ts'),
  attest: () => import('./commands/attest.ts'),
  log: () => import('./commands/log.ts'),
  rows: () => import('./commands/rows.ts'),
  'verify-report': () => import('./commands/verify-report.ts'),
  trino: () => import('./commands/trino.ts'),
  keys: () => import('./commands/keys.ts'),
  mcp: () => import('./commands/mcp.ts'),
}

/** Errors whose message is written for the operator. Any other error is a defect and shows its stack. */
const OPERATOR_ERRORS = new Set([
  'SettingsError',
  'KeysError',
  'FileLockError',
  'ImportError',
  'ReleaseRefused',
  'ReportUnreadable',
  'LogError',
  'NoteError',
  'PruneError',
  'PromotionsDamaged',
  'PlaceError',
  'TrinoUnusable',
  'FetchError',
])

/** @param args arguments after `sus-data`; @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  // A closed pipe is not an error: its reader (`| head`) has enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  const [name, ...rest] = args
  try {
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
      process.stdout.write(await help())
      return name === undefined ? 2 : 0
    }
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
    if (load === undefined)
      throw new UsageError(
        `unknown command ${JSON.stringify(name)}; commands: ${Object.keys(COMMANDS).join(', ')}`,
      )
    const { command } = await load()
    const parsed = parse(command, rest)
    if (parsed.values.help !== true) return await command.run(parsed)
    process.stdout.write(commandHelp(command))
    return 0
  } catch (error) {
    process.stderr.write(`sus-data: ${describe(error)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

function parse(command: Command, args: readonly string[]): ParsedArgs {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: parseConfig(command.options),
      allowPositionals: true,
    })
    return { values, positionals }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code?.startsWith('ERR_PARSE_ARGS') !== true) throw error
    // The first sentence states the problem; the rest is about Node.js.
    const [problem = ''] = message.split(/\. |\n/)
    throw new UsageError(
      `${problem.charAt(0).toLowerCase()}${problem.slice(1)}; options of ${command.name}: ${optionNames(command.options)}`,
    )
  }
}

async function help(): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
  const rows = commands.map(({ command }): [string, string] => [command.name, command.summary])
  return [
    'sus-data: immutable releases, exact analytics and provable reports of Brazil’s public-health data.',
    '',
    'Usage:',
    '  sus-data <command> [options]',
    '  sus-data <command> --help',
    '',
    'Commands:',
    ...alignRows(rows),
    '',
  ].join('\n')
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { syscall } = error as NodeJS.ErrnoException
  if (error instanceof UsageError || OPERATOR_ERRORS.has(error.name) || syscall !== undefined)
    return error.message
  return error.stack ?? error.message
}
