/**
 * Texts with their frequent phrases shortened. In: JSON texts as bytes. Out: bytes in which a phrase is two bytes, and back.
 *
 * JSON text and UTF-8 hold no byte below 32, so such a byte begins the number of a phrase, and the last of them ends a text.
 * Digits are never part of a phrase when there are three or more of them: they are what makes values differ.
 */

/** UTF-8 bytes as a string whose code units are bytes (WebIDL ByteString). */
export type ByteString = string

/** Ends a text in a row. */
export const TEXT_END = 31
/** Two-byte numbers there are: a byte below TEXT_END, then any byte. */
const PHRASES_MAX = TEXT_END * 256
const DIGITS_MIN = 3
/** A phrase must occur this often in the sample, or the dictionary costs what it saves. */
const COUNT_MIN = 3
// biome-ignore lint/suspicious/noControlCharactersInRegex: bytes below 128 are what is looked for
const ASCII = /^[\x00-\x7f]*$/

/** @returns the UTF-8 bytes of a text */
export const toByteString = (text: string): ByteString =>
  ASCII.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1')

/** @returns the text that UTF-8 bytes are */
export const fromByteString = (bytes: ByteString): string =>
  ASCII.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8')

/** Counts phrases in a sample of texts and chooses those that save most. */
export function collectPhrases(): { add(text: ByteString): void; choose(): ByteString[] } {
  const counts = new Map<string, number>()
  return {
    add(text) {
      for (let from = 0, to = 0; from < text.length; from = to) {
        to = tokenEnd(text, from)
        const token = text.slice(from, to)
        if (token.length > 2 && !isDigit(token.charCodeAt(0))) counts.set(token, (counts.get(token) ?? 0) + 1)
      }
    },
    choose() {
      return [...counts]
        .filter(([, count]) => count >= COUNT_MIN)
        .map(([token, count]) => ({ token, saved: count * (token.length - 2) }))
        .sort((left, right) => right.saved - left.saved || (left.token < right.token ? -1 : 1))
        .slice(0, PHRASES_MAX)
        .map(({ token }) => token)
    },
  }
}

const SPACE = 32
const isDigit = (byte: number): boolean => byte >= 48 && byte <= 57

/** Digits that stand together from a place on. */
function digitsFrom(text: ByteString, from: number): number {
  let at = from
  while (isDigit(text.charCodeAt(at))) at += 1
  return at - from
}

/** A token is three digits or more, or what stands before the next of them, up to and with the next space. */
function tokenEnd(text: ByteString, from: number): number {
  const digits = digitsFrom(text, from)
  if (digits >= DIGITS_MIN) return from + digits
  let at = from + Math.max(1, digits)
  while (at < text.length) {
    const byte = text.charCodeAt(at)
    if (byte === SPACE) return at + 1
    if (isDigit(byte)) {
      const more = digitsFrom(text, at)
      if (more >= DIGITS_MIN) return at
      at += more
    } else at += 1
  }
  return at
}

/** @returns a function that shortens a text and ends it */
export function phraseEncoder(phrases: readonly ByteString[]): (text: ByteString) => ByteString {
  // A table of hashes, so that no token has to be cut out of its text to be looked up.
  let size = 1 << 10
  while (size < phrases.length * 4) size <<= 1
  const table = new Int32Array(size).fill(-1)
  const codes = phrases.map((_, index) => String.fromCharCode(index >>> 8, index & 255))
  for (const [index, phrase] of phrases.entries()) {
    let place = hashOf(phrase, 0, phrase.length) & (size - 1)
    while (table[place] !== -1) place = (place + 1) & (size - 1)
    table[place] = index
  }
  const find = (text: ByteString, from: number, to: number): number => {
    let place = hashOf(text, from, to) & (size - 1)
    for (let index = table[place] ?? -1; index !== -1; index = table[place] ?? -1) {
      const phrase = phrases[index] ?? ''
      if (phrase.length === to - from && text.startsWith(phrase, from)) return index
      place = (place + 1) & (size - 1)
    }
    return -1
  }
  const end = String.fromCharCode(TEXT_END)
  return (text) => {
    let coded = ''
    let copied = 0
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = tokenEnd(text, from)
      if (to - from <= 2 || isDigit(text.charCodeAt(from))) continue
      const index = find(text, from, to)
      if (index < 0) continue
      if (from > copied) coded += text.substring(copied, from)
      coded += codes[index] ?? ''
      copied = to
    }
    return coded + (copied < text.length ? text.substring(copied) : '') + end
  }
}

/** @returns a hash of a part of a text */
export function hashOf(text: ByteString, from: number, to: number): number {
  let hash = to - from
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}
