/** Per-request state that the stages write and that headers, log and metrics read. */
import type { FastifyRequest } from 'fastify'
import type { EngineName } from '../../engine/types.ts'
import type { Key } from '../../keys/keys.ts'
import type { RateDecision } from '../../keys/rate-limit.ts'

export interface RequestState {
  /** Route path in Fastify's syntax; null when no route matched. */
  route: string | null
  /** Milliseconds, from performance.now(). */
  readonly startedAt: number
  key: Key | null
  rate: RateDecision | null
  /** Release that answers, and the response header that carries its id. */
  releaseId: string | null
  releaseHeader: string
  tag: string | null
  cacheControl: string | null
  /** The request used a link. Clients must revalidate such answers, because the link expires. */
  isLinked: boolean
  rows: number | null
  /** Engine that ran the aggregation, when two are configured; otherwise null. */
  engine: EngineName | null
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState | null
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
