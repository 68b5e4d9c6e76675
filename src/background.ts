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

/** @returns ids of this process's threads; none where there is no /proc */
function listThreads(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return []
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
