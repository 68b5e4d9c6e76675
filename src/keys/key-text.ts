/**
 * The text of an API key: `sus_` + 8-character id + `_` + 52 characters of secret (256 bits) + 6 of checksum.
 *
 * In: random bytes or a text that a client sent. Out: the text of a key, its id, its hash. The alphabet is Crockford's base32 in
 * lower case: no letter that reads like a digit, nothing to escape in a header or a shell, one double click selects it all.
 * The checksum lets a scanner for leaked keys tell one from a text that looks like it; the hash decides whether it is an existing key.
 * Absent on purpose: a slow password hash. A secret of 256 random bits cannot be guessed, so SHA-256 is enough.
 */
import { hash, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const ID_BYTES = 5
const SECRET_BYTES = 32
const CHECKSUM_CHARACTERS = 6
const CHARACTER = `[${ALPHABET}]`

/** Id of a key, as lists and logs show it. */
export const KEY_ID = new RegExp(`^${CHARACTER}{8}$`)
const KEY_TEXT = new RegExp(`^sus_(${CHARACTER}{8})_${CHARACTER}{${52 + CHECKSUM_CHARACTERS}}$`)

/** @returns a new key of 256 random bits, and its id */
export function makeKeyText(): { id: string; secret: string } {
  const id = encodeBase32(randomBytes(ID_BYTES))
  const body = `sus_${id}_${encodeBase32(randomBytes(SECRET_BYTES))}`
  return { id, secret: body + checksumOf(body) }
}

/** @returns the id inside a text of a key's shape, or null; whether the text is that key's is decided by its hash */
export const keyIdOf = (text: string): string | null => KEY_TEXT.exec(text)?.[1] ?? null

/** @returns SHA-256 of the text of a key: what is stored and compared, 32 bytes */
export const hashKeyText = (text: string): Buffer => hash('sha256', text, 'buffer')

function checksumOf(body: string): string {
  return encodeBase32(hash('sha256', `checksum ${body}`, 'buffer')).slice(0, CHECKSUM_CHARACTERS)
}

function encodeBase32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let pending = 0
  for (const byte of bytes) {
    pending = ((pending << 8) | byte) & 0xffff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET.charAt((pending >> bits) & 31)
    }
  }
  return bits > 0 ? text + ALPHABET.charAt((pending << (5 - bits)) & 31) : text
}
