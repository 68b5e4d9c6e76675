/** SHA-256 digests of files and of canonical JSON (RFC 8785), as 64 hex digits. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import canonicalize from 'canonicalize'

/** @returns RFC 8785 text: equal values give equal text on every machine. @throws TypeError for a value that is not JSON */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('not a JSON value')
  return text
}

export const sha256Hex = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

export const digestJson = (value: unknown): string => sha256Hex(canonicalJson(value))

export async function digestFile(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  return { bytes, sha256: hash.digest('hex') }
}
