/**
 * What this process may use of the machine, where a container's limits count, and which of its threads go first. In: nothing.
 * Out: numbers.
 */
import { readdirSync } from 'node:fs'
import { getPriority, setPriority, totalmem } from 'node:os'

/** @returns bytes of memory */
export function usableMemory(): number {
  // "No limit" is a number larger than any machine, or 0 where none is known.
  const constrained = process.constrainedMemory() ?? 0
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

const LOWEST_PRIORITY = 19

/**
 * All threads but the one that answers requests get a lower priority: with more queries than cores, a request that takes a
 * microsecond would wait for a time slice of each. Beside 8 clients with the heaviest queries `/health` has a p99 of 16 to 23 ms
 * instead of 38 to 73, at as many queries a second (`SUS_QUERY_NICE=0` measures it again). Called once the engine has started:
 * threads that those start later inherit it. On Linux alone: elsewhere a priority is that of a whole process.
 * @param by steps of niceness, 0 to 19
 */
export function lowerOtherThreads(by: number): void {
  if (process.platform !== 'linux' || by === 0) return
  const priority = Math.min(LOWEST_PRIORITY, getPriority() + by)
  for (const id of readdirSync('/proc/self/task').map(Number))
    if (id !== process.pid)
      try {
        setPriority(id, priority)
      } catch {
        // The thread has ended meanwhile, or this is not allowed.
      }
}
