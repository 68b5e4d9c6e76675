/** For threads whose work others must not wait for. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

const LOW_PRIORITY = 15

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
