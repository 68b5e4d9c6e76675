/** A lock for as long as a command runs: one fetch for a folder of snapshots, one update for a folder of releases. */
import { mkdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { isRunning, withFileLock } from '../files.ts'
import { FetchError } from './types.ts'

/** @param path of the lock, a link that names the process @returns a function that ends it @throws FetchError if another process holds it */
export function takeRunLock(path: string, what: string): () => void {
  mkdirSync(dirname(path), { recursive: true })
  withFileLock(path, () => {
    const holder = holderOf(path)
    if (holder !== null && isRunning(holder) && holder !== process.pid)
      throw new FetchError(`${what} (process ${holder}) is running; wait for its end`, true)
    rmSync(path, { force: true })
    symlinkSync(String(process.pid), path)
  })
  return () => {
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
