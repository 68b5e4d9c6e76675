/**
 * Access to an HTTP server with Node's fetch. Folders are read from the links of an index page. A transfer resumes only if the
 * server confirms that the file is still the same (If-Range); servers without ranges send the file from its beginning.
 */
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import {
  FetchError,
  NotConnected,
  NotThere,
  type Remote,
  type RemoteFile,
  type RemoteState,
} from '../types.ts'

/** Codes of Node's fetch for servers that no connection was made to. */
const NO_CONNECTION: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])
const INDEX_BYTES_MAX = 32 * 2 ** 20
const GONE: ReadonlySet<number> = new Set([404, 410])
/** Statuses that another attempt does not change. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 405, 414, 451])

export interface HttpOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly idleMs: number
  /** Least time between two requests. */
  readonly everyMs: number
}

/** @param address http:// or https:// address, with user and password where the server needs them */
export function openHttp(address: string, { headers, idleMs, everyMs }: HttpOptions): Remote {
  const url = new URL(address)
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  url.username = ''
  url.password = ''
  const root = url.href.replace(/\/+$/, '')
  const shared = {
    accept: '*/*',
    'user-agent': 'sus-data',
    ...headers,
    // Bytes are kept as published, so the transfer must not be compressed.
    'accept-encoding': 'identity',
    ...(credentials === ':' ? {} : { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
  }
  const requests = new Set<AbortController>()
  let nextAt = 0

  /** Runs a request. `touch` starts the idle time again. */
  const request = async <Result>(
    path: string,
    init: { method?: string; headers?: Record<string, string> },
    use: (response: Response, touch: () => void) => Promise<Result>,
  ): Promise<Result> => {
    const waitMs = nextAt - Date.now()
    nextAt = Math.max(nextAt, Date.now()) + everyMs
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    const controller = new AbortController()
    requests.add(controller)
    const isIdle = (): void => controller.abort(new FetchError(`no byte for ${Math.round(idleMs / 1000)} s`))
    let timer = setTimeout(isIdle, idleMs)
    const touch = (): void => {
      clearTimeout(timer)
      timer = setTimeout(isIdle, idleMs)
    }
    try {
      const response = await fetch(`${root}${path}`, {
        method: init.method ?? 'GET',
        headers: { ...shared, ...init.headers },
        signal: controller.signal,
      })
      touch()
      return await use(response, touch)
    } catch (error) {
      if (controller.signal.reason instanceof FetchError) throw controller.signal.reason
      const code = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code ?? ''
      if (NO_CONNECTION.has(code)) throw new NotConnected(`no connection to ${url.hostname}: ${code}`)
      throw error
    } finally {
      clearTimeout(timer)
      requests.delete(controller)
    }
  }
  const refuse = async (response: Response, path: string): Promise<void> => {
    if (response.ok) return
    await response.body?.cancel()
    if (GONE.has(response.status)) throw new NotThere(path)
    throw new FetchError(`the server answers ${response.status}`, FINAL.has(response.status))
  }
  return {
    list: (folder) =>
      request(encodePath(`${folder}/`), {}, async (response, touch) => {
        await refuse(response, folder)
        const chunks: Uint8Array[] = []
        let bytes = 0
        for await (const chunk of bodyOf(response)) {
          touch()
          bytes += chunk.length
          if (bytes > INDEX_BYTES_MAX) throw new FetchError('the index of the folder is too large', true)
          chunks.push(chunk)
        }
        return readIndex(Buffer.concat(chunks).toString('utf8'))
      }),
    stateOf: (path) =>
      request(encodePath(path), { method: 'HEAD' }, async (response) => {
        if (GONE.has(response.status)) throw new NotThere(path)
        return response.ok ? stateOf(response, 0) : null
      }),
    transfer: (path, offset, validator, open) =>
      request(
        encodePath(path),
        {
          headers:
            offset > 0 && validator !== null ? { range: `bytes=${offset}-`, 'if-range': validator } : {},
        },
        async (response, touch) => {
          await refuse(response, path)
          const start = response.status === 206 ? startOf(response) : 0
          if (start !== 0 && start !== offset) {
            await response.body?.cancel()
            throw new FetchError('the server sends another part than requested')
          }
          await copy(response, open(start), touch)
          return stateOf(response, start)
        },
      ),
    readRange: (path, start, length) =>
      request(
        encodePath(path),
        { headers: { range: `bytes=${start}-${start + length - 1}` } },
        async (response, touch) => {
          if (response.status !== 206 || startOf(response) !== start) {
            await refuse(response, path)
            await response.body?.cancel()
            return null
          }
          const chunks: Uint8Array[] = []
          for await (const chunk of bodyOf(response)) {
            touch()
            chunks.push(chunk)
          }
          return Buffer.concat(chunks)
        },
      ),
    close() {
      for (const controller of requests) controller.abort(new FetchError('the transfer was ended'))
    },
  }
}

const bodyOf = (response: Response): Readable =>
  response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as ReadableStream)

async function copy(response: Response, destination: Writable, touch: () => void): Promise<void> {
  const body = bodyOf(response)
  body.on('data', touch)
  await pipeline(body, destination)
}

const startOf = (response: Response): number =>
  Number(/^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1] ?? -1)

function stateOf(response: Response, start: number): RemoteState {
  const length = response.headers.get('content-length')
  const etag = response.headers.get('etag')
  // A weak tag does not promise equal bytes, which resuming needs.
  const validator = etag !== null && !etag.startsWith('W/') ? etag : response.headers.get('last-modified')
  return { bytes: length === null ? null : start + Number(length), time: validator }
}

/** Encodes blanks and other characters of a path, and leaves queries as they are. */
const encodePath = (path: string): string => (path.includes('?') ? path : encodeURI(path))

/** @returns files that an index page links to, without size or time, which servers write in many forms */
function readIndex(html: string): RemoteFile[] {
  const names = new Set<string>()
  for (const [, link = ''] of html.matchAll(/<a\s[^>]*?href="([^"?#]+)"/gi)) {
    const name = decodeName(link.replaceAll('&amp;', '&').split('/').at(-1) ?? '')
    if (name !== '' && name !== '..') names.add(name)
  }
  return [...names].map((name) => ({ name, bytes: null, time: null }))
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
