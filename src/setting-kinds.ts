/**
 * What settings are made of: an entry of the table, and what several of them allow. Values and functions; the entries are in
 * settings.ts and trino-settings.ts.
 */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'

/** What computed defaults and limits are taken from. */
export interface Machine {
  readonly cores: number
  /** Memory this process may use at most: the machine's, or that of its container. */
  readonly memoryBytes: number
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface Context {
  readonly machine: Machine
  /** Text of an earlier setting, from the environment or by default. @param name of its variable */
  text(name: string): string
}

export interface Setting<Value> {
  /** Name of the environment variable. */
  readonly name: string
  /** The default as help texts show it. */
  readonly default: string
  /** The default as text to parse, where it is computed. */
  readonly computeDefault?: (context: Context) => string
  /** Unit of the value; none for text. */
  readonly unit?: string
  readonly help: string
  /** What is allowed, a clause. */
  readonly allowed: string
  /** The value may hold a password: no message shows it. */
  readonly isSecret?: boolean
  /** @returns undefined when the text is not allowed */
  readonly parse: (text: string, context: Context) => Value | undefined
}

/** What is allowed, with the parser that holds to it. */
export type Accepted<Value> = Pick<Setting<Value>, 'allowed' | 'parse'>

/** Keeps the type of the value without repeating it in the table. */
export const setting = <Value>(entry: Setting<Value>): Setting<Value> => entry

/** Decimal whole numbers in a range: digits only, no sign, no space, no exponent. */
export function wholeNumber(min: number, max: number): Accepted<number> {
  return {
    allowed: `a whole number from ${min} to ${max}`,
    parse(text) {
      const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
  }
}

export function pathOf(kind: 'file' | 'folder'): Accepted<string> {
  return {
    allowed: `the path of a ${kind}, which may not exist yet`,
    parse: (text) => (isAbsentOr(kind, text) ? resolve(text) : undefined),
  }
}

function isAbsentOr(kind: 'file' | 'folder', path: string): boolean {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat === undefined || (kind === 'folder' ? stat.isDirectory() : stat.isFile())
  } catch {
    return false
  }
}
