/**
 * Has a file changed? In: paths. Out: a text of what the system says of a file, which is another one once somebody has written into
 * the file, cut it, or put another in its place. The time of the last change of the entry (ctime) is among it, which programs cannot
 * set back. Not responsible for: what the file holds, which only its digest says.
 */
import { lstatSync, type Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

/** What the state of a file is where there is no plain file. */
export const NO_FILE = 'missing'

/** @returns the state of a plain file */
export const stateOf = (stat: Stats): string =>
  stat.isFile() ? `${stat.size} ${stat.mtimeMs} ${stat.ctimeMs} ${stat.ino} ${stat.dev}` : NO_FILE

/** @returns the state of a file now, NO_FILE where none can be read about */
export const fileState = async (path: string): Promise<string> => {
  const stat = await lstat(path).catch(() => null)
  return stat === null ? NO_FILE : stateOf(stat)
}

/** As fileState, at once: some microseconds. */
export function fileStateSync(path: string): string {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? NO_FILE : stateOf(stat)
  } catch {
    return NO_FILE
  }
}

/** Times of files are those of a clock that goes on in steps of some milliseconds. */
const CLOCK_MS = 20

/** As fileState, once the clock has left the moment of the last change: whatever is written from now on changes the state. */
export async function settledState(path: string): Promise<string> {
  const stat = await lstat(path).catch(() => null)
  if (stat === null) return NO_FILE
  if (Math.abs(Date.now() - stat.ctimeMs) < CLOCK_MS) await wait(CLOCK_MS)
  return fileState(path)
}
