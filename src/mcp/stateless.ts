/**
 * Revision 2026-07-28 of the Model Context Protocol, which has no handshake: every request names its version and what its client can
 * do, and headers of HTTP repeat the parts by which a proxy routes.
 *
 * In: a request and its headers. Out: whether it follows this revision, and what is wrong with it. Not responsible for: older
 * revisions, and what a method answers (protocol.ts).
 */
import type { IncomingHttpHeaders } from 'node:http'

/** The only version that requests without a handshake may name. */
export const STATELESS_VERSION = '2026-07-28'

/** Keys of `_meta`. */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'
export const SERVER_KEY = 'io.modelcontextprotocol/serverInfo'

/** The method that only this revision has. */
export const DISCOVER = 'server/discover'

const INVALID_PARAMS = -32602
const HEADER_MISMATCH = -32020
const UNSUPPORTED_VERSION = -32022

/** The answer to a list or to `server/discover` changes with the program alone and is the same for every key. */
export const CACHE_HINT = { ttlMs: 3_600_000, cacheScope: 'public' } as const

/** An error of JSON-RPC that HTTP answers with 400. */
export interface Fault {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export type Params = Readonly<Record<string, unknown>>

/** @returns the members of an object; none for any other value */
export const objectOf = (value: unknown): Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Params) : {}

/** @returns whether a message follows this revision; older clients name their version in `initialize` alone */
export function isStateless(message: unknown, headers: IncomingHttpHeaders): boolean {
  const { method, params } = objectOf(message)
  return (
    method === DISCOVER ||
    Object.hasOwn(objectOf(objectOf(params)._meta), VERSION_KEY) ||
    headers['mcp-protocol-version'] === STATELESS_VERSION
  )
}

/** @returns what is wrong with a request of this revision before its method is looked at; null where nothing is */
export function findFault(method: string, params: unknown, headers: IncomingHttpHeaders): Fault | null {
  const { _meta, name } = objectOf(params)
  const { [VERSION_KEY]: version, [CAPABILITIES_KEY]: capabilities } = objectOf(_meta)
  if (typeof version !== 'string') return missingKey(VERSION_KEY, 'a string')
  const differing = (header: string, value: string): Fault => ({
    code: HEADER_MISMATCH,
    message: `The header ${header} must be ${JSON.stringify(value.slice(0, 100))}, as the body says.`,
  })
  if (headers['mcp-protocol-version'] !== version) return differing('MCP-Protocol-Version', version)
  if (version !== STATELESS_VERSION)
    return {
      code: UNSUPPORTED_VERSION,
      message: `Requests without a handshake name version ${STATELESS_VERSION}; older versions begin with initialize.`,
      data: { supported: [STATELESS_VERSION], requested: version },
    }
  if (typeof capabilities !== 'object' || capabilities === null || Array.isArray(capabilities))
    return missingKey(CAPABILITIES_KEY, 'an object')
  if (headers['mcp-method'] !== method) return differing('Mcp-Method', method)
  if (method === 'tools/call' && typeof name === 'string' && decodeHeader(headers['mcp-name']) !== name)
    return differing('Mcp-Name', name)
  return null
}

const missingKey = (key: string, kind: string): Fault => ({
  code: INVALID_PARAMS,
  message: `params._meta of version ${STATELESS_VERSION} must have ${key}, ${kind}.`,
})

/** Characters that a header carries as they are, at a length that any server takes. */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/
const ENCODED = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** @returns the value that a header stands for; undefined where it is absent or not valid Base64 */
function decodeHeader(value: string | readonly string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined
  const [, encoded] = ENCODED.exec(value) ?? []
  if (encoded === undefined) return value
  return BASE64.test(encoded) ? Buffer.from(encoded, 'base64').toString() : undefined
}

/**
 * @param message a request as standard input has it, without headers
 * @returns the headers that repeat it over HTTP; none for a message of an older revision
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
  // What no header can carry is left out, and the server answers that the header is missing.
  if (PLAIN.test(version)) headers['mcp-protocol-version'] = version
  if (PLAIN.test(method)) headers['mcp-method'] = method
  if (method === 'tools/call' && typeof name === 'string' && name.length <= 200)
    headers['mcp-name'] =
      PLAIN.test(name) && !ENCODED.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
  return headers
}
