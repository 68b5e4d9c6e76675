/**
 * Model Context Protocol for a server that only has tools and keeps no sessions. In: one JSON-RPC message with its headers, and access to
 * the API. Out: the response and its HTTP status, or null for notifications. Nothing is kept between messages, so any instance can answer
 * any of them. Not here: transports (POST /mcp in http/mcp.ts, standard input in tools/commands/mcp.ts), requirements of revision
 * 2026-07-28 (stateless.ts), and the tools (tools.ts).
 */
import type { IncomingHttpHeaders } from 'node:http'
import {
  CACHE_HINT,
  DISCOVER,
  findFault,
  isStateless,
  objectOf,
  type Params,
  SERVER_KEY,
  STATELESS_VERSION,
} from './stateless.ts'
import { type Context, callTool, describeTools } from './tools.ts'

/** Versions that `initialize` accepts, newest first. */
const HANDSHAKE_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
export const PROTOCOL_VERSIONS = [STATELESS_VERSION, ...HANDSHAKE_VERSIONS] as const

export const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602

type Id = string | number | null
export type Answer = {
  readonly jsonrpc: '2.0'
  readonly id: Id
  readonly result?: object
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

const INSTRUCTIONS = `Exact numbers of Brazil's public-health data (facilities, beds, equipment, services, admissions, outpatient production, transfers, population) from immutable releases. Ask catalog for metrics and dimensions, members for codes, then query. Cite the numbers with release_id, fingerprint and citation of the answer. null is not zero: it was not collected or has no denominator; notes say which. Where synthetic is true the numbers are invented.`

export const refusal = (id: Id, code: number, message: string, data?: unknown): Answer => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) },
})

export interface Reply {
  readonly answer: Answer
  readonly status: 200 | 400 | 404
}

/** @returns null for messages without a response */
export async function answerMessage(
  message: unknown,
  headers: IncomingHttpHeaders,
  context: Context,
): Promise<Reply | null> {
  const { jsonrpc, id, method, params, ...rest } = objectOf(message)
  const isId = typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id))
  // Ignore responses to requests of the server, because it sends none.
  if (method === undefined && isId && ('result' in rest || 'error' in rest)) return null
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !(isId || id === undefined))
    return {
      answer: refusal(
        isId ? id : null,
        INVALID_REQUEST,
        'One JSON-RPC 2.0 message is taken: {"jsonrpc":"2.0","id":1,"method":"tools/list"}.',
      ),
      status: 200,
    }
  if (!isId) return null
  if (!isStateless(message, headers))
    return { answer: await answerRequest(id, method, objectOf(params), context), status: 200 }
  const fault = findFault(method, params, headers)
  return fault === null
    ? answerStateless(id, method, objectOf(params), context)
    : { answer: refusal(id, fault.code, fault.message, fault.data), status: 400 }
}

const answerOf = (id: Id, result: object): Answer => ({ jsonrpc: '2.0', id, result })

const serverInfo = ({ version }: Context) => ({ name: 'sus-data', title: 'sus-data', version })

async function answerRequest(id: Id, method: string, params: Params, context: Context): Promise<Answer> {
  switch (method) {
    case 'initialize':
      return answerOf(id, {
        protocolVersion:
          HANDSHAKE_VERSIONS.find((version) => version === params.protocolVersion) ?? HANDSHAKE_VERSIONS[0],
        capabilities: { tools: {} },
        serverInfo: serverInfo(context),
        instructions: INSTRUCTIONS,
      })
    case 'ping':
      return answerOf(id, {})
    case 'tools/list':
      return answerOf(id, { tools: describeTools() })
    case 'tools/call':
      return answerCall(id, params, context)
    default:
      return refusal(
        id,
        METHOD_NOT_FOUND,
        'Methods are initialize, ping, tools/list and tools/call; this server has no resources and no prompts.',
      )
  }
}

/** Answers a request of the revision without a handshake. Each result states its type and server; lists state how long they stay fresh. */
async function answerStateless(id: Id, method: string, params: Params, context: Context): Promise<Reply> {
  const complete = (result: object): Answer =>
    answerOf(id, { resultType: 'complete', ...result, _meta: { [SERVER_KEY]: serverInfo(context) } })
  switch (method) {
    case DISCOVER:
      return {
        answer: complete({
          supportedVersions: [STATELESS_VERSION],
          capabilities: { tools: {} },
          instructions: INSTRUCTIONS,
          ...CACHE_HINT,
        }),
        status: 200,
      }
    case 'tools/list':
      return { answer: complete({ tools: describeTools(), ...CACHE_HINT }), status: 200 }
    case 'tools/call': {
      const answer = await answerCall(id, params, context)
      return { answer: answer.result === undefined ? answer : complete(answer.result), status: 200 }
    }
    default:
      return {
        answer: refusal(
          id,
          METHOD_NOT_FOUND,
          `Methods are ${DISCOVER}, tools/list and tools/call; this server has no resources and no prompts.`,
        ),
        status: 404,
      }
  }
}

async function answerCall(id: Id, params: Params, context: Context): Promise<Answer> {
  const { name } = params
  const result = await callTool(name, params.arguments ?? {}, context)
  if (result !== null) return answerOf(id, result)
  const names = describeTools().map((tool) => tool.name)
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 100)) : 'whose name is no text'
  return refusal(id, INVALID_PARAMS, `There is no tool ${shown}; tools: ${names.join(', ')}.`)
}
