/**
 * Runs a Trino cluster on this machine for tests and measurements. start.sh runs the nodes as children of this process, on
 * the loopback. In: a folder for the nodes' output, and a shared folder. Out: the address, and functions to add workers and
 * end nodes. It does not register releases.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createTrinoClient, type TrinoClient } from '../../../src/engine/trino/client.ts'
import { freePort } from '../../free-port.ts'

const START = fileURLToPath(new URL('start.sh', import.meta.url))

export interface TrinoCluster {
  readonly url: string
  readonly shared: string
  readonly client: TrinoClient
  readonly coordinator: ChildProcess
  /** Starts another worker and waits until it is active. @param cores cores for taskset; null: all */
  addWorker(cores?: string | null): Promise<ChildProcess>
  close(): Promise<void>
}

export interface ClusterOptions {
  readonly folder: string
  /** Folder that contains releases/. */
  readonly shared: string
  readonly memory: string
  /** One entry per worker: its cores for taskset, or null for all. */
  readonly workers: readonly (string | null)[]
  /** Environment of this process for start.sh and Java. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Ends a node. The launcher becomes the Java process, so one signal ends it. */
export async function endNode(node: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) return
  const ended = new Promise((resolve) => node.once('exit', resolve))
  node.kill(signal)
  const killTimer = setTimeout(() => node.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(killTimer)
}

/** @returns a running cluster, whose nodes end with this process */
export async function startCluster(options: ClusterOptions): Promise<TrinoCluster> {
  const { folder, shared, memory, env } = options
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const nodes: ChildProcess[] = []
  const start = (role: 'coordinator' | 'worker', nodePort: number, cores: string | null): ChildProcess => {
    const command = [START, role, join(folder, `${role}-${nodePort}`), shared]
    const [program = '', ...args] = cores === null ? command : ['taskset', '-c', cores, ...command]
    const node = spawn(program, args, {
      env: { ...env, TRINO_PORT: String(nodePort), TRINO_COORDINATOR: url, TRINO_MEMORY: memory },
      stdio: 'ignore',
    })
    nodes.push(node)
    return node
  }
  process.once('exit', () => {
    for (const node of nodes) node.kill('SIGKILL')
  })
  const client = createTrinoClient({ url, user: 'test', authorization: null })
  const until = async (name: string, isReady: () => Promise<boolean>): Promise<void> => {
    for (let tries = 0; tries < 600; tries += 1) {
      if (await isReady()) return
      if (nodes.some(({ exitCode }) => exitCode !== null)) break
      await wait(200)
    }
    throw new Error(`${name} did not start`)
  }
  const activeWorkers = async (): Promise<number> => {
    try {
      for await (const [row] of client.query(
        "SELECT count(*) FROM system.runtime.nodes WHERE state = 'active' AND NOT coordinator",
        // A coordinator without workers keeps a statement waiting for minutes.
        { signal: AbortSignal.timeout(2000) },
      ))
        return Number(row?.[0])
    } catch {
      // The cluster is still starting.
    }
    return 0
  }
  const add = async (cores: readonly (string | null)[]): Promise<ChildProcess[]> => {
    const before = await activeWorkers()
    const workers: ChildProcess[] = []
    for (const workerCores of cores) workers.push(start('worker', await freePort(), workerCores))
    await until('a worker', async () => (await activeWorkers()) >= before + cores.length)
    return workers
  }
  const coordinator = start('coordinator', port, null)
  await add(options.workers)
  await until('Trino', () => client.isUp())
  return {
    url,
    shared,
    client,
    coordinator,
    async addWorker(cores = null) {
      const [worker] = await add([cores])
      return worker as ChildProcess
    },
    close: async () => void (await Promise.all(nodes.map((node) => endNode(node, 'SIGKILL')))),
  }
}
