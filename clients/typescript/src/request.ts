/**
 * One request to the server, sent again as long as it is told to. In: an address, a key. Out: a response that is no refusal, or a
 * SusDataError. Retries answers that say when to come back (429 and 503 with Retry-After) and connections that break.
 */

/** A place of a request that the server does not take. */
export interface Refusal {
  readonly parameter?: string
  readonly pointer?: string
  readonly message: string
  readonly allowed?: readonly (string | number)[]
}

/** A refusal of the server, as its problem document (RFC 9457) says it; or what does not verify. */
export class SusDataError extends Error {
  /** Status of the answer; 0 where what came does not verify. */
  readonly status: number
  /** What went wrong, for programs: invalid_request, release_mismatch, rate_limited … */
  readonly code: string
  readonly errors: readonly Refusal[]
  /** Of the request, as in the log of the server. */
  readonly requestId: string | null

  constructor(
    message: string,
    of: { status?: number; code: string; errors?: readonly Refusal[]; requestId?: string | null },
  ) {
    super(message)
    this.name = 'SusDataError'
    this.status = of.status ?? 0
    this.code = of.code
    this.errors = of.errors ?? []
    this.requestId = of.requestId ?? null
  }
}

/** What does not verify. */
export const refuse = (message: string): SusDataError => new SusDataError(message, { code: 'not_verified' })

export interface Settings {
  /** Address of the server, such as https://sus.example.org. */
  readonly baseUrl: string
  /** API key; its secret never stands in an address. */
  readonly key?: string
  /** Language of labels and refusals; Portuguese without it. */
  readonly language?: 'pt' | 'en'
  /** Times a request is sent again; 4 without it. */
  readonly retries?: number
  /** Longest time that an answer may ask to wait, in seconds; 60 without it. What asks for more is refused at once. */
  readonly maxWait?: number
  /** Of the platform without it. */
  readonly fetch?: typeof fetch
}

export interface RequestOptions {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

const RETRIES = 4
const MAX_WAIT = 60
/** First wait after a connection that broke, in seconds; it doubles. */
const FIRST_WAIT = 0.25

/** @returns seconds that an answer asks to wait; null where it does not say */
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

/** @throws SusDataError for a refusal; what fetch throws where the server is not reached */
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
      // The server only reads, so that whatever was sent may be sent again.
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
