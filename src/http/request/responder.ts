/** Sends answers and problems, then counts and logs each request. Nothing that it throws ends the process. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { ERRORS } from '../../errors.ts'
import type { Connections } from '../connection/connections.ts'
import { type ApiResponse, createSender } from '../connection/send.ts'
import { createAccessLog, traceOf } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { answerProblem, languageOf, toAppError } from './problem.ts'
import { createRefusalPace } from './refusal-pace.ts'
import { stateOf } from './state.ts'

export interface ResponderServices {
  readonly metrics: Metrics
  readonly corsOrigins: readonly string[]
  readonly writesTogether?: boolean
  readonly logger: Logger | null
}

export interface Responder {
  send(request: FastifyRequest, reply: FastifyReply, answer: ApiResponse): void
  /** Answers with the problem document of an error. */
  fail(request: FastifyRequest, reply: FastifyReply, error: unknown): void
}

const NO_HEADERS = {}

/** Status in log and metrics of a request whose client left before its answer; proxies use the same. No error of the server. */
const CLIENT_LEFT = 499

/** Node.js gives a download this error when its connection ends before the last byte has left. */
const isEndOfConnection = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'

export function createResponder(
  services: ResponderServices,
  { isClosing, isLastResponse }: Pick<Connections, 'isClosing' | 'isLastResponse'>,
): Responder {
  const { logger, metrics, corsOrigins } = services
  const refusalDelayOf = createRefusalPace()
  const logAccess = logger === null ? null : createAccessLog(logger)
  // CORS is the only source of extra headers on successful answers. On errors, Fastify may add some.
  const mayHaveExtraHeaders = corsOrigins.length > 0
  const sendBytes = createSender({
    origins: corsOrigins,
    writesTogether: services.writesTogether ?? true,
    isLastResponse,
  })
  /** Counts and logs a request. An exception here becomes a log line and never affects the answer. */
  const observe = (request: FastifyRequest, status: number): void => {
    try {
      countAndLog(request, status)
    } catch (error) {
      logger?.error({ request_id: request.id, err: error }, 'a request could not be counted or logged')
    }
  }
  const countAndLog = (request: FastifyRequest, status: number): void => {
    const { route, key, releaseId, rows, engine, startedAt } = stateOf(request)
    const ms = performance.now() - startedAt
    metrics.observe(request.method, route ?? 'none', status, ms / 1000)
    logAccess?.({
      id: request.id,
      trace: traceOf(request.headers.traceparent),
      method: request.method,
      route,
      status,
      key: key?.id ?? null,
      releaseId,
      rows,
      engine,
      ms,
    })
  }
  const send = (request: FastifyRequest, reply: FastifyReply, answer: ApiResponse): void => {
    if (!reply.sent) reply.hijack()
    // During shutdown, first read the requests pipelined behind this one, to know which answer is the last.
    if (isClosing()) setImmediate(() => setImmediate(() => sendNow(request, reply, answer)))
    else sendNow(request, reply, answer)
  }
  const sendNow = (request: FastifyRequest, reply: FastifyReply, answer: ApiResponse): void => {
    // During shutdown Fastify sets `connection: close` on every answer, even when pipelined requests follow.
    if (isClosing()) reply.raw.removeHeader('connection')
    const context = {
      id: request.id,
      method: request.method,
      acceptEncoding: request.headers['accept-encoding'],
      state: stateOf(request),
      extraHeaders: mayHaveExtraHeaders || answer.status >= 400 ? reply.getHeaders() : NO_HEADERS,
    }
    try {
      const completion = sendBytes(reply.raw, context, answer)
      if (completion === undefined) observe(request, answer.status)
      else
        completion.then(
          () => observe(request, answer.status),
          (error: unknown) => abandon(request, reply, answer.status, error),
        )
    } catch (error) {
      abandon(request, reply, answer.status, error)
    }
  }
  /** Answers a failed send with 500. Destroys the connection if part of the answer has left or the 500 fails too. */
  const abandon = (request: FastifyRequest, reply: FastifyReply, status: number, error: unknown): void => {
    if (!reply.raw.headersSent && status < 500) {
      fail(request, reply, error)
      return
    }
    // A client that leaves is no fault of the server, and such lines would hide those that are.
    if (isEndOfConnection(error))
      logger?.info({ request_id: request.id, code: error.code }, 'the client has left')
    else logger?.error({ request_id: request.id, err: error }, 'an answer could not be sent')
    reply.raw.destroy()
    observe(request, status)
  }
  const fail = (request: FastifyRequest, reply: FastifyReply, thrown: unknown): void => {
    const error = toAppError(thrown)
    // Count overload instead of logging its cause: it is not a fault, and the cause is always the same.
    if (error.code === 'overloaded') {
      metrics.countOverloaded(stateOf(request).route ?? 'none')
      logger?.warn({ request_id: request.id, code: error.code }, 'refused')
    } else if (error.code === 'query_timeout' && reply.raw.destroyed) {
      logger?.info({ request_id: request.id, code: error.code }, 'the client has left')
      observe(request, CLIENT_LEFT)
      return
    } else if (ERRORS[error.code].status >= 500 && error.code !== 'not_ready')
      logger?.error({ request_id: request.id, code: error.code, err: error.cause ?? error }, 'failed')
    const state = stateOf(request)
    state.tag = null
    const answer = answerProblem(error, request.id, languageOf(request.headers['accept-language']))
    const delayMs = error.code === 'overloaded' && !isClosing() ? refusalDelayOf(state.key?.id ?? '') : 0
    if (delayMs === 0) send(request, reply, answer)
    else setTimeout(() => send(request, reply, answer), delayMs)
  }
  return { send, fail }
}
