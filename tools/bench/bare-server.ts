/**
 * A bare Fastify app, which shows the cost of the web framework. One route returns a small object; another accepts a JSON
 * body and returns as many bytes as its path states.
 */
import Fastify from 'fastify'

const app = Fastify({ logger: false })
app.get('/static', async () => ({ data: { status: 'ok' }, meta: { version: '0.1.0' } }))
const texts = new Map<number, string>()
app.post('/bytes/:bytes', (request, reply) => {
  const bytes = Number((request.params as { readonly bytes: string }).bytes)
  const text = texts.get(bytes) ?? 'x'.repeat(bytes)
  texts.set(bytes, text)
  reply.type('application/json').send(text)
})
const address = await app.listen({ host: '127.0.0.1', port: 0 })
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
process.send?.({ address })
