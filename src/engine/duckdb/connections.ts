/**
 * Shares the connections among statements. In: requests for one, light or heavy. Out: connections, in turn.
 *
 * Heavy statements (aggregations) never take all connections, so that reads of single records do not wait for them; among
 * heavy ones the owners take turns, so that one key's hundred queries do not delay another key's single one. A heavy one that
 * did not fit into memory beside others may run alone. The queue is bounded: one request more is 'overloaded' at once.
 */
import { AppError } from '../../errors.ts'

export interface Connections<Connection> {
  /**
   * @param heavyFor owner of a heavy statement; null: a light one
   * @param isAlone no other heavy statement may run beside it: it waits until none does, and later ones wait for it
   * @throws AppError 'overloaded'
   */
  acquire(heavyFor: string | null, isAlone?: boolean): Promise<Connection>
  /** Has another heavy statement run beside the heavy one on a connection? To be called before it is released. */
  hadCompany(connection: Connection): boolean
  /** @param wasHeavy as it was acquired */
  release(connection: Connection, wasHeavy: boolean): void
  waiting(): number
  running(): number
}

type Waiter<Connection> = (connection: Connection) => void

/** @param queue requests of each kind that may wait */
export function shareConnections<Connection>(
  connections: readonly Connection[],
  queue: number,
): Connections<Connection> {
  const idle = [...connections]
  // Heavy statements leave one connection in four, at least one, to light ones where there is more than one.
  const heavyMax = Math.max(1, connections.length - Math.max(1, Math.floor(connections.length / 4)))
  const light: Waiter<Connection>[] = []
  /** Owner → who waits; the map's own order is the order of turns. */
  const heavy = new Map<string, Waiter<Connection>[]>()
  /** Connections of the heavy statements that run → whether another has run beside. */
  const heavyRunning = new Map<Connection, boolean>()
  let heavyWaiting = 0
  /** Heavy statements that run alone, one after another. */
  const alone: Waiter<Connection>[] = []
  let isAloneRunning = false

  const takeHeavy = (): Waiter<Connection> | undefined => {
    const [owner] = heavy.keys()
    if (owner === undefined) return undefined
    const own = heavy.get(owner) ?? []
    const next = own.shift()
    // The owner goes to the end of the line.
    heavy.delete(owner)
    if (own.length > 0) heavy.set(owner, own)
    if (next !== undefined) heavyWaiting -= 1
    return next
  }
  const begin = (waiter: Waiter<Connection>): void => {
    const connection = idle.pop() as Connection
    for (const other of heavyRunning.keys()) heavyRunning.set(other, true)
    heavyRunning.set(connection, heavyRunning.size > 0)
    waiter(connection)
  }
  const serve = (): void => {
    while (idle.length > 0) {
      const isHeavyNext = light.length === 0
      if (isHeavyNext && (isAloneRunning || alone.length > 0)) {
        const next = heavyRunning.size === 0 ? alone.shift() : undefined
        if (next === undefined) return
        isAloneRunning = true
        begin(next)
        return
      }
      if (isHeavyNext && heavyRunning.size >= heavyMax) return
      const waiter = isHeavyNext ? takeHeavy() : light.shift()
      if (waiter === undefined) return
      if (isHeavyNext) begin(waiter)
      else waiter(idle.pop() as Connection)
    }
  }
  return {
    acquire(heavyFor, isAlone = false) {
      if (isAlone)
        // It has waited its turn already, so the bound of the queue does not apply.
        return new Promise((resolve) => {
          alone.push(resolve)
          serve()
        })
      const isFree =
        idle.length > 0 && (heavyFor === null || (heavyRunning.size < heavyMax && heavyWaiting === 0))
      if (!isFree && (heavyFor === null ? light.length : heavyWaiting) >= queue)
        return Promise.reject(new AppError('overloaded', { headers: { 'Retry-After': '1' } }))
      return new Promise((resolve) => {
        if (heavyFor === null) light.push(resolve)
        else {
          heavy.set(heavyFor, [...(heavy.get(heavyFor) ?? []), resolve])
          heavyWaiting += 1
        }
        serve()
      })
    },
    hadCompany: (connection) => heavyRunning.get(connection) === true,
    release(connection, wasHeavy) {
      if (wasHeavy) {
        heavyRunning.delete(connection)
        isAloneRunning = false
      }
      idle.push(connection)
      serve()
    },
    waiting: () => light.length + heavyWaiting + alone.length,
    running: () => connections.length - idle.length,
  }
}
