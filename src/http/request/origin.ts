/** Reads scheme and host of the client's URL, for absolute links in answers. */
import type { IncomingHttpHeaders } from 'node:http'

/** @returns the origin that the client used, or '' if it is invalid. A proxy in front reports the protocol. */
export function originOf(headers: IncomingHttpHeaders): string {
  const protocol = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  const origin = `${protocol}://${headers.host ?? ''}`
  return URL.canParse(origin) && new URL(origin).origin === origin ? origin : ''
}
