/**
 * Checks the log and the proofs beside releases while a server runs, and reports current problems. In: the folder of releases
 * and the keys that may have signed them. Problems do not stop the server, because no response except those about the log
 * depends on it. The states of the files are compared every three seconds; the log is read in full only after a change.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileState } from '../release/file-state.ts'
import { parseCheckpoint } from './checkpoint.ts'
import { CHECKPOINT, logFolder, readCheckpoint } from './log.ts'
import { checkStoredProof, readProofs, type StoredProof } from './log-proofs.ts'
import { verifyLog } from './log-verify.ts'
import { NoteError, readNote, type Verifier } from './note.ts'
import { bundlesOf, hashTilePathsOf, pathOf } from './tiles.ts'

const CHECK_INTERVAL_MS = 3000

export interface LogProblem {
  /** Path below the folder of releases. */
  readonly file: string
  readonly reason: string
}

export interface LogWatch {
  problems(): readonly LogProblem[]
  /** Checks now, as the timer does every three seconds. */
  look(): Promise<void>
  close(): void
}

export interface LogWatchOptions {
  readonly releasesDir: string
  /** Keys whose signatures can be checked; without any, signatures are not checked. */
  readonly verifiers: () => readonly Verifier[]
  readonly onProblem?: (problem: LogProblem) => void
  /** Called when the last problem is gone. */
  readonly onMended?: () => void
}

export function watchLog({ releasesDir, verifiers, onProblem, onMended }: LogWatchOptions): LogWatch {
  const folder = logFolder(releasesDir)
  let problems: readonly LogProblem[] = []
  let checkedState = ''
  let hadLog = false

  const check = async (proofs: readonly StoredProof[]): Promise<LogProblem[]> => {
    const keys = verifiers()
    const found: LogProblem[] = []
    const earlier: { name: string; text: string }[] = []
    for (const proof of proofs)
      try {
        const { origin } = checkStoredProof(proof, keys)
        // Proofs of other operators' logs do not apply to this one.
        if (keys.some(({ name }) => name === origin)) earlier.push({ name: proof.file, text: proof.text })
      } catch (error) {
        if (!(error instanceof NoteError)) throw error
        found.push({ file: proof.file, reason: error.message })
      }
    const hasCheckpoint = readCheckpoint(folder) !== null
    hadLog ||= hasCheckpoint || earlier.length > 0
    if (!hasCheckpoint)
      return hadLog ? [...found, { file: `log/${CHECKPOINT}`, reason: 'is missing' }] : found
    const read = (path: string): Promise<Buffer | null> => readFile(join(folder, path)).catch(() => null)
    try {
      const { findings } = await verifyLog(read, keys, keys.length === 0 ? [] : earlier)
      return [...found, ...findings.map((reason) => ({ file: 'log', reason }))]
    } catch (error) {
      if (!(error instanceof NoteError)) throw error
      return [...found, { file: `log/${CHECKPOINT}`, reason: error.message }]
    }
  }
  const look = async (): Promise<void> => {
    // Read proofs before the checkpoint: an append writes its proof last.
    const proofs = readProofs(releasesDir)
    const state = `${await stateOfLog(folder)}\n${verifiers()
      .map(({ verifierKey }) => verifierKey)
      .join('\n')}\n${proofs.map(({ file, text }) => `${file}\n${text}`).join('')}`
    if (state === checkedState) return
    const found = await check(proofs)
    checkedState = state
    const names = new Set(problems.map(({ file, reason }) => `${file} ${reason}`))
    for (const problem of found) if (!names.has(`${problem.file} ${problem.reason}`)) onProblem?.(problem)
    if (found.length === 0 && problems.length > 0) onMended?.()
    problems = found
  }
  let looking: Promise<void> | null = null
  const lookOnce = (): Promise<void> => {
    looking ??= look().finally(() => {
      looking = null
    })
    return looking
  }
  const report = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error)
    if (problems.some((problem) => problem.reason === reason)) return
    problems = [{ file: 'log', reason }]
    onProblem?.({ file: 'log', reason })
  }
  const timer = setInterval(() => void lookOnce().catch(report), CHECK_INTERVAL_MS)
  timer.unref()
  return {
    problems: () => problems,
    look: () => lookOnce().catch(report),
    close: () => clearInterval(timer),
  }
}

/** @returns a string that changes when a file of the log changes, up to the size in its checkpoint */
async function stateOfLog(folder: string): Promise<string> {
  let size = 0
  try {
    size = parseCheckpoint(readNote(readCheckpoint(folder) ?? '', []).text).size
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
  }
  const paths = [CHECKPOINT, ...bundlesOf(size).map(pathOf), ...hashTilePathsOf(size)]
  return (
    await Promise.all(paths.map(async (path) => `${path} ${await fileState(join(folder, path))}`))
  ).join('\n')
}
