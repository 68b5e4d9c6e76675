/**
 * A result → the bytes of the JSON envelope, `{"data": …, "totals"?: …, "pagination"?: …, "meta": {"version", …}}`: equal answers are equal
 * bytes, because the request's id stands in the header `x-request-id` alone. Not responsible for: which fields an answer has.
 *
 * Texts here are byte strings: UTF-8 bytes as a JavaScript string whose code units are bytes. Such strings are put together
 * and written to a socket with one copy.
 */
import type { JsonValue } from '../../engine/types.ts'
import type { ByteString } from '../../rows/row-store.ts'
import { type DataResult, type JsonResult, VERSION } from '../route.ts'

export interface Envelope {
  /** Cached ones are bytes already. */
  readonly body: ByteString | Buffer
  /** For the log. */
  readonly rows: number | null
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that UTF-8 writes as they are
const ASCII = /^[\x00-\x7f]*$/

/** @returns the UTF-8 bytes of a text */
export const toByteString = (text: string): ByteString =>
  ASCII.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1')

const BEGIN = Buffer.from('{"data":')
/** From here on bytes are held outside of V8's heap; a shorter text goes out quicker in one piece with its head. */
export const BYTES_FROM = 4096

/** @returns the envelope of a result; @param meta what it says besides the version */
export function makeEnvelope(
  result: DataResult | JsonResult,
  meta: Readonly<Record<string, JsonValue>>,
): Envelope {
  const pagination =
    result.pagination === undefined ? '' : `,"pagination":${JSON.stringify(result.pagination)}`
  const totals =
    'json' in result || result.totals === undefined ? '' : `,"totals":${JSON.stringify(result.totals)}`
  const all = JSON.stringify({ version: VERSION, ...meta, ...result.meta })
  const rows = result.rows ?? null
  const end = `${toByteString(totals)}${toByteString(pagination)},"meta":${toByteString(all)}}`
  if ('json' in result && typeof result.json !== 'string') {
    const body = Buffer.concat([BEGIN, ...result.json, Buffer.from(end, 'latin1')])
    return { body: body.length < BYTES_FROM ? body.toString('latin1') : body, rows }
  }
  const data = 'json' in result ? result.json : toByteString(JSON.stringify(result.data))
  return { body: `{"data":${data}${end}`, rows }
}
