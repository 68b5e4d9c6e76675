/**
 * Entry points of the processes that run beside the server. In: a worker's name. Out: how Node.js starts it, from the build
 * where this code was built (dist/workers/…), and from the sources in development; and a worker that is given one job after another.
 */
import { type ChildProcess, type Serializable, spawn } from 'node:child_process'
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

/** A worker process that does one job at a time, started with the first; one that has died is started again. */
export interface JobWorker<Job, Reply> {
  /** @throws WorkerEnded where the process ended before it answered */
  run(job: Job): Promise<Reply>
  end(): void
}

/** Says what the process wrote last, or how it ended. */
export class WorkerEnded extends Error {}

const OUTPUT_MAX = 4000

/** @param args what the worker is told when it starts */
export function createJobWorker<Job extends Serializable, Reply>(
  name: WorkerName,
  args: readonly string[] = [],
): JobWorker<Job, Reply> {
  let child: ChildProcess | null = null
  const start = (): ChildProcess => {
    const { file, execArgv } = workerEntry(name)
    // No environment: settings and secrets are not the child's.
    return spawn(process.execPath, [...execArgv, file, ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
      env: {},
    })
  }
  return {
    run: (job) =>
      new Promise((resolve, reject) => {
        child ??= start()
        const own = child
        let errors = ''
        own.stderr?.removeAllListeners('data')
        own.stderr?.on('data', (chunk: Buffer) => {
          errors = (errors + chunk.toString()).slice(0, OUTPUT_MAX)
        })
        const fail = (why: string): void => {
          own.removeAllListeners()
          child = null
          reject(new WorkerEnded(why))
        }
        own.once('message', (reply) => {
          own.removeAllListeners()
          resolve(reply as Reply)
        })
        own.once('error', (error) => fail(error.message))
        own.once('close', (code, signal) => fail(errors.trim() || (signal ?? `code ${code}`)))
        own.send(job)
      }),
    end() {
      if (child?.connected === true) child.disconnect()
      child = null
    },
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
