/** Digests and signatures with what Node.js and browsers have in common (Web Crypto). Pure. */

export const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Browsers give it to pages of https and of their own machine alone. */
function webCrypto(): SubtleCrypto {
  if (globalThis.crypto?.subtle === undefined)
    throw new Error('digests need Web Crypto, which browsers give to pages of https and of localhost alone')
  return crypto.subtle
}

/** @returns SHA-256 */
export async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await webCrypto().digest('SHA-256', bytes))
}

/** @returns SHA-256 in 64 hex digits */
export async function sha256(bytes: Uint8Array<ArrayBuffer> | string): Promise<string> {
  return hexOf(await digest(typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes))
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

export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

/** @param publicKey 32 bytes @returns whether the signature (Ed25519) is of the text by that key */
export async function isSigned(
  text: string,
  signature: Uint8Array<ArrayBuffer>,
  publicKey: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const key = await webCrypto().importKey('raw', publicKey, 'Ed25519', false, ['verify'])
  return webCrypto().verify('Ed25519', key, signature, new TextEncoder().encode(text))
}
