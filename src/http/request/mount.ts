/** Mounts the routes on Fastify: converts each request to an ApiRequest and passes the response to send.ts. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Area } from '../../model/datasets.ts'
import { costOf, fastifyPath, methodOf, type Route, releaseAreaOf, releaseHeaderOf } from '../route.ts'
import { type Admission, chargeRows } from './authorise.ts'
import { requestCost, typesOf } from './formats.ts'
import { type Params, queryReader } from './parameters.ts'
import { type ApiRequest, type ApiServices, respond } from './request.ts'
import type { Responder } from './responder.ts'
import { stateOf } from './state.ts'

export interface MountedRoute {
  readonly route: Route
  readonly isGet: boolean
  readonly readQuery: (query: object) => Params
  readonly readFeatures: (query: object) => Params
  /** Content types of the answer, the default first; empty when the handler chooses. */
  readonly types: readonly string[]
  readonly area: Area | 'analytics' | null
  readonly releaseHeader: string
  /** Equal requests have equal answers, so answers may be cached. */
  readonly isCacheable: boolean
  readonly isRaw: boolean
}

export type Done = (error?: Error) => void

export interface Output extends Responder {
  /** Checks a request before its body is read. @param cost requests charged to the key's rate; null when the route needs no key */
  precheck(request: FastifyRequest, route: string | null, cost: number | null, done: Done): void
}

export function mountRoute(
  app: FastifyInstance,
  route: Route,
  services: ApiServices & Pick<Admission, 'limiter'>,
  output: Output,
): void {
  const mounted: MountedRoute = {
    route,
    isGet: methodOf(route) === 'GET',
    readQuery: queryReader(route),
    readFeatures: queryReader(route, 'geojson'),
    types: typesOf(route),
    area: releaseAreaOf(route),
    releaseHeader: releaseHeaderOf(route),
    isCacheable: route.kind !== 'custom' || route.isCacheable === true,
    isRaw: route.kind === 'custom' && route.isRaw === true,
  }
  const url = fastifyPath(route.path)
  const cost = route.capability === null ? null : costOf(route)
  app.route({
    method: methodOf(route),
    url,
    onRequest: (request, _reply, done) =>
      output.precheck(
        request,
        url,
        cost === null ? null : requestCost(route, cost, request.headers, request.query as object),
        done,
      ),
    handler: async (request, reply) => {
      reply.hijack()
      try {
        const answer = await respond(mounted, apiRequest(request, reply), services)
        if (route.kind === 'custom' && route.costsByRows === true)
          await chargeRows(route, stateOf(request), services)
        output.send(request, reply, answer)
      } catch (error) {
        output.fail(request, reply, error)
      }
    },
  })
}

function apiRequest(request: FastifyRequest, reply: FastifyReply): ApiRequest {
  const { method, url, headers } = request.raw
  return {
    method: method ?? '',
    url: url ?? '',
    headers,
    path: pathParameters(request.params as Params),
    query: request.query as object,
    text: request.text,
    state: stateOf(request),
    // Use a function, not a getter. V8 keeps a getter of an object literal, and with it the request, alive with the object's shape until
    // the next full collection. Every request would then move to the old generation.
    signal: () => abortSignalOf(reply),
  }
}

function pathParameters(params: Params): Params {
  if (!('*' in params)) return params
  const { '*': path = '', ...named } = params
  return { ...named, path }
}

const SIGNALS = new WeakMap<FastifyReply, AbortSignal>()

/** @returns the signal of a request, which aborts when the client leaves before its answer is sent */
export function abortSignalOf(reply: FastifyReply): AbortSignal {
  const existing = SIGNALS.get(reply)
  if (existing !== undefined) return existing
  const controller = new AbortController()
  const { raw: response } = reply
  const abort = (): void => {
    if (!response.writableFinished) controller.abort()
  }
  // Listen on the response: listeners on a persistent connection's socket would accumulate.
  if (response.destroyed) abort()
  else response.once('close', abort)
  SIGNALS.set(reply, controller.signal)
  return controller.signal
}
