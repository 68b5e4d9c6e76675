/**
 * Starts and ends the processes of a bench. Each is ended by its own handle, also on Ctrl-C. Children get a constructed
 * environment, so that settings of the shell do not change results.
 */
import { type ChildProcess, fork, type SpawnOptions, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSX = import.meta.resolve('tsx')

const living = new Set<ChildProcess>()
/** The signal that ends each child. SIGTERM would make PostgreSQL wait for its clients. */
const signals = new WeakMap<ChildProcess, NodeJS.Signals>()

function remember(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): ChildProcess {
  living.add(child)
  signals.set(child, signal)
  child.once('exit', () => living.delete(child))
  return child
}

export async function end(child: ChildProcess): Promise<void> {
  if (!living.has(child)) return
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill(signals.get(child) ?? 'SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await exited
  clearTimeout(timer)
}

export const endAll = async (): Promise<void> => {
  await Promise.all([...living].map(end))
}

/** On Ctrl-C and SIGTERM, ends all children, then this process. @param after runs last */
export function endOnSignals(after: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      void endAll().then(() => {
        after()
        process.exit(130)
      })
    })
}

/** Starts a program that runs until it is ended. @param signal ends it */
export const launch = (
  program: string,
  args: readonly string[],
  options: SpawnOptions,
  signal: NodeJS.Signals = 'SIGTERM',
): ChildProcess => remember(spawn(program, args, options), signal)

/** Runs a program to its end. @returns its standard output; @throws with its standard error */
export async function run(
  program: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<string> {
  const child = remember(spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] }))
  const output: Buffer[] = []
  const errorOutput: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => errorOutput.push(chunk))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0)
    throw new Error(
      `${program} ${args[0] ?? ''} ended with ${code}: ${Buffer.concat(errorOutput).toString().slice(-2000)}`,
    )
  return Buffer.concat(output).toString()
}

const toolOf = (root: string): string => join(root, 'tools/sus-data.js')

/** Runs a command of sus-data. @returns its standard output */
export const runTool = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> => run(process.execPath, [toolOf(ROOT), ...args], { cwd: ROOT, env })

/** Starts a command of sus-data without waiting for its end. */
export const launchTool = (args: readonly string[], options: SpawnOptions): ChildProcess =>
  launch(process.execPath, [toolOf(ROOT), ...args], { cwd: ROOT, env: {}, ...options })

/** Runs a module of this folder in a separate process with an IPC channel. */
export function forkModule(file: string, options: unknown): ChildProcess {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return remember(
    fork(path, [JSON.stringify(options)], {
      cwd: ROOT,
      execArgv: ['--import', TSX],
      env: {},
      stdio: 'inherit',
    }),
  )
}

/** Waits for the next message of a child. @throws when the child ends first */
export function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void =>
      reject(new Error(`${child.spawnargs[1]} ended with ${code}`))
    child.once('exit', onExit)
    child.once('message', (message) => {
      child.off('exit', onExit)
      resolve(message as Message)
    })
  })
}

export interface Server {
  readonly name: string
  readonly address: string
  readonly pid: number
  readonly headers: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** Runs `sus-data serve` in a separate process. @returns once /ready is 200 */
export async function startOurs(options: {
  readonly name: string
  readonly releasesDir: string
  readonly keysFile: string
  readonly secret: string
  readonly logFile: string
  readonly env?: Readonly<Record<string, string>>
  /** Checkout to run; this one by default. */
  readonly root?: string
}): Promise<Server> {
  const log = openSync(options.logFile, 'w')
  const root = options.root ?? ROOT
  const child = launch(process.execPath, [toolOf(root), 'serve'], {
    cwd: root,
    env: {
      SUS_RELEASES_DIR: options.releasesDir,
      SUS_KEYS_FILE: options.keysFile,
      SUS_RATE_LIMIT: '100000000',
      PORT: '0',
      ...options.env,
    },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const startedAt = performance.now()
  let address: string | undefined
  for (;;) {
    if (child.exitCode !== null)
      throw new Error(`the server ended: ${readFileSync(options.logFile, 'utf8').slice(-2000)}`)
    if (performance.now() - startedAt > 120_000)
      throw new Error(`the server is not ready; see ${options.logFile}`)
    address ??= /"address":"(http:[^"]+)","msg":"listening"/.exec(readFileSync(options.logFile, 'utf8'))?.[1]
    if (address !== undefined && (await fetch(`${address}/ready`).catch(() => null))?.status === 200) break
    await pause(10)
  }
  return {
    name: options.name,
    address,
    pid: child.pid ?? 0,
    headers: { authorization: `Bearer ${options.secret}` },
    stop: () => end(child),
  }
}

/**
 * Waits for data that a server loads on both cores some seconds after it is ready, which would slow down the first
 * measurement. Separate scenarios measure the first seconds.
 * @param releases number of releases that it loads into memory
 */
export async function awaitPreparation(server: Server, logFile: string, releases = 1): Promise<Server> {
  const startedAt = performance.now()
  for (;;) {
    const metrics = await (await fetch(`${server.address}/metrics`)).text()
    const waited = performance.now() - startedAt
    // Servers of older checkouts load nothing, or write row files and report that in /metrics.
    const loaded = readFileSync(logFile, 'utf8').match(/release (not )?held in memory/g)?.length ?? 0
    const isLoaded = loaded >= releases || waited > 60_000
    if (isLoaded && !/^sus_release_settled 0$/m.test(metrics)) return server
    if (waited > 300_000) throw new Error(`${server.name} is not prepared`)
    await pause(200)
  }
}

/** Runs a Fastify app of this folder in a separate process, whose first message is its address. */
export async function startApp(name: string, file: string, options: unknown): Promise<Server> {
  const child = forkModule(file, options)
  const { address } = await nextMessage<{ readonly address: string }>(child)
  return { name, address, pid: child.pid ?? 0, headers: {}, stop: () => end(child) }
}
