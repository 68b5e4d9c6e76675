/**
 * A lock beside a file, for two commands that change it at once: `<file>.lock`, a symbolic link whose target is the name of
 * the process. It is made whole or not at all, and takes no block of a disk that is full.
 *
 * In: the file and what to do while holding its lock. Out: what that returned. A lock whose process has ended, or that is
 * older than any honest change, is broken. Also what makes a change last. Absent on purpose: locks between machines; a folder of releases is changed by one.
 */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { KeysError } from './keys-error.ts'

const WAIT_MS = 20
const GIVE_UP_MS = 5000
/** A change takes milliseconds; a lock this old was left behind. */
const STALE_MS = 30_000

/** @throws KeysError when another process holds the lock for 5 s, or took it over meanwhile */
export function withFileLock<Result>(file: string, change: (assertHeld: () => void) => Result): Result {
  const lock = `${file}.lock`
  const token = `${process.pid} ${randomUUID()}`
  takeLock(file, lock, token)
  try {
    return change(() => {
      if (readLock(lock) !== token) throw new KeysError(`Another command took over ${lock}; try again.`)
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
    if (isStale(lock)) rmSync(lock, { force: true })
    else if (Date.now() - started > GIVE_UP_MS)
      throw new KeysError(`Another command is changing ${file}; if none is, remove ${lock} and try again.`)
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

function isStale(lock: string): boolean {
  const stat = lstatSync(lock, { throwIfNoEntry: false })
  if (stat === undefined) return false
  if (Date.now() - stat.mtimeMs > STALE_MS) return true
  const pid = /^(\d+) /.exec(readLock(lock) ?? '')?.[1]
  // Changes are synchronous, so a lock with this process's own id is of an earlier process that had it.
  return pid !== undefined && (Number(pid) === process.pid || !isRunning(Number(pid)))
}

function readLock(lock: string): string | null {
  try {
    return lstatSync(lock).isSymbolicLink() ? readlinkSync(lock) : readFileSync(lock, 'utf8')
  } catch {
    return null
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Makes a rename in a folder last through a power cut, where the platform can sync a folder. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
