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
const TOKENS = / ?(?:[^\d ]|\d{1,2}(?!\d))+ ?|\d{3,}| +/g
const DIGITS = /^\d{3,}$/
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
      for (const token of text.match(TOKENS) ?? [])
        if (token.length > 2 && !DIGITS.test(token)) counts.set(token, (counts.get(token) ?? 0) + 1)
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

/** @returns a function that shortens a text and ends it */
export function phraseEncoder(phrases: readonly ByteString[]): (text: ByteString) => ByteString {
  const codes = new Map(
    phrases.map((phrase, index) => [phrase, String.fromCharCode(index >>> 8, index & 255)]),
  )
  const end = String.fromCharCode(TEXT_END)
  return (text) => {
    let coded = ''
    for (const token of text.match(TOKENS) ?? []) coded += codes.get(token) ?? token
    return coded + end
  }
}
