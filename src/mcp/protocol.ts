/**
 * The Model Context Protocol, as far as a server of tools without a session needs it: one JSON-RPC message in, one out.
 *
 * In: a message as it came, and how to ask the API. Out: the message that answers it; null for notifications, which have no answer.
 * Nothing is remembered between messages, so any instance may answer any of them. Not responsible for: how messages arrive (POST /mcp
 * in http/mcp.ts, standard input in tools/commands/mcp.ts), what tools answer (tools.ts).
 */
import { type Context, callTool, describeTools } from './tools.ts'

/** Versions of the protocol whose messages are understood, the newest first. */
export const PROTOCOL_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

/** Codes of JSON-RPC. */
export const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602

type Id = string | number | null
export type Answer = {
  readonly jsonrpc: '2.0'
  readonly id: Id
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const INSTRUCTIONS = `Exact numbers of Brazil's public-health data (facilities, beds, equipment, services, admissions, outpatient production, transfers, population) from immutable releases. Ask catalog for metrics and dimensions, members for codes, then query. Cite the numbers with release_id, fingerprint and citation of the answer. null is not zero: it was not collected or has no denominator; notes say which. Where synthetic is true the numbers are invented.`

/** Parameters of an object, whatever came. */
const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {}

export const refusal = (id: Id, code: number, message: string, data?: unknown): Answer => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) },
})

/** @returns null where there is nothing to answer */
export async function answerMessage(message: unknown, context: Context): Promise<Answer | null> {
  const { jsonrpc, id, method, params, ...rest } = objectOf(message)
  const isId = typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))
  // The answer to a request of ours, of which there are none.
  if (method === undefined && isId && ('result' in rest || 'error' in rest)) return null
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !(isId || id === undefined))
    return refusal(
      isId ? id : null,
      INVALID_REQUEST,
      'One JSON-RPC 2.0 message is taken: {"jsonrpc":"2.0","id":1,"method":"tools/list"}.',
    )
  if (!isId) return null
  const { name, arguments: given, protocolVersion } = objectOf(params)
  const result = (value: unknown): Answer => ({ jsonrpc: '2.0', id, result: value })
  switch (method) {
    case 'initialize':
      return result({
        protocolVersion:
          PROTOCOL_VERSIONS.find((version) => version === protocolVersion) ?? PROTOCOL_VERSIONS[0],
        capabilities: { tools: {} },
        serverInfo: { name: 'sus-data', title: 'sus-data', version: context.version },
        instructions: INSTRUCTIONS,
      })
    case 'ping':
      return result({})
    case 'tools/list':
      return result({ tools: describeTools() })
    case 'tools/call': {
      const called = await callTool(name, given ?? {}, context)
      return called === null
        ? refusal(
            id,
            INVALID_PARAMS,
            `There is no tool ${JSON.stringify(String(name).slice(0, 100))}; tools: ${describeTools()
              .map((tool) => tool.name)
              .join(', ')}.`,
          )
        : result(called)
    }
    default:
      return refusal(
        id,
        METHOD_NOT_FOUND,
        'Methods are initialize, ping, tools/list and tools/call; this server has no resources and no prompts.',
      )
  }
}
