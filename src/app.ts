/** Builds the Fastify application. It reads no environment and does not listen; http/request/request.ts describes the life of a request. */
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, both } from './errors.ts'
import { createConnections } from './http/connection/connections.ts'
import { rewriteExplorerUrl } from './http/explorer.ts'
import { MCP_PATH, type McpServices, mountMcp } from './http/mcp.ts'
import { mountPages, type PageServices, pagePaths } from './http/pages.ts'
import { admit, checkHead } from './http/request/authorise.ts'
import { acceptJsonBodies } from './http/request/json-body.ts'
import { mountRoute, type Output } from './http/request/mount.ts'
import type { ApiServices } from './http/request/request.ts'
import { createResponder, type ResponderServices } from './http/request/responder.ts'
import { stateOf } from './http/request/state.ts'
import { ROUTES } from './http/routes/index.ts'
import { enableCors } from './http/security.ts'
import { createPathRejection } from './http/unknown-paths.ts'
import type { KeyStore } from './keys/keys.ts'
import { type LinkRequest, linkSecretOf, takeToken } from './keys/links.ts'
import type { RateLimiter } from './keys/rate-limit.ts'

export interface AppServices
  extends Omit<ApiServices & McpServices, 'parseJson'>,
    PageServices,
    ResponderServices {
  readonly keys: KeyStore
  readonly limiter: RateLimiter
}

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
  const admission = { ...services, linkSecret: linkSecretOf(services.cursorSecret) }
  /** Requests made through a link. The token is removed from the URL, so later code never sees it. */
  const links = new WeakMap<IncomingMessage, LinkRequest>()
  const connections = createConnections()
  const responder = createResponder(services, connections)
  const rejectPath = createPathRejection(responder, [
    { method: 'POST', path: MCP_PATH },
    ...pagePaths().map((path) => ({ method: 'GET', path })),
  ])
  const output: Output = {
    ...responder,
    precheck(request, route, cost, done) {
      const state = stateOf(request)
      state.route = route
      try {
        if (connections.isClosing() && route === '/ready') throw new AppError('not_ready', SHUTTING_DOWN)
        checkHead(request.raw)
        const admitted =
          cost === null ? undefined : admit(request.raw, cost, state, admission, links.get(request.raw))
        if (admitted instanceof Promise) admitted.then(() => done(), done)
        else done()
      } catch (error) {
        done(error as Error)
      }
    },
  }
  const app = Fastify({
    // The responder writes the access log once the answer has left.
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: connections.createServer,
    clientErrorHandler: connections.rejectMalformedInput,
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
      return rewriteExplorerUrl(request, services.explorerKey ?? null)
    },
    genReqId: requestIdOf,
    frameworkErrors: (error, request, reply) =>
      responder.fail(request as FastifyRequest, reply as FastifyReply, error),
  })
  app.decorateRequest('state', null)
  app.decorateRequest('text', null)
  app.addHook('preClose', connections.close)
  await enableCors(app, services.corsOrigins)
  app.addHook('onRequest', (request, _reply, done) =>
    request.is404 ? output.precheck(request, null, IS_API.test(request.url) ? 1 : null, done) : done(),
  )
  app.setErrorHandler((error, request, reply) => {
    // Fastify checks the content type of QUERY requests before it checks whether the route exists.
    if ((error as { code?: string }).code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE') rejectPath(request, reply)
    else responder.fail(request, reply, error)
  })
  app.setNotFoundHandler(rejectPath)
  const routeServices = { ...services, parseJson: acceptJsonBodies(app) }
  for (const route of ROUTES) mountRoute(app, route, routeServices, output)
  mountMcp(app, routeServices, output)
  mountPages(app, services, output)
  return app
}
