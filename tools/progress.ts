/**
 * Shows the progress of a long command on standard error: a bar on a terminal, one line per step elsewhere, nothing with
 * --json. Standard output stays free for the command's result.
 */
import { SingleBar } from 'cli-progress'

export interface Progress {
  /** Starts a step and ends the previous one. @param total size of the step, when known */
  step(name: string, total?: number): void
  advance(done: number): void
  stop(): void
}

export interface ProgressOptions {
  /** True with --json: nothing is shown. */
  readonly silent: boolean
  /** Number of steps, when known: the bar then counts steps. */
  readonly steps?: number
  readonly stream?: NodeJS.WriteStream
}

const SILENT: Progress = { step: () => undefined, advance: () => undefined, stop: () => undefined }

/** @returns an object to report steps to; call stop() at the end, also after an error */
export function createProgress(options: ProgressOptions): Progress {
  const { silent, steps = 0, stream = process.stderr } = options
  if (silent) return SILENT
  if (!stream.isTTY) return { ...SILENT, step: (name) => void stream.write(`${name}\n`) }
  return createBar(stream, steps)
}

function createBar(stream: NodeJS.WriteStream, steps: number): Progress {
  const bar = new SingleBar({
    stream,
    // Without a size, the bar shows the step's name and the elapsed time.
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
      // A step with a size gets its own bar. Other steps advance a common bar when the number of steps is set.
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
