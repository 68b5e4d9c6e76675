/**
 * Decodes Windows-1252 with a table in this file. All readers of published text use it. `new TextDecoder('windows-1252')` is not
 * used, because its result depends on the Node.js version: byte 0x96 gives the control character U+0096 in 20.19, 22.21 and
 * 24.11, and the dash U+2013 in 22.12. Names, and therefore release ids, would differ.
 */
import { isUtf8 } from 'node:buffer'

/** Replaces bytes that Windows-1252 leaves undefined: 0x81, 0x8D, 0x8F, 0x90 and 0x9D. */
export const REPLACEMENT_CHARACTER = '\uFFFD'

/** Characters of the bytes 0x80 to 0x9F. Every other byte equals its code point. */
const HIGH_CONTROLS =
  '\u20AC\uFFFD\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\uFFFD\u017D\uFFFD' +
  '\uFFFD\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\uFFFD\u017E\u0178'

/**
 * @param bytes any bytes; text may be decoded in chunks, because each character is one byte
 * @returns text without U+0080 to U+009F; undefined bytes become U+FFFD
 */
export function decodeWindows1252(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  return text.replace(/[\u0080-\u009f]/g, (control) => HIGH_CONTROLS[control.charCodeAt(0) - 0x80] ?? control)
}

/** Decodes a small file as UTF-8 if it is valid, otherwise as Windows-1252. A byte order mark is removed. */
export const decodeText = (bytes: Uint8Array): string =>
  isUtf8(bytes) ? new TextDecoder('utf-8').decode(bytes) : decodeWindows1252(bytes)
