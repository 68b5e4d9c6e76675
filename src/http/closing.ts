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
import type { Connection, Order } from './in-order.ts'

/** A client has this long to read what was written and to close its side. */
const LINGER_MS = 1000
/** Without a request for this long, the server closes what is left. */
export const QUIET_MS = 1000
/** After this long it does so in any case; requests that run are still answered. */
export const DRAIN_MS = 5000
const LOOK_MS = 20

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

/** Waits until clients have gone elsewhere, then ends the connections that are idle. */
export async function drain(order: Order): Promise<void> {
  const began = performance.now()
  let quietSince = began
  let begun = order.begun()
  const isBusy = ({ current, waiting, unread }: Connection): boolean =>
    current !== null || waiting.length > 0 || unread !== null
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
}
