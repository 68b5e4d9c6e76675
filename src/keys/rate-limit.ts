/**
 * Token buckets, one per key: a bucket holds a minute's requests and fills evenly.
 *
 * In: the id of a key and what a request costs. Out: whether it may pass, and the numbers of the RateLimit headers. Memory
 * is bounded: past `maxKeys` the bucket used longest ago is forgotten, which gives its key a full one. Absent on purpose:
 * any clock but the one passed in. Buckets that several instances share are in shared-rate-limit.ts.
 */
export interface RateDecision {
  readonly allowed: boolean
  /** Requests a minute, also the largest burst. */
  readonly limit: number
  /** Whole requests left now. */
  readonly remaining: number
  /** Whole seconds until the bucket is full again. */
  readonly resetSeconds: number
  /** Whole seconds until this request would pass; 0 when it has. For `Retry-After`. */
  readonly retryAfterSeconds: number
}

export interface RateLimiter {
  /** Buckets are in another process: decisions are asynchronous. */
  readonly isShared?: boolean
  /**
   * @param key id of the key; @param cost requests this one counts for, 1 unless it is expensive
   * @param perMinute the key's own rate; null for the default
   * @returns at once where the bucket is in this process
   */
  take(key: string, cost?: number, perMinute?: number | null): RateDecision | Promise<RateDecision>
  /** Takes what was not known to be needed before, down to an empty bucket: it always passes. */
  charge(key: string, cost: number, perMinute?: number | null): RateDecision | Promise<RateDecision>
  /** Would a request pass now? Takes nothing. Absent where buckets are in another process. */
  allows?(key: string, cost?: number, perMinute?: number | null): boolean
}

/** A limiter whose buckets are in this process. */
export interface LocalRateLimiter extends RateLimiter {
  take(key: string, cost?: number, perMinute?: number | null): RateDecision
  charge(key: string, cost: number, perMinute?: number | null): RateDecision
  allows(key: string, cost?: number, perMinute?: number | null): boolean
}

export interface RateLimiterOptions {
  /** Requests a minute for keys without a rate of their own. */
  readonly perMinute: number
  /** Milliseconds that never go back. */
  readonly now?: () => number
  /** Buckets in memory, 10,000 by default. */
  readonly maxKeys?: number
}

interface Bucket {
  readonly tokens: number
  readonly atMs: number
  readonly limit: number
}

const MINUTE_MS = 60_000

/** @returns a limiter with every bucket full */
export function createRateLimiter(options: RateLimiterOptions): LocalRateLimiter {
  const { now = () => performance.now(), maxKeys = 10_000 } = options
  const buckets = new Map<string, Bucket>()
  let newest: string | null = null

  const spend = (key: string, cost: number, perMinute: number | null, isCharged: boolean): RateDecision => {
    const limit = perMinute ?? options.perMinute
    const atMs = now()
    const perMs = limit / MINUTE_MS
    const tokens = refill(buckets.get(key), limit, atMs)
    // A request that costs more than a whole bucket would never pass: it costs a full one.
    const price = Math.min(cost, isCharged ? tokens : limit)
    const allowed = tokens >= price
    const left = allowed ? tokens - price : tokens

    // Taken out and put back, so that the map's own order is the order of last use.
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

/** @returns tokens at a time; a bucket whose limit has changed keeps what was spent */
function refill(bucket: Bucket | undefined, limit: number, atMs: number): number {
  if (bucket === undefined) return limit
  const spent = bucket.limit - bucket.tokens
  const filled = (Math.max(0, atMs - bucket.atMs) * limit) / MINUTE_MS
  return Math.min(limit, Math.max(0, limit - spent) + filled)
}
