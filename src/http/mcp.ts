/**
 * POST /mcp: Model Context Protocol over streamable HTTP, without sessions or streams. One message comes in, one answer goes out. Tools
 * call the API in-process with the caller's key, so its capabilities, rate and limits apply. The protocol and the tools are in src/mcp.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { AppError, both } from '../errors.ts'
import { answerMessage, PROTOCOL_VERSIONS } from '../mcp/protocol.ts'
import { isStateless } from '../mcp/stateless.ts'
import type { ApiResponse } from './connection/send.ts'
import { apiOf, type Inject } from './explorer.ts'
import { abortSignalOf, type Output } from './request/mount.ts'
import { originOf } from './request/origin.ts'
import { VERSION } from './route.ts'

export const MCP_PATH = '/mcp'

export interface McpServices {
  readonly corsOrigins: readonly string[]
  /** Host names accepted by POST /mcp; any by default. */
  readonly mcpHosts?: readonly string[] | null
  readonly parseJson: (text: string) => unknown
}

/** Mounts POST /mcp. It is not in the API document, because its messages follow their own protocol. */
export function mountMcp(app: FastifyInstance, services: McpServices, output: Output): void {
  app.post(
    MCP_PATH,
    { onRequest: (request, _reply, done) => output.precheck(request, MCP_PATH, 1, done) },
    (request, reply) => {
      reply.hijack()
      const signal = abortSignalOf(reply)
      const respondToMcp = async (): Promise<ApiResponse> =>
        answerMcp({
          headers: request.headers,
          message: services.parseJson(request.text ?? ''),
          inject: (inner) => app.inject({ ...inner, signal }),
          corsOrigins: services.corsOrigins,
          hosts: services.mcpHosts ?? null,
        })
      respondToMcp().then(
        (answer) => output.send(request, reply, answer),
        (error: unknown) => output.fail(request, reply, error),
      )
    },
  )
}

export interface McpRequest {
  readonly headers: IncomingHttpHeaders
  readonly message: unknown
  readonly inject: Inject
  readonly corsOrigins: readonly string[]
  /** Accepted host names; null accepts any, unless a browser page calls. */
  readonly hosts: readonly string[] | null
}

/** @throws AppError for a foreign host name, a page of another origin, or an unsupported protocol version */
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
  const replyHeaders = { 'cache-control': 'no-store' }
  return reply === null
    ? { status: 202, headers: replyHeaders, body: { kind: 'none' } }
    : {
        status: reply.status,
        headers: replyHeaders,
        body: { kind: 'content', type: 'application/json', content: JSON.stringify(reply.answer) },
      }
}

const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/**
 * @param host address that the server listens on
 * @param allowed names that the operator allows
 * @returns host names accepted by POST /mcp; null (any) when the server is open to the network and no name is set
 */
export function mcpHosts(host: string, allowed: readonly string[]): readonly string[] | null {
  const isLoopback = /^(localhost|127\..*|::1)$/.test(host)
  if (!isLoopback && allowed.length === 0) return null
  // A Host header writes an IPv6 address in brackets.
  const address = host.includes(':') ? `[${host}]` : host
  return [...LOOPBACK_NAMES, address.toLowerCase(), ...allowed]
}

/** @returns host name without its port, in lower case */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, '')
const IP_LITERAL = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/

/** Rejects DNS rebinding: only a browser can be led here by a foreign name, and it always sends the name. @throws AppError 'forbidden' */
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
 * Accepts pages of the allowed origins and pages of this server. The server's own name must be one of `hosts`, a name of this machine, or
 * an IP address, which DNS rebinding cannot produce.
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
  const isServerName = LOOPBACK_NAMES.includes(name) || IP_LITERAL.test(name) || hosts.includes(name)
  if (
    isServerName &&
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
