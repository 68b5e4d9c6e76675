/**
 * A Trino cluster on this machine, for tests and measurements: nodes that start.sh runs, as children of this process, on the
 * loopback. In: a folder for what nodes write, and what they share. Out: its address, and a way to add workers and end nodes.
 * Not here: which releases are registered.
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
  /** Starts one more worker; it is there when this ends. @param cores those it may use, as taskset takes them; null: all */
  addWorker(cores?: string | null): Promise<ChildProcess>
  close(): Promise<void>
}

export interface ClusterOptions {
  /** Settings and logs of the nodes. */
  readonly folder: string
  /** releases/ is in it. */
  readonly shared: string
  /** Heap of each node. */
  readonly memory: string
  /** A worker for each; for each the cores it may use, as taskset takes them, null: all. */
  readonly workers: readonly (string | null)[]
  /** Of this process, with what start.sh and Java are to take of it. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Ends a node: the launcher becomes the Java process, so there is one to end. */
export async function endNode(node: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (node.exitCode !== null || node.signalCode !== null) return
  const ended = new Promise((resolve) => node.once('exit', resolve))
  node.kill(signal)
  const late = setTimeout(() => node.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(late)
}

/** @returns a cluster that has started; its nodes end with this process */
export async function startCluster(options: ClusterOptions): Promise<TrinoCluster> {
  const { folder, shared, memory, env } = options
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const nodes: ChildProcess[] = []
  const start = (role: 'coordinator' | 'worker', own: number, cores: string | null): ChildProcess => {
    const command = [START, role, join(folder, `${role}-${own}`), shared]
    const [program = '', ...args] = cores === null ? command : ['taskset', '-c', cores, ...command]
    const node = spawn(program, args, {
      env: { ...env, TRINO_PORT: String(own), TRINO_COORDINATOR: url, TRINO_MEMORY: memory },
      stdio: 'ignore',
    })
    nodes.push(node)
    return node
  }
  process.once('exit', () => {
    for (const node of nodes) node.kill('SIGKILL')
  })
  const client = createTrinoClient({ url, user: 'test', authorization: null })
  const until = async (what: string, isThere: () => Promise<boolean>): Promise<void> => {
    for (let tries = 0; tries < 600; tries += 1) {
      if (await isThere()) return
      if (nodes.some(({ exitCode }) => exitCode !== null)) break
      await wait(200)
    }
    throw new Error(`${what} did not start`)
  }
  const activeWorkers = async (): Promise<number> => {
    try {
      for await (const [row] of client.query(
        "SELECT count(*) FROM system.runtime.nodes WHERE state = 'active' AND NOT coordinator",
        // A coordinator without any worker has a statement wait for minutes.
        { signal: AbortSignal.timeout(2000) },
      ))
        return Number(row?.[0])
    } catch {
      // It is starting.
    }
    return 0
  }
  const add = async (cores: readonly (string | null)[]): Promise<ChildProcess[]> => {
    const before = await activeWorkers()
    const workers: ChildProcess[] = []
    for (const own of cores) workers.push(start('worker', await freePort(), own))
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
