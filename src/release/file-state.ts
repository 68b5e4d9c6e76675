/**
 * Detects whether a file has changed, without reading it. In: paths. Out: a string that differs after the file was written
 * to, truncated or replaced. It includes the change time of the inode (ctime), which programs cannot set back. Only a digest
 * verifies the content.
 */
import { lstatSync, type Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

export const NO_FILE = 'missing'

export const stateOf = (stat: Stats): string =>
  stat.isFile() ? `${stat.size} ${stat.mtimeMs} ${stat.ctimeMs} ${stat.ino} ${stat.dev}` : NO_FILE

/** @returns the current state, or NO_FILE when the path cannot be read */
export const fileState = async (path: string): Promise<string> => {
  const stat = await lstat(path).catch(() => null)
  return stat === null ? NO_FILE : stateOf(stat)
}

/** Synchronous fileState, which takes some microseconds. */
export function fileStateSync(path: string): string {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? NO_FILE : stateOf(stat)
  } catch {
    return NO_FILE
  }
}

/** Upper bound of the clock resolution of file times, in milliseconds. */
const CLOCK_MS = 20

/** Waits until the clock has passed the last change, so that every later write changes the state. */
export async function settledState(path: string): Promise<string> {
  const stat = await lstat(path).catch(() => null)
  if (stat === null) return NO_FILE
  if (Math.abs(Date.now() - stat.ctimeMs) < CLOCK_MS) await wait(CLOCK_MS)
  return fileState(path)
}
