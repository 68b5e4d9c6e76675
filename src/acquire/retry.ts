/** Tries a task again after growing pauses, until it succeeds, fails finally, or runs out of attempts. */
import { setTimeout as wait } from 'node:timers/promises'
import { isFullDisk } from '../files.ts'
import { FetchError, NotConnected, type Patience } from './types.ts'

const PAUSE_MAX_MS = 120_000

/**
 * @param mayHandOver true if another connection can do the task, so that a failed connection is not waited for
 * @throws the last error; at once if it is final, the disk is full or the signal is aborted
 */
export async function withRetries<Result>(
  { attempts, pauseMs }: Patience,
  signal: AbortSignal,
  task: () => Promise<Result>,
  mayHandOver: () => boolean = () => false,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted()
    try {
      return await task()
    } catch (error) {
      signal.throwIfAborted()
      const isFinal =
        attempt >= attempts ||
        isFullDisk(error) ||
        (error instanceof FetchError && error.isFinal) ||
        (error instanceof NotConnected && mayHandOver())
      if (isFinal) throw error
    }
    const pause = Math.min(pauseMs * 2 ** (attempt - 1), PAUSE_MAX_MS)
    await wait(pause, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** @returns the message of an error; Node's fetch hides the reason in the cause */
export const describeError = (error: unknown): string => {
  const { message, cause } = error as Error
  return cause instanceof Error && message === 'fetch failed' ? cause.message : message
}
