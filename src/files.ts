/**
 * Changes of small files that survive a kill, a power cut, a full disk and a second command: replacing a file, making a file
 * once, locking a file, and removing what ended processes left behind.
 *
 * In: paths and contents. Out: the old content or the new one, never half of it. Everything here is synchronous, so that nothing
 * else of the process runs between the steps of a change. Absent on purpose: locks between machines; a folder is changed by one.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** A file that another command is changing. */
export class FileLockError extends Error {
  /** @param message one sentence: what is wrong and what to do */
  constructor(message: string) {
    super(message)
    this.name = 'FileLockError'
  }
}

const WAIT_MS = 20
const GIVE_UP_MS = 5000
/** A change takes milliseconds, so a lock or a temporary file of this age was left behind. */
const STALE_MS = 30_000
const PROCESS_BEGAN_MS = Date.now() - process.uptime() * 1000

/** Ends of the names of temporary files: process id and random digits; earlier versions had the id or a UUID alone. */
const TEMPORARY = /\.(?:(?<pid>\d+)(?:\.[0-9a-f]{8})?\.tmp|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const temporaryName = (path: string): string => `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`

/** @returns the name of the file that a temporary file was written for, or null for any other file */
export const temporaryTarget = (name: string): string | null =>
  TEMPORARY.test(name) ? name.replace(TEMPORARY, '') : null

export interface ReplaceOptions {
  readonly mode?: number
  /** Called after the bytes are on the disk and before they take the place of the old ones; a throw leaves the old ones. */
  readonly beforeRename?: () => void
  /** Called when the disk is full: writes the content to this path another way, or returns false. */
  readonly onFullDisk?: (temporary: string) => boolean
}

/** Replaces a file: a reader sees the old content or the new one, and the new one lasts through a power cut. */
export function replaceFile(path: string, content: string | Uint8Array, options: ReplaceOptions = {}): void {
  const temporary = temporaryName(path)
  try {
    try {
      writeSynced(temporary, content, options.mode)
    } catch (error) {
      if (!isFullDisk(error) || options.onFullDisk === undefined) throw error
      rmSync(temporary, { force: true })
      if (!options.onFullDisk(temporary)) throw error
    }
    options.beforeRename?.()
    renameSync(temporary, path)
  } finally {
    discard(temporary)
  }
  syncPath(dirname(path))
}

/** Makes a file with all of its content, or not at all. @throws EEXIST where there is a file of this name */
export function createFile(path: string, content: string | Uint8Array, mode: number): void {
  const temporary = temporaryName(path)
  try {
    writeSynced(temporary, content, mode)
    try {
      linkSync(temporary, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
      // Some file systems have no hard links.
      copyFileSync(temporary, path, constants.COPYFILE_EXCL)
    }
  } finally {
    discard(temporary)
  }
  syncPath(dirname(path))
}

function writeSynced(path: string, content: string | Uint8Array, mode?: number): void {
  const handle = openSync(path, 'wx', mode)
  try {
    if (mode !== undefined && process.platform !== 'win32') fchmodSync(handle, mode)
    writeFileSync(handle, content)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** @returns whether an error says that the disk, or the share of it that this user may fill, is full */
export const isFullDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')

function discard(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The error that made the file useless says more.
  }
}

/** Waits until a file, or the names in a folder, are on the disk, where the platform can sync what is open for reading. */
export function syncPath(path: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Removes temporary files and locks that ended processes left in a folder.
 * @param isTarget says which files of the folder are ours; no other file's temporaries are touched
 */
export function removeStaleFiles(folder: string, isTarget: (name: string) => boolean): void {
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    return
  }
  for (const name of names) {
    const path = join(folder, name)
    const target = temporaryTarget(name)
    if (target !== null && isTarget(target) && isStaleTemporary(path)) discard(path)
    const locked = name.endsWith('.lock') ? name.slice(0, -'.lock'.length) : null
    if (locked !== null && isTarget(locked) && isStaleLock(path)) discard(path)
  }
}

/**
 * In containers that share a folder, a process of the same id, or of one that cannot be seen, may be writing: what began after
 * this process did is left until it is old.
 */
function isStaleTemporary(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isFile() !== true) return false
  if (Date.now() - stat.mtimeMs > STALE_MS) return true
  const pid = TEMPORARY.exec(path)?.groups?.pid
  if (pid === undefined || stat.mtimeMs >= PROCESS_BEGAN_MS) return false
  return Number(pid) === process.pid || !isRunning(Number(pid))
}

/**
 * Runs a change while no other process changes the file. The lock is `<file>.lock`, a symbolic link whose target is the name of
 * the process: it is made in one step and takes no block of a disk that is full.
 * @throws FileLockError when another process holds the lock for 5 s, or took it over meanwhile
 */
export function withFileLock<Result>(file: string, change: (assertHeld: () => void) => Result): Result {
  const lock = `${file}.lock`
  const token = `${process.pid} ${randomUUID()}`
  takeLock(file, lock, token)
  try {
    return change(() => {
      if (readLock(lock) !== token) throw new FileLockError(`Another command took over ${lock}; try again.`)
    })
  } finally {
    if (readLock(lock) === token) rmSync(lock, { force: true })
  }
}

function takeLock(file: string, lock: string, token: string): void {
  const started = Date.now()
  for (;;) {
    try {
      makeLock(lock, token)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    if (isStaleLock(lock)) rmSync(lock, { force: true })
    else if (Date.now() - started > GIVE_UP_MS)
      throw new FileLockError(
        `Another command is changing ${file}; if none is, remove ${lock} and try again.`,
      )
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS)
  }
}

/** @throws EEXIST where there is one */
function makeLock(lock: string, token: string): void {
  if (process.platform !== 'win32') {
    symlinkSync(token, lock)
    return
  }
  // Links need a privilege there.
  const handle = openSync(lock, 'wx', 0o600)
  try {
    writeSync(handle, token)
  } catch (error) {
    rmSync(lock, { force: true })
    throw error
  } finally {
    closeSync(handle)
  }
}

function isStaleLock(lock: string): boolean {
  const stat = lstatSync(lock, { throwIfNoEntry: false })
  if (stat === undefined) return false
  if (Date.now() - stat.mtimeMs > STALE_MS) return true
  const pid = /^(\d+) /.exec(readLock(lock) ?? '')?.[1]
  // Changes are synchronous, so a lock with this process's id is of an earlier process that had it.
  return pid !== undefined && (Number(pid) === process.pid || !isRunning(Number(pid)))
}

function readLock(lock: string): string | null {
  try {
    return lstatSync(lock).isSymbolicLink() ? readlinkSync(lock) : readFileSync(lock, 'utf8')
  } catch {
    return null
  }
}

/** @returns whether a process of this id runs on this machine */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
