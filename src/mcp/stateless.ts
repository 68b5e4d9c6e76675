/**
 * Revision 2026-07-28 of the Model Context Protocol. It has no handshake: every request names its version and the client's capabilities,
 * and HTTP headers repeat the fields that proxies route by. In: a request and its headers. Out: whether it follows this revision, and what
 * is wrong with it. Not here: older revisions and the methods themselves (protocol.ts).
 */
import type { IncomingHttpHeaders } from 'node:http'

export const STATELESS_VERSION = '2026-07-28'

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'
export const SERVER_KEY = 'io.modelcontextprotocol/serverInfo'

export const DISCOVER = 'server/discover'

const INVALID_PARAMS = -32602
const HEADER_MISMATCH = -32020
const UNSUPPORTED_VERSION = -32022

/** Lists and `server/discover` change only with the program and are the same for every key. */
export const CACHE_HINT = { ttlMs: 3_600_000, cacheScope: 'public' } as const

export interface Fault {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export type Params = Readonly<Record<string, unknown>>

export const objectOf = (value: unknown): Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Params) : {}

/** @returns whether a message follows this revision; older clients name their version in `initialize` only */
export function isStateless(message: unknown, headers: IncomingHttpHeaders): boolean {
  const { method, params } = objectOf(message)
  return (
    method === DISCOVER ||
    Object.hasOwn(objectOf(objectOf(params)._meta), VERSION_KEY) ||
    headers['mcp-protocol-version'] === STATELESS_VERSION
  )
}

/** @returns the error of a request of this revision, before its method is considered; null for a valid request */
export function findFault(method: string, params: unknown, headers: IncomingHttpHeaders): Fault | null {
  const { _meta, name } = objectOf(params)
  const { [VERSION_KEY]: version, [CAPABILITIES_KEY]: capabilities } = objectOf(_meta)
  if (typeof version !== 'string') return missingKey(VERSION_KEY, 'a string')
  const headerMismatch = (header: string, value: string): Fault => ({
    code: HEADER_MISMATCH,
    message: `The header ${header} must be ${JSON.stringify(value.slice(0, 100))}, as the body says.`,
  })
  if (headers['mcp-protocol-version'] !== version) return headerMismatch('MCP-Protocol-Version', version)
  if (version !== STATELESS_VERSION)
    return {
      code: UNSUPPORTED_VERSION,
      message: `Requests without a handshake name version ${STATELESS_VERSION}; older versions begin with initialize.`,
      data: { supported: [STATELESS_VERSION], requested: version },
    }
  if (typeof capabilities !== 'object' || capabilities === null || Array.isArray(capabilities))
    return missingKey(CAPABILITIES_KEY, 'an object')
  if (headers['mcp-method'] !== method) return headerMismatch('Mcp-Method', method)
  if (method === 'tools/call' && typeof name === 'string' && decodeHeader(headers['mcp-name']) !== name)
    return headerMismatch('Mcp-Name', name)
  return null
}

const missingKey = (key: string, kind: string): Fault => ({
  code: INVALID_PARAMS,
  message: `params._meta of version ${STATELESS_VERSION} must have ${key}, ${kind}.`,
})

/** Text that a header can carry unencoded, of a length that any server accepts. */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/
const ENCODED = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** @returns the decoded header; undefined when it is missing or not valid base64 */
function decodeHeader(value: string | readonly string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  const [, encoded] = ENCODED.exec(value) ?? []
  if (encoded === undefined) return value
  return BASE64.test(encoded) ? Buffer.from(encoded, 'base64').toString() : undefined
}

/**
 * @param message a request from standard input, which has no headers
 * @returns the headers that repeat its fields over HTTP; none for older revisions
 */
export function headersOf(message: {
  readonly method?: unknown
  readonly params?: unknown
}): Record<string, string> {
  const { method, params } = message
  const { _meta, name } = objectOf(params)
  const { [VERSION_KEY]: version } = objectOf(_meta)
  const headers: Record<string, string> = {}
  if (typeof version !== 'string' || typeof method !== 'string') return headers
  // Leave out values that a header cannot carry. The server then reports the missing header.
  if (PLAIN.test(version)) headers['mcp-protocol-version'] = version
  if (PLAIN.test(method)) headers['mcp-method'] = method
  if (method === 'tools/call' && typeof name === 'string' && name.length <= 200)
    headers['mcp-name'] =
      PLAIN.test(name) && !ENCODED.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
  return headers
}
