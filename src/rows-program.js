// The program that writes rows out: lets this process read TypeScript, then runs rows-program.ts. There is no build step.
import { register } from 'tsx/esm/api'

register()
await import('./rows-program.ts')
