/** A bare Fastify app with one static JSON route: what the web framework alone costs on this machine. */
import Fastify from 'fastify'

const app = Fastify({ logger: false })
app.get('/static', async () => ({ data: { status: 'ok' }, meta: { version: '0.1.0' } }))
const address = await app.listen({ host: '127.0.0.1', port: 0 })
process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
process.send?.({ address })
