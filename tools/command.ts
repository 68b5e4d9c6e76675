/**
 * What a command of `sus-data` is, and its help. Types and pure functions; cli.ts runs commands.
 *
 * A command declares its options once: parsing, help and the list in "unknown option" all come from that table.
 */
export interface Option {
  readonly type: 'string' | 'boolean'
  readonly help: string
  /** Placeholder of the value in the help, e.g. DIR. */
  readonly value?: string
}

export interface ParsedArgs {
  /** Options of the call. */
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  readonly positionals: readonly string[]
}

export interface Command {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** Ways to call it, without `sus-data`. */
  readonly usage: readonly string[]
  readonly options: Readonly<Record<string, Option>>
  /** @returns the exit code; @throws UsageError, or an error whose message is for the operator */
  run(args: ParsedArgs): Promise<number>
}

/** A call that cannot be understood: one line with what is allowed; exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

const HELP = { type: 'boolean', help: 'Show this help.' } as const satisfies Option

/** @returns the value of a text option, or undefined when the call has none */
export function textOption(args: ParsedArgs, name: string): string | undefined {
  const value = args.values[name]
  return typeof value === 'string' ? value : undefined
}

/** @returns a number in decimal digits, or undefined when the call has none; @throws UsageError */
export function numberOption(
  args: ParsedArgs,
  name: string,
  range: { min: number; max: number; whole: boolean },
): number | undefined {
  const text = textOption(args, name)
  if (text === undefined) return undefined
  const value = (range.whole ? /^\d{1,15}$/ : /^\d{1,15}(\.\d{1,9})?$/).test(text) ? Number(text) : Number.NaN
  if (value >= range.min && value <= range.max) return value
  const kind = range.whole ? 'a whole number' : 'a number'
  throw new UsageError(
    `--${name} is ${JSON.stringify(text)}, but must be ${kind} from ${range.min} to ${range.max}`,
  )
}

type ParseOptions = Record<string, { type: 'string' | 'boolean'; short?: string; multiple?: false }>

/** @returns options as node:util's parseArgs wants them, with --help */
export function parseConfig(options: Command['options']): ParseOptions {
  return Object.fromEntries(
    Object.entries({ ...options, help: HELP }).map(([name, { type }]) => [
      name,
      name === 'help' ? { type, short: 'h' } : { type },
    ]),
  )
}

/** @returns names of the options as they are typed, --help included */
export const optionNames = (options: Command['options']): string =>
  [...Object.keys(options), 'help'].map((name) => `--${name}`).join(', ')

/** @returns the help of one command, lines up to 110 characters */
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

/** @returns lines of two columns */
export function alignRows(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
