/**
 * POST /mcp: the Model Context Protocol over streamable HTTP, without sessions and without streams: a message in, its answer out.
 * What tools ask goes the way of every request, in-process and with the key of whoever called: its capabilities, rate and limits hold.
 * Not responsible for: the protocol and the tools (src/mcp).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { AppError, both } from '../errors.ts'
import { answerMessage, PROTOCOL_VERSIONS } from '../mcp/protocol.ts'
import { isStateless } from '../mcp/stateless.ts'
import type { ApiResponse } from './connection/send.ts'
import { apiOf, type Inject } from './explorer.ts'
import { originOf } from './request/origin.ts'
import { VERSION } from './route.ts'

export const MCP_PATH = '/mcp'

/** What the transport adds to a message. */
export interface McpRequest {
  readonly headers: IncomingHttpHeaders
  /** The message, parsed. */
  readonly message: unknown
  readonly inject: Inject
  readonly corsOrigins: readonly string[]
  /** Names that the server is reached by; null: any, as long as no page of a browser asks. */
  readonly hosts: readonly string[] | null
}

/** @throws AppError for a foreign name, a page of another origin, or an older client's version that is none */
export async function answerMcp({
  headers,
  message,
  inject,
  corsOrigins,
  hosts,
}: McpRequest): Promise<ApiResponse> {
  const origin = originOf(headers)
  checkHost(headers.host, hosts)
  checkOrigin(headers, corsOrigins, hosts ?? [])
  const version = headers['mcp-protocol-version']
  const isVersion = PROTOCOL_VERSIONS.some((supported) => supported === version)
  if (version !== undefined && !isVersion && !isStateless(message, headers))
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
  const reply = await answerMessage(message, headers, { api, origin, version: VERSION })
  const never = { 'cache-control': 'no-store' }
  return reply === null
    ? { status: 202, headers: never, body: { kind: 'none' } }
    : {
        status: reply.status,
        headers: never,
        body: { kind: 'content', type: 'application/json', content: JSON.stringify(reply.answer) },
      }
}

/** Names of this machine, as a Host header writes them. */
const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/**
 * @param host that the server listens on @param allowed names that the operator allows
 * @returns names that POST /mcp is answered under; null for any, where the server is open to the network and no name is set
 */
export function mcpHosts(host: string, allowed: readonly string[]): readonly string[] | null {
  const isLoopback = /^(localhost|127\..*|::1)$/.test(host)
  if (!isLoopback && allowed.length === 0) return null
  return [...LOOPBACK_NAMES, host, ...allowed]
}

/** @returns the name in a Host header or an address, without its port, in lower case */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '')
const IP_LITERAL = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/

/**
 * A page of a foreign name that leads to this machine (DNS rebinding) sends that name. Only a browser is led so, and it always sends one.
 * @throws AppError 'forbidden'
 */
function checkHost(host: string | undefined, hosts: readonly string[] | null): void {
  if (hosts === null || host === undefined || host === '' || hosts.includes(nameOf(host))) return
  throw new AppError('forbidden', {
    detail: both(
      'Este nome (Host) não é um dos nomes do servidor (SUS_ALLOWED_HOSTS).',
      'This name (Host) is not one of the names of the server (SUS_ALLOWED_HOSTS).',
    ),
  })
}

/**
 * Takes pages of the origins that may read answers, and pages of the server itself under a name that is known to be its own: one of
 * `hosts`, this machine, or an address of the network, to which no name was led.
 * @throws AppError 'forbidden'
 */
function checkOrigin(
  headers: IncomingHttpHeaders,
  allowed: readonly string[],
  hosts: readonly string[],
): void {
  const { origin, host = '' } = headers
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return
  const name = nameOf(host)
  const isOwnName = LOOPBACK_NAMES.includes(name) || IP_LITERAL.test(name) || hosts.includes(name)
  if (
    isOwnName &&
    URL.canParse(origin) &&
    new URL(origin).host === host.toLowerCase().replace(/:(80|443)$/, '')
  )
    return
  throw new AppError('forbidden', {
    detail: both(
      'Páginas desta origem não podem usar o serviço (SUS_CORS_ORIGINS, SUS_ALLOWED_HOSTS).',
      'Pages of this origin may not use the service (SUS_CORS_ORIGINS, SUS_ALLOWED_HOSTS).',
    ),
  })
}
