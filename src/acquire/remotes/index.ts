/** Opens a connection to a publisher by the protocol of its address. */
import type { Settings } from '../../settings.ts'
import { PUBLISHER, publicAddress } from '../publishers.ts'
import type { PublisherCode, Remote } from '../types.ts'
import { openFolder } from './folder.ts'
import { openFtp } from './ftp.ts'
import { openHttp } from './http.ts'

/** @returns a connection that opens at its first call */
export function openRemote(publisher: PublisherCode, settings: Settings): Remote {
  const { addressOf, headers, everyMs = 0 } = PUBLISHER[publisher]
  const address = addressOf(settings)
  const { protocol } = new URL(address)
  if (protocol === 'ftp:') return openFtp(address, settings.fetchIdleMs)
  if (protocol === 'file:') return openFolder(address)
  return openHttp(address, {
    headers: headers?.(publicAddress(address)) ?? {},
    idleMs: settings.fetchIdleMs,
    everyMs,
  })
}

export const isFolder = (publisher: PublisherCode, settings: Settings): boolean =>
  PUBLISHER[publisher].addressOf(settings).startsWith('file:')
