/**
 * Access to an FTP server with basic-ftp. The connection opens at the first call, and again after any failure, because a
 * connection that failed is in an unknown state. Data connections always go to the host of the control connection: a server
 * behind a router may name a private address. Passive mode alternates between EPSV and PASV when one does not connect.
 */
import { Writable } from 'node:stream'
import { Client, enterPassiveModeIPv6, type FTPContext, FTPError, type FTPResponse } from 'basic-ftp'
import { connectForPassiveTransfer, parsePasvResponse } from 'basic-ftp/dist/transfer.js'
import { NotConnected, NotThere, type Remote, type RemoteFile } from '../types.ts'

const DEFAULT_PORT = 21
/** Time after which a connection that is not answered is given up. */
const CONNECT_MS = 20_000
/** Reply code for a file or folder that does not exist, or is not readable. */
const UNAVAILABLE = 550

/** @param address ftp:// address, with a user where the server needs one; @param idleMs time without a byte that ends the connection */
export function openFtp(address: string, idleMs: number): Remote {
  const url = new URL(address)
  const root = decodeURIComponent(url.pathname).replace(/\/+$/, '')
  let client: Client | null = null
  let mode: 'EPSV' | 'PASV' = 'EPSV'

  const connect = async (): Promise<Client> => {
    if (client !== null && !client.closed) return client
    const opened = new Client(idleMs)
    client = opened
    opened.ftp.encoding = 'latin1'
    // The server has no MLSD, and takes the options of LIST for a name.
    opened.availableListCommands = ['LIST']
    opened.prepareTransfer = async (ftp) => {
      const used = mode
      try {
        return await (used === 'EPSV' ? enterPassiveModeIPv6(ftp) : enterPasv(ftp))
      } catch (error) {
        mode = used === 'EPSV' ? 'PASV' : 'EPSV'
        if (used === 'EPSV' && error instanceof FTPError) return await enterPasv(ftp)
        throw error
      }
    }
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      opened.close()
    }, CONNECT_MS)
    try {
      await opened.connect(url.hostname, Number(url.port) || DEFAULT_PORT)
      clearTimeout(timer)
      await opened.login(
        decodeURIComponent(url.username) || 'anonymous',
        decodeURIComponent(url.password) || 'anonymous@',
      )
      await opened.send('TYPE I')
    } catch (error) {
      const reason = isLate ? `no answer for ${CONNECT_MS / 1000} s` : (error as Error).message
      throw new NotConnected(`no connection to ${url.hostname}: ${reason}`)
    } finally {
      clearTimeout(timer)
    }
    return opened
  }
  const close = (): void => {
    client?.close()
    client = null
  }
  const run = async <Result>(path: string, task: (client: Client) => Promise<Result>): Promise<Result> => {
    try {
      return await task(await connect())
    } catch (error) {
      close()
      if (error instanceof FTPError && error.code === UNAVAILABLE) throw new NotThere(path)
      throw error
    }
  }
  return {
    list: (folder) =>
      run(folder, async (client) =>
        (await client.list(`${root}${folder}`))
          .filter(({ isFile }) => isFile)
          .map(
            ({ name, size, rawModifiedAt }): RemoteFile => ({
              name,
              bytes: size,
              time: normaliseTime(rawModifiedAt),
            }),
          ),
      ),
    stateOf: (path) =>
      run(path, async (client) => ({ bytes: await client.size(`${root}${path}`), time: null })),
    transfer: (path, offset, _validator, open) =>
      run(path, async (client) => {
        await client.downloadTo(open(offset), `${root}${path}`, offset)
        return { bytes: null, time: null }
      }),
    readRange: (path, start, length) =>
      run(path, async (client) => {
        const sink = new FirstBytes(length)
        try {
          await client.downloadTo(sink, `${root}${path}`, start)
        } catch (error) {
          if (!sink.isFull) throw error
          // The server goes on to send the file, and its replies would not fit the next command.
          close()
        }
        return Buffer.concat(sink.chunks).subarray(0, length)
      }),
    close,
  }
}

/** Collects bytes, and fails once there are enough, which ends the transfer. */
class FirstBytes extends Writable {
  readonly chunks: Buffer[] = []
  #missing: number

  constructor(length: number) {
    super()
    this.#missing = length
  }

  get isFull(): boolean {
    return this.#missing <= 0
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.chunks.push(chunk)
    this.#missing -= chunk.length
    done(this.#missing < 0 ? new Error('enough bytes') : undefined)
  }
}

async function enterPasv(ftp: FTPContext): Promise<FTPResponse> {
  const response = await ftp.request('PASV')
  const { port } = parsePasvResponse(response.message)
  await connectForPassiveTransfer(ftp.socket.remoteAddress ?? '', port, ftp)
  return response
}

/** @returns YYYY-MM-DDTHH:MM for the MS-DOS form `01-19-26 09:30AM`; the text itself for other forms */
export function normaliseTime(text: string): string {
  const match = /^(\d\d)-(\d\d)-(\d\d)\s+(\d\d):(\d\d)(AM|PM)$/.exec(text)
  if (match === null) return text
  const [, month, day, year, hour = '0', minute, half] = match
  const hours = (Number(hour) % 12) + (half === 'PM' ? 12 : 0)
  const century = Number(year) >= 70 ? '19' : '20'
  return `${century}${year}-${month}-${day}T${String(hours).padStart(2, '0')}:${minute}`
}
