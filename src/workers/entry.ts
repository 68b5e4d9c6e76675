/**
 * Entry points of the processes that run beside the server. In: a worker's name. Out: how Node.js starts it, from the build
 * where this code was built (dist/workers/…), and from the sources in development.
 */
import type { ChildProcess } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'

export type WorkerName = 'report' | 'release-check' | 'rows' | 'decoder'

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

/**
 * Background work runs at a lower priority, so that requests never wait for it. Called as soon as a worker is started: on Linux
 * each thread has a priority of its own, inherited from the one that starts it, and a worker's first module finds ten threads
 * of Node.js already running.
 */
export function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Not allowed, or the process has ended meanwhile.
  }
}
