/**
 * Long work on the thread that answers requests, in slices: one slice a turn of the event loop, whoever's it is, first come first served.
 * So health checks and short answers wait for one slice, however many long answers are made at once.
 */
const waiting: (() => void)[] = []
function beginNext(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(beginNext)
}

/** @returns when the next slice may be worked on */
export const nextSlice = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(beginNext)
  })
