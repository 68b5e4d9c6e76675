// The program of the rows worker: lets this thread read TypeScript, then runs rows-worker.ts. There is no build step.
import { register } from 'tsx/esm/api'

register()
await import('./rows-worker.ts')
