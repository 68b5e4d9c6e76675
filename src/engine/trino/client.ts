/**
 * Trino's client protocol over HTTP: posts a statement and fetches its rows page by page until there is no next page. Input: SQL.
 * Output: rows as JSON. https://trino.io/docs/current/develop/client-protocol.html
 *
 * We do not use the JavaScript client, because it rounds BIGINT (trinodb/trino-js-client #983) and leaves time-outs and cancelling
 * to its caller. The caller of this client casts large integers to text, writes the statements and limits their number.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { clientLeft } from '../../errors.ts'
import type { JsonValue } from '../types.ts'
import { TrinoError, unavailable } from './errors.ts'

export interface TrinoAccess {
  /** Address of the coordinator or of its proxy. */
  readonly url: string
  readonly user: string
  /** Returns the Authorization header, which may change between statements; null without authentication. */
  readonly authorization: (() => string) | null
}

export interface TrinoClient {
  /**
   * @returns rows, one page at a time. Leaving the loop early or aborting the signal cancels the statement.
   * @throws TrinoError; AppError 'engine_unavailable' when the coordinator does not respond
   */
  query(statement: string, options?: QueryOptions): AsyncGenerator<(readonly JsonValue[])[], void, void>
  /** Whether a coordinator responds and has started; waits up to 10 seconds. */
  isUp(): Promise<boolean>
}

export interface QueryOptions {
  readonly signal?: AbortSignal
  /** Trino also ends the statement after this time, even if this process dies. */
  readonly timeoutMs?: number
  readonly session?: Readonly<Record<string, string>>
}

interface Page {
  readonly nextUri?: string
  readonly data?: (readonly JsonValue[])[]
  readonly error?: { readonly errorName?: string; readonly message?: string }
}

/** Delays in milliseconds before a page is requested again, as the protocol allows for the codes in MAY_RETRY. */
const RETRY_MS = [50, 200, 800]
const MAY_RETRY = new Set([429, 502, 503, 504])
/** Target size of a page: parsing a larger one would block this process. */
const PAGE_PARAMETER = 'targetResultSize=1MB'
const CANCEL_MS = 5000
const PROBE_MS = 10_000
/** Time-out of a request. A running coordinator responds within a second even without rows. */
const RESPONSE_MS = 20_000

/** Explains a status to operators, in the log and in the output of commands. */
const explainStatus = (status: number): string =>
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

  const send = async (
    address: string,
    init: RequestInit,
    signal: AbortSignal | undefined,
  ): Promise<Response> => {
    // Only the configured coordinator may receive the credentials.
    if (new URL(address).origin !== origin) throw unavailable(new Error('a page at another address'))
    const timeout = AbortSignal.timeout(RESPONSE_MS)
    try {
      return await fetch(address, {
        ...init,
        headers: { ...headers(), ...init.headers },
        redirect: 'error',
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      })
    } catch (error) {
      if (signal?.aborted === true) throw clientLeft(error)
      throw unavailable(error)
    }
  }
  const fetchPage = async (address: string, init: RequestInit, signal?: AbortSignal): Promise<Page> => {
    for (let attempt = 0; ; attempt += 1) {
      const response = await send(address, init, signal)
      const delay = RETRY_MS[attempt]
      if (MAY_RETRY.has(response.status) && delay !== undefined) {
        await response.body?.cancel()
        await wait(delay)
        continue
      }
      if (!response.ok) throw unavailable(new Error(explainStatus(response.status)))
      try {
        return (await response.json()) as Page
      } catch (error) {
        if (signal?.aborted === true) throw clientLeft(error)
        throw unavailable(error)
      }
    }
  }
  /** Cancels in the background. If this fails, Trino itself ends a statement whose rows are not fetched. */
  const cancel = (address: string): void => {
    send(address, { method: 'DELETE' }, AbortSignal.timeout(CANCEL_MS)).then(
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
      const request = {
        method: 'POST',
        body: statement,
        headers: properties.length === 0 ? {} : { 'X-Trino-Session': properties.join(',') },
      }
      let page = await fetchPage(new URL('/v1/statement', origin).href, request, signal)
      let isFinished = false
      let next = page.nextUri
      try {
        for (;;) {
          if (page.error !== undefined) {
            isFinished = true
            throw new TrinoError(page.error.errorName ?? 'UNKNOWN', page.error.message ?? '')
          }
          next = page.nextUri
          if (page.data !== undefined && page.data.length > 0) yield page.data
          if (next === undefined) {
            isFinished = true
            return
          }
          page = await fetchPage(`${next}?${PAGE_PARAMETER}`, {}, signal)
        }
      } finally {
        if (!isFinished && next !== undefined) cancel(next)
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
