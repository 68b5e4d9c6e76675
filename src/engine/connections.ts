/**
 * Who may use a connection next. In: requests for one, light or heavy. Out: connections, in turn.
 *
 * Heavy statements (aggregations) never take all connections, so that a record by its key waits for records, not for
 * analysts; among heavy ones the owners take turns, so that one key's hundred questions do not stand before another's one.
 * What waits is bounded; one more is 'overloaded' at once.
 */
import { AppError } from '../errors.ts'

export interface Connections<Connection> {
  /** @param heavyFor owner of a heavy statement; null: a light one. @throws AppError 'overloaded' */
  acquire(heavyFor: string | null): Promise<Connection>
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
  // One connection in four, at least one, is kept from heavy statements where there is more than one.
  const heavyMax = Math.max(1, connections.length - Math.max(1, Math.floor(connections.length / 4)))
  const light: Waiter<Connection>[] = []
  /** Owner → who waits; the map's own order is the order of turns. */
  const heavy = new Map<string, Waiter<Connection>[]>()
  let heavyRunning = 0
  let heavyWaiting = 0

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
  const serve = (): void => {
    while (idle.length > 0) {
      const isHeavyNext = light.length === 0
      if (isHeavyNext && heavyRunning >= heavyMax) return
      const waiter = isHeavyNext ? takeHeavy() : light.shift()
      if (waiter === undefined) return
      if (isHeavyNext) heavyRunning += 1
      waiter(idle.pop() as Connection)
    }
  }
  return {
    acquire(heavyFor) {
      const isFree = idle.length > 0 && (heavyFor === null || (heavyRunning < heavyMax && heavyWaiting === 0))
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
    release(connection, wasHeavy) {
      if (wasHeavy) heavyRunning -= 1
      idle.push(connection)
      serve()
    },
    waiting: () => light.length + heavyWaiting,
    running: () => connections.length - idle.length,
  }
}
