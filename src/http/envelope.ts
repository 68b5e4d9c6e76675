/**
 * A result → the JSON envelope, `{"data": …, "totals"?: …, "pagination": …, "meta": {"version", "request_id", …}}`, cut where the
 * request's id goes: everything else of it is the same for equal requests, so that it can be cached and compressed once.
 *
 * Texts here are byte strings: UTF-8 bytes as a JavaScript string whose code units are bytes. Such strings are put together
 * and written to a socket with one copy. Not responsible for: which fields an answer has.
 */
import type { JsonValue } from '../engine/types.ts'
import type { ByteString } from '../rows/row-store.ts'
import { type DataResult, type JsonResult, VERSION } from './route.ts'

export interface Envelope {
  /** All that stands before the request's id, and all that stands behind it. What is cached may be bytes already. */
  readonly before: ByteString | Buffer
  readonly after: ByteString
  /** For the log. */
  readonly rows: number | null
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that UTF-8 writes as they are
const ASCII = /^[\x00-\x7f]*$/

/** @returns the UTF-8 bytes of a text */
export const toByteString = (text: string): ByteString =>
  ASCII.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1')

/** @returns the envelope of a result; @param meta what it says besides version and request id */
export function makeEnvelope(
  result: DataResult | JsonResult,
  meta: Readonly<Record<string, JsonValue>>,
): Envelope {
  const data = 'json' in result ? result.json : toByteString(JSON.stringify(result.data))
  const pagination =
    result.pagination === undefined ? '' : `,"pagination":${JSON.stringify(result.pagination)}`
  const totals =
    'json' in result || result.totals === undefined ? '' : `,"totals":${JSON.stringify(result.totals)}`
  const more = JSON.stringify({ ...meta, ...result.meta })
  return {
    before: `{"data":${data}${toByteString(totals)}${toByteString(pagination)},"meta":{"version":"${VERSION}","request_id":"`,
    after: `"${more === '{}' ? '' : `,${toByteString(more.slice(1, -1))}`}}}`,
    rows: result.rows ?? null,
  }
}

/** Bytes of an envelope but for the request's id. */
export const sizeOf = ({ before, after }: Envelope): number => before.length + after.length

/**
 * The plain bytes of an envelope, in two parts.
 * @param requestId letters, digits, dots, lines and underscores: nothing to escape
 */
export const fillEnvelope = (
  { before, after }: Envelope,
  requestId: string,
): [ByteString | Buffer, ByteString] =>
  typeof before === 'string' ? [before + requestId + after, ''] : [before, requestId + after]
