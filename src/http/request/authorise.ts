/**
 * Authenticates a request and charges its key's rate. In: request headers. Out: the key and the rate decision in the request's state, or an
 * error. Every route reports errors in the same order: 400 for invalid HTTP/1.1, 401, 429, then 403 for a missing capability.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { AppError, both } from '../../errors.ts'
import type { Key, KeyStore } from '../../keys/keys.ts'
import { type LinkRequest, openLink } from '../../keys/links.ts'
import type { RateDecision, RateLimiter } from '../../keys/rate-limit.ts'
import type { Capability } from '../../model/capabilities.ts'
import { costOf, ROWS_A_REQUEST, type Route } from '../route.ts'
import type { RequestState } from './state.ts'

/** Replaces an unknown Expect header, so that Node.js does not answer it. No client can send this value. */
export const UNKNOWN_EXPECTATION = '\n'

const BEARER = /^Bearer ([\x21-\x7e]{1,200})$/i
const secretOf = (authorization: string | undefined): string | null =>
  BEARER.exec(authorization ?? '')?.[1] ?? null

/** Node.js uses the first Host header, while a proxy may have routed by the second. @param list name, value, name, value… */
function hasTwoHosts(list: readonly string[]): boolean {
  let hosts = 0
  for (let index = 0; index < list.length; index += 2) {
    const name = list[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts > 1
}

/** @throws AppError for a compressed body */
export function checkCoding({ 'content-encoding': coding }: IncomingHttpHeaders): void {
  if (coding !== undefined && !/^\s*(identity)?\s*$/i.test(coding))
    throw new AppError('unsupported_media_type', {
      detail: both(
        'O corpo está comprimido; envie-o sem compressão.',
        'The body is compressed; send it as it is.',
      ),
      headers: { 'Accept-Encoding': 'identity' },
    })
}

/** Rejects transfer codings other than chunked, which Node.js would leave in the body. @throws AppError (RFC 9112, 6.1) */
function checkTransferCoding({ 'transfer-encoding': coding }: IncomingHttpHeaders): void {
  if (coding !== undefined && !/^\s*chunked\s*$/i.test(coding))
    throw new AppError('not_implemented', {
      detail: both(
        'Transfer-Encoding só pode ser chunked.',
        'Transfer-Encoding must be chunked and nothing else.',
      ),
    })
}

/** @throws AppError for headers that are invalid in HTTP/1.1 or request something unsupported */
export function checkHead({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1')
    throw new AppError('invalid_request', {
      detail: both('Falta o cabeçalho Host.', 'The Host header is missing.'),
    })
  if (hasTwoHosts(rawHeaders))
    throw new AppError('invalid_request', {
      detail: both('Há dois cabeçalhos Host; envie um só.', 'There are two Host headers; send one.'),
    })
  if (headers.expect === UNKNOWN_EXPECTATION) throw new AppError('expectation_failed')
  checkTransferCoding(headers)
}

export interface Admission {
  readonly keys: KeyStore
  readonly limiter: RateLimiter
  readonly linkSecret: Buffer
}

/**
 * Authenticates the key and charges the request to its rate.
 * @param link link that the request used. Its own permission counts; a key sent beside it is ignored.
 * @returns a promise only when rates are shared with other instances
 * @throws AppError 'unauthorized', 'rate_limited'
 */
export function admit(
  { headers, method }: Pick<IncomingMessage, 'headers' | 'method'>,
  cost: number,
  state: RequestState,
  { keys, limiter, linkSecret }: Admission,
  link?: LinkRequest,
): Promise<void> | void {
  const secret = secretOf(headers.authorization)
  const key =
    link !== undefined
      ? openLink(link, method, linkSecret, keys)
      : secret === null
        ? null
        : keys.authenticate(secret)
  state.isLinked = link !== undefined
  if (key === null) {
    const hasCredentials = link !== undefined || (headers.authorization ?? '') !== ''
    const challenge = hasCredentials ? 'Bearer error="invalid_token"' : 'Bearer'
    throw new AppError('unauthorized', { headers: { 'WWW-Authenticate': challenge } })
  }
  state.key = key
  const decide = (rate: RateDecision): void => {
    state.rate = rate
    if (!rate.allowed)
      throw new AppError('rate_limited', { headers: { 'Retry-After': String(rate.retryAfterSeconds) } })
  }
  const decision = limiter.take(key.id, cost, key.rate_per_minute)
  return decision instanceof Promise ? decision.then(decide) : decide(decision)
}

/** Charges the rows of an answer to the key's rate, beyond the cost of its route. An empty bucket stays empty. */
export async function chargeRows(
  route: Route,
  state: RequestState,
  { limiter }: Pick<Admission, 'limiter'>,
): Promise<void> {
  const { key, rows } = state
  const cost = Math.ceil((rows ?? 0) / ROWS_A_REQUEST) - costOf(route)
  if (key !== null && cost > 0) state.rate = await limiter.charge(key.id, cost, key.rate_per_minute)
}

export function requireAll(capabilities: readonly Capability[], key: Key | null): void {
  for (const capability of capabilities) requireCapability({ capability }, key)
}

/** @throws AppError 'forbidden' with the capability that the key lacks */
export function requireCapability({ capability }: Pick<Route, 'capability'>, key: Key | null): void {
  if (capability === null || capability === 'any' || key?.capabilities.includes(capability) === true) return
  throw new AppError('forbidden', {
    detail: both(`A chave não tem a permissão ${capability}.`, `The key lacks the capability ${capability}.`),
    extra: { capability },
  })
}
