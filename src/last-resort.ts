/**
 * Logs and counts uncaught errors of timers, listeners and promises, and keeps the server running. Node.js would exit.
 * An exit would cost every client its response. Continuing is safe, because the server only reads releases, which never
 * change, so no later response depends on unfinished work. The request that failed gets no response and times out.
 */
import type { Logger } from 'pino'

/** Largest number of log lines per minute, so that an error in every request does not fill the disk. */
const LINES_A_MINUTE = 20
const MINUTE_MS = 60_000

/** @param count called for each error @returns function that removes the listeners */
export function surviveUncaught(logger: Logger, count: () => void): () => void {
  let [since, lines] = [performance.now(), 0]
  const createHandler = (kind: string) => (error: unknown) => {
    try {
      count()
      if (performance.now() - since > MINUTE_MS) [since, lines] = [performance.now(), 0]
      lines += 1
      if (lines <= LINES_A_MINUTE) logger.error({ kind, err: error }, 'nobody caught an error')
      else if (lines === LINES_A_MINUTE + 1) logger.error('more such errors in this minute are only counted')
    } catch {
      // Keep running even if the logger throws.
    }
  }
  const [onException, onRejection] = [createHandler('exception'), createHandler('rejection')]
  process.on('uncaughtException', onException)
  process.on('unhandledRejection', onRejection)
  return () => {
    process.off('uncaughtException', onException)
    process.off('unhandledRejection', onRejection)
  }
}
