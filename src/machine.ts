/** What this process may use of the machine. In: nothing. Out: numbers; a container's limits count, where there are any. */
import { totalmem } from 'node:os'

/** @returns bytes of memory */
export function usableMemory(): number {
  // "No limit" is a number larger than any machine, or 0 where none is known.
  const constrained = process.constrainedMemory() ?? 0
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
