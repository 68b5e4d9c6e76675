/** Where the client reached the server: scheme and host of the addresses that an answer names. */
import type { IncomingHttpHeaders } from 'node:http'

/** What the client calls this server; a proxy in front says by which protocol. '' where that is no address. */
export function originOf(headers: IncomingHttpHeaders): string {
  const protocol = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  const origin = `${protocol}://${headers.host ?? ''}`
  return URL.canParse(origin) && new URL(origin).origin === origin ? origin : ''
}
