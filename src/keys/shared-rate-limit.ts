/**
 * Token buckets in Redis, so that several instances enforce one limit per key, with the same decisions as rate-limit.ts.
 *
 * Input: the address of the store. Output: a limiter. While the store is down, the limiter uses local buckets: no request passes
 * unlimited, and none fails because of the store. A store that fails or is late is disconnected and retried in the background once
 * a second. An outage therefore delays only requests in progress, by at most TIMEOUT_MS.
 *
 * The client's reconnecting, queueing and time-outs are disabled, because its time-out does not cover a command that was already
 * sent.
 */
import { isIP } from 'node:net'
import { type CommandParser, createClient, defineScript } from '@redis/client'
import {
  createRateLimiter,
  type RateDecision,
  type RateLimiter,
  type RateLimiterOptions,
} from './rate-limit.ts'

export interface SharedRateLimiter extends RateLimiter {
  /** Whether buckets are currently shared. */
  readonly isUp: () => boolean
  /** Resolves after the first attempt to reach the store; never rejects. */
  readonly tried: Promise<void>
  close(): Promise<void>
}

export interface SharedRateLimiterOptions extends RateLimiterOptions {
  /** redis:// or rediss:// (TLS); may contain a password, which callbacks never receive. */
  readonly url: string
  /** Longest time a request waits for the store, TIMEOUT_MS by default. */
  readonly timeoutMs?: number
  /** Called once when an outage begins. @param address host, port and database @param reason one or two words */
  readonly onDown: (address: string, reason: string) => void
  readonly onUp: (address: string) => void
}

export const TIMEOUT_MS = 100
/** Delay between attempts to reach the store. */
export const RETRY_MS = 1000
/** Time limit of an attempt; connecting may take half of it. */
const ATTEMPT_MS = 1000

/** Units per token. A bucket with N tokens per minute gains N units every microsecond, so all numbers are integers. */
const UNITS = 60_000_000
const KEY_PREFIX = 'sus-data:rate:'

/**
 * A bucket stores what was spent and when, both integers: at most 100,000,000 tokens, 6e15 units, below 2^53. A missing bucket
 * counts as full, so a bucket expires when it would be full again. ARGV: tokens per minute, price in units, 1 to charge down to an
 * empty bucket.
 */
const TAKE = defineScript({
  NUMBER_OF_KEYS: 1,
  SCRIPT: `
local limit, price = tonumber(ARGV[1]), tonumber(ARGV[2])
local minute = ${UNITS}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local spent = 0
local was, at = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+)$')
if was then
  local filled = math.min(math.max(now - at, 0), minute) * limit
  spent = math.max(math.min(tonumber(was), limit * minute) - filled, 0)
end
local allowed = 0
if ARGV[3] == '1' then
  price = math.min(price, limit * minute - spent)
end
if spent + price <= limit * minute then
  allowed = 1
  spent = spent + price
end
if spent > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f %.0f', spent, now), 'PX', math.ceil(spent / limit / 1000))
end
return { allowed, spent }`,
  parseCommand(parser: CommandParser, id: string, limit: number, price: number, isCharged = false) {
    parser.pushKey(KEY_PREFIX + id)
    parser.push(String(limit), String(price), isCharged ? '1' : '0')
  },
  transformReply: (reply: unknown) => reply as readonly [allowed: number, spent: number],
})

/** Separate test bucket, full again after a millisecond, with which a new connection proves that the script works. */
const PROBE = ['(probe)', 60_000, UNITS] as const

type Store = ReturnType<typeof createStore>

