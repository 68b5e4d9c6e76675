/**
 * Signed links that carry read access in the parameter access_token, for programs that accept an address but no header.
 *
 * Input: a key id, an address, an expiry time. Output: a token that is valid for exactly that address (path and parameters), or for
 * everything below one release. It is valid until it expires or its key becomes invalid. The token contains no secret of the key.
 * The server's secret signs it (HMAC-SHA-256), so it cannot be extended to other addresses, and nothing is stored. Anybody with the
 * link can read what it covers. Routes decide what the key itself may read.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Key, KeyStore } from './key-store.ts'
import { KEY_ID } from './key-text.ts'
import { KeysError } from './keys-error.ts'

export const LINK_PARAMETER = 'access_token'

/** Response formats that a link can request in place of an Accept header, by their letter in the token. */
const FORMS = {
  n: { name: 'any', accept: null },
  j: { name: 'json', accept: 'application/json' },
  c: { name: 'csv', accept: 'text/csv' },
  s: { name: 'json-stat', accept: 'application/vnd.json-stat+json' },
  a: { name: 'arrow', accept: 'application/vnd.apache.arrow.stream' },
  g: { name: 'geojson', accept: 'application/geo+json' },
} as const
type FormLetter = keyof typeof FORMS
export type LinkForm = (typeof FORMS)[FormLetter]['name']
export const LINK_FORMS: readonly LinkForm[] = Object.values(FORMS).map(({ name }) => name)

/** address: one path with its parameters; release: everything below /v1/releases/ID/. */
export const LINK_SCOPES = ['address', 'release'] as const
export type LinkScope = (typeof LINK_SCOPES)[number]

const DAY_MS = 86_400_000
export const LINK_DAYS = 7
export const LINK_DAYS_MAX = 366
/** A decoded path of the API. None of its characters needs percent-encoding, so each path has a single decoded form. */
const PATH = /^\/v1(\/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)+$/
const RELEASE = /^\/v1\/releases\/[^/]+\//
/** Key id, expiry in seconds since 1970 (base 36), scope and form, signature. */
const TOKEN = /^susl_([0-9a-z]{8})_([0-9a-z]{1,9})_([ar])([njcsag])_([A-Za-z0-9_-]{43})$/

export interface LinkTerms {
  readonly keyId: string
  /** Path and parameters below the server's address. */
  readonly address: string
  readonly scope: LinkScope
  readonly form: LinkForm
  /** Milliseconds since 1970. */
  readonly expiresMs: number
}

/** A request with a link that is not yet verified. */
export interface LinkRequest {
  readonly token: string
  readonly path: string
  readonly parameters: string
}

/** Derives a separate key for links. @param secret the server's secret, which also signs cursors */
export const linkSecretOf = (secret: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'sus-data links', 32))

/**
 * Decodes a path, because programs may write `reference_period%3D202605` for `reference_period=202605` (RFC 3986, 6.2.2.2).
 * @returns null when it cannot be the path of a route
 */
function canonicalPath(path: string): string | null {
  // Reject an encoded slash: it would be part of a segment, and no segment of the API contains one.
  if (/%2f/i.test(path)) return null
  try {
    const decoded = decodeURIComponent(path)
    return PATH.test(decoded) ? decoded : null
  } catch {
    return null
  }
}

/** Sorts and re-encodes parameters, so that programs may write them in any order and encoding. */
function canonicalParameters(query: string): { readonly text: string; readonly tokens: string[] } {
  const params = new URLSearchParams(query)
  const tokens = params.getAll(LINK_PARAMETER)
  params.delete(LINK_PARAMETER)
  params.sort()
  return { text: params.toString(), tokens }
}

/** @returns the text that is signed, which says what a link covers; null for an address that no link can have */
function resourceOf(scope: LinkScope, path: string, parameters: string): string | null {
  const canonical = canonicalPath(path)
  if (canonical === null) return null
  return scope === 'address' ? `${canonical}?${parameters}` : (RELEASE.exec(canonical)?.[0] ?? null)
}

const sign = (secret: Buffer, head: string, resource: string): string =>
  createHmac('sha256', secret).update(`sus-data-link-1\n${head}\n${resource}`).digest('base64url')

/** @returns the address with its token @throws KeysError for invalid arguments */
export function makeLink(
  { keyId, address, scope, form, expiresMs }: LinkTerms,
  secret: Buffer,
  now = Date.now(),
): string {
  if (!KEY_ID.test(keyId)) throw new KeysError('A link is of a key; the command keys list shows their ids.')
  const [path = '', query = ''] = address.split(/\?(.*)/s)
  const { text, tokens } = canonicalParameters(query)
  const resource = resourceOf(scope, path, text)
  if (resource === null || tokens.length > 0 || address.includes('#'))
    throw new KeysError(
      scope === 'release'
        ? 'The address of a link to a release is below /v1/releases/ID/, such as /v1/releases/ID/metadata.jsonld.'
        : `The address of a link is a path of the API with its parameters, such as /v1/states, without ${LINK_PARAMETER}.`,
    )
  if (!(expiresMs > now && expiresMs <= now + LINK_DAYS_MAX * DAY_MS))
    throw new KeysError(`A link ends after now, and within ${LINK_DAYS_MAX} days.`)
  const letter =
    (Object.keys(FORMS) as FormLetter[]).find((candidate) => FORMS[candidate].name === form) ?? 'n'
  const head = `susl_${keyId}_${Math.floor(expiresMs / 1000).toString(36)}_${scope === 'address' ? 'a' : 'r'}${letter}`
  const token = `${head}_${sign(secret, head, resource)}`
  return `${path}?${text}${text === '' ? '' : '&'}${LINK_PARAMETER}=${token}`
}

/** @returns default expiry of a link, in milliseconds since 1970 */
export const defaultExpiry = (now = Date.now()): number => now + LINK_DAYS * DAY_MS

/**
 * Removes the token from any address, valid or not, so that later code such as the log never sees it.
 * @returns the address as it was signed, the unverified link, and the Accept header of its form
 */
export function takeToken(url: string): {
  readonly url: string
  readonly link: LinkRequest
  readonly accept: string | null
} | null {
  if (!url.includes(LINK_PARAMETER)) return null
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  const { text, tokens } = canonicalParameters(query)
  if (tokens.length === 0) return null
  // Reject a repeated token.
  const token = tokens.length === 1 ? (tokens[0] ?? '') : ''
  const letter = (TOKEN.exec(token)?.[4] ?? 'n') as FormLetter
  return {
    url: text === '' ? path : `${path}?${text}`,
    link: { token, path, parameters: text },
    accept: FORMS[letter].accept,
  }
}

/** @returns the key when the link is valid for this request now; otherwise null, without a reason */
export function openLink(
  { token, path, parameters }: LinkRequest,
  method: string | undefined,
  secret: Buffer,
  keys: Pick<KeyStore, 'find'>,
  now = Date.now(),
): Key | null {
  const match = TOKEN.exec(token)
  if (match === null || (method !== 'GET' && method !== 'HEAD')) return null
  const [, keyId = '', end = '', scope, , signature = ''] = match
  const resource = resourceOf(scope === 'a' ? 'address' : 'release', path, parameters)
  if (resource === null) return null
  const head = token.slice(0, -signature.length - 1)
  // Compare texts, not decoded bytes: two bits of the last character are unused, so four texts decode to the same bytes.
  if (!timingSafeEqual(Buffer.from(sign(secret, head, resource)), Buffer.from(signature))) return null
  return Number.parseInt(end, 36) * 1000 > now ? keys.find(keyId) : null
}
