/**
 * Closes connections so that no client loses an answer. The server closes its writing side first. It closes the reading side when the
 * client closes, or after a second. A full close while client bytes are in flight would make the system send a reset, which discards
 * answers that the client has not read (RFC 9112, 9.6).
 * A server that shuts down keeps listening and answering until no request arrives for a second. Each connection's last answer announces the
 * close, so clients and load balancers have moved on when the listening socket closes.
 */
import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Connection, ConnectionQueue } from './connection-queue.ts'
import { REQUEST_TIMEOUT_MS } from './socket-errors.ts'

const LINGER_MS = 1000
/** Time without requests after which the shutdown closes idle connections. */
export const QUIET_MS = 1000
/** Longest wait for that quiet time. Running requests are still answered. */
export const DRAIN_MS = 5000
const POLL_MS = 20
/** Interval between checks of connections that are still open after the drain. */
const SWEEP_MS = 100

/** Half-closes a connection after everything written to it is sent, and destroys it when the client does not close in time. */
export function closeHalf(socket: Socket): void {
  if (socket.destroyed) return
  // Discard further input: the connection is already half closed.
  for (const listener of socket.listeners('data')) socket.off('data', listener as () => void)
  socket.on('data', () => undefined)
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Makes any later end of the connection (mostly by Node.js) a half close. */
export function installGracefulClose(socket: Socket): void {
  socket.destroySoon = () => closeHalf(socket)
}

const isBusy = ({ current, waiting, unread }: Connection): boolean =>
  current !== null || waiting.length > 0 || unread !== null

/**
 * Waits until clients have moved on, then closes idle connections.
 * @param refuseSlow closes a connection whose request has not arrived in time
 */
export async function drain(queue: ConnectionQueue, refuseSlow: (socket: Socket) => void): Promise<void> {
  const drainStart = performance.now()
  let quietSince = drainStart
  let lastStarted = queue.startedCount()
  for (;;) {
    const open = [...queue.connections()]
    if (open.length === 0) return
    const now = performance.now()
    if (queue.startedCount() !== lastStarted || open.some(isBusy)) {
      lastStarted = queue.startedCount()
      quietSince = now
    }
    if (now - quietSince >= QUIET_MS || now - drainStart >= DRAIN_MS) break
    await wait(POLL_MS)
  }
  const idle = [...queue.connections()].filter((connection) => !isBusy(connection))
  for (const { socket } of idle) closeHalf(socket)
  const areAllClosed = (): boolean => idle.every(({ socket }) => socket.destroyed)
  for (let waited = 0; waited < LINGER_MS && !areAllClosed(); waited += POLL_MS) await wait(POLL_MS)
  sweep(queue, drainStart, refuseSlow)
}

/** Closes connections that the drain left open. Node.js stops checking for slow requests once its server closes. */
function sweep(queue: ConnectionQueue, drainStart: number, refuseSlow: (socket: Socket) => void): void {
  const timer = setInterval(() => {
    const open = [...queue.connections()]
    if (open.length === 0) clearInterval(timer)
    const isLate = performance.now() - drainStart >= REQUEST_TIMEOUT_MS
    for (const connection of open) {
      const { socket, current } = connection
      if (socket.writableEnded) continue
      if (!isBusy(connection)) closeHalf(socket)
      else if (isLate && current?.[0].complete === false) refuseSlow(socket)
    }
  }, SWEEP_MS).unref()
}
