/**
 * POST /mcp: the Model Context Protocol over streamable HTTP, without sessions and without streams: a message in, its answer out.
 * What tools ask goes the way of every request, in-process and with the key of whoever called: its capabilities, rate and limits hold.
 * Not responsible for: the protocol and the tools (src/mcp).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError, both } from '../errors.ts'
import { answerMessage, PROTOCOL_VERSIONS } from '../mcp/protocol.ts'
import { apiOf, type Inject } from './explorer.ts'
import { originOf } from './origin.ts'
import { VERSION } from './route.ts'
import type { ApiResponse } from './send.ts'

export const MCP_PATH = '/mcp'

/** What the transport adds to a message. */
export interface McpRequest {
  readonly headers: IncomingHttpHeaders
  /** The message, parsed. */
  readonly message: unknown
  readonly inject: Inject
  readonly corsOrigins: readonly string[]
}

/** @throws AppError for a page of another origin, or a version of the protocol that nobody speaks here */
export async function answerMcp({ headers, message, inject, corsOrigins }: McpRequest): Promise<ApiResponse> {
  const origin = originOf(headers)
  checkOrigin(headers.origin, origin, corsOrigins)
  const version = headers['mcp-protocol-version']
  if (version !== undefined && !PROTOCOL_VERSIONS.some((known) => known === version))
    throw new AppError('invalid_request', {
      errors: [
        {
          parameter: 'MCP-Protocol-Version',
          message: both('deve ser uma das versões permitidas', 'must be one of the allowed versions'),
          allowed: PROTOCOL_VERSIONS,
        },
      ],
    })
  const api = apiOf(inject, headers.authorization ?? '', headers['accept-language'] ?? 'pt')
  const answer = await answerMessage(message, { api, origin, version: VERSION })
  const never = { 'cache-control': 'no-store' }
  return answer === null
    ? { status: 202, headers: never, body: { kind: 'none' } }
    : {
        status: 200,
        headers: never,
        body: { kind: 'content', type: 'application/json', content: JSON.stringify(answer) },
      }
}

/** A page that a browser was led to this address with may be anybody's, so it must be the server's own, or one that is allowed. */
function checkOrigin(of: string | undefined, own: string, allowed: readonly string[]): void {
  if (of === undefined || allowed.includes('*') || allowed.includes(of)) return
  if (own !== '' && URL.canParse(of) && new URL(of).host === new URL(own).host) return
  throw new AppError('forbidden', {
    detail: both(
      'Páginas desta origem não podem usar o serviço (SUS_CORS_ORIGINS).',
      'Pages of this origin may not use the service (SUS_CORS_ORIGINS).',
    ),
  })
}
