/** Answers requests that no route takes: 404 for an unknown path, 405 with Allow for another method of a route. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, both } from '../errors.ts'
import type { Responder } from './request/responder.ts'
import { methodOf } from './route.ts'
import { ROUTES } from './routes/index.ts'

/** @param extraRoutes routes that are mounted outside the table of routes */
export function createPathRejection(
  { fail }: Responder,
  extraRoutes: readonly { readonly method: string; readonly path: string }[],
): (request: FastifyRequest, reply: FastifyReply) => void {
  const patterns = [
    ...ROUTES.map((route) => ({ method: methodOf(route), path: route.path })),
    ...extraRoutes,
  ].map(({ method, path }) => ({
    method,
    pattern: new RegExp(
      `^${path
        .replaceAll('.', '\\.')
        .replace('{path}', '.+')
        .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
    ),
  }))
  return (request, reply) => {
    const path = request.url.split('?')[0] ?? ''
    const methods = patterns
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    if (methods.length === 0) {
      fail(request, reply, new AppError('route_not_found'))
      return
    }
    const allow = [...new Set(methods)].join(', ')
    const detail = both(`Permitidos aqui: ${allow}.`, `Allowed here: ${allow}.`)
    fail(request, reply, new AppError('method_not_allowed', { detail, headers: { Allow: allow } }))
  }
}
