// The program of a trial: lets this process read TypeScript, then runs release-trial.ts. There is no build step.
import { register } from 'tsx/esm/api'

register()
await import('./release-trial.ts')
