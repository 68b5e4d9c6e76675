/** Mounts the routes on Fastify: converts each request to an ApiRequest and passes the response to send.ts. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Area } from '../../model/datasets.ts'
import type { ApiResponse } from '../connection/send.ts'
import {
  costOf,
  costOfRows,
  fastifyPath,
  methodOf,
  type Route,
  releaseAreaOf,
  releaseHeaderOf,
} from '../route.ts'
import { type Admission, charge } from './authorise.ts'
import { requestCost } from './formats.ts'
import { type Params, queryReader } from './parameters.ts'
import { type ApiRequest, type ApiServices, respond } from './request.ts'
import type { Responder } from './responder.ts'
import { stateOf } from './state.ts'

export interface MountedRoute {
  readonly route: Route
  readonly isGet: boolean
  readonly readQuery: (query: object) => Params
  readonly readFeatures: (query: object) => Params
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
    handler: (request, reply) => {
      reply.hijack()
      const finish = (answer: ApiResponse): Promise<void> | void => {
        const rowCost = costOfRows(route, stateOf(request).rows)
        const charged = rowCost === 0 ? undefined : charge(stateOf(request), rowCost, services)
        if (charged instanceof Promise) return charged.then(() => output.send(request, reply, answer))
        return output.send(request, reply, answer)
      }
      try {
        const answer = respond(mounted, apiRequest(request, reply), services)
        if (answer instanceof Promise)
          answer.then(finish).catch((error: unknown) => output.fail(request, reply, error))
        else finish(answer)
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
    makeSignal: () => abortSignalOf(reply),
  }
}

function pathParameters(params: Params): Params {
  if (!('*' in params)) return params
  const { '*': path = '', ...named } = params
  return { ...named, path }
}

/** @returns a signal that aborts when the client leaves before its answer is sent */
export function abortSignalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  // Listen on the response: listeners on a persistent connection's socket would accumulate.
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort()
  })
  return controller.signal
}
