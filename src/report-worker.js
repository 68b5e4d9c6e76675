// The program of the report worker: lets this thread read TypeScript, then runs report-worker.ts. There is no build step.
import { register } from 'tsx/esm/api'

register()
await import('./report-worker.ts')
