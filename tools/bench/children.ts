/**
 * The processes a bench starts, and their end: each one is remembered and ended by its own handle, also on Ctrl-C.
 *
 * Children get an environment of their own making, so that a setting of the shell does not change what is measured.
 */
import { type ChildProcess, fork, type SpawnOptions, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSX = import.meta.resolve('tsx')

const living = new Set<ChildProcess>()
/** How each child is asked to end: SIGTERM, but PostgreSQL waits for its clients then. */
const signals = new WeakMap<ChildProcess, NodeJS.Signals>()

function remember(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): ChildProcess {
  living.add(child)
  signals.set(child, signal)
  child.once('exit', () => living.delete(child))
  return child
}

/** Ends one child and waits for it. */
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

/** Ctrl-C and SIGTERM end what was started, then this process. @param after runs last */
export function endOnSignals(after: () => void): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      void endAll().then(() => {
        after()
        process.exit(130)
      })
    })
}

/** A program that runs until it is ended. @param signal what asks it to end */
export const launch = (
  program: string,
  args: readonly string[],
  options: SpawnOptions,
  signal: NodeJS.Signals = 'SIGTERM',
): ChildProcess => remember(spawn(program, args, options), signal)

/** A program that ends by itself. @returns what it printed; @throws with what it complained about */
export async function run(
  program: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<string> {
  const child = remember(spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] }))
  const output: Buffer[] = []
  const complaints: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0)
    throw new Error(
      `${program} ${args[0] ?? ''} ended with ${code}: ${Buffer.concat(complaints).toString().slice(-2000)}`,
    )
  return Buffer.concat(output).toString()
}

const toolOf = (root: string): string => join(root, 'tools/sus-data.js')

/** A command of sus-data. @returns what it printed */
export const runTool = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> => run(process.execPath, [toolOf(ROOT), ...args], { cwd: ROOT, env })

/** As runTool, but still running: for those that are watched. */
export const launchTool = (args: readonly string[], options: SpawnOptions): ChildProcess =>
  launch(process.execPath, [toolOf(ROOT), ...args], { cwd: ROOT, env: {}, ...options })

/** A module of this folder in a process of its own that talks by messages. */
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

/** The next message of a child. @throws when it ends without one */
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

/** Something that answers HTTP. */
export interface Server {
  readonly name: string
  readonly address: string
  readonly pid: number
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** `sus-data serve` in a process of its own. @returns once /ready is 200 */
export async function startOurs(options: {
  readonly name: string
  readonly releasesDir: string
  readonly keysFile: string
  readonly secret: string
  readonly logFile: string
  readonly env?: Readonly<Record<string, string>>
  /** Checkout that is served from; this one by default. */
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
 * Waits for what a server loads some seconds after it is ready, on both cores: beside it, whatever is measured first is slower
 * and only on its side. What the first seconds are like is measured by scenarios of their own.
 * @param releases how many it is to hold in memory
 */
export async function awaitPreparation(server: Server, logFile: string, releases = 1): Promise<Server> {
  const startedAt = performance.now()
  for (;;) {
    const metrics = await (await fetch(`${server.address}/metrics`)).text()
    const waited = performance.now() - startedAt
    // Servers of older checkouts load nothing, or write rows out and say it in /metrics.
    const held = readFileSync(logFile, 'utf8').match(/release (not )?held in memory/g)?.length ?? 0
    const isLoaded = held >= releases || waited > 60_000
    if (isLoaded && !/^sus_release_settled 0$/m.test(metrics)) return server
    if (waited > 300_000) throw new Error(`${server.name} is not prepared`)
    await pause(200)
  }
}

/** A Fastify app of this folder in a process of its own, which tells its address in its first message. */
export async function startApp(name: string, file: string, options: unknown): Promise<Server> {
  const child = forkModule(file, options)
  const { address } = await nextMessage<{ readonly address: string }>(child)
  return { name, address, pid: child.pid ?? 0, headers: {}, stop: () => end(child) }
}
