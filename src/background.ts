/** For processes and threads whose work others must not wait for. */
import { readdirSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Of what requests never wait for. */
const LOW_PRIORITY = 10
const QUERY_PRIORITY = 5

/** @returns ids of this process's threads; none where there is no /proc */
function listThreads(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return []
  }
}

/**
 * This process takes what the server leaves. On Linux a thread has a priority of its own, and those it starts (DuckDB's)
 * have it too; elsewhere the process has one.
 */
export function giveWay(): void {
  for (const thread of new Set([0, ...listThreads()]))
    try {
      setPriority(thread, LOW_PRIORITY)
    } catch {
      // Not allowed, or the thread has ended meanwhile.
    }
}

/** Node's own, which are there before DuckDB's: the main thread waits for them when memory is collected. */
const OWN_THREADS = new Set(listThreads())

/**
 * The threads that have been started since this was loaded wait a little for the one that runs JavaScript: so a query on
 * every core does not keep a small answer waiting. Called once DuckDB's threads and those that wait for it are there.
 */
export function putMainThreadFirst(): void {
  for (const thread of listThreads())
    try {
      if (!OWN_THREADS.has(thread)) setPriority(thread, QUERY_PRIORITY)
    } catch {
      // Not allowed, or the thread has ended meanwhile.
    }
}
