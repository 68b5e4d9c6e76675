/**
 * Splits long work on the main thread into slices. Each turn of the event loop runs one slice, in order of arrival.
 * So health checks and short responses wait for one slice at most, even if many long responses are in progress.
 */
const waiting: (() => void)[] = []
function runNext(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(runNext)
}

/** Resolves when the next slice may run. */
export const nextSlice = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(runNext)
  })
