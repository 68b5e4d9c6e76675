/**
 * The type of a `sus-data` command, its option parsing and its help. Pure; cli.ts runs commands.
 * Each command declares its options once. Parsing, help and the list in "unknown option" all use that table.
 */
export interface Option {
  readonly type: 'string' | 'boolean'
  readonly help: string
  /** Placeholder of the value in the help, for example DIR. */
  readonly value?: string
}

export interface ParsedArgs {
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  readonly positionals: readonly string[]
}

export interface Command {
  readonly name: string
  readonly summary: string
  /** Forms of the call, without `sus-data`. */
  readonly usage: readonly string[]
  readonly options: Readonly<Record<string, Option>>
  /** @returns the exit code; @throws UsageError, or an error whose message is for the operator */
  run(args: ParsedArgs): Promise<number>
}

/** Reports an invalid call in one line with the allowed values. The exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

const HELP = { type: 'boolean', help: 'Show this help.' } as const satisfies Option

export function textOption(args: ParsedArgs, name: string): string | undefined {
  const value = args.values[name]
  return typeof value === 'string' ? value : undefined
}

export function numberOption(
  args: ParsedArgs,
  name: string,
  range: { min: number; max: number; integer: boolean },
): number | undefined {
  const text = textOption(args, name)
  if (text === undefined) return undefined
  const value = (range.integer ? /^\d{1,15}$/ : /^\d{1,15}(\.\d{1,9})?$/).test(text)
    ? Number(text)
    : Number.NaN
  if (value >= range.min && value <= range.max) return value
  const kind = range.integer ? 'a whole number' : 'a number'
  throw new UsageError(
    `--${name} is ${JSON.stringify(text)}, but must be ${kind} from ${range.min} to ${range.max}`,
  )
}

type ParseOptions = Record<string, { type: 'string' | 'boolean'; short?: string; multiple?: false }>

/** @returns the options in the form of node:util's parseArgs, with --help */
export function parseConfig(options: Command['options']): ParseOptions {
  return Object.fromEntries(
    Object.entries({ ...options, help: HELP }).map(([name, { type }]) => [
      name,
      name === 'help' ? { type, short: 'h' } : { type },
    ]),
  )
}

export const optionNames = (options: Command['options']): string =>
  [...Object.keys(options), 'help'].map((name) => `--${name}`).join(', ')

/** @returns the help of one command, with lines up to 110 characters */
export function commandHelp(command: Command): string {
  const rows = Object.entries({ ...command.options, help: HELP }).map(
    ([name, option]: [string, Option]): [string, string] => [
      option.value === undefined ? `--${name}` : `--${name} ${option.value}`,
      option.help,
    ],
  )
  const usage = command.usage.map((line) => `  sus-data ${line}`)
  return [command.summary, '', 'Usage:', ...usage, '', 'Options:', ...alignRows(rows), ''].join('\n')
}

export function alignRows(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
