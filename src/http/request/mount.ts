/**
 * Routes of the table → Fastify: its request becomes an ApiRequest, and the response value of request.ts goes out by
 * send.ts. Fastify routes, reads bodies, and does nothing else with an answer. Not responsible for: what is answered.
 */
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
import { type ApiParts, type ApiRequest, respond } from './request.ts'
import { stateOf } from './state.ts'

/** A route, with what is worked out once. */
export interface MountedRoute {
  readonly route: Route
  readonly isGet: boolean
  readonly readQuery: (query: object) => Params
  /** As readQuery, for GeoJSON, which has a limit of its own. */
  readonly readFeatures: (query: object) => Params
  readonly area: Area | 'analytics' | null
  readonly releaseHeader: string
  /** Equal requests have equal answers, which may be cached. */
  readonly isCacheable: boolean
  readonly isRaw: boolean
}

export type Done = (error?: Error) => void

/** What stands around the life of a request: admission before its body is read, and the way out. */
export interface Output {
  enter(request: FastifyRequest, route: string, cost: number | null, done: Done): void
  /** Writes a response value, or an error as the problem it is. */
  send(request: FastifyRequest, reply: FastifyReply, answer: ApiResponse): void
  fail(request: FastifyRequest, reply: FastifyReply, error: unknown): void
}

export function mountRoute(
  app: FastifyInstance,
  route: Route,
  parts: ApiParts & Pick<Admission, 'limiter'>,
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
      output.enter(
        request,
        url,
        cost === null ? null : requestCost(route, cost, request.headers, request.query as object),
        done,
      ),
    handler: (request, reply) => {
      reply.hijack()
      const finish = (answer: ApiResponse): Promise<void> | void => {
        const more = costOfRows(route, stateOf(request).rows)
        const charged = more === 0 ? undefined : charge(stateOf(request), more, parts)
        if (charged instanceof Promise) return charged.then(() => output.send(request, reply, answer))
        return output.send(request, reply, answer)
      }
      try {
        const answer = respond(mounted, apiRequest(request, reply), parts)
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
    // A function, not an accessor: V8 keeps the accessor of an object literal, and with it the request, with the shape of the
    // object until the next full collection, so that every request would be moved to the old generation.
    makeSignal: () => abortSignalOf(reply),
  }
}

/** Parameters of the path by our names: Fastify calls the rest of a path `*`. */
function pathParameters(params: Params): Params {
  if (!('*' in params)) return params
  const { '*': path = '', ...named } = params
  return { ...named, path }
}

/** Aborted when the client leaves before its answer. */
export function abortSignalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  // The response's own event: listeners on the socket would pile up over a connection that stays open.
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort()
  })
  return controller.signal
}
