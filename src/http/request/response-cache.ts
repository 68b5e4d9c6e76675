/**
 * Cached responses, for as long as there is room: a release never changes, so equal requests on it have equal answers.
 *
 * In: keys (cache-key.ts) and envelopes. Out: an envelope, with its compressed form once somebody has wanted it. Equal
 * requests at the same time are answered once. Keys, rates, capabilities and pins are checked before this is reached; errors
 * are never cached.
 */
import { LRUCache } from 'lru-cache'
import { AppError } from '../../errors.ts'
import type { ReleaseView } from '../../release/view.ts'
import type { ByteString } from '../../rows/row-store.ts'
import { compress } from '../connection/compression.ts'
import { BYTES_FROM, type Envelope } from './envelope.ts'

export interface CachedResponse {
  readonly envelope: Envelope
  readonly view: ReleaseView
  /** Of the header that names the release. */
  readonly releaseId: string
  /** Its gzip stream, made when it is first wanted. */
  gzip: Buffer | Promise<Buffer> | null
}

/** What a request key leads to. */
interface Recalled {
  readonly canonicalKey: string
  /** The request names the release itself. */
  readonly isPinned: boolean
}

export interface ResponseCache {
  /** The response of a request that came before in the same bytes. */
  recall(requestKey: string): { readonly response: CachedResponse; readonly isPinned: boolean } | null
  /** Is the request key remembered, whether its response is cached or not? */
  knows(requestKey: string | null): boolean
  /** Remembers what a request key leads to. */
  remember(requestKey: string, recalled: Recalled): void
  find(canonicalKey: string): CachedResponse | null
  /** @returns the response as it is cached from now on */
  put(canonicalKey: string, response: CachedResponse): CachedResponse
  /** @param make called once for all that wait for the same response */
  get(canonicalKey: string, make: () => Promise<CachedResponse>): Promise<CachedResponse>
  /** @returns the response's gzip stream, which from now on is cached with it; a promise where it is long and new */
  gzipOf(response: CachedResponse): Buffer | Promise<Buffer>
  /** Bytes held now, at most those it was made with. */
  bytes(): number
}

/**
 * Of the cache, one part in eight is for request keys: those of short answers, on a release that the address names, take a tenth
 * of what the answers do.
 */
const REQUEST_KEYS_SHARE = 8

const sizeInCache = ({ envelope, gzip }: CachedResponse, key: string): number =>
  envelope.body.length + (gzip instanceof Buffer ? gzip.length : 0) + key.length + 600

/**
 * Objects of its own for what is cached. V8 watches where objects that live long were made, and makes all later ones of the same
 * place in the old generation: without copies, the envelope of every answer, cached or not, is there as soon as many are cached,
 * keeps its text until the next full collection, and a page takes twice the processor time.
 */
const copyOf = (response: CachedResponse): CachedResponse => ({
  ...response,
  envelope: { ...response.envelope, body: inOnePiece(response.envelope.body) },
})

/**
 * What is cached of a text: V8 holds one that was put together as a tree of its parts and goes through all of them whenever it is sent,
 * and of long ones that were replaced it leaves hundreds of megabytes to its next collection.
 */
function inOnePiece(text: ByteString | Buffer): ByteString | Buffer {
  if (typeof text !== 'string') return text
  if (text.length < BYTES_FROM) return Buffer.from(text, 'latin1').toString('latin1')
  const bytes = Buffer.allocUnsafeSlow(text.length)
  bytes.write(text, 'latin1')
  return bytes
}

/** @param maxBytes 0 caches nothing; equal requests at the same time are still answered once */
export function createResponseCache(maxBytes: number): ResponseCache {
  const keyBytes = Math.floor(maxBytes / REQUEST_KEYS_SHARE)
  const responseBytes = maxBytes - keyBytes
  const responses =
    keyBytes === 0
      ? null
      : new LRUCache<string, CachedResponse>({
          maxSize: responseBytes,
          maxEntrySize: Math.max(1, Math.floor(responseBytes / 8)),
          sizeCalculation: sizeInCache,
        })
  const requestKeys =
    keyBytes === 0
      ? null
      : new LRUCache<string, Recalled>({
          maxSize: keyBytes,
          sizeCalculation: ({ canonicalKey }, key) => canonicalKey.length + key.length + 300,
        })
  const keys = new WeakMap<CachedResponse, string>()
  const running = new Map<string, Promise<CachedResponse>>()
  const put = (key: string, response: CachedResponse): CachedResponse => {
    if (responses === null) return response
    const own = copyOf(response)
    keys.set(own, key)
    responses.set(key, own)
    return own
  }
  /** Holds the compressed form of a response; the cache reckons its size anew. */
  const hold = (response: CachedResponse, gzip: Buffer | null): void => {
    response.gzip = gzip
    const key = keys.get(response)
    if (key === undefined || responses?.peek(key) !== response) return
    responses.delete(key)
    responses.set(key, response)
  }
  return {
    recall(requestKey) {
      const recalled = requestKeys?.get(requestKey)
      const response = recalled === undefined ? undefined : responses?.get(recalled.canonicalKey)
      return recalled === undefined || response === undefined
        ? null
        : { response, isPinned: recalled.isPinned }
    },
    knows: (requestKey) => requestKey !== null && requestKeys?.has(requestKey) === true,
    remember: (requestKey, recalled) => void requestKeys?.set(requestKey, recalled),
    find: (key) => responses?.get(key) ?? null,
    put,
    async get(key, make) {
      const cached = responses?.get(key)
      if (cached !== undefined) return cached
      const other = running.get(key)
      if (other !== undefined)
        try {
          return await other
        } catch (error) {
          // The client that came first has left, and its query with it: this client has not.
          if (!(error instanceof AppError && error.code === 'query_timeout')) throw error
        }
      const own = make().then((response) => put(key, response))
      running.set(key, own)
      try {
        return await own
      } finally {
        if (running.get(key) === own) running.delete(key)
      }
    },
    gzipOf(response) {
      if (response.gzip !== null) return response.gzip
      const made = compress(response.envelope.body)
      response.gzip = made
      if (made instanceof Promise)
        made.then(
          (bytes) => hold(response, bytes),
          () => hold(response, null),
        )
      else hold(response, made)
      return made
    },
    bytes: () => (responses?.calculatedSize ?? 0) + (requestKeys?.calculatedSize ?? 0),
  }
}
