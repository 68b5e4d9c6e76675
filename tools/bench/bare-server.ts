/**
 * A bare Fastify app: what the web framework alone costs on this machine. One route answers a small object, another one takes a JSON
 * body and answers a text of as many bytes as its address says.
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
