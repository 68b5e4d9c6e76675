/**
 * Sends a request and retries it. In: settings and a request. Out: a successful response, or a SusDataError. It retries broken connections,
 * and responses that say when to come back (429 and 503 with Retry-After).
 */

export interface Refusal {
  readonly parameter?: string
  readonly pointer?: string
  readonly message: string
  readonly allowed?: readonly (string | number)[]
}

/** An error response of the server (RFC 9457), or data that do not verify. */
export class SusDataError extends Error {
  /** HTTP status; 0 when data do not verify. */
  readonly status: number
  /** Machine-readable reason: invalid_request, release_mismatch, rate_limited … */
  readonly code: string
  readonly errors: readonly Refusal[]
  /** Request id, as in the server's log. */
  readonly requestId: string | null

  constructor(
    message: string,
    details: { status?: number; code: string; errors?: readonly Refusal[]; requestId?: string | null },
  ) {
    super(message)
    this.name = 'SusDataError'
    this.status = details.status ?? 0
    this.code = details.code
    this.errors = details.errors ?? []
    this.requestId = details.requestId ?? null
  }
}

export const notVerified = (message: string): SusDataError =>
  new SusDataError(message, { code: 'not_verified' })

export interface Settings {
  /** Server URL, such as https://sus.example.org. */
  readonly baseUrl: string
  /** API key, sent in a header only. */
  readonly key?: string
  /** Language of labels and error messages; Portuguese by default. */
  readonly language?: 'pt' | 'en'
  /** Largest number of retries; 4 by default. */
  readonly retries?: number
  /** Longest Retry-After that is honoured, in seconds; 60 by default. A longer one fails at once. */
  readonly maxWait?: number
  /** The platform's fetch by default. */
  readonly fetch?: typeof fetch
}

export interface RequestOptions {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

const RETRIES = 4
const MAX_WAIT = 60
/** First delay after a broken connection, in seconds. It doubles with each retry. */
const FIRST_WAIT = 0.25

/** @returns seconds to wait; null when the header is missing or invalid */
function secondsOf(header: string | null): number | null {
  if (header === null) return null
  if (/^\d+$/.test(header)) return Number(header)
  const time = Date.parse(header)
  return Number.isNaN(time) ? null : Math.max(0, (time - Date.now()) / 1000)
}

const wait = (seconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, seconds * 1000)
    if (signal?.aborted === true) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })

async function refusalOf(response: Response): Promise<SusDataError> {
  const text = await response.text()
  try {
    const { detail, code, errors, request_id } = JSON.parse(text)
    return new SusDataError(String(detail), {
      status: response.status,
      code: String(code),
      errors,
      requestId: request_id,
    })
  } catch {
    return new SusDataError(`the server answered with ${response.status}`, {
      status: response.status,
      code: 'not_sus_data',
    })
  }
}

/** @throws SusDataError for an error response; fetch's error when the server cannot be reached */
export async function send(
  settings: Settings,
  path: string,
  init: RequestInit,
  options: RequestOptions = {},
): Promise<Response> {
  const { key, language, retries = RETRIES, maxWait = MAX_WAIT, fetch: get = fetch } = settings
  const headers = new Headers(init.headers)
  if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
  if (language !== undefined) headers.set('accept-language', language)
  for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value)
  const { signal } = options
  const request: RequestInit = { ...init, headers, ...(signal === undefined ? {} : { signal }) }
  for (let attempt = 0; ; attempt += 1) {
    const isLast = attempt >= retries
    let response: Response
    try {
      response = await get(settings.baseUrl.replace(/\/$/, '') + path, request)
    } catch (error) {
      // Retrying is safe, because every request only reads.
      if (isLast || signal?.aborted === true) throw error
      await wait(FIRST_WAIT * 2 ** attempt, signal)
      continue
    }
    if (response.ok || response.status === 304) return response
    const isTemporary = response.status === 429 || response.status === 503
    const seconds = isTemporary ? secondsOf(response.headers.get('retry-after')) : null
    if (isLast || seconds === null || seconds > maxWait) throw await refusalOf(response)
    await response.body?.cancel()
    await wait(seconds, signal)
  }
}
