/**
 * How connections end, so that no client loses an answer: a connection is closed for writing first, and for reading once the
 * client has closed it, too, or after a second. To close it whole while bytes of the client are on their way would make the
 * system reset it, and a reset takes from the client the answers that it has not read yet (RFC 9112, 9.6).
 *
 * A server that is told to end goes on listening and answering until nothing has come for a second: every answer that is the
 * last of its connection says so, and clients and balancers have gone elsewhere when the listening socket closes.
 */
import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Connection, Order } from './connection-queue.ts'
import { REQUEST_TIMEOUT_MS } from './socket-errors.ts'

/** A client has this long to read what was written and to close its side. */
const LINGER_MS = 1000
/** Without a request for this long, the server closes what is left. */
export const QUIET_MS = 1000
/** After this long it does so in any case; requests that run are still answered. */
export const DRAIN_MS = 5000
const LOOK_MS = 20
/** Interval at which connections that are still open after the drain are looked at. */
const SWEEP_MS = 100

/** Ends a connection once everything written to it has left. */
export function endGently(socket: Socket): void {
  if (socket.destroyed) return
  // What still comes is read and means nothing.
  for (const listener of socket.listeners('data')) socket.off('data', listener as () => void)
  socket.on('data', () => undefined)
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** From here on whoever ends the connection after its last answer (Node.js, mostly) ends it gently. */
export function endsGently(socket: Socket): void {
  socket.destroySoon = () => endGently(socket)
}

const isBusy = ({ current, waiting, unread }: Connection): boolean =>
  current !== null || waiting.length > 0 || unread !== null

/**
 * Waits until clients have gone elsewhere, then ends the connections that are idle.
 * @param refuseSlow ends a connection whose request has not arrived in time
 */
export async function drain(order: Order, refuseSlow: (socket: Socket) => void): Promise<void> {
  const began = performance.now()
  let quietSince = began
  let begun = order.begun()
  for (;;) {
    const open = [...order.connections()]
    if (open.length === 0) return
    const now = performance.now()
    if (order.begun() !== begun || open.some(isBusy)) {
      begun = order.begun()
      quietSince = now
    }
    if (now - quietSince >= QUIET_MS || now - began >= DRAIN_MS) break
    await wait(LOOK_MS)
  }
  const idle = [...order.connections()].filter((connection) => !isBusy(connection))
  for (const { socket } of idle) endGently(socket)
  const closed = (): boolean => idle.every(({ socket }) => socket.destroyed)
  for (let waited = 0; waited < LINGER_MS && !closed(); waited += LOOK_MS) await wait(LOOK_MS)
  sweep(order, began, refuseSlow)
}

/** Ends what the drain left open. Node.js stops its own checks of slow requests as soon as its server closes. */
function sweep(order: Order, began: number, refuseSlow: (socket: Socket) => void): void {
  const timer = setInterval(() => {
    const open = [...order.connections()]
    if (open.length === 0) clearInterval(timer)
    const isLate = performance.now() - began >= REQUEST_TIMEOUT_MS
    for (const connection of open) {
      const { socket, current } = connection
      if (socket.writableEnded) continue
      if (!isBusy(connection)) endGently(socket)
      else if (isLate && current?.[0].complete === false) refuseSlow(socket)
    }
  }, SWEEP_MS).unref()
}
