/**
 * Starts worker processes. In: a worker's name. Out: the module and arguments for Node.js, or a worker that runs one job at a time.
 * Modules come from dist/workers/… in a build, and from the sources in development.
 */
import { type ChildProcess, type Serializable, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'

export type WorkerName = 'report' | 'release-check' | 'report-check' | 'rows' | 'decoder' | 'digests'

export interface WorkerEntry {
  readonly file: string
  readonly execArgv: readonly string[]
}

const runsFromSources = import.meta.url.endsWith('.ts')

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

/** A worker process for one job at a time. It starts with the first job, and again after it has died. */
export interface JobWorker<Job, Reply> {
  /** @throws WorkerEnded if the process ends before it replies */
  run(job: Job): Promise<Reply>
  end(): void
}

/** Error with the process's standard error, or the code or signal with which it ended. */
export class WorkerEnded extends Error {}

const OUTPUT_MAX = 4000

export interface JobLimits {
  /** Largest resident memory, read twenty times a second (Linux). V8's heap is limited to two thirds of it. */
  readonly memoryBytes: number
  readonly timeMs: number
}

const CHECK_INTERVAL_MS = 50

/** @returns resident memory of a process in bytes, or 0 if the system does not report it */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}

/** Kills a process that exceeds its limits. @returns function that stops the monitoring */
function enforceLimits(
  child: ChildProcess,
  { memoryBytes, timeMs }: JobLimits,
  fail: (reason: string) => void,
) {
  const kill = (reason: string): void => {
    clearInterval(timer)
    child.kill('SIGKILL')
    fail(reason)
  }
  const startedAt = performance.now()
  const timer = setInterval(() => {
    if (residentBytes(child.pid) > memoryBytes)
      kill(`took more than ${Math.round(memoryBytes / 2 ** 20)} MiB of memory`)
    else if (performance.now() - startedAt > timeMs) kill(`took more than ${timeMs / 1000} s`)
  }, CHECK_INTERVAL_MS)
  return () => clearInterval(timer)
}

/** @param args command-line arguments of the worker @param limits limits of each job; none by default */
export function createJobWorker<Job extends Serializable, Reply>(
  name: WorkerName,
  args: readonly string[] = [],
  limits: JobLimits | null = null,
): JobWorker<Job, Reply> {
  let child: ChildProcess | null = null
  const start = (): ChildProcess => {
    const { file, execArgv } = workerEntry(name)
    // Pass no environment, because the child must not see settings or secrets.
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
        const current = child
        let errors = ''
        current.stderr?.removeAllListeners('data')
        current.stderr?.on('data', (chunk: Buffer) => {
          errors = (errors + chunk.toString()).slice(0, OUTPUT_MAX)
        })
        let stopWatch = (): void => undefined
        const fail = (reason: string): void => {
          stopWatch()
          current.removeAllListeners()
          child = null
          reject(new WorkerEnded(reason))
        }
        if (limits !== null) stopWatch = enforceLimits(current, limits, fail)
        current.once('message', (reply) => {
          stopWatch()
          current.removeAllListeners()
          resolve(reply as Reply)
        })
        current.once('error', (error) => fail(error.message))
        current.once('close', (code, signal) => fail(errors.trim() || (signal ?? `code ${code}`)))
        current.send(job)
      }),
    end() {
      if (child?.connected === true) child.disconnect()
      child = null
    },
  }
}

/**
 * Lowers the priority of a worker, so that requests never wait for background work. Call it right after the start.
 * On Linux a thread inherits its priority from the thread that starts it, and Node.js has ten threads before the worker's
 * first module runs.
 */
export function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The change is not permitted, or the process has already ended.
  }
}
