/**
 * Tools that agents call. Each calls the API, as any client with the same key could, and returns a small answer with labels, units, notes,
 * release, fingerprint, citation and link. API errors become answers with what is wrong and what is allowed. Not here: the protocol
 * (protocol.ts) and permissions, which the API decides by the key.
 */
import { type Api, ApiFailure, type Problem } from '../explorer/api.ts'
import { ANALYTICS_TOOLS } from './analytics-tools.ts'
import { describeCodes } from './codes.ts'
import { DIRECTORY_TOOLS } from './directory-tools.ts'
import type { Arguments, Tool } from './tool.ts'

export interface Context {
  readonly api: Api
  /** Scheme and host of links; '' when no server serves them. */
  readonly origin: string
  readonly version: string
}

export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
  readonly structuredContent?: object
  readonly isError?: true
}

const TOOLS: readonly Tool[] = [...ANALYTICS_TOOLS, ...DIRECTORY_TOOLS]

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

/** Codes may be numbers, and null counts as missing. */
const isValidText = (value: unknown, maxLength: number): boolean =>
  value === null || typeof value === 'number' || (typeof value === 'string' && value.length <= maxLength)

const textOf = (text: string): ToolResult['content'] => [{ type: 'text', text }]
const refuse = (text: string): ToolResult => ({ content: textOf(text), isError: true })

/** @returns null for an unknown tool */
export async function callTool(name: unknown, input: unknown, context: Context): Promise<ToolResult | null> {
  const tool = TOOLS.find((candidate) => candidate.name === name)
  if (tool === undefined) return null
  const names = Object.keys(tool.properties)
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return refuse(`The arguments of ${tool.name} are an object of ${names.join(', ')}.`)
  const unknown = Object.keys(input).find((argument) => !names.includes(argument))
  if (unknown !== undefined)
    return refuse(
      `${tool.name} does not take ${JSON.stringify(unknown.slice(0, 100))}; it takes ${names.join(', ')}.`,
    )
  const missing = tool.required.find((argument) => !Object.hasOwn(input, argument))
  if (missing !== undefined) return refuse(`${tool.name} needs ${missing}; it takes ${names.join(', ')}.`)
  const args = input as Arguments
  for (const [argument, { type, minimum = 0, maximum = 0, maxLength = 0 }] of Object.entries(
    tool.properties,
  )) {
    const value = args[argument]
    if (value === undefined) continue
    if (type === 'string' && !isValidText(value, maxLength))
      return refuse(`${argument} is a text of at most ${maxLength} characters.`)
    if (type !== 'integer') continue
    if (!Number.isInteger(value) || Number(value) < minimum || Number(value) > maximum)
      return refuse(`${argument} is a whole number from ${minimum} to ${maximum}.`)
  }
  try {
    const answer = await tool.call(args, context)
    // Older clients, and the models themselves, read the text.
    return { content: textOf(JSON.stringify(answer)), structuredContent: answer }
  } catch (error) {
    if (error instanceof ApiFailure)
      return refuse(
        [describeProblem(error.problem), ...(await findCodes(error.problem, args, context))].join('\n'),
      )
    throw error
  }
}

async function findCodes(
  { errors = [] }: Problem,
  { filters, expected_release_id }: Arguments,
  { api }: Context,
): Promise<string[]> {
  const indexes = errors.flatMap(({ pointer }) => /^\/filters\/(\d+)\/value/.exec(pointer ?? '')?.[1] ?? [])
  if (!Array.isArray(filters)) return []
  const rejected = [...new Set(indexes)].slice(0, 3)
  return (
    await Promise.all(
      rejected.map((index) => describeCodes(filters[Number(index)], api, expected_release_id)),
    )
  ).flat()
}

function describeProblem({ status, code, title, detail, errors = [] }: Problem): string {
  const lines = errors.map(({ pointer, parameter, message, allowed }) => {
    const place = parameter ?? pointer ?? ''
    return `- ${place === '' ? '' : `${place}: `}${message}${allowed === undefined ? '' : ` (${allowed.join(', ')})`}`
  })
  return [`${title} (${status}, ${code}). ${detail}`, ...lines].join('\n')
}
