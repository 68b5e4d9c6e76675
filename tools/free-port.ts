/** Finds a free loopback port for servers that tests and measurements start. */
import { type AddressInfo, createServer } from 'node:net'

/** @returns a port that was free a moment ago; rejects when listening is not allowed */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