/** @returns a limiter that immediately tries to reach its store */
export function createSharedRateLimiter(options: SharedRateLimiterOptions): SharedRateLimiter {
  const { url, timeoutMs = TIMEOUT_MS, onDown, onUp } = options
  const address = addressOf(url)
  const local = createRateLimiter(options)
  let store: Store | null = null
  let isDown = false
  let isClosed = false
  let retry: NodeJS.Timeout | undefined

  async function tryStore(): Promise<void> {
    const candidate = createStore(url)
    candidate.on('error', (error) => disconnectStore(candidate, error))
    // The connection alone must not keep the process alive.
    candidate.unref()
    try {
      await withTimeout(
        ATTEMPT_MS,
        candidate.connect().then(() => candidate.take(...PROBE)),
      )
      if (isClosed || !candidate.isReady) throw new Error('closed')
    } catch (error) {
      candidate.destroy()
      return scheduleRetry(error)
    }
    store = candidate
    if (isDown) onUp(address)
    isDown = false
  }

  /** Disconnects the store. Only the first of several failing requests does so; `store` has changed for the others. */
  function disconnectStore(failed: Store, error: unknown): void {
    if (failed !== store) return
    store = null
    failed.destroy()
    scheduleRetry(error)
  }

  function scheduleRetry(error: unknown): void {
    if (isClosed) return
    if (!isDown) onDown(address, reasonOf(error))
    isDown = true
    retry = setTimeout(() => {
      attempt = tryStore()
    }, RETRY_MS).unref()
  }

  function spend(
    key: string,
    cost: number,
    perMinute: number | null,
    method: 'take' | 'charge',
  ): RateDecision | Promise<RateDecision> {
    const shared = store
    if (shared === null) return local[method](key, cost, perMinute)
    const limit = perMinute ?? options.perMinute
    // A request that costs more than a full bucket would never pass, so it costs a full bucket.
    const price = Math.round(Math.min(cost, limit) * UNITS)
    return withTimeout(timeoutMs, shared.take(key, limit, price, method === 'charge')).then(
      ([allowed, spent]) => decide(allowed === 1, spent, limit, price),
      (error: unknown) => {
        disconnectStore(shared, error)
        return local[method](key, cost, perMinute)
      },
    )
  }

  let attempt = tryStore()
  return {
    tried: attempt,
    isUp: () => store !== null,
    isShared: true,
    take: (key, cost = 1, perMinute = null) => spend(key, cost, perMinute, 'take'),
    charge: (key, cost, perMinute = null) => spend(key, cost, perMinute, 'charge'),
    async close() {
      isClosed = true
      clearTimeout(retry)
      // Wait for a running attempt, so that its connection does not stay open.
      await attempt
      store?.destroy()
      store = null
    },
  }
}

function decide(allowed: boolean, spent: number, limit: number, price: number): RateDecision {
  const left = limit * UNITS - spent
  return {
    allowed,
    limit,
    remaining: Math.floor(left / UNITS),
    resetSeconds: Math.ceil(spent / limit / 1e6),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((price - left) / limit / 1e6)),
  }
}

function createStore(url: string) {
  const host = new URL(url).hostname
  return createClient({
    url,
    scripts: { take: TAKE },
    // RESP 2 suffices, and every Redis version supports it.
    RESP: 2,
    maintNotifications: 'disabled',
    disableClientInfo: true,
    disableOfflineQueue: true,
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: ATTEMPT_MS / 2,
      reconnectStrategy: false,
      ...(url.startsWith('rediss:') ? { tls: true, ...(isHostName(host) ? { servername: host } : {}) } : {}),
    },
  })
}

const isHostName = (host: string): boolean => isIP(host.replace(/^\[|\]$/g, '')) === 0

/** Address for messages, without user and password. */
function addressOf(url: string): string {
  const { protocol, hostname, port, pathname } = new URL(url)
  return `${protocol}//${hostname}:${port || '6379'}${pathname === '/' ? '' : pathname}`
}

class StoreTimeout extends Error {}

/** @returns the promise's result; rejects with StoreTimeout when it takes longer */
function withTimeout<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    // After a busy period the timer may fire although a response has arrived, so process that response first.
    const timer = setTimeout(() => setImmediate(reject, new StoreTimeout()), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Names the failure in a word. It never uses the message, because a store may repeat the password in it. */
function reasonOf(error: unknown): string {
  if (error instanceof StoreTimeout) return 'no answer in time'
  if (!(error instanceof Error)) return 'failed'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return code ?? /^[A-Z]{3,20}(?= )/.exec(error.message)?.[0] ?? error.constructor.name
}
