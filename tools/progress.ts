/**
 * How a long command shows its progress: a bar on a terminal, one line a step elsewhere, nothing with --json.
 *
 * In: steps as they begin, and how far each one is, where that is known. Out: text on standard error, so that standard
 * output stays the command's answer.
 */
import { SingleBar } from 'cli-progress'

export interface Progress {
  /** Begins a step and ends the one before. @param total its size, where it is known */
  step(name: string, total?: number): void
  /** Says how much of the step is done. */
  advance(done: number): void
  /** Ends the last step; a second call does nothing. */
  stop(): void
}

export interface ProgressOptions {
  /** True with --json: nothing is shown. */
  readonly silent: boolean
  /** How many steps there will be, where it is known: the bar then counts steps. */
  readonly steps?: number
  readonly stream?: NodeJS.WriteStream
}

const SILENT: Progress = { step: () => undefined, advance: () => undefined, stop: () => undefined }

/** @returns what a command reports its steps to; call stop() in the end, also after an error */
export function createProgress(options: ProgressOptions): Progress {
  const { silent, steps = 0, stream = process.stderr } = options
  if (silent) return SILENT
  if (!stream.isTTY) return { ...SILENT, step: (name) => void stream.write(`${name}\n`) }
  return createBar(stream, steps)
}

function createBar(stream: NodeJS.WriteStream, steps: number): Progress {
  const bar = new SingleBar({
    stream,
    // Not every step knows its size: without one the bar shows its name and the time that has passed.
    format: (_options, params, { name, sized }: { name: string; sized: boolean }) => {
      const seconds = `${Math.round((Date.now() - params.startTime) / 1000)} s`
      if (!sized) return `${name}  ${seconds}`
      const filled = Math.round(Math.min(1, params.progress) * 30)
      return `${'█'.repeat(filled)}${'░'.repeat(30 - filled)} ${params.value}/${params.total}  ${name}  ${seconds}`
    },
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: true,
  })
  let begun = 0
  let sized = false
  return {
    step(name, total = 0) {
      // A step with a size has the bar for itself; the others move it by one where the number of steps is set.
      if (begun > 0) bar.stop()
      sized = total > 0
      bar.start(sized ? total : Math.max(steps, begun + 1), sized ? 0 : begun, {
        name,
        sized: sized || steps > 0,
      })
      begun += 1
    },
    advance(done) {
      if (sized) bar.update(done)
    },
    stop() {
      if (begun > 0) bar.stop()
      begun = 0
    },
  }
}
