/**
 * Requests of one connection enter the application one at a time, in the order in which they came.
 *
 * A client may send many requests without reading an answer (pipelining). Answered at once, all those answers would wait in
 * memory; here the next request is not looked at until the answer before it has been handed to the operating system, so a
 * connection holds one answer, however much is sent over it. Requests that wait are bounded, too: past `WAITING_MAX` the
 * connection is not worth keeping and ends. Not responsible for: anything a request means.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** Requests of one connection that may wait. A single read of 64 KiB holds fewer than 2,000 of the shortest ones. */
const WAITING_MAX = 10_000

interface Connection {
  isBusy: boolean
  readonly waiting: (readonly [IncomingMessage, ServerResponse])[]
}

/** @param listener answers one request @returns the same, one request of a connection at a time */
export function oneAtATime(listener: Listener): Listener {
  const connections = new WeakMap<Socket, Connection>()
  const begin = (connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    connection.isBusy = true
    // 'close' comes once for every response, whether it was sent whole or its client left.
    response.on('close', onClose)
    listener(request, response)
  }
  // One function for all responses: this is on the way of every request.
  function onClose(this: ServerResponse): void {
    const { socket } = this.req
    const connection = connections.get(socket)
    if (connection === undefined) return
    connection.isBusy = false
    // Nobody waits for the answers of a connection that has ended.
    if (socket.destroyed) connection.waiting.length = 0
    const next = connection.waiting.shift()
    if (next !== undefined) begin(connection, ...next)
  }
  return (request, response) => {
    const { socket } = request
    let connection = connections.get(socket)
    if (connection === undefined) {
      connection = { isBusy: false, waiting: [] }
      connections.set(socket, connection)
    }
    if (!connection.isBusy) begin(connection, request, response)
    else if (connection.waiting.length < WAITING_MAX) connection.waiting.push([request, response])
    else socket.destroy()
  }
}
