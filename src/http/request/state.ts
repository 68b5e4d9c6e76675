/** What the stages of a request have found out about it: written by them, read by headers, log and metrics. */
import type { FastifyRequest } from 'fastify'
import type { EngineName } from '../../engine/types.ts'
import type { Key } from '../../keys/keys.ts'
import type { RateDecision } from '../../keys/rate-limit.ts'

export interface RequestState {
  /** Path of the route as Fastify writes it; null where none matched. */
  route: string | null
  /** Milliseconds of performance.now(). */
  readonly startedAt: number
  key: Key | null
  rate: RateDecision | null
  /** The release that answers, and the name of the header that says so. */
  releaseId: string | null
  releaseHeader: string
  /** ETag and Cache-Control; null where the answer has none (yet). */
  tag: string | null
  cacheControl: string | null
  /** The request came by a link, whose answers are never kept without asking: its right to read ends. */
  isLinked: boolean
  rows: number | null
  /** What added up facts for the answer, where there are two engines; null where nothing did. */
  engine: EngineName | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Made by the first stage; decorated in app.ts. */
    state: RequestState | null
    /** A JSON body as it came; null where there is none. */
    text: string | null
  }
}

export const newState = (): RequestState => ({
  startedAt: performance.now(),
  route: null,
  key: null,
  rate: null,
  releaseId: null,
  releaseHeader: '',
  tag: null,
  cacheControl: null,
  isLinked: false,
  rows: null,
  engine: null,
})

export function stateOf(request: FastifyRequest): RequestState {
  request.state ??= newState()
  return request.state
}
