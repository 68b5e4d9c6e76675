/**
 * Token buckets, one per key: a bucket holds a minute's requests and refills evenly.
 *
 * Input: a key id and the cost of a request. Output: whether it may pass, and the numbers of the RateLimit headers. Memory is
 * bounded: beyond `maxKeys`, the least recently used bucket is dropped, so its key starts with a full one. The caller supplies the
 * clock. Buckets that several instances share are in shared-rate-limit.ts.
 */
export interface RateDecision {
  readonly allowed: boolean
  /** Requests per minute, also the largest burst. */
  readonly limit: number
  readonly remaining: number
  /** Seconds until the bucket is full, rounded up. */
  readonly resetSeconds: number
  /** Seconds until this request would pass, rounded up, for `Retry-After`; 0 when it passed. */
  readonly retryAfterSeconds: number
}

export interface RateLimiter {
  /** Buckets are in another process, so decisions are asynchronous. */
  readonly isShared?: boolean
  /**
   * @param key id of the key @param cost number of requests this one counts for, 1 unless it is expensive
   * @param perMinute rate of the key; null for the default
   * @returns synchronously when the bucket is in this process
   */
  take(key: string, cost?: number, perMinute?: number | null): RateDecision | Promise<RateDecision>
  /** Charges a cost that only became known afterwards, down to an empty bucket. It always passes. */
  charge(key: string, cost: number, perMinute?: number | null): RateDecision | Promise<RateDecision>
  /** Whether a request would pass now; charges nothing. Absent when buckets are in another process. */
  allows?(key: string, cost?: number, perMinute?: number | null): boolean
}

export interface LocalRateLimiter extends RateLimiter {
  take(key: string, cost?: number, perMinute?: number | null): RateDecision
  charge(key: string, cost: number, perMinute?: number | null): RateDecision
  allows(key: string, cost?: number, perMinute?: number | null): boolean
}

export interface RateLimiterOptions {
  /** Requests per minute for keys without their own rate. */
  readonly perMinute: number
  /** Monotonic time in milliseconds. */
  readonly now?: () => number
  readonly maxKeys?: number
}

interface Bucket {
  readonly tokens: number
  readonly atMs: number
  readonly limit: number
}

const MINUTE_MS = 60_000

export function createRateLimiter(options: RateLimiterOptions): LocalRateLimiter {
  const { now = () => performance.now(), maxKeys = 10_000 } = options
  const buckets = new Map<string, Bucket>()
  let newest: string | null = null

  const spend = (key: string, cost: number, perMinute: number | null, isCharged: boolean): RateDecision => {
    const limit = perMinute ?? options.perMinute
    const atMs = now()
    const perMs = limit / MINUTE_MS
    const tokens = refill(buckets.get(key), limit, atMs)
    // A request that costs more than a full bucket would never pass, so it costs a full bucket.
    const price = Math.min(cost, isCharged ? tokens : limit)
    const allowed = tokens >= price
    const left = allowed ? tokens - price : tokens

    // Delete and re-insert, so that the map is ordered by last use.
    if (key !== newest) buckets.delete(key)
    newest = key
    buckets.set(key, { tokens: left, atMs, limit })
    const [oldest] = buckets.size > maxKeys ? buckets.keys() : []
    if (oldest !== undefined) buckets.delete(oldest)
    return {
      allowed,
      limit,
      remaining: Math.floor(left),
      resetSeconds: Math.ceil((limit - left) / perMs / 1000),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((price - left) / perMs / 1000)),
    }
  }
  return {
    allows(key, cost = 1, perMinute = null) {
      const limit = perMinute ?? options.perMinute
      return refill(buckets.get(key), limit, now()) >= Math.min(cost, limit)
    },
    take: (key, cost = 1, perMinute = null) => spend(key, cost, perMinute, false),
    charge: (key, cost, perMinute = null) => spend(key, cost, perMinute, true),
  }
}

/** @returns tokens at a time; when the limit changed, the spent tokens stay spent */
function refill(bucket: Bucket | undefined, limit: number, atMs: number): number {
  if (bucket === undefined) return limit
  const spent = bucket.limit - bucket.tokens
  const filled = (Math.max(0, atMs - bucket.atMs) * limit) / MINUTE_MS
  return Math.min(limit, Math.max(0, limit - spent) + filled)
}
