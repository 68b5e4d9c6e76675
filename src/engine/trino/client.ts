/**
 * Trino's client protocol over HTTP: a statement is posted, and its rows are fetched page by page until there is no next one.
 * In: SQL. Out: rows as JSON. https://trino.io/docs/current/develop/client-protocol.html
 *
 * Our own, because the JavaScript client rounds BIGINT (trinodb/trino-js-client #983) and leaves time-outs and cancelling to its caller; this
 * one asks for whole numbers as text and needs nothing of it but these two. Not here: what statements say, and how many run.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { clientLeft } from '../../errors.ts'
import type { JsonValue } from '../types.ts'
import { TrinoError, unavailable } from './errors.ts'

export interface TrinoAccess {
  /** Address of the coordinator, or of what stands before it. */
  readonly url: string
  readonly user: string
  /** Gives the value of the Authorization header, which may be another one with each statement; null: nobody is asked. */
  readonly authorization: (() => string) | null
}

export interface TrinoClient {
  /**
   * @returns rows, a page at a time; the statement is cancelled when the loop is left before its end, or the signal aborts
   * @throws TrinoError; AppError 'engine_unavailable' where nobody answers
   */
  query(statement: string, options?: QueryOptions): AsyncGenerator<(readonly JsonValue[])[], void, void>
  /** Is a coordinator there that has started? It is asked, for some seconds. */
  isUp(): Promise<boolean>
}

export interface QueryOptions {
  readonly signal?: AbortSignal
  /** Trino ends the statement after that time, too, whatever becomes of this process. */
  readonly timeoutMs?: number
  /** Session properties of the statement. */
  readonly session?: Readonly<Record<string, string>>
}

/** A page of the protocol. */
interface Page {
  readonly nextUri?: string
  readonly data?: (readonly JsonValue[])[]
  readonly error?: { readonly errorName?: string; readonly message?: string }
}

/** Waits before a page is asked for once more, of which the protocol says that it may be. */
const RETRY_MS = [50, 200, 800]
const MAY_RETRY = new Set([429, 502, 503, 504])
/** Bytes of a page: a larger one would hold up this process while it is parsed. */
const PAGE = 'targetResultSize=1MB'
const CANCEL_MS = 5000
const PROBE_MS = 10_000
/** A coordinator that says nothing for so long is gone: it answers within a second where there are no rows yet. */
const SILENCE_MS = 20_000

/** What an operator may change, in the log and in what commands print. */
const meaningOf = (status: number): string =>
  status === 401
    ? 'status 401: it knows no such user with this password or token: SUS_TRINO_USER, SUS_TRINO_PASSWORD_FILE, SUS_TRINO_TOKEN_FILE'
    : status === 403
      ? 'status 403: it refuses this user, or takes passwords and tokens over https alone: SUS_TRINO_URL, SUS_TRINO_USER'
      : `status ${status}`

export function createTrinoClient({ url, user, authorization }: TrinoAccess): TrinoClient {
  const { origin } = new URL(url)
  const headers = (): Record<string, string> => ({
    'X-Trino-User': user,
    'X-Trino-Source': 'sus-data',
    'X-Trino-Time-Zone': 'UTC',
    ...(authorization === null ? {} : { Authorization: authorization() }),
  })

  const ask = async (
    address: string,
    init: RequestInit,
    signal: AbortSignal | undefined,
  ): Promise<Response> => {
    // Only the coordinator that was named gets the credentials.
    if (new URL(address).origin !== origin) throw unavailable(new Error('a page at another address'))
    const silence = AbortSignal.timeout(SILENCE_MS)
    try {
      return await fetch(address, {
        ...init,
        headers: { ...headers(), ...init.headers },
        redirect: 'error',
        signal: signal === undefined ? silence : AbortSignal.any([signal, silence]),
      })
    } catch (error) {
      if (signal?.aborted === true) throw clientLeft(error)
      throw unavailable(error)
    }
  }
  const fetchPage = async (address: string, init: RequestInit, signal?: AbortSignal): Promise<Page> => {
    for (let attempt = 0; ; attempt += 1) {
      const response = await ask(address, init, signal)
      const delay = RETRY_MS[attempt]
      if (MAY_RETRY.has(response.status) && delay !== undefined) {
        await response.body?.cancel()
        await wait(delay)
        continue
      }
      if (!response.ok) throw unavailable(new Error(meaningOf(response.status)))
      try {
        return (await response.json()) as Page
      } catch (error) {
        if (signal?.aborted === true) throw clientLeft(error)
        throw unavailable(error)
      }
    }
  }
  /** Nobody waits for it: a statement that nobody fetches from is ended by Trino, too. */
  const cancel = (address: string): void => {
    ask(address, { method: 'DELETE' }, AbortSignal.timeout(CANCEL_MS)).then(
      (response) => response.body?.cancel(),
      () => undefined,
    )
  }

  return {
    async *query(statement, { signal, timeoutMs, session = {} } = {}) {
      if (signal?.aborted === true) throw clientLeft()
      const properties = Object.entries({
        ...session,
        ...(timeoutMs === undefined ? {} : { query_max_run_time: `${Math.ceil(timeoutMs)}ms` }),
      }).map(([name, value]) => `${name}=${value}`)
      const begun = {
        method: 'POST',
        body: statement,
        headers: properties.length === 0 ? {} : { 'X-Trino-Session': properties.join(',') },
      }
      let page = await fetchPage(new URL('/v1/statement', origin).href, begun, signal)
      let isOver = false
      let next = page.nextUri
      try {
        for (;;) {
          if (page.error !== undefined) {
            isOver = true
            throw new TrinoError(page.error.errorName ?? 'UNKNOWN', page.error.message ?? '')
          }
          next = page.nextUri
          if (page.data !== undefined && page.data.length > 0) yield page.data
          if (next === undefined) {
            isOver = true
            return
          }
          page = await fetchPage(`${next}?${PAGE}`, {}, signal)
        }
      } finally {
        if (!isOver && next !== undefined) cancel(next)
      }
    },
    async isUp() {
      try {
        const response = await fetch(new URL('/v1/info', origin), {
          headers: headers(),
          redirect: 'error',
          signal: AbortSignal.timeout(PROBE_MS),
        })
        const info = (await response.json()) as {
          readonly starting?: boolean
          readonly coordinator?: boolean
        }
        return response.ok && info.starting === false && info.coordinator !== false
      } catch {
        return false
      }
    },
  }
}
