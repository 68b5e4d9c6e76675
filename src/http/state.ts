/** What is known of a request so far: left by the hooks of app.ts and by mount.ts, read by headers, log and metrics. */
import type { FastifyRequest } from 'fastify'
import type { Key } from '../keys/keys.ts'
import type { RateDecision } from '../keys/rate-limit.ts'

export interface RequestState {
  key: Key | null
  rate: RateDecision | null
  /** The release that answers, and the name of the header that says so. */
  releaseId: string | null
  releaseHeader: string
  /** ETag and Cache-Control; null where the answer has none (yet). */
  tag: string | null
  cacheControl: string | null
  rows: number | null
  /** A JSON body as it came. */
  text: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first that asks; decorated in app.ts. */
    known: RequestState | null
  }
}

export const newState = (): RequestState => ({
  key: null,
  rate: null,
  releaseId: null,
  releaseHeader: '',
  tag: null,
  cacheControl: null,
  rows: null,
  text: '',
})

export function stateOf(request: FastifyRequest): RequestState {
  request.known ??= newState()
  return request.known
}
