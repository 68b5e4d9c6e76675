/** Types of tools, and helpers for their arguments and answers. Pure. */
import type { Meta, Note } from '../explorer/api.ts'
import { RELEASE_ID_MAX, SEARCH_MAX } from '../text-limits.ts'
import type { Outputs } from './output-schemas.ts'
import type { Context } from './tools.ts'

export type Arguments = Readonly<Record<string, unknown>>

export interface Property {
  readonly type?: string | readonly string[]
  readonly description: string
  readonly minimum?: number
  readonly maximum?: number
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
  /** @returns an answer that matches `outputs`; @throws ApiFailure */
  readonly call: (args: Arguments, context: Context) => Promise<object>
}

/** A string argument. The default limit is that of searches, because names and codes are shorter. */
export const text = (description: string, maxLength = SEARCH_MAX): Property => ({
  type: 'string',
  maxLength,
  description,
})
export const releaseId = (description: string): Property => text(description, RELEASE_ID_MAX)
export const integer = (minimum: number, maximum: number, description: string): Property => ({
  type: 'integer',
  minimum,
  maximum,
  description,
})
export const strings = (description: string): Property => ({
  type: 'array',
  items: { type: 'string' },
  description,
})

/** Keeps code and sentence of notes. The sentence has the parameters, whose lists of months and states would be too long here. */
export const notesOf = ({ notes = [] }: { readonly notes?: readonly Note[] }) =>
  notes.map(({ code, message }) => ({ code, message }))

export const originOfAnswer = ({ release_id, synthetic, reference_period }: Meta) => ({
  release_id,
  ...(reference_period === undefined || reference_period === null ? {} : { reference_period }),
  ...(synthetic === true ? { synthetic, warning: 'Invented data of a demonstration.' } : {}),
})

/** @returns a text as one part of a path; half a surrogate pair, which no address holds, becomes U+FFFD */
export const pathPart = (value: unknown): string => encodeURIComponent(Buffer.from(String(value)).toString())

/** @returns a path with query parameters, in the order of `params` */
export function addressOf(path: string, params: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(params).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, String(value)]],
  )
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`
}
