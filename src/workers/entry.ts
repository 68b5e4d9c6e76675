/**
 * Entry points of the processes that run beside the server. In: a worker's name. Out: how Node.js starts it, from the build
 * where this code was built (dist/workers/…), and from the sources in development; and a worker that is given one job after another.
 */
import { type ChildProcess, type Serializable, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'

export type WorkerName = 'report' | 'release-check' | 'report-check' | 'rows' | 'decoder'

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

/** What a job may take before its process is ended. */
export interface JobLimits {
  /** Resident memory of the process, looked at twenty times a second (Linux); V8's heap gets two thirds of it. */
  readonly memoryBytes: number
  readonly timeMs: number
}

const LOOK_MS = 50

/** @returns resident memory of a process in bytes; 0 where the system does not say */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

/** Ends a process that takes more than it may. @returns what stops the watch */
function holdWithin(child: ChildProcess, { memoryBytes, timeMs }: JobLimits, fail: (why: string) => void) {
  const end = (why: string): void => {
    clearInterval(timer)
    child.kill('SIGKILL')
    fail(why)
  }
  const began = performance.now()
  const timer = setInterval(() => {
    if (residentBytes(child.pid) > memoryBytes)
      end(`took more than ${Math.round(memoryBytes / 2 ** 20)} MiB of memory`)
    else if (performance.now() - began > timeMs) end(`took more than ${timeMs / 1000} s`)
  }, LOOK_MS)
  return () => clearInterval(timer)
}

/** @param args what the worker is told when it starts; @param limits of each job; none by default */
export function createJobWorker<Job extends Serializable, Reply>(
  name: WorkerName,
  args: readonly string[] = [],
  limits: JobLimits | null = null,
): JobWorker<Job, Reply> {
  let child: ChildProcess | null = null
  const start = (): ChildProcess => {
    const { file, execArgv } = workerEntry(name)
    // No environment: settings and secrets are not the child's.
    const heap =
      limits === null ? [] : [`--max-old-space-size=${Math.round((limits.memoryBytes * 2) / 3 / 2 ** 20)}`]
    return spawn(process.execPath, [...heap, ...execArgv, file, ...args], {
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
        let stopWatch = (): void => undefined
        const fail = (why: string): void => {
          stopWatch()
          own.removeAllListeners()
          child = null
          reject(new WorkerEnded(why))
        }
        if (limits !== null) stopWatch = holdWithin(own, limits, fail)
        own.once('message', (reply) => {
          stopWatch()
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
