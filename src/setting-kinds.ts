/** Types of settings, and parsers that several settings share. The settings are in settings.ts, trino-settings.ts and source-settings.ts. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'

export interface Machine {
  readonly cores: number
  readonly memoryBytes: number
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface Context {
  readonly machine: Machine
  /** @param name variable of a setting that is listed earlier @returns its text, from the environment or the default */
  text(name: string): string
}

export interface Setting<Value> {
  readonly name: string
  /** Default for help texts, and the text to parse without computeDefault. */
  readonly default: string
  /** Computes the default as text to parse. */
  readonly computeDefault?: (context: Context) => string
  readonly unit?: string
  readonly help: string
  /** Describes the allowed values, to follow "must be". */
  readonly allowed: string
  /** True if the value may contain a secret, which messages must not show. */
  readonly isSecret?: boolean
  /** @returns undefined if the text is invalid */
  readonly parse: (text: string, context: Context) => Value | undefined
}

export type Accepted<Value> = Pick<Setting<Value>, 'allowed' | 'parse'>

/** Infers the type of a setting's value, so that the table need not repeat it. */
export const setting = <Value>(entry: Setting<Value>): Setting<Value> => entry

/** Accepts integers in a range, written only with digits: no sign, space or exponent. */
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
