/**
 * Bytes of Windows-1252 → text, by a table of this file. Every reader of published text decodes here.
 *
 * The runtime's own decoder is not used: `new TextDecoder('windows-1252').decode()` gives the control character U+0096 for the
 * byte 0x96 in Node.js 20.19, 22.21 and 24.11, and the dash U+2013 in 22.12. Names, and with them release ids, would depend on
 * the version.
 */
import { isUtf8 } from 'node:buffer'

/** What stands for a byte that Windows-1252 leaves undefined: 0x81, 0x8D, 0x8F, 0x90 and 0x9D. */
export const REPLACEMENT_CHARACTER = '\uFFFD'

/** Characters of the bytes 0x80 to 0x9F. All other bytes are the character of the same number. */
const HIGH_CONTROLS =
  '\u20AC\uFFFD\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\uFFFD\u017D\uFFFD' +
  '\uFFFD\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\uFFFD\u017E\u0178'

/**
 * @param bytes any bytes; a character is one byte, so a text may be decoded in pieces
 * @returns text without control characters of U+0080 to U+009F; undefined bytes become U+FFFD
 */
export function decodeWindows1252(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  return text.replace(/[\u0080-\u009f]/g, (control) => HIGH_CONTROLS[control.charCodeAt(0) - 0x80] ?? control)
}

/** @returns the text of a small file: UTF-8 where all of its bytes are valid as such, else Windows-1252; a mark at the begin is left out */
export const decodeText = (bytes: Uint8Array): string =>
  isUtf8(bytes) ? new TextDecoder('utf-8').decode(bytes) : decodeWindows1252(bytes)
