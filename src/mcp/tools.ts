/**
 * The tools that agents call: each asks the API, as any client with the same key would, and makes of its answer one that is small
 * and says what it means: labels, units, notes, release, fingerprint, citation, link. A refusal is an answer, too: what is wrong, and
 * what is allowed. Not responsible for: the protocol, who may read what (the API decides by the key).
 */
import { type Api, ApiFailure, type Problem } from '../explorer/api.ts'
import { ANALYTICS_TOOLS } from './analytics-tools.ts'
import { describeCodes } from './codes.ts'
import { DIRECTORY_TOOLS } from './directory-tools.ts'
import type { Arguments, Tool } from './tool.ts'

/** What tools work with. */
export interface Context {
  readonly api: Api
  /** Scheme and host of links; '' where nobody serves them. */
  readonly origin: string
  /** Of the program. */
  readonly version: string
}

/** What tools/call answers. */
export interface Called {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
  /** The same answer, for programs; a refusal has none. */
  readonly structuredContent?: object
  readonly isError?: true
}

const TOOLS: readonly Tool[] = [...ANALYTICS_TOOLS, ...DIRECTORY_TOOLS]

/** @returns the tools as tools/list shows them */
export const describeTools = () =>
  TOOLS.map(({ name, title, description, properties, required, outputs }) => ({
    name,
    title,
    description,
    inputSchema: {
      type: 'object',
      properties,
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    },
    outputSchema: outputs,
    annotations: {
      title,
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
  }))

/** Codes may be written as numbers; null is as good as nothing. */
const isShort = (value: unknown, maxLength: number): boolean =>
  value === null || typeof value === 'number' || (typeof value === 'string' && value.length <= maxLength)

const textOf = (text: string): Called['content'] => [{ type: 'text', text }]
const refuse = (text: string): Called => ({ content: textOf(text), isError: true })

/** @returns null where there is no such tool */
export async function callTool(name: unknown, given: unknown, context: Context): Promise<Called | null> {
  const tool = TOOLS.find((own) => own.name === name)
  if (tool === undefined) return null
  const names = Object.keys(tool.properties)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return refuse(`The arguments of ${tool.name} are an object of ${names.join(', ')}.`)
  const unknown = Object.keys(given).find((argument) => !names.includes(argument))
  if (unknown !== undefined)
    return refuse(
      `${tool.name} does not take ${JSON.stringify(unknown.slice(0, 100))}; it takes ${names.join(', ')}.`,
    )
  const missing = tool.required.find((argument) => !Object.hasOwn(given, argument))
  if (missing !== undefined) return refuse(`${tool.name} needs ${missing}; it takes ${names.join(', ')}.`)
  const args = given as Arguments
  for (const [argument, { type, minimum = 0, maximum = 0, maxLength = 0 }] of Object.entries(
    tool.properties,
  )) {
    const value = args[argument]
    if (value === undefined) continue
    if (type === 'string' && !isShort(value, maxLength))
      return refuse(`${argument} is a text of at most ${maxLength} characters.`)
    if (type !== 'integer') continue
    if (!Number.isInteger(value) || Number(value) < minimum || Number(value) > maximum)
      return refuse(`${argument} is a whole number from ${minimum} to ${maximum}.`)
  }
  try {
    const answer = await tool.call(args, context)
    // Older clients, and models themselves, read the text.
    return { content: textOf(JSON.stringify(answer)), structuredContent: answer }
  } catch (error) {
    if (error instanceof ApiFailure)
      return refuse(
        [describeProblem(error.problem), ...(await findCodes(error.problem, args, context))].join('\n'),
      )
    throw error
  }
}

/** @returns what codes there are of names that filters have, where these were refused */
async function findCodes(
  { errors = [] }: Problem,
  { filters, expected_release_id }: Arguments,
  { api }: Context,
): Promise<string[]> {
  const places = errors.flatMap(({ pointer }) => /^\/filters\/(\d+)\/value/.exec(pointer ?? '')?.[1] ?? [])
  if (!Array.isArray(filters)) return []
  const refused = [...new Set(places)].slice(0, 3)
  return (
    await Promise.all(refused.map((place) => describeCodes(filters[Number(place)], api, expected_release_id)))
  ).flat()
}

/** A refusal of the API in lines: what is wrong, where, and what is allowed there. */
function describeProblem({ status, code, title, detail, errors = [] }: Problem): string {
  const places = errors.map(({ pointer, parameter, message, allowed }) => {
    const place = parameter ?? pointer ?? ''
    return `- ${place === '' ? '' : `${place}: `}${message}${allowed === undefined ? '' : ` (${allowed.join(', ')})`}`
  })
  return [`${title} (${status}, ${code}). ${detail}`, ...places].join('\n')
}
