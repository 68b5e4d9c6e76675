/**
 * Shares slots among API keys: engine connections among statements, or report workers among reports. A slot is a `place`.
 * In: light or heavy requests for a slot, each with its owner (the id of a key). Out: slots, in fair order.
 *
 * - Owners take turns, so a hundred requests of one key do not delay a single request of another.
 * - Light work does not wait for heavy work: a quarter of the slots (at least one) is reserved for light work, and light work
 *   begins first. After as many consecutive light requests as there are slots, one waiting heavy request goes first.
 * - While other keys are active, a key gets at most a quarter of the slots (at least one) by weight. Otherwise it may use all.
 * - The queue of each weight is limited. When it is full, the owner with the longest queue gets 'overloaded'.
 *
 * A heavy statement that did not fit into memory along with others may run exclusively.
 */
import { AppError, clientLeft } from './errors.ts'

export type Weight = 'light' | 'heavy'

export interface Turn<Place> {
  readonly place: Place
  /** True if other heavy work ran at the same time. Call it before end(). */
  hadCompany(): boolean
  end(): void
}

export interface TurnOptions {
  readonly signal?: AbortSignal | undefined
  /** Runs without other heavy work: it waits until none runs, and later heavy work waits for it. */
  readonly isAlone?: boolean
}

export interface Turns<Place> {
  /** @throws AppError 'overloaded', or 'query_timeout' if the client has disconnected */
  take(owner: string, weight: Weight, options?: TurnOptions): Promise<Turn<Place>>
  waiting(): number
  running(): number
}

export interface TurnsOptions {
  /** Largest number of waiting requests, for each weight. */
  readonly queue: number
  readonly retryAfterSeconds: number
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number
}

interface Waiter {
  readonly begin: () => void
  readonly refuse: (error: AppError) => void
}

interface Line {
  readonly waiting: Waiter[]
  running: number
  endedAt: number
}

/** Time after its last work in which a key still counts as active, because a client needs a moment to send the next request. */
const RECENT_MS = 1000
/** Divisor of the number of slots: the result is reserved for light work, and is a key's limit while others are active. */
const SHARE = 4

export function createTurns<Place>(
  places: readonly Place[],
  { queue, retryAfterSeconds, now = () => performance.now() }: TurnsOptions,
): Turns<Place> {
  const share = Math.max(1, Math.floor(places.length / SHARE))
  const heavyMax = Math.max(1, places.length - share)
  const free = [...places]
  /** Queues by owner. The order of the map is the order of turns. */
  const lines = {
    light: new Map<string, Line>(),
    heavy: new Map<string, Line>(),
  }
  /** Slots of heavy work. The value is true if other heavy work ran at the same time. */
  const heavyRunning = new Map<Place, boolean>()
  const exclusiveWaiters: Waiter[] = []
  let isExclusiveRunning = false
  let lightInRow = 0

  const lineOf = (owner: string, weight: Weight): Line => {
    let line = lines[weight].get(owner)
    if (line === undefined) {
      line = { waiting: [], running: 0, endedAt: Number.NEGATIVE_INFINITY }
      lines[weight].set(owner, line)
    }
    return line
  }
  const countWaiting = (weight: Weight): number => {
    let count = 0
    for (const { waiting } of lines[weight].values()) count += waiting.length
    return count
  }
  const forgetIdleOwners = (weight: Weight): void => {
    const since = now() - RECENT_MS
    for (const [owner, { waiting, running, endedAt }] of lines[weight])
      if (waiting.length === 0 && running === 0 && endedAt < since) lines[weight].delete(owner)
  }
  /** @returns the first waiter of the next owner that is below its limit */
  const takeNext = (weight: Weight): Waiter | undefined => {
    forgetIdleOwners(weight)
    const runningMax = lines[weight].size > 1 ? share : places.length
    for (const [owner, line] of lines[weight]) {
      if (line.waiting.length === 0 || line.running >= runningMax) continue
      lines[weight].delete(owner)
      lines[weight].set(owner, line)
      return line.waiting.shift()
    }
    return undefined
  }
  const takeNextLight = (): Waiter | undefined => takeNext('light')
  const takeNextHeavy = (): Waiter | undefined => {
    if (isExclusiveRunning) return undefined
    if (exclusiveWaiters.length > 0) return heavyRunning.size === 0 ? exclusiveWaiters.shift() : undefined
    return heavyRunning.size < heavyMax ? takeNext('heavy') : undefined
  }
  const beginWaiting = (): void => {
    while (free.length > 0) {
      const isHeavyDue = lightInRow >= places.length
      const next = isHeavyDue ? (takeNextHeavy() ?? takeNextLight()) : (takeNextLight() ?? takeNextHeavy())
      if (next === undefined) return
      next.begin()
    }
  }
  const beginTurn = (owner: string, weight: Weight, isAlone: boolean): Turn<Place> => {
    const place = free.pop() as Place
    const line = lineOf(owner, weight)
    line.running += 1
    if (weight === 'light') lightInRow += 1
    else {
      lightInRow = 0
      isExclusiveRunning = isAlone
      for (const other of heavyRunning.keys()) heavyRunning.set(other, true)
      heavyRunning.set(place, heavyRunning.size > 0)
    }
    return {
      place,
      hadCompany: () => heavyRunning.get(place) === true,
      end() {
        line.running -= 1
        line.endedAt = now()
        if (weight === 'heavy') {
          heavyRunning.delete(place)
          isExclusiveRunning = false
        }
        free.push(place)
        beginWaiting()
      },
    }
  }
  /**
   * Rejects the newest waiter of the longest queue. If no queue is longer than the one that just grew, its new waiter is
   * rejected. So an owner with a single waiter never loses it to another owner.
   */
  const refuseLongest = (weight: Weight, added: Line): void => {
    let longest = added
    for (const line of lines[weight].values())
      if (line.waiting.length > longest.waiting.length) longest = line
    const refused = longest.waiting.length > added.waiting.length ? longest : added
    refused.waiting.pop()?.refuse(
      new AppError('overloaded', {
        headers: { 'Retry-After': String(retryAfterSeconds) },
      }),
    )
  }
  return {
    take(owner, weight, { signal, isAlone = false } = {}) {
      if (signal?.aborted === true) return Promise.reject(clientLeft())
      return new Promise((resolve, reject) => {
        const line = lineOf(owner, weight)
        const waiting = isAlone ? exclusiveWaiters : line.waiting
        const leave = (): void => {
          waiting.splice(waiting.indexOf(waiter), 1)
          reject(clientLeft())
          beginWaiting()
        }
        const waiter: Waiter = {
          begin() {
            signal?.removeEventListener('abort', leave)
            resolve(beginTurn(owner, weight, isAlone))
          },
          refuse(error) {
            signal?.removeEventListener('abort', leave)
            reject(error)
          },
        }
        signal?.addEventListener('abort', leave, { once: true })
        waiting.push(waiter)
        beginWaiting()
        // The queue limit does not apply to exclusive work, because it has already waited for a turn.
        if (!isAlone && countWaiting(weight) > queue) refuseLongest(weight, line)
      })
    },
    waiting: () => countWaiting('light') + countWaiting('heavy') + exclusiveWaiters.length,
    running: () => places.length - free.length,
  }
}
