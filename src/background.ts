/** For threads whose work others must not wait for. */
import { readdirSync, readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Of what requests never wait for. */
export const LOW_PRIORITY = 10
const QUERY_PRIORITY = 5

/**
 * On Linux a thread has a priority of its own, and the threads it starts (DuckDB's) have it too: this one takes what the
 * requests leave. Elsewhere there is no such thing, and it runs as everything else does.
 */
export function giveWay(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    if (Number.isInteger(thread) && thread !== process.pid) setPriority(thread, LOW_PRIORITY)
  } catch {
    // No /proc, or not allowed.
  }
}

/**
 * The threads that are there now, all but the one that runs JavaScript, wait a little for it: so a query on every core does
 * not keep a small answer waiting. Called once DuckDB's threads and those that wait for it are there.
 */
export function putMainThreadFirst(): void {
  try {
    for (const thread of readdirSync('/proc/self/task').map(Number))
      if (thread !== process.pid) setPriority(thread, QUERY_PRIORITY)
  } catch {
    // No /proc, or not allowed; a thread may have ended meanwhile.
  }
}
