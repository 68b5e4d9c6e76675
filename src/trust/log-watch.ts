/**
 * Checks the log, promotions.log, and the proofs, signatures and attestations beside releases while a server runs. In: the folder
 * of releases and the keys that may have signed them. Out: current problems, and the bytes of log files as verified. Problems do
 * not stop the server, because no response except those about the log depends on it. The states of the files are compared every
 * three seconds; the log is read in full only after a change.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256Hex } from '../release/digest.ts'
import { fileState } from '../release/file-state.ts'
import { damagedError } from '../release/guard.ts'
import { findDamagedPromotion } from '../release/promote.ts'
import { ReleaseRefused } from '../release/verify.ts'
import { PROMOTIONS } from '../release/writer.ts'
import { parseCheckpoint } from './checkpoint.ts'
import { CHECKPOINT, logFolder, readCheckpoint } from './log.ts'
import { readProofs, type StoredProof, selectProofs } from './log-proofs.ts'
import { verifyLog } from './log-verify.ts'
import { HASH_BYTES } from './merkle.ts'
import { NoteError, readNote, type Verifier } from './note.ts'
import { checkBeside, readNotes, type StoredNote } from './release-notes.ts'
import { bundlesOf, decodeBundle, hashTilePathsOf, isTileOf, pathOf } from './tiles.ts'

const CHECK_INTERVAL_MS = 3000
/** Largest number of reads of a log file while the log grows. */
const READS_MAX = 3

export interface LogProblem {
  /** Path below the folder of releases. */
  readonly file: string
  readonly reason: string
}

export interface LogWatch {
  problems(): readonly LogProblem[]
  /**
   * @param path below the log
   * @returns the bytes of a file of the log, verified against its checkpoint; null when the log has no such file
   * @throws AppError 'release_damaged' when the log is damaged
   */
  read(path: string): Promise<Buffer | null>
  /** Checks now, as the timer does every three seconds. */
  look(): Promise<void>
  close(): void
}

export interface LogWatchOptions {
  readonly releasesDir: string
  /** Keys whose signatures can be checked; without any, signatures are not checked. */
  readonly verifiers: () => readonly Verifier[]
  /** The operator's key; null when there is none. */
  readonly operatorKey: () => Verifier | null
  readonly onProblem?: (problem: LogProblem) => void
  /** Called when the last problem is gone. */
  readonly onMended?: () => void
}

/** Files of a log that follow from its checkpoint, with their digests by path. */
interface VerifiedLog {
  readonly size: number
  readonly digests: ReadonlyMap<string, string>
}

export function watchLog({
  releasesDir,
  verifiers,
  operatorKey,
  onProblem,
  onMended,
}: LogWatchOptions): LogWatch {
  const folder = logFolder(releasesDir)
  let problems: readonly LogProblem[] = []
  let checkedState = ''
  let hadLog = false
  let verified: VerifiedLog | null = null
  const readLogFile = (path: string): Promise<Buffer | null> => readFile(join(folder, path)).catch(() => null)

  const checkNotes = (notes: readonly StoredNote[]): LogProblem[] =>
    notes.flatMap(({ releaseId, name, text }) => {
      try {
        checkBeside(releaseId, name, text, verifiers())
        return []
      } catch (error) {
        if (!(error instanceof ReleaseRefused)) throw error
        const file = `${releaseId}/${name}`
        return [{ file, reason: error.message.slice(file.length + 2) }]
      }
    })
  const check = async (proofs: readonly StoredProof[]): Promise<LogProblem[]> => {
    const keys = verifiers()
    const checkpoint = readCheckpoint(folder)
    const { earlier, problems: damaged } = selectProofs(proofs, keys, checkpoint, operatorKey()?.name ?? null)
    const found = damaged.map(({ proof: { file }, reason }): LogProblem => ({ file, reason }))
    const hasCheckpoint = checkpoint !== null
    hadLog ||= hasCheckpoint || earlier.length > 0
    verified = null
    if (!hasCheckpoint)
      return hadLog ? [...found, { file: `log/${CHECKPOINT}`, reason: 'is missing' }] : found
    const digests = new Map<string, string>()
    const read = async (path: string): Promise<Buffer | null> => {
      const bytes = await readLogFile(path)
      if (bytes !== null) digests.set(path, sha256Hex(bytes))
      return bytes
    }
    try {
      const { findings, isWhole, size } = await verifyLog(read, keys, keys.length === 0 ? [] : earlier)
      if (isWhole) verified = { size, digests }
      return [...found, ...findings.map((reason) => ({ file: 'log', reason }))]
    } catch (error) {
      if (!(error instanceof NoteError)) throw error
      return [...found, { file: `log/${CHECKPOINT}`, reason: error.message }]
    }
  }
  const look = async (): Promise<void> => {
    // Read proofs before the checkpoint: an append writes its proof last.
    const proofs = readProofs(releasesDir)
    const notes = readNotes(releasesDir)
    const state = JSON.stringify([
      await stateOfLog(folder),
      await fileState(join(releasesDir, PROMOTIONS)),
      verifiers().map(({ verifierKey }) => verifierKey),
      proofs,
      notes,
    ])
    if (state === checkedState) return
    const found = [...(await check(proofs)), ...checkNotes(notes)]
    const damagedLine = await findDamagedPromotion(releasesDir)
    if (damagedLine !== null) found.push({ file: PROMOTIONS, reason: `line ${damagedLine} is no promotion` })
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
    checkedState = ''
    const reason = error instanceof Error ? error.message : String(error)
    if (problems.some((problem) => problem.reason === reason)) return
    problems = [{ file: 'log', reason }]
    onProblem?.({ file: 'log', reason })
  }
  const timer = setInterval(() => void lookOnce().catch(report), CHECK_INTERVAL_MS)
  timer.unref()
  /** @returns whether the log as verified has these bytes */
  const isVerified = async (path: string, bytes: Buffer): Promise<boolean> => {
    if (verified === null) return false
    const digest = verified.digests.get(path)
    if (digest !== undefined) return digest === sha256Hex(bytes)
    // A partial tile of an earlier checkpoint is the beginning of the present one.
    const [start, width] = path.split('.p/')
    const present = [...verified.digests.keys()].find((key) => key === start || key.startsWith(`${start}.p/`))
    const containing = present === undefined ? null : await readLogFile(present)
    if (present === undefined || containing === null || !(await isVerified(present, containing))) return false
    const count = path.startsWith('tile/entries/') ? decodeBundle(bytes)?.length : bytes.length / HASH_BYTES
    return count === Number(width) && containing.subarray(0, bytes.length).equals(bytes)
  }
  const isOfLog = (path: string): boolean =>
    verified === null || path === CHECKPOINT ? hadLog : isTileOf(path, verified.size)
  const read = async (path: string): Promise<Buffer | null> => {
    for (let attempt = 0; attempt < READS_MAX; attempt += 1) {
      const bytes = await readLogFile(path)
      if (bytes !== null && (await isVerified(path, bytes))) return bytes
      // A log that grew has new files, so a missing one needs no look, which reads files beside every release.
      const isExpected = verified === null ? hadLog : verified.digests.has(path)
      if (bytes === null && !isExpected) return null
      await lookOnce().catch(report)
      if (!isOfLog(path)) return null
    }
    const problem = problems.find(({ file }) => file.startsWith('log'))
    throw damagedError(problem ?? { file: `log/${path}`, reason: 'does not follow from the checkpoint' })
  }
  return {
    problems: () => problems,
    read,
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
