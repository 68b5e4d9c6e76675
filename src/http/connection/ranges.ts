/** Chooses the byte range of a request (RFC 9110, 14). A request for several ranges gets the complete content. Pure. */
import type { IncomingHttpHeaders } from 'node:http'
import parseRange from 'range-parser'
import { AppError, both } from '../../errors.ts'

export interface Range {
  readonly status: 200 | 206
  readonly start: number
  readonly end: number
  readonly headers: Readonly<Record<string, string>>
}

/** Range units are case-insensitive (RFC 9110, 14.1). */
const BYTES = /^\s*bytes\s*=\s*/i

/** @returns the range in the parser's form; undefined for an unknown unit, which is ignored (RFC 9110, 14.2) */
function byteRangeOf(range: string, bytes: number): string | undefined {
  if (!BYTES.test(range)) return undefined
  // A suffix longer than the content selects all of it (RFC 9110, 14.1.2).
  return range
    .replace(BYTES, 'bytes=')
    .replace(/^bytes=-(\d+)$/, (_, suffix: string) => `bytes=-${Math.min(Number(suffix), bytes)}`)
}

export interface RangeRequest {
  readonly range: string | undefined
  readonly ifRange: string | undefined
}

/** @returns the range that a request asks for. Only GET has ranges (RFC 9110, 14.2). */
export const rangeOf = (method: string, headers: IncomingHttpHeaders): RangeRequest => ({
  range: method === 'GET' ? headers.range : undefined,
  ifRange: headers['if-range'] as string | undefined,
})

/** @param tag entity tag; a range of another version gets the complete content. @throws AppError 'range_not_satisfiable' */
export function chooseRange(bytes: number, { range, ifRange }: RangeRequest, tag: string | null): Range {
  const byteRange =
    range === undefined || (ifRange !== undefined && ifRange !== tag) ? undefined : byteRangeOf(range, bytes)
  const parsed = byteRange === undefined ? -2 : parseRange(bytes, byteRange)
  if (parsed === -1)
    throw new AppError('range_not_satisfiable', {
      detail: both(`O arquivo tem ${bytes} bytes.`, `The file has ${bytes} bytes.`),
      headers: { 'Content-Range': `bytes */${bytes}` },
    })
  const [selected] = typeof parsed === 'number' || parsed.length !== 1 ? [] : parsed
  const { start, end } = selected ?? { start: 0, end: bytes - 1 }
  const headers = { 'accept-ranges': 'bytes', 'content-length': String(end - start + 1) }
  return selected === undefined
    ? { status: 200, start, end, headers }
    : { status: 206, start, end, headers: { ...headers, 'content-range': `bytes ${start}-${end}/${bytes}` } }
}
