/**
 * Creates and parses the text of an API key: `sus_` + 8-character id + `_` + 52 characters of secret (256 bits) + 6 of checksum.
 *
 * The alphabet is Crockford's base32 in lower case. It has no letter that resembles a digit, needs no escaping in a header or a
 * shell, and a double click selects the complete key. The checksum lets a scanner for leaked keys recognise a key; only the hash
 * decides whether the key exists. SHA-256 suffices instead of a slow password hash, because 256 random bits cannot be guessed.
 */
import { hash, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const ID_BYTES = 5
const SECRET_BYTES = 32
const CHECKSUM_CHARACTERS = 6
const CHARACTER = `[${ALPHABET}]`

export const KEY_ID = new RegExp(`^${CHARACTER}{8}$`)
const KEY_TEXT = new RegExp(`^sus_(${CHARACTER}{8})_${CHARACTER}{${52 + CHECKSUM_CHARACTERS}}$`)

/** @returns a new key of 256 random bits, and its id */
export function makeKeyText(): { id: string; secret: string } {
  const id = encodeBase32(randomBytes(ID_BYTES))
  const body = `sus_${id}_${encodeBase32(randomBytes(SECRET_BYTES))}`
  return { id, secret: body + checksumOf(body) }
}

/** @returns the id in a text that has the form of a key, or null; only the hash shows whether such a key exists */
export const keyIdOf = (text: string): string | null => KEY_TEXT.exec(text)?.[1] ?? null

/** @returns SHA-256 of a key's text (32 bytes), which is stored and compared */
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
