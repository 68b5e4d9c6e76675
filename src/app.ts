/**
 * The application: hooks every request passes, every route of the table, the one error shape. No listening, no
 * environment: tests inject requests into what this returns.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import accepts from '@fastify/accepts'
import compress from '@fastify/compress'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type onSendHookHandler,
} from 'fastify'
import type { Logger } from 'pino'
import type { Engine, ReleaseSource } from './engine/types.ts'
import { AppError, ERRORS } from './errors.ts'
import type { AnswerCache } from './http/answer-cache.ts'
import { mountDocs } from './http/docs.ts'
import { type Answered, createFront } from './http/front.ts'
import type { Asked } from './http/identity.ts'
import { type AccessLine, createAccessLog } from './http/log.ts'
import { type Metrics, mountMetrics } from './http/metrics.ts'
import { mountRoute } from './http/mount.ts'
import { describeApi } from './http/openapi.ts'
import { describeProblem, languageOf, toAppError } from './http/problem.ts'
import { costOf, fastifyPath, methodOf } from './http/route.ts'
import { ROUTES } from './http/routes/index.ts'
import { openToOrigins } from './http/security.ts'
import { COMPRESSED_FROM, closeWhenStalled, createSender } from './http/send.ts'
import {
  answerSocketError,
  CONNECTIONS_CHECK_MS,
  HEADERS_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
} from './http/socket-errors.ts'
import { stateOf } from './http/state.ts'
import type { KeyStore } from './keys/keys.ts'
import type { RateDecision, RateLimiter } from './keys/rate-limit.ts'
import type { ReportPool } from './report/pool.ts'
import type { RowStore } from './rows/rows.ts'

const tagEncoding: onSendHookHandler = (_request, reply, payload, done) => {
  const [encoding, tag] = [reply.getHeader('content-encoding'), reply.getHeader('etag')]
  if (typeof encoding === 'string' && encoding !== 'identity' && typeof tag === 'string')
    reply.header('etag', tag.replace(/"$/, `-${encoding}"`))
  done(null, payload)
}

/** W3C Trace Context: the trace a request belongs to. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
function traceOf({ headers }: { readonly headers: IncomingHttpHeaders }): AccessLine['trace'] {
  if (headers.traceparent === undefined) return null
  const [, trace_id, parent_id] = TRACEPARENT.exec(String(headers.traceparent)) ?? []
  return trace_id === undefined || parent_id === undefined ? null : { trace_id, parent_id }
}

export interface AppParts {
  readonly engine: Engine
  readonly releases: ReleaseSource
  readonly keys: KeyStore
  readonly limiter: RateLimiter
  readonly reports: ReportPool
  /** Rows written out; null: the engine answers everything. */
  readonly rows: RowStore | null
  /** The operator's public signing key (32 bytes, base64), or null where there is none. */
  readonly publicKey: () => string | null
  readonly cache: AnswerCache
  readonly metrics: Metrics
  /** /metrics is on this app, for requests of this machine alone. */
  readonly servesMetrics: boolean
  /** Origins whose pages may read answers. */
  readonly corsOrigins: readonly string[]
  /** Signs cursors; the same on every instance that shares clients. */
  readonly cursorSecret: Buffer
  readonly logger: Logger | null
}

const BODY_LIMIT_BYTES = 1 << 20
const CLOSE_IDLE_MS = 50
/** No header value can be this. */
const UNKNOWN_EXPECTATION = '\n'
const IS_API = /^\/v1(\/|\?|$)/
const BEARER = /^Bearer ([\x21-\x7e]{1,200})$/i
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** The client's, where it can stand in a log. */
function requestIdOf({ headers }: Pick<Asked, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}

const secretOf = (authorization: string | undefined): string | null =>
  BEARER.exec(authorization ?? '')?.[1] ?? null

