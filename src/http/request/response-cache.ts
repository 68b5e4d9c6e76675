/**
 * Caches responses in memory. A release never changes, so equal requests on it have equal answers.
 * In: keys (cache-key.ts) and envelopes. Out: an envelope, with its gzip form once requested. Concurrent equal requests are computed once.
 * Callers check keys, rates, capabilities and pins first. Errors are never cached.
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
  readonly releaseId: string
  gzip: Buffer | Promise<Buffer> | null
}

interface Recalled {
  readonly canonicalKey: string
  readonly isPinned: boolean
}

export interface ResponseCache {
  /** @returns the cached response of an identical earlier request */
  recall(requestKey: string): { readonly response: CachedResponse; readonly isPinned: boolean } | null
  /** @returns whether the request key is stored, even if its response was evicted */
  hasKey(requestKey: string | null): boolean
  remember(requestKey: string, recalled: Recalled): void
  /** @param make called once for concurrent requests with the same key */
  get(canonicalKey: string, make: () => Promise<CachedResponse>): Promise<CachedResponse>
  /** @returns the gzip form, which is cached with the response; a promise for long bodies not compressed yet */
  gzipOf(response: CachedResponse): Buffer | Promise<Buffer>
  /** Current size in bytes, at most the configured maximum. */
  bytes(): number
}

/** An eighth of the cache is for request keys. For short answers on a pinned release, keys take a tenth of the answers' size. */
const REQUEST_KEYS_SHARE = 8

const sizeInCache = ({ envelope, gzip }: CachedResponse, key: string): number =>
  envelope.body.length + (gzip instanceof Buffer ? gzip.length : 0) + key.length + 600

/**
 * Copies a response for the cache. V8 tracks where long-lived objects are allocated and then places all later objects from there in the old
 * generation. Without copies, every envelope, cached or not, would keep its text until the next full collection, and a page would take
 * twice the processor time.
 */
const copyOf = (response: CachedResponse): CachedResponse => ({
  ...response,
  envelope: { ...response.envelope, body: flatten(response.envelope.body) },
})

/**
 * Flattens a text for the cache. V8 keeps a concatenated string as a tree and walks it on every send. Long replaced trees leave hundreds of
 * megabytes until the next collection.
 */
function flatten(text: ByteString | Buffer): ByteString | Buffer {
  if (typeof text !== 'string') return text
  if (text.length < BYTES_FROM) return Buffer.from(text, 'latin1').toString('latin1')
  const bytes = Buffer.allocUnsafeSlow(text.length)
  bytes.write(text, 'latin1')
  return bytes
}

/** @param maxBytes 0 disables caching; concurrent equal requests are still computed once */
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
    const stored = copyOf(response)
    keys.set(stored, key)
    responses.set(key, stored)
    return stored
  }
  const storeGzip = (response: CachedResponse, gzip: Buffer | null): void => {
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
    hasKey: (requestKey) => requestKey !== null && requestKeys?.has(requestKey) === true,
    remember: (requestKey, recalled) => void requestKeys?.set(requestKey, recalled),
    async get(key, make) {
      const cached = responses?.get(key)
      if (cached !== undefined) return cached
      const concurrent = running.get(key)
      if (concurrent !== undefined)
        try {
          return await concurrent
        } catch (error) {
          // The first client has left and its query was aborted. Compute the answer for this client.
          if (!(error instanceof AppError && error.code === 'query_timeout')) throw error
        }
      const pending = make().then((response) => put(key, response))
      running.set(key, pending)
      try {
        return await pending
      } finally {
        if (running.get(key) === pending) running.delete(key)
      }
    },
    gzipOf(response) {
      if (response.gzip !== null) return response.gzip
      const compressed = compress(response.envelope.body)
      response.gzip = compressed
      if (compressed instanceof Promise)
        compressed.then(
          (bytes) => storeGzip(response, bytes),
          () => storeGzip(response, null),
        )
      else storeGzip(response, compressed)
      return compressed
    },
    bytes: () => (responses?.calculatedSize ?? 0) + (requestKeys?.calculatedSize ?? 0),
  }
}
