/**
 * Replaces, creates and locks small files safely despite kills, power cuts, full disks and concurrent commands.
 * It also removes the leftovers of ended processes.
 * A reader sees the old content or the new one, never a part. All functions are synchronous, so that nothing else in the
 * process runs between the steps of a change. There are no locks between machines, because one machine changes a folder.
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

export class FileLockError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FileLockError'
  }
}

const WAIT_MS = 20
const GIVE_UP_MS = 5000
/** Age at which a lock or temporary file counts as a leftover. A change takes only milliseconds. */
const STALE_MS = 30_000
const PROCESS_STARTED_MS = Date.now() - process.uptime() * 1000

/** Suffix of temporary files: process id and random digits. Earlier versions used only the id or a UUID. */
const TEMPORARY = /\.(?:(?<pid>\d+)(?:\.[0-9a-f]{8})?\.tmp|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const temporaryName = (path: string): string => `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`

/** @returns the name of the file that a temporary file replaces, or null for any other file */
export const temporaryTarget = (name: string): string | null =>
  TEMPORARY.test(name) ? name.replace(TEMPORARY, '') : null

export interface ReplaceOptions {
  readonly mode?: number
  /** False when a power cut may lose the content. A sync can block the main thread for 200 ms while the disk is busy. */
  readonly isSynced?: boolean
  /** Called when the new content is on disk, before it replaces the old. If it throws, the old content stays. */
  readonly beforeRename?: () => void
  /** Called when the disk is full, to write the content to this path in another way. Returns false if it cannot. */
  readonly onFullDisk?: (temporary: string) => boolean
}

/** Replaces a file. A reader sees the old content or the new one, and the new one survives a power cut unless `isSynced` is false. */
export function replaceFile(path: string, content: string | Uint8Array, options: ReplaceOptions = {}): void {
  const temporary = temporaryName(path)
  const { isSynced = true } = options
  try {
    try {
      writeNew(temporary, content, options.mode, isSynced)
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
  if (isSynced) syncPath(dirname(path))
}

/** Creates a file completely or not at all. @throws EEXIST if the file exists */
export function createFile(path: string, content: string | Uint8Array, mode: number): void {
  const temporary = temporaryName(path)
  try {
    writeNew(temporary, content, mode)
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

function writeNew(path: string, content: string | Uint8Array, mode?: number, isSynced = true): void {
  const handle = openSync(path, 'wx', mode)
  try {
    if (mode !== undefined && process.platform !== 'win32') fchmodSync(handle, mode)
    writeFileSync(handle, content)
    if (isSynced) fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** True if an error means that the disk or the user's quota is full. */
export const isFullDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')

function discard(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Ignore this error, because the one that led here is more useful.
  }
}

/** Flushes a file, or the names in a folder, to disk. It does nothing on Windows, which cannot sync a read-only handle. */
export function syncPath(path: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Removes temporary files and locks that ended processes left. @param isTarget returns true for our files */
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
    const lockedFile = name.endsWith('.lock') ? name.slice(0, -'.lock'.length) : null
    if (lockedFile !== null && isTarget(lockedFile) && isStaleLock(path)) discard(path)
  }
}

/**
 * True for a leftover temporary file. Containers that share a folder may have writers with the same process id or with one
 * that is not visible here. So a file newer than this process stays until it is old.
 */
function isStaleTemporary(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isFile() !== true) return false
  if (Date.now() - stat.mtimeMs > STALE_MS) return true
  const pid = TEMPORARY.exec(path)?.groups?.pid
  if (pid === undefined || stat.mtimeMs >= PROCESS_STARTED_MS) return false
  return Number(pid) === process.pid || !isRunning(Number(pid))
}

/**
 * Runs a change while no other process changes the file. The lock `<file>.lock` is a symbolic link whose target identifies
 * the process. A link is created in one step and needs no block on a full disk.
 * @throws FileLockError if another process holds the lock for 5 s, or has taken it over
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

function makeLock(lock: string, token: string): void {
  if (process.platform !== 'win32') {
    symlinkSync(token, lock)
    return
  }
  // Use a file on Windows, where symbolic links require a privilege.
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
  // Changes are synchronous, so a lock with this process's id belongs to an earlier process with the same id.
  return pid !== undefined && (Number(pid) === process.pid || !isRunning(Number(pid)))
}

function readLock(lock: string): string | null {
  try {
    return lstatSync(lock).isSymbolicLink() ? readlinkSync(lock) : readFileSync(lock, 'utf8')
  } catch {
    return null
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
