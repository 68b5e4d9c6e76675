/**
 * The last resort: what a timer, a listener or a promise throws and nobody catches is a line of the log and a count, and the server
 * goes on. Node.js would end the process. This server only reads releases that never change, so an error in one callback leaves
 * nothing half done that later answers could depend on, while an end costs every client its answer. In: the logger of the
 * server. Out: what takes the listeners away. Not responsible for: the answer of the request; its connection times out.
 */
import type { Logger } from 'pino'

/** Lines a minute: an error that comes again with every request must not fill the disk. */
const LINES_A_MINUTE = 20
const MINUTE_MS = 60_000

/** @param count called for each error @returns stops listening */
export function surviveUncaught(logger: Logger, count: () => void): () => void {
  let [since, lines] = [performance.now(), 0]
  const note = (kind: string) => (error: unknown) => {
    try {
      count()
      if (performance.now() - since > MINUTE_MS) [since, lines] = [performance.now(), 0]
      lines += 1
      if (lines <= LINES_A_MINUTE) logger.error({ kind, err: error }, 'nobody caught an error')
      else if (lines === LINES_A_MINUTE + 1) logger.error('more such errors in this minute are only counted')
    } catch {
      // A logger that throws is no reason to end either.
    }
  }
  const [onException, onRejection] = [note('exception'), note('rejection')]
  process.on('uncaughtException', onException)
  process.on('unhandledRejection', onRejection)
  return () => {
    process.off('uncaughtException', onException)
    process.off('unhandledRejection', onRejection)
  }
}
