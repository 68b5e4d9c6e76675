/** What a tool is, and what is said of every answer. Types and pure functions. */
import type { Meta } from '../explorer/api.ts'
import { RELEASE_ID_MAX, SEARCH_MAX } from '../text-limits.ts'
import type { Outputs } from './output-schemas.ts'
import type { Context } from './tools.ts'

export type Arguments = Readonly<Record<string, unknown>>

/** JSON schema of an argument. */
export interface Property {
  readonly type?: string | readonly string[]
  readonly description: string
  readonly minimum?: number
  readonly maximum?: number
  /** Characters of a text. */
  readonly maxLength?: number
  readonly [more: string]: unknown
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly properties: Readonly<Record<string, Property>>
  readonly required: readonly string[]
  readonly outputs: Outputs
  /** @returns an answer as `outputs` describes it; @throws ApiFailure */
  readonly call: (args: Arguments, context: Context) => Promise<object>
}

/** A text of the length that is searched with at the most; names and codes are shorter. */
export const text = (description: string, maxLength = SEARCH_MAX): Property => ({
  type: 'string',
  maxLength,
  description,
})
export const releaseId = (description: string): Property => text(description, RELEASE_ID_MAX)
export const whole = (minimum: number, maximum: number, description: string): Property => ({
  type: 'integer',
  minimum,
  maximum,
  description,
})
export const texts = (description: string): Property => ({
  type: 'array',
  items: { type: 'string' },
  description,
})

/** Where an answer is from: the release, whether its data are invented, and its months. */
export const originOfAnswer = ({ release_id, synthetic, reference_period }: Meta) => ({
  release_id,
  ...(reference_period === undefined || reference_period === null ? {} : { reference_period }),
  ...(synthetic === true ? { synthetic, warning: 'Invented data of a demonstration.' } : {}),
})

/** @returns an address below the API's root, with its parameters in one order */
export function addressOf(path: string, params: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(params).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, String(value)]],
  )
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`
}
