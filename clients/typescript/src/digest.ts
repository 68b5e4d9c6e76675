/** Digests and signatures with Web Crypto, which Node.js and browsers share. Pure. */

export const hexOf = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Browsers offer Web Crypto only to pages served over HTTPS or from localhost. */
function webCrypto(): SubtleCrypto {
  if (globalThis.crypto?.subtle === undefined)
    throw new Error('digests need Web Crypto, which browsers give to pages of https and of localhost alone')
  return crypto.subtle
}

export async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await webCrypto().digest('SHA-256', bytes))
}

/** @returns SHA-256 as 64 hex digits */
export async function sha256(bytes: Uint8Array<ArrayBuffer> | string): Promise<string> {
  return hexOf(await digest(typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes))
}

/** @returns canonical JSON (RFC 8785) of a JSON value */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    // JavaScript compares strings by UTF-16 code units, as RFC 8785 requires.
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}

export const digestJson = (value: unknown): Promise<string> => sha256(canonicalJson(value))

export const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

/** @param publicKey 32 bytes @returns whether the Ed25519 signature of the text is valid for the key */
export async function isSigned(
  text: string,
  signature: Uint8Array<ArrayBuffer>,
  publicKey: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const key = await webCrypto().importKey('raw', publicKey, 'Ed25519', false, ['verify'])
  return webCrypto().verify('Ed25519', key, signature, new TextEncoder().encode(text))
}
