/**
 * Delays refusals to keys that send again at once. In: the key of a request that a full queue refused. Out: how long its answer waits.
 *
 * A refusal takes a fraction of a millisecond, so a hundred clients that ignore `Retry-After` would keep the main thread busy with
 * refusals alone, and every other key would wait for them. A client that waits for its answer sends nothing meanwhile.
 */

/** Time in which a second refusal of a key counts as repeated, and the delay of its answer. */
const REPEAT_MS = 1000

/** @returns a function that returns the delay of a refusal in milliseconds. @param now monotonic clock in milliseconds */
export function createRefusalPace(now = () => performance.now()): (owner: string) => number {
  const refusedAt = new Map<string, number>()
  return (owner) => {
    const previous = refusedAt.get(owner) ?? Number.NEGATIVE_INFINITY
    refusedAt.set(owner, now())
    return now() - previous < REPEAT_MS ? REPEAT_MS : 0
  }
}
