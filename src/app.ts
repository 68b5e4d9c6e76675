/** Builds the Fastify application. It reads no environment and does not listen; http/request/request.ts describes the life of a request. */
import { hash, randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { AppError, both, ERRORS } from './errors.ts'
import { drain, installGracefulClose } from './http/connection/closing.ts'
import { type ConnectionQueue, createConnectionQueue } from './http/connection/connection-queue.ts'
import { type ApiResponse, createSender } from './http/connection/send.ts'
import {
  answerSocketError,
  CONNECTIONS_CHECK_MS,
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  REQUEST_TIMEOUT_CODE,
  REQUEST_TIMEOUT_MS,
  refuseTunnel,
} from './http/connection/socket-errors.ts'
import { createExplorer, EXPLORER_PATHS, rewriteExplorerUrl } from './http/explorer.ts'
import { createAccessLog, traceOf } from './http/log.ts'
import { answerMcp, MCP_PATH } from './http/mcp.ts'
import { isLocal, type Metrics } from './http/metrics.ts'
import { docsPages } from './http/openapi/docs-page.ts'
import { describeApi } from './http/openapi/document.ts'
import { admit, checkHead, UNKNOWN_EXPECTATION } from './http/request/authorise.ts'
import { matchesTag } from './http/request/etag.ts'
import { abortSignalOf, type Done, mountRoute, type Output } from './http/request/mount.ts'
import { answerProblem, languageOf, toAppError } from './http/request/problem.ts'
import { createRefusalPace } from './http/request/refusal-pace.ts'
import type { ApiServices } from './http/request/request.ts'
import { stateOf } from './http/request/state.ts'
import { methodOf } from './http/route.ts'
import { ROUTES } from './http/routes/index.ts'
import { enableCors } from './http/security.ts'
import type { KeyStore } from './keys/keys.ts'
import { type LinkRequest, linkSecretOf, takeToken } from './keys/links.ts'
import type { RateLimiter } from './keys/rate-limit.ts'

export interface AppServices extends Omit<ApiServices, 'parseJson'> {
  readonly keys: KeyStore
  readonly limiter: RateLimiter
  readonly metrics: Metrics
  /** Serve /metrics on this app, to requests from this machine only. */
  readonly servesMetrics: boolean
  readonly corsOrigins: readonly string[]
  /** Host names accepted by POST /mcp; any by default. */
  readonly mcpHosts?: readonly string[] | null
  readonly writesTogether?: boolean
  readonly explorerKey?: string | null
  readonly logger: Logger | null
}

const NO_HEADERS = {}
/** Answer of /ready during shutdown, so that load balancers move their clients to other instances. */
const SHUTTING_DOWN = {
  detail: both('Esta instância está encerrando.', 'This instance is ending.'),
  headers: { 'Retry-After': '1' },
}
const BODY_LIMIT_BYTES = 1 << 20
const IS_API = /^\/v1(\/|\?|$)/
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/

/** @returns the client's request id if it is safe to log, otherwise a new one */
function requestIdOf({ headers }: { readonly headers: IncomingHttpHeaders }): string {
  const id = headers['x-request-id']
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : randomUUID()
}

export async function buildApp(services: AppServices): Promise<FastifyInstance> {
  const explorerKey = services.explorerKey ?? null
  const admission = { ...services, linkSecret: linkSecretOf(services.cursorSecret) }
  /** Requests made through a link. The token is removed from the URL, so later code never sees it. */
  const links = new WeakMap<IncomingMessage, LinkRequest>()
  let connectionQueue: ConnectionQueue | null = null
  function rejectMalformedInput(error: { readonly code?: string | undefined }, socket: Socket): void {
    // A timeout does not apply while received bytes wait in our queue: the client has already sent them.
    if (error.code === REQUEST_TIMEOUT_CODE && connectionQueue?.hasPipelined(socket) === true) return
    connectionQueue?.fail(socket, () => answerSocketError(error, socket))
  }
  const app = Fastify({
    // `observe` writes the access log once the answer has left.
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (listener) => {
      const queue = createConnectionQueue(listener)
      connectionQueue = queue
      const server = createServer(
        {
          requestTimeout: REQUEST_TIMEOUT_MS,
          headersTimeout: HEADERS_TIMEOUT_MS,
          keepAliveTimeout: KEEP_ALIVE_MS,
          connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
          // Node's rejection has no body; `checkHead` rejects the request with a problem document.
          requireHostHeader: false,
        },
        queue.accept,
      )
      server.on('connection', (socket: Socket) => {
        queue.connect(socket)
        installGracefulClose(socket)
      })
      // Without a listener, Node.js answers an unknown Expect header itself, without a body.
      server.on('checkExpectation', (request, response) => {
        request.headers.expect = UNKNOWN_EXPECTATION
        server.emit('request', request, response)
      })
      server.on('connect', (_request, socket) =>
        queue.fail(socket as Socket, () => refuseTunnel(socket as Socket)),
      )
      return server
    },
    clientErrorHandler: rejectMalformedInput,
    // Requests on open connections are still answered during shutdown, with `connection: close`.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 200 },
    rewriteUrl(request) {
      const linked = takeToken(request.url ?? '/')
      if (linked !== null) {
        links.set(request, linked.link)
        request.url = linked.url
        if (linked.accept !== null) request.headers.accept = linked.accept
      }
      return rewriteExplorerUrl(request, explorerKey)
    },
    genReqId: requestIdOf,
    frameworkErrors: (error, request, reply) => fail(request as FastifyRequest, reply as FastifyReply, error),
  })
  app.decorateRequest('state', null)
  app.decorateRequest('text', null)
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    if (connectionQueue !== null)
      await drain(connectionQueue, (socket) => rejectMalformedInput({ code: REQUEST_TIMEOUT_CODE }, socket))
  })
  const isLastResponse = ({ req }: ServerResponse): boolean =>
    isClosing && connectionQueue?.hasPipelined(req.socket) !== true
  await enableCors(app, services.corsOrigins)

  /** Checks a request before its body is read. @param cost requests charged to the key's rate; null when the route needs no key */
  const precheck = (request: FastifyRequest, route: string | null, cost: number | null, done: Done): void => {
    const state = stateOf(request)
    state.route = route
    try {
      if (isClosing && route === '/ready') throw new AppError('not_ready', SHUTTING_DOWN)
      checkHead(request.raw)
      const admitted =
        cost === null ? undefined : admit(request.raw, cost, state, admission, links.get(request.raw))
      if (admitted instanceof Promise) admitted.then(() => done(), done)
      else done()
    } catch (error) {
      done(error as Error)
    }
  }
  app.addHook('onRequest', (request, _reply, done) =>
    request.is404 ? precheck(request, null, IS_API.test(request.url) ? 1 : null, done) : done(),
  )
  // Accept JSON bodies only; anything else is 415. The text is parsed later, and only when its answer is not cached.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    request.text = text
    done(null)
  })
  const fastifyParser = app.getDefaultJsonParser('error', 'error')
  const parseJson = (text: string): unknown => {
    let parsed: unknown
    let problem: Error | null = null
    // The callback runs synchronously.
    fastifyParser({} as FastifyRequest, text, (error, value) => {
      problem = error
      parsed = value
    })
    if (problem !== null) throw problem
    return parsed
  }

  const refusalDelayOf = createRefusalPace()
  const logAccess = services.logger === null ? null : createAccessLog(services.logger)
  // CORS is the only source of extra headers on successful answers. On errors, Fastify may add some.
  const mayHaveExtraHeaders = services.corsOrigins.length > 0
  const sendBytes = createSender({
    origins: services.corsOrigins,
    writesTogether: services.writesTogether ?? true,
    isLastResponse,
  })
  /** Counts and logs a request. An exception here becomes a log line and never affects the answer. */
  const observe = (request: FastifyRequest, status: number): void => {
    try {
      countAndLog(request, status)
    } catch (error) {
      services.logger?.error(
        { request_id: request.id, err: error },
        'a request could not be counted or logged',
      )
    }
  }
  const countAndLog = (request: FastifyRequest, status: number): void => {
    const { route, key, releaseId, rows, engine, startedAt } = stateOf(request)
    const ms = performance.now() - startedAt
    services.metrics.observe(request.method, route ?? 'none', status, ms / 1000)
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
    if (isClosing) setImmediate(() => setImmediate(() => sendNow(request, reply, answer)))
    else sendNow(request, reply, answer)
  }
  const sendNow = (request: FastifyRequest, reply: FastifyReply, answer: ApiResponse): void => {
    try {
      sendAnswer(request, reply, answer)
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
    services.logger?.error({ request_id: request.id, err: error }, 'an answer could not be sent')
    reply.raw.destroy()
    observe(request, status)
  }
  const sendAnswer = (request: FastifyRequest, reply: FastifyReply, answer: ApiResponse): void => {
    // During shutdown Fastify sets `connection: close` on every answer, even when pipelined requests follow.
    if (isClosing) reply.raw.removeHeader('connection')
    const context = {
      id: request.id,
      method: request.method,
      acceptEncoding: request.headers['accept-encoding'],
      state: stateOf(request),
      extraHeaders: mayHaveExtraHeaders || answer.status >= 400 ? reply.getHeaders() : NO_HEADERS,
    }
    const completion = sendBytes(reply.raw, context, answer)
    if (completion === undefined) observe(request, answer.status)
    else
      completion.then(
        () => observe(request, answer.status),
        (error: unknown) => abandon(request, reply, answer.status, error),
      )
  }
  function fail(request: FastifyRequest, reply: FastifyReply, thrown: unknown): void {
    const error = toAppError(thrown)
    // Count overload instead of logging its cause: it is not a fault, and the cause is always the same.
    if (error.code === 'overloaded') {
      services.metrics.countOverloaded(stateOf(request).route ?? 'none')
      services.logger?.warn({ request_id: request.id, code: error.code }, 'refused')
    } else if (ERRORS[error.code].status >= 500 && error.code !== 'not_ready')
      services.logger?.error(
        { request_id: request.id, code: error.code, err: error.cause ?? error },
        'failed',
      )
    const state = stateOf(request)
    state.tag = null
    const answer = answerProblem(error, request.id, languageOf(request.headers['accept-language']))
    const delayMs = error.code === 'overloaded' && !isClosing ? refusalDelayOf(state.key?.id ?? '') : 0
    if (delayMs === 0) send(request, reply, answer)
    else setTimeout(() => send(request, reply, answer), delayMs)
  }
  app.setErrorHandler((error, request, reply) => {
    // Fastify checks the content type of QUERY requests before it checks whether the route exists.
    if ((error as { code?: string }).code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE') rejectPath(request, reply)
    else fail(request, reply, error)
  })

  const patterns = ROUTES.map((route) => ({
    method: methodOf(route),
    pattern: new RegExp(`^${route.path.replace('{path}', '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  patterns.push({ method: 'POST', pattern: new RegExp(`^${MCP_PATH}$`) })
  app.setNotFoundHandler(rejectPath)
  function rejectPath(request: FastifyRequest, reply: FastifyReply): void {
    const path = request.url.split('?')[0] ?? ''
    const methods = patterns
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    if (methods.length === 0) {
      fail(request, reply, new AppError('route_not_found'))
      return
    }
    const allow = [...new Set(methods)].join(', ')
    fail(
      request,
      reply,
      new AppError('method_not_allowed', {
        detail: both(`Permitidos aqui: ${allow}.`, `Allowed here: ${allow}.`),
        headers: { Allow: allow },
      }),
    )
  }

  const output: Output = { precheck, send, fail }
  for (const route of ROUTES) mountRoute(app, route, { ...services, parseJson }, output)
  // MCP is not in the OpenAPI document, because its messages follow their own protocol.
  app.post(
    MCP_PATH,
    { onRequest: (request, _reply, done) => precheck(request, MCP_PATH, 1, done) },
    (request, reply) => {
      reply.hijack()
      const signal = abortSignalOf(reply)
      const respondToMcp = async (): Promise<ApiResponse> =>
        answerMcp({
          headers: request.headers,
          message: parseJson(request.text ?? ''),
          inject: (inner) => app.inject({ ...inner, signal }),
          corsOrigins: services.corsOrigins,
          hosts: services.mcpHosts ?? null,
        })
      respondToMcp().then(
        (answer) => send(request, reply, answer),
        (error: unknown) => fail(request, reply, error),
      )
    },
  )
  const mountPage = (
    path: string,
    render: (request: FastifyRequest) => Promise<ApiResponse> | ApiResponse,
  ): void => {
    const onRequest = (request: FastifyRequest, _reply: FastifyReply, done: Done): void =>
      precheck(request, path, null, done)
    app.get(path, { onRequest }, (request, reply) => {
      reply.hijack()
      Promise.resolve(request)
        .then(render)
        .then(
          (answer) => send(request, reply, answer),
          (error: unknown) => fail(request, reply, error),
        )
    })
  }
  let document: string | null = null
  mountPage('/openapi.json', ({ headers }) => {
    document ??= JSON.stringify(describeApi(ROUTES))
    return answerPage('/openapi.json', headers, 'application/json; charset=utf-8', document)
  })
  for (const { path, type, policy, read } of docsPages())
    mountPage(path, ({ headers }) =>
      answerPage(path, headers, type, read(), { 'content-security-policy': policy }),
    )
  const explore = createExplorer((request) => app.inject(request), explorerKey)
  for (const path of EXPLORER_PATHS)
    mountPage(path, async ({ url, headers }) => {
      const page = await explore(url, headers)
      if (page === null) throw new AppError('route_not_found')
      return page
    })
  if (services.servesMetrics)
    mountPage('/metrics', async ({ ip, headers }) => {
      if (!isLocal(ip, headers)) throw new AppError('route_not_found')
      const { type, text } = await services.metrics.render()
      return content(type, text, { 'cache-control': 'no-store' })
    })
  return app
}

const content = (
  type: string,
  bytes: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse => ({ status: 200, headers, body: { kind: 'content', type, content: bytes } })

/** Entity tags by path. Pages do not change while the server runs. */
const PAGE_TAGS = new Map<string, string>()
/** Answers with a page and its digest as entity tag, or with 304 when the client has that version. */
function answerPage(
  path: string,
  requestHeaders: IncomingHttpHeaders,
  type: string,
  bytes: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  let etag = PAGE_TAGS.get(path)
  if (etag === undefined) {
    etag = `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`
    PAGE_TAGS.set(path, etag)
  }
  const allHeaders = { ...headers, etag, 'cache-control': 'no-cache' }
  if (matchesTag(requestHeaders['if-none-match'], etag))
    return { status: 304, headers: allHeaders, body: { kind: 'none' } }
  return content(type, bytes, allHeaders)
}
