/**
 * Compresses texts by replacing frequent phrases. Input: JSON texts as bytes. Output: bytes in which a phrase takes two bytes;
 * decoding is in `row-file.ts`.
 *
 * JSON in UTF-8 has no byte below 32. Such a byte therefore starts a phrase number, and 31 ends a text. A phrase never contains
 * three or more consecutive digits, because such digits differ from value to value.
 */

/** UTF-8 bytes as a string with one byte per code unit (WebIDL ByteString). */
export type ByteString = string

export const TEXT_END = 31
/** Number of two-byte codes: a byte below TEXT_END, then any byte. */
const PHRASES_MAX = TEXT_END * 256
const DIGITS_MIN = 3
/** Fewest occurrences in the sample for which a dictionary entry saves more than it costs. */
const COUNT_MIN = 3
// biome-ignore lint/suspicious/noControlCharactersInRegex: bytes below 128 are what is looked for
const ASCII = /^[\x00-\x7f]*$/

export const toByteString = (text: string): ByteString =>
  ASCII.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1')

export const fromByteString = (bytes: ByteString): string =>
  ASCII.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8')

/** Counts phrases in a sample of texts and chooses those that save the most bytes. */
export function collectPhrases(): { add(text: ByteString): void; choose(): ByteString[] } {
  const counts = new Map<string, number>()
  return {
    add(text) {
      for (let from = 0, to = 0; from < text.length; from = to) {
        to = findTokenEnd(text, from)
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

function countDigits(text: ByteString, from: number): number {
  let at = from
  while (isDigit(text.charCodeAt(at))) at += 1
  return at - from
}

/** A token is a run of three or more digits, or the text up to and including the next space or up to such a run. */
function findTokenEnd(text: ByteString, from: number): number {
  const digits = countDigits(text, from)
  if (digits >= DIGITS_MIN) return from + digits
  let at = from + Math.max(1, digits)
  while (at < text.length) {
    const byte = text.charCodeAt(at)
    if (byte === SPACE) return at + 1
    if (isDigit(byte)) {
      const digitCount = countDigits(text, at)
      if (digitCount >= DIGITS_MIN) return at
      at += digitCount
    } else at += 1
  }
  return at
}

/** @returns a function that compresses a text and appends TEXT_END */
export function createPhraseEncoder(phrases: readonly ByteString[]): (text: ByteString) => ByteString {
  // A hash table over the text itself avoids cutting out each token to look it up.
  let size = 1 << 10
  while (size < phrases.length * 4) size <<= 1
  const table = new Int32Array(size).fill(-1)
  const codes = phrases.map((_, index) => String.fromCharCode(index >>> 8, index & 255))
  for (const [index, phrase] of phrases.entries()) {
    let slot = hashOf(phrase, 0, phrase.length) & (size - 1)
    while (table[slot] !== -1) slot = (slot + 1) & (size - 1)
    table[slot] = index
  }
  const find = (text: ByteString, from: number, to: number): number => {
    let slot = hashOf(text, from, to) & (size - 1)
    for (let index = table[slot] ?? -1; index !== -1; index = table[slot] ?? -1) {
      const phrase = phrases[index] ?? ''
      if (phrase.length === to - from && text.startsWith(phrase, from)) return index
      slot = (slot + 1) & (size - 1)
    }
    return -1
  }
  const end = String.fromCharCode(TEXT_END)
  return (text) => {
    let coded = ''
    let copied = 0
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = findTokenEnd(text, from)
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

export function hashOf(text: ByteString, from: number, to: number): number {
  let hash = to - from
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}
