/**
 * Shows the progress of a long command on standard error: a bar on a terminal, one line per step elsewhere, nothing with
 * --json. Standard output stays free for the command's result.
 */
import { SingleBar } from 'cli-progress'
import { formatBytes } from './fetch-lines.ts'

export interface Progress {
  /** Starts a step and ends the previous one. @param total size of the step, when known; @param unit what the size counts */
  step(name: string, total?: number, unit?: 'steps' | 'bytes'): void
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
    format: (_options, params, { name, sized, unit }: { name: string; sized: boolean; unit: string }) => {
      const elapsedMs = Date.now() - params.startTime
      const seconds = `${Math.round(elapsedMs / 1000)} s`
      if (!sized) return `${name}  ${seconds}`
      if (unit === 'bytes') return describeBytes(name, params.value, params.total, elapsedMs)
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
    step(name, total = 0, unit = 'steps') {
      // A step with a size gets its own bar. Other steps advance a common bar when the number of steps is set.
      if (begun > 0) bar.stop()
      sized = total > 0
      bar.start(sized ? total : Math.max(steps, begun + 1), sized ? 0 : begun, {
        name,
        sized: sized || steps > 0,
        unit: sized ? unit : 'steps',
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

/** Formats bytes that are here and the time that the others take at the average speed so far. */
function describeBytes(name: string, done: number, total: number, elapsedMs: number): string {
  const filled = Math.round(Math.min(1, done / total) * 30)
  const left = done > 0 ? Math.max(0, ((total - done) * elapsedMs) / done / 1000) : null
  const time =
    left === null ? '' : `  ${left < 90 ? `${Math.ceil(left)} s` : `${Math.ceil(left / 60)} min`} left`
  return `${'█'.repeat(filled)}${'░'.repeat(30 - filled)} ${formatBytes(done)} of ${formatBytes(total)}  ${name}${time}`
}
