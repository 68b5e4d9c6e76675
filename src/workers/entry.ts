/**
 * Entry points of the processes that run beside the server. In: a worker's name. Out: how Node.js starts it, from the build
 * where this code was built (dist/workers/…), and from the sources in development.
 */
import { fileURLToPath } from 'node:url'

export type WorkerName = 'report' | 'release-check' | 'rows'

export interface WorkerEntry {
  /** Path of the module to start. */
  readonly file: string
  /** Arguments of Node.js itself that come before it. */
  readonly execArgv: readonly string[]
}

const runsFromSources = import.meta.url.endsWith('.ts')

/** @returns the module of a worker and the arguments Node.js needs to load it */
export function workerEntry(name: WorkerName): WorkerEntry {
  return runsFromSources
    ? {
        file: fileURLToPath(new URL(`./${name}.ts`, import.meta.url)),
        execArgv: ['--import', import.meta.resolve('tsx')],
      }
    : {
        file: fileURLToPath(new URL(`./workers/${name}.js`, import.meta.url)),
        execArgv: ['--enable-source-maps'],
      }
}
