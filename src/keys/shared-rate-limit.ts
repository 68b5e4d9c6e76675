/**
 * Token buckets in Redis, so that several instances limit a key together: the decisions of rate-limit.ts, one bucket.
 *
 * In: the address of the store. Out: a limiter that uses it, and limits with buckets of its own while it does not answer:
 * nothing passes unlimited, and no request fails because of the store. A store that fails or is late is dropped
 * with its connection and tried again in the background once a second, so that an outage makes only those requests wait,
 * at most TIMEOUT_MS, that were under way when it began.
 *
 * The client's own reconnecting, queueing and time-outs are off: it counts no time once a command is on its way.
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
  /** Whether buckets are shared now. */
  readonly isUp: () => boolean
  /** Fulfilled, never rejected, when the store has been tried for the first time. */
  readonly tried: Promise<void>
  /** Ends the connection. Later requests are limited with local buckets. */
  close(): Promise<void>
}

export interface SharedRateLimiterOptions extends RateLimiterOptions {
  /** redis:// or rediss:// (TLS); may hold a password, which no callback gets. */
  readonly url: string
  /** Time a request waits for the store at most, TIMEOUT_MS by default. */
  readonly timeoutMs?: number
  /** Called once when an outage begins. @param address host, port and database; @param reason a word or two */
  readonly onDown: (address: string, reason: string) => void
  /** Called once when an outage ends. */
  readonly onUp: (address: string) => void
}

export const TIMEOUT_MS = 100
/** Time between the end of one attempt to reach the store and the next. */
export const RETRY_MS = 1000
/** Time an attempt may take, of which the connection alone may take half. */
const ATTEMPT_MS = 1000

/** A token is this many units: every microsecond fills a bucket by its rate, and all numbers are whole. */
const UNITS = 60_000_000
const KEY_PREFIX = 'sus-data:rate:'

/**
 * The bucket is what was spent of it and when, both whole: at most 100,000,000 tokens, 6e15 units, below 2^53. No bucket
 * is a full one, so a bucket expires when it would be full. ARGV: tokens a minute, price in units,
 * 1 where the price is taken down to an empty bucket.
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

/** A bucket of its own, full again after a millisecond, with which a new connection shows that it can do the work. */
const PROBE = ['(probe)', 60_000, UNITS] as const

type Store = ReturnType<typeof createStore>

/** @returns a limiter that tries to reach its store at once */
export function createSharedRateLimiter(options: SharedRateLimiterOptions): SharedRateLimiter {
  const { url, timeoutMs = TIMEOUT_MS, onDown, onUp } = options
  const address = addressOf(url)
  const local = createRateLimiter(options)
  let store: Store | null = null
  let isOut = false
  let isClosed = false
  let retry: NodeJS.Timeout | undefined

  async function tryStore(): Promise<void> {
    const candidate = createStore(url)
    candidate.on('error', (error) => lose(candidate, error))
    // The connection alone must not keep the process alive.
    candidate.unref()
    try {
      await within(
        ATTEMPT_MS,
        candidate.connect().then(() => candidate.take(...PROBE)),
      )
      if (isClosed || !candidate.isReady) throw new Error('closed')
    } catch (error) {
      candidate.destroy()
      return missed(error)
    }
    store = candidate
    if (isOut) onUp(address)
    isOut = false
  }

  /** The first of several requests that fail together drops the store; the others find it dropped. */
  function lose(failed: Store, error: unknown): void {
    if (failed !== store) return
    store = null
    failed.destroy()
    missed(error)
  }

  function missed(error: unknown): void {
    if (isClosed) return
    if (!isOut) onDown(address, reasonOf(error))
    isOut = true
    retry = setTimeout(() => {
      attempt = tryStore()
    }, RETRY_MS).unref()
  }

  function spend(
    key: string,
    cost: number,
    perMinute: number | null,
    how: 'take' | 'charge',
  ): RateDecision | Promise<RateDecision> {
    const shared = store
    if (shared === null) return local[how](key, cost, perMinute)
    const limit = perMinute ?? options.perMinute
    // A request that costs more than a whole bucket would never pass: it costs a full one.
    const price = Math.round(Math.min(cost, limit) * UNITS)
    return within(timeoutMs, shared.take(key, limit, price, how === 'charge')).then(
      ([allowed, spent]) => decide(allowed === 1, spent, limit, price),
      (error: unknown) => {
        lose(shared, error)
        return local[how](key, cost, perMinute)
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
      // An attempt under way ends by itself; what it opened must not outlive it.
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
    // The older protocol does all that is needed, and every Redis speaks it.
    RESP: 2,
    maintNotifications: 'disabled',
    disableClientInfo: true,
    disableOfflineQueue: true,
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: ATTEMPT_MS / 2,
      reconnectStrategy: false,
      ...(url.startsWith('rediss:') ? { tls: true, ...(isName(host) ? { servername: host } : {}) } : {}),
    },
  })
}

const isName = (host: string): boolean => isIP(host.replace(/^\[|\]$/g, '')) === 0

/** What messages show of an address: all but user and password. */
function addressOf(url: string): string {
  const { protocol, hostname, port, pathname } = new URL(url)
  return `${protocol}//${hostname}:${port || '6379'}${pathname === '/' ? '' : pathname}`
}

class StoreTimeout extends Error {}

/** @returns what the promise becomes, or a failure when that takes longer */
function within<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    // A process that was busy may find the time over although an answer has arrived: it reads that first.
    const timer = setTimeout(() => setImmediate(reject, new StoreTimeout()), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** A word that names the failure. Never the message: a store may repeat in it what it was sent, the password with it. */
function reasonOf(error: unknown): string {
  if (error instanceof StoreTimeout) return 'no answer in time'
  if (!(error instanceof Error)) return 'failed'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return code ?? /^[A-Z]{3,20}(?= )/.exec(error.message)?.[0] ?? error.constructor.name
}
