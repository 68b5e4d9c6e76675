/**
 * Sends HTTP requests to places. In: address, headers, content. Out: status, headers and body as a stream. A connection on which
 * nothing moves ends after a while; requests that failed for a passing reason are sent again.
 */
import {
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { pipeline, type Readable, Transform } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { type Content, PlaceError } from './place.ts'

/** A connection without any byte for this time counts as lost. Storage takes longer to copy an object than to begin an answer. */
const IDLE_MS = { GET: 10_000, PUT: 60_000 }
/** Attempts of a request, and the pause before the second one, which doubles for each further one. */
const ATTEMPTS = 4
const PAUSE_MS = 250
/** Longest pause that a server can demand by Retry-After. */
const PAUSE_MAX_MS = 30_000
/** Largest file that is read into memory: manifests and signed notes. */
const TEXT_BYTES_MAX = 256 << 20
const RETRIED = new Set([408, 429, 500, 502, 503, 504])

const agents = {
  'http:': new HttpAgent({ keepAlive: true, maxSockets: 16 }),
  'https:': new HttpsAgent({ keepAlive: true, maxSockets: 16 }),
}

export interface Outgoing {
  readonly method: 'GET' | 'PUT'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly content?: Content
}

export interface Incoming {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: IncomingMessage
}

/**
 * @param place address for messages
 * @param make returns the request; called for each attempt, because signatures age
 * @returns an answer with a status that is not worth another attempt
 * @throws PlaceError when no attempt was answered, or all with an error of the server; the reason of an aborted signal
 */
export async function send(
  place: string,
  make: () => Promise<Outgoing>,
  signal?: AbortSignal,
): Promise<Incoming> {
  for (let attempt = 1; ; attempt += 1) {
    let pauseMs = PAUSE_MS * 2 ** (attempt - 1)
    let problem: string
    try {
      const answer = await sendOnce(await make(), signal)
      if (!RETRIED.has(answer.status)) return answer
      problem = `${place} answers with status ${answer.status}`
      const seconds = Number(answer.headers['retry-after'])
      if (seconds > 0) pauseMs = Math.min(seconds * 1000, PAUSE_MAX_MS)
      answer.body.destroy()
    } catch (error) {
      signal?.throwIfAborted()
      problem = `${place} cannot be reached (${reasonOf(error)})`
    }
    if (attempt >= ATTEMPTS) throw new PlaceError(`${problem}.`, true)
    await wait(pauseMs, undefined, { signal })
  }
}

export const reasonOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}

function sendOnce(
  { method, url, headers, content }: Outgoing,
  signal: AbortSignal | undefined,
): Promise<Incoming> {
  const isSecure = url.startsWith('https:')
  return new Promise((resolve, reject) => {
    const outgoing = (isSecure ? requestHttps : requestHttp)(url, {
      method,
      headers: { ...headers, ...(content === undefined ? {} : { 'content-length': String(content.bytes) }) },
      agent: agents[isSecure ? 'https:' : 'http:'],
      ...(signal === undefined ? {} : { signal }),
    })
    const idleMs = IDLE_MS[method]
    outgoing.setTimeout(idleMs, () => outgoing.destroy(new Error(`no byte in ${idleMs / 1000} s`)))
    outgoing.on('error', reject)
    outgoing.on('response', (body) => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }))
    if (content === undefined) outgoing.end()
    else pipeline(content.open(), outgoing, (error) => error != null && reject(error))
  })
}

/** @throws PlaceError when the body ends early or is larger than a text can be */
export async function readBody(place: string, body: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > TEXT_BYTES_MAX)
        throw new PlaceError(`${place} sends more than ${TEXT_BYTES_MAX} bytes for a text.`)
    }
  } catch (error) {
    if (error instanceof PlaceError) throw error
    throw new PlaceError(`${place} cannot be reached (${reasonOf(error)}).`, true)
  }
  return Buffer.concat(chunks)
}

/**
 * A place that ignores Range sends a file from its beginning. The bytes before the position are dropped then, so that an interrupted
 * copy also comes to its end there.
 * @returns the bytes of a file from a position on, or null when the answer does not hold them
 */
export function bodyFrom({ status, headers, body }: Incoming, start: number): Readable | null {
  if (status !== 200 && (status !== 206 || start === 0)) return null
  const range = headers['content-range']
  const first = status === 200 ? 0 : range === undefined ? start : Number(/^bytes (\d+)-/.exec(range)?.[1])
  if (first === start) return body
  if (!(first < start)) return null
  let dropped = start - first
  const rest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const kept = chunk.subarray(dropped)
      dropped -= chunk.length - kept.length
      done(null, kept)
    },
  })
  pipeline(body, rest, () => undefined)
  return rest
}

/** Sends the same GET request again when its body ends early. @returns null when the file is missing */
export async function readWithRetries(
  place: string,
  open: () => Promise<Readable | null>,
): Promise<Buffer | null> {
  for (let attempt = 1; ; attempt += 1) {
    const body = await open()
    if (body === null) return null
    try {
      return await readBody(place, body)
    } catch (error) {
      if (!(error instanceof PlaceError) || !error.isAway || attempt >= ATTEMPTS) throw error
    }
  }
}
