/** Copies files in lanes. In: files, and a function that copies one. Out: a promise that settles once nothing is copied any more. */

/** Files that are copied at the same time. */
const LANES = 4

/**
 * The first error stops the other lanes. They have ended before it is thrown, so that the next copy finds no file that still grows.
 * @param copy its signal is aborted when another lane fails, too
 * @throws the first error, or the reason of the signal
 */
export async function copyInLanes<File>(
  files: readonly File[],
  copy: (file: File, signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const stop = new AbortController()
  const stopped = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
  const queue = [...files]
  const errors: unknown[] = []
  const work = async (): Promise<void> => {
    try {
      for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
        stopped.throwIfAborted()
        await copy(file, stopped)
      }
    } catch (error) {
      errors.push(error)
      stop.abort()
    }
  }
  await Promise.all(Array.from({ length: LANES }, work))
  signal?.throwIfAborted()
  if (errors.length > 0) throw errors[0]
}
