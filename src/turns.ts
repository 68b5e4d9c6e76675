/**
 * Shares places among keys: connections of an engine among statements, a report worker among reports. In: requests for a place, light
 * or heavy, each with its owner (the id of a key). Out: places, in turn.
 *
 * - Owners take turns, so one key's hundred requests do not delay another key's single one.
 * - Light work never stands behind heavy work: heavy work leaves one place in four, at least one, to light work, and light work goes
 *   first. After as many light beginnings in a row as there are places, heavy work that waits goes first once.
 * - While other keys are at work, a key has at most one place in four, at least one, for each weight; alone, it has all of them.
 * - The queue of each weight is bounded. When it is full, the owner with the longest line is refused: 'overloaded'.
 *
 * A heavy statement that did not fit into memory beside others may run alone.
 */
import { AppError, clientLeft } from './errors.ts'

export type Weight = 'light' | 'heavy'

/** A place that was taken. */
export interface Turn<Place> {
  readonly place: Place
  /** Has other heavy work run beside this heavy work? To be called before it ends. */
  hadCompany(): boolean
  end(): void
}

export interface TurnOptions {
  /** Whoever waits leaves the queue when this is aborted. */
  readonly signal?: AbortSignal | undefined
  /** No other heavy work may run beside it: it waits until none does, and later work waits for it. */
  readonly isAlone?: boolean
}

export interface Turns<Place> {
  /** @throws AppError 'overloaded'; 'query_timeout' where the client has left */
  take(owner: string, weight: Weight, options?: TurnOptions): Promise<Turn<Place>>
  waiting(): number
  running(): number
}

export interface TurnsOptions {
  /** Requests of each weight that may wait. */
  readonly queue: number
  /** For `Retry-After` of a refusal. */
  readonly retryAfterSeconds: number
  /** Milliseconds that never go back. */
  readonly now?: () => number
}

interface Waiter {
  readonly begin: () => void
  readonly refuse: (error: AppError) => void
}

/** Work of one owner and weight. */
interface Line {
  readonly waiting: Waiter[]
  running: number
  endedAt: number
}

/** A key counts as being at work for this long after its last work: a client needs a moment before it asks again. */
const RECENT_MS = 1000
/** One place in this many is left to light work, and is what a key has while others are at work. */
const SHARE = 4

/** @returns turns over places that are all free */
export function createTurns<Place>(
  places: readonly Place[],
  { queue, retryAfterSeconds, now = () => performance.now() }: TurnsOptions,
): Turns<Place> {
  const share = Math.max(1, Math.floor(places.length / SHARE))
  const heavyMax = Math.max(1, places.length - share)
  const idle = [...places]
  /** Owner → line; the map's order is the order of turns. */
  const lines = {
    light: new Map<string, Line>(),
    heavy: new Map<string, Line>(),
  }
  /** Places of heavy work → whether other heavy work has run beside it. */
  const heavyRunning = new Map<Place, boolean>()
  /** Heavy work that runs alone, one after another. */
  const alone: Waiter[] = []
  let isAloneRunning = false
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
  /** @returns the first waiter of the next owner who may begin */
  const nextOf = (weight: Weight): Waiter | undefined => {
    forgetIdleOwners(weight)
    const runningMax = lines[weight].size > 1 ? share : places.length
    for (const [owner, line] of lines[weight]) {
      if (line.waiting.length === 0 || line.running >= runningMax) continue
      // The owner goes to the end of the line.
      lines[weight].delete(owner)
      lines[weight].set(owner, line)
      return line.waiting.shift()
    }
    return undefined
  }
  const nextLight = (): Waiter | undefined => nextOf('light')
  const nextHeavy = (): Waiter | undefined => {
    if (isAloneRunning) return undefined
    if (alone.length > 0) return heavyRunning.size === 0 ? alone.shift() : undefined
    return heavyRunning.size < heavyMax ? nextOf('heavy') : undefined
  }
  const serve = (): void => {
    while (idle.length > 0) {
      const isHeavyDue = lightInRow >= places.length
      const next = isHeavyDue ? (nextHeavy() ?? nextLight()) : (nextLight() ?? nextHeavy())
      if (next === undefined) return
      next.begin()
    }
  }
  const beginTurn = (owner: string, weight: Weight, isAlone: boolean): Turn<Place> => {
    const place = idle.pop() as Place
    const line = lineOf(owner, weight)
    line.running += 1
    if (weight === 'light') lightInRow += 1
    else {
      lightInRow = 0
      isAloneRunning = isAlone
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
          isAloneRunning = false
        }
        idle.push(place)
        serve()
      },
    }
  }
  /**
   * Refuses the newest waiter of the longest line. A line that would be no shorter afterwards than the longest one is refused itself, so
   * that an owner with a single waiter never loses it to another one.
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
        const waiting = isAlone ? alone : line.waiting
        const leave = (): void => {
          waiting.splice(waiting.indexOf(waiter), 1)
          reject(clientLeft())
          serve()
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
        serve()
        // Work that runs alone has waited its turn already, so the bound of the queue does not apply.
        if (!isAlone && countWaiting(weight) > queue) refuseLongest(weight, line)
      })
    },
    waiting: () => countWaiting('light') + countWaiting('heavy') + alone.length,
    running: () => places.length - idle.length,
  }
}
