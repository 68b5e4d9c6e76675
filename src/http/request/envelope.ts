/**
 * Builds the bytes of the JSON envelope, `{"data": …, "totals"?: …, "pagination"?: …, "meta": {"version", …}}`. Equal answers have equal
 * bytes, because the request id is only in the header `x-request-id`. The fields of an answer are decided elsewhere.
 * Texts here are byte strings: each code unit of the JavaScript string is one byte of UTF-8. They are concatenated and written to a socket
 * with a single copy.
 */
import type { JsonValue } from '../../engine/types.ts'
import { type ByteString, toByteString } from '../../rows/row-store.ts'
import { type DataResult, type JsonResult, VERSION } from '../route.ts'

export interface Envelope {
  readonly body: ByteString | Buffer
  readonly rows: number | null
}

const BEGIN = Buffer.from('{"data":')
/** Length from which a body is kept outside V8's heap. A shorter text is sent faster in one piece with its headers. */
export const BYTES_FROM = 4096

export function makeEnvelope(
  result: DataResult | JsonResult,
  meta: Readonly<Record<string, JsonValue>>,
): Envelope {
  const pagination =
    result.pagination === undefined ? '' : `,"pagination":${JSON.stringify(result.pagination)}`
  const totals =
    'json' in result || result.totals === undefined ? '' : `,"totals":${JSON.stringify(result.totals)}`
  const metaJson = JSON.stringify({ version: VERSION, ...meta, ...result.meta })
  const rows = result.rows ?? null
  const end = `${toByteString(totals)}${toByteString(pagination)},"meta":${toByteString(metaJson)}}`
  if ('json' in result && typeof result.json !== 'string') {
    const body = Buffer.concat([BEGIN, ...result.json, Buffer.from(end, 'latin1')])
    return { body: body.length < BYTES_FROM ? body.toString('latin1') : body, rows }
  }
  const data = 'json' in result ? result.json : toByteString(JSON.stringify(result.data))
  return { body: `{"data":${data}${end}`, rows }
}
