/** The publishers' addresses and what their servers demand of a client. Values only; `remotes/` connects to them. */
import type { Settings } from '../settings.ts'
import type { PublisherCode } from './types.ts'

export interface Publisher {
  readonly name: string
  readonly addressOf: (settings: Settings) => string
  /** Headers without which the server does not answer. */
  readonly headers?: (address: string) => Readonly<Record<string, string>>
  /** Least time between two requests, in milliseconds. */
  readonly everyMs?: number
}

/** Most connections to one publisher. More are left unanswered by its servers. */
export const CONNECTIONS_MAX = 2

export const PUBLISHER: Readonly<Record<PublisherCode, Publisher>> = {
  datasus: { name: 'DATASUS', addressOf: ({ sourceDatasus }) => sourceDatasus },
  sigtap: { name: 'DATASUS', addressOf: ({ sourceSigtap }) => sourceSigtap },
  cnes: {
    name: 'DATASUS',
    addressOf: ({ sourceCnes }) => sourceCnes,
    // The server answers 503 to clients that do not look like a browser on its own page.
    headers: (address) => ({
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
      referer: `${address}/pages/downloads/arquivosBaseDados.jsp`,
    }),
  },
  ibge: { name: 'IBGE', addressOf: ({ sourceIbge }) => sourceIbge },
  sidra: { name: 'IBGE', addressOf: ({ sourceSidra }) => sourceSidra },
  siconfi: {
    name: 'Tesouro Nacional',
    addressOf: ({ sourceSiconfi }) => sourceSiconfi,
    everyMs: 1000,
  },
}

/** @returns an address without user and password, for records and messages */
export function publicAddress(address: string): string {
  const url = new URL(address)
  url.username = ''
  url.password = ''
  return url.href.replace(/\/$/, '')
}
