/** Digests and signatures with what Node.js and browsers have in common (Web Crypto). Pure. */

const hexOf = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** @returns SHA-256 in 64 hex digits */
export async function sha256(bytes: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const data = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes
  return hexOf(await crypto.subtle.digest('SHA-256', data))
}

/** @returns canonical JSON (RFC 8785) of a value that JSON can hold */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, own]) => own !== undefined)
    // By UTF-16 code units, as JavaScript compares texts.
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, own]) => `${JSON.stringify(name)}:${canonicalJson(own)}`)
  return `{${members.join(',')}}`
}

export const digestJson = (value: unknown): Promise<string> => sha256(canonicalJson(value))

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

/** @param publicKey 32 bytes, base64 @returns whether the signature (Ed25519, base64) is of the text by that key */
export async function isSigned(text: string, signature: string, publicKey: string): Promise<boolean> {
  const key = await crypto.subtle.importKey('raw', bytesOf(publicKey), 'Ed25519', false, ['verify'])
  return crypto.subtle.verify('Ed25519', key, bytesOf(signature), new TextEncoder().encode(text))
}
