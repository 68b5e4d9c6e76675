/** Reads JSON bodies in two steps: Fastify takes the text, and a handler parses it only when its answer is not cached. */
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Accepts JSON bodies only; anything else is 415. @returns Fastify's parser of the text, which throws its errors */
export function acceptJsonBodies(app: FastifyInstance): (text: string) => unknown {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
    request.text = text
    done(null)
  })
  const fastifyParser = app.getDefaultJsonParser('error', 'error')
  return (text) => {
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
}