export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const app = Fastify({
    ...(parts.logger === null
      ? { logger: false as const }
      : { loggerInstance: parts.logger as FastifyBaseLogger }),
    // One logger for all requests: its lines are written below, with what identifies the request.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      // Node's own refusal has no body; the hook below has.
      requireHostHeader: false,
    },
    clientErrorHandler: answerSocketError,
    // While it closes, what still comes in on open connections is answered, and told to come back on others.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 200 },
    genReqId: requestIdOf,
    frameworkErrors: (error, request, reply) =>
      void sendProblem(error, request as FastifyRequest, reply as FastifyReply),
  })
  app.decorateRequest('known', null)
  const logAccess = parts.logger === null ? null : createAccessLog(parts.logger)
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    // A kept-alive connection is idle between two requests: it is closed then, not when its time-out ends.
    const idle = setInterval(() => app.server.closeIdleConnections(), CLOSE_IDLE_MS)
    app.server.once('close', () => clearInterval(idle))
  })
  // Node answers an expectation it does not know itself, without a body, unless somebody listens.
  app.server.on('checkExpectation', (request, response) => {
    request.headers.expect = UNKNOWN_EXPECTATION
    app.server.emit('request', request, response)
  })
  const sender = createSender({ origins: parts.corsOrigins, isClosing: () => isClosing })
  // Before the hooks of plugins, which see the headers as they will be.
  app.addHook('onSend', (request, reply, payload, done) => {
    const isEmpty = payload == null || request.method === 'HEAD'
    closeWhenStalled(reply.raw, isEmpty ? 0 : ((payload as string | Buffer).length ?? null))
    sender.putHeaders(request, reply)
    done(null, payload)
  })
  await openToOrigins(app, parts.corsOrigins)
  await app.register(compress, {
    global: true,
    threshold: COMPRESSED_FROM,
    encodings: ['br', 'gzip', 'identity'],
  })
  await app.register(accepts)
  // Only JSON bodies are read; anything else is 415. The text is kept: the same text is the same question.
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    stateOf(request).text = text
    parseJson(request, text, done)
  })

  const costs = new Map(ROUTES.map((route) => [fastifyPath(route.path), costOf(route)]))
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      return done(new AppError('invalid_request', { detail: 'The Host header is missing.' }))
    if (request.headers.expect === UNKNOWN_EXPECTATION) return done(new AppError('expectation_failed'))
    // The route that matched, not the address as written: /%76%31/states is /v1/states.
    const url = request.routeOptions.url
    if (!IS_API.test(url ?? request.url)) return done()
    const secret = secretOf(request.headers.authorization)
    const key = secret === null ? null : parts.keys.authenticate(secret, request.raw.socket)
    if (key === null) return done(new AppError('unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' } }))
    const state = stateOf(request)
    state.key = key
    const decide = (rate: RateDecision): void => {
      state.rate = rate
      if (rate.allowed) done()
      else done(new AppError('rate_limited', { headers: { 'Retry-After': String(rate.retryAfterSeconds) } }))
    }
    const taken = parts.limiter.take(key.id, costs.get(url ?? '') ?? 1, key.rate_per_minute)
    // Only a shared bucket is waited for.
    if (taken instanceof Promise) taken.then(decide, done)
    else decide(taken)
  })

  // After compression, whose hooks belong to each route: a strong tag names bytes, and compressed bytes are others.
  app.addHook('onRoute', (route) => {
    const before =
      route.onSend === undefined ? [] : Array.isArray(route.onSend) ? route.onSend : [route.onSend]
    route.onSend = [...before, tagEncoding]
  })

  const observe = (
    { id, route, status, ms, state }: Answered,
    { method, headers }: Pick<Asked, 'method' | 'headers'>,
  ): void => {
    parts.metrics.observe(method, route ?? 'none', status, ms / 1000)
    logAccess?.({
      id,
      trace: traceOf({ headers }),
      method,
      route,
      status,
      key: state.key?.id ?? null,
      releaseId: state.releaseId,
      rows: state.rows,
      ms,
    })
  }
  app.addHook('onResponse', (request, reply, done) => {
    observe(
      {
        id: request.id,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: reply.elapsedTime,
        state: stateOf(request),
      },
      request,
    )
    done()
  })

  function sendProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const error = toAppError(thrown)
    if (ERRORS[error.code].status >= 500 && error.code !== 'not_ready')
      request.log.error({ request_id: request.id, code: error.code, err: error.cause ?? error }, 'failed')
    const problem = describeProblem(error, request.id, languageOf(request.headers['accept-language']))
    for (const [name, value] of Object.entries(problem.headers)) reply.header(name, value)
    // A request that the framework itself refuses has passed no hook.
    reply.header('x-request-id', request.id)
    stateOf(request).tag = null
    reply.removeHeader('etag')
    reply.header('cache-control', 'no-store')
    return reply
      .code(problem.status)
      .type('application/problem+json; charset=utf-8')
      .send(JSON.stringify(problem.body))
  }
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply))

  const patterns = ROUTES.map((route) => ({
    method: methodOf(route),
    pattern: new RegExp(`^${route.path.replace('{path}', '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? ''
    const methods = patterns
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    if (methods.length === 0) return sendProblem(new AppError('route_not_found'), request, reply)
    const allow = [...new Set(methods)].join(', ')
    return sendProblem(
      new AppError('method_not_allowed', { detail: `Allowed here: ${allow}.`, headers: { Allow: allow } }),
      request,
      reply,
    )
  })

  for (const route of ROUTES) mountRoute(app, route, { ...parts, sender })
  let document: ReturnType<typeof describeApi> | null = null
  app.get('/openapi.json', async () => {
    document ??= describeApi(ROUTES)
    return document
  })
  mountDocs(app)
  if (parts.servesMetrics) mountMetrics(app, parts.metrics, true)

  // Fastify has no way to answer a request it has not made its own objects of: the front stands where Fastify listened.
  const [pass] = app.server.listeners('request') as RequestListener[]
  if (pass === undefined) throw new TypeError('Fastify listens to requests of its server')
  app.server.removeListener('request', pass)
  app.server.on(
    'request',
    createFront(
      {
        ...parts,
        routes: ROUTES,
        sender,
        requestIdOf,
        secretOf,
        observe,
      },
      pass,
    ),
  )
  return app
}
