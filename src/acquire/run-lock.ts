/** A lock for as long as a command runs: one fetch for a folder of snapshots, one update for a folder of releases. */
import { lstatSync, mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { isRunning, withFileLock } from '../files.ts'
import { FetchError } from './types.ts'

/** Interval at which a running command gives its lock a new time. */
const REFRESH_MS = 30_000
/** Age at which a lock counts as a leftover, whose process id may belong to another program by now. */
const STALE_MS = 5 * 60_000

/** @param path of the lock, a link that names the process @returns a function that ends it @throws FetchError if another process holds it */
export function takeRunLock(path: string, what: string): () => void {
  mkdirSync(dirname(path), { recursive: true })
  withFileLock(path, () => {
    const holder = holderOf(path)
    if (holder !== null && isRunning(holder) && holder !== process.pid && isFresh(path))
      throw new FetchError(
        `${what} (process ${holder}) is running; wait for its end, or remove ${path} if process ${holder} is another program`,
        true,
      )
    rmSync(path, { force: true })
    symlinkSync(String(process.pid), path)
  })
  const timer = setInterval(() => refresh(path), REFRESH_MS).unref()
  return () => {
    clearInterval(timer)
    if (holderOf(path) === process.pid) rmSync(path, { force: true })
  }
}

function holderOf(path: string): number | null {
  try {
    return Number(readlinkSync(path))
  } catch {
    return null
  }
}

/** True for a lock that a running command refreshes. A time far in the future comes from a wrong clock. */
function isFresh(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat !== undefined && Math.abs(Date.now() - stat.mtimeMs) < STALE_MS
}

function refresh(path: string): void {
  if (holderOf(path) !== process.pid) return
  try {
    // A new link has the time of now on every file system; times of links cannot be changed on some.
    rmSync(`${path}.next`, { force: true })
    symlinkSync(String(process.pid), `${path}.next`)
    renameSync(`${path}.next`, path)
  } catch {
    // The next refresh may succeed: STALE_MS leaves time for several.
  }
}
