/**
 * Links that carry their own right to read, in the parameter access_token: for programs that take an address and no header.
 *
 * In: a key's id, an address, an end. Out: a token that is good for that address alone (path and parameters), or for what is below
 * one release, until its end, for as long as its key is. The token holds no secret of the key: it is signed with the server's secret
 * (HMAC-SHA-256), so it cannot be widened, and nothing is stored of it. Whoever holds the link can read what it says, as with any
 * link. Not responsible for: what the key may read (the routes decide, as for the key itself).
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Key, KeyStore } from './key-store.ts'
import { KEY_ID } from './key-text.ts'
import { KeysError } from './keys-error.ts'

export const LINK_PARAMETER = 'access_token'

/** Forms of an answer that a link may ask for, which others ask for with a header; by the letter that stands in a token. */
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

/** address: that path with those parameters; release: everything below /v1/releases/ID/. */
export const LINK_SCOPES = ['address', 'release'] as const
export type LinkScope = (typeof LINK_SCOPES)[number]

const DAY_MS = 86_400_000
export const LINK_DAYS = 7
export const LINK_DAYS_MAX = 366
/** A decoded path of the API. None of its characters needs percent-encoding, so each path has one decoded form. */
const PATH = /^\/v1(\/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)+$/
const RELEASE = /^\/v1\/releases\/[^/]+\//
/** key, end in seconds since 1970 (base 36), scope and form, signature */
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

/** A request that came by a link, before anybody has looked whether it is good. */
export interface LinkRequest {
  readonly token: string
  readonly path: string
  /** In their one order. */
  readonly parameters: string
}

/** @param secret the server's, which also signs cursors: each use has a key of its own */
export const linkSecretOf = (secret: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', 'sus-data links', 32))

/**
 * Decodes a path: programs write `reference_period%3D202605` for `reference_period=202605` (RFC 3986, 6.2.2.2).
 * @returns null where it is not the path of a route
 */
function canonicalPath(path: string): string | null {
  // An encoded slash is part of a segment, and no segment of the API holds one.
  if (/%2f/i.test(path)) return null
  try {
    const decoded = decodeURIComponent(path)
    return PATH.test(decoded) ? decoded : null
  } catch {
    return null
  }
}

/** Parameters in one order and writing, so that programs may write them as they do. */
function canonicalParameters(query: string): { readonly text: string; readonly tokens: string[] } {
  const params = new URLSearchParams(query)
  const tokens = params.getAll(LINK_PARAMETER)
  params.delete(LINK_PARAMETER)
  params.sort()
  return { text: params.toString(), tokens }
}

/** @returns what a link is good for, as text that is signed; null for an address that no link can name */
function resourceOf(scope: LinkScope, path: string, parameters: string): string | null {
  const canonical = canonicalPath(path)
  if (canonical === null) return null
  return scope === 'address' ? `${canonical}?${parameters}` : (RELEASE.exec(canonical)?.[0] ?? null)
}

/** @returns 43 characters, in the one form of base64 that the bytes have */
const sign = (secret: Buffer, head: string, resource: string): string =>
  createHmac('sha256', secret).update(`sus-data-link-1\n${head}\n${resource}`).digest('base64url')

/** @returns the address with its token; @throws KeysError for what no link can say */
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
  const letter = (Object.keys(FORMS) as FormLetter[]).find((own) => FORMS[own].name === form) ?? 'n'
  const head = `susl_${keyId}_${Math.floor(expiresMs / 1000).toString(36)}_${scope === 'address' ? 'a' : 'r'}${letter}`
  const token = `${head}_${sign(secret, head, resource)}`
  return `${path}?${text}${text === '' ? '' : '&'}${LINK_PARAMETER}=${token}`
}

/** @returns when a link ends that says nothing else */
export const defaultExpiry = (now = Date.now()): number => now + LINK_DAYS * DAY_MS

/**
 * Takes a token out of an address, whatever address and whether it is good or not: nothing behind this sees it.
 * @returns the address as it was signed, the link of an address of the API, and the form that it asks for
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
  // Two tokens are none.
  const token = tokens.length === 1 ? (tokens[0] ?? '') : ''
  const letter = (TOKEN.exec(token)?.[4] ?? 'n') as FormLetter
  return {
    url: text === '' ? path : `${path}?${text}`,
    link: { token, path, parameters: text },
    accept: FORMS[letter].accept,
  }
}

/** @returns the key of a link that is good for this request now; null for any other, without a reason */
export function openLink(
  { token, path, parameters }: LinkRequest,
  method: string | undefined,
  secret: Buffer,
  keys: Pick<KeyStore, 'find'>,
  now = Date.now(),
): Key | null {
  const parts = TOKEN.exec(token)
  if (parts === null || (method !== 'GET' && method !== 'HEAD')) return null
  const [, keyId = '', end = '', scope, , signature = ''] = parts
  const resource = resourceOf(scope === 'a' ? 'address' : 'release', path, parameters)
  if (resource === null) return null
  const head = token.slice(0, -signature.length - 1)
  // As texts: two bits of the last character say nothing, so four of them have the same bytes.
  if (!timingSafeEqual(Buffer.from(sign(secret, head, resource)), Buffer.from(signature))) return null
  return Number.parseInt(end, 36) * 1000 > now ? keys.find(keyId) : null
}
