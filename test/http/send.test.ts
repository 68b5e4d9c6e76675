/** The way out: a client that takes nothing loses its connection after the documented time, one that is slow does not. */
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import { closeWhenStalled } from '../../src/http/connection/send.ts'

const STALL_MS = 400
const bytes = Buffer.alloc(64 * 2 ** 20)

/** @param read what the client does with its connection @returns milliseconds until the answer ended */
async function answer(t: Test, read: (socket: ReturnType<typeof connect>) => void): Promise<number> {
  const server = createServer()
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ended = new Promise<number>((resolve) =>
    server.once('request', (_request, response) => {
      const began = performance.now()
      closeWhenStalled(response, bytes.length, STALL_MS)
      response.end(bytes)
      response.once('close', () => resolve(performance.now() - began))
    }),
  )
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  read(socket)
  return ended
}

t.test('an answer of which nothing is taken ends after that time, not twice of it', async (t) => {
  const ms = await answer(t, () => undefined)
  t.ok(ms >= STALL_MS && ms < 1.8 * STALL_MS, `it ended after ${ms.toFixed(0)} ms`)
})

t.test('an answer that is taken slowly is sent to its end', async (t) => {
  let taken = 0
  // The server is done when the kernel has the last bytes, before the client has read them.
  let finishReading: () => void = () => undefined
  const hasRead = new Promise<void>((resolve) => {
    finishReading = resolve
  })
  const ms = await answer(t, (socket) => {
    socket.on('end', finishReading)
    socket.on('data', (part: Buffer) => {
      taken += part.length
      // Four pauses, each shorter than the time.
      if (taken < bytes.length && Math.floor(taken / 2 ** 24) > Math.floor((taken - part.length) / 2 ** 24)) {
        socket.pause()
        setTimeout(() => socket.resume(), STALL_MS / 2)
      }
    })
    socket.resume()
  })
  await hasRead
  t.ok(taken > bytes.length, 'head and body')
  t.ok(ms > STALL_MS, `it took ${ms.toFixed(0)} ms`)
})
