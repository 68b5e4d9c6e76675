/**
 * Verifies that a log was only ever appended to. In: the files of a log (from a folder or a server), the keys that may have
 * signed it, and earlier checkpoints. Out: its entries, and problems in sentences. Only signed content is trusted. The tree
 * is computed again from the entries. An entry that was removed, changed, re-dated or moved gives another root than the
 * checkpoint. If the checkpoint was signed again, too, an earlier checkpoint reveals it.
 */
import { type Checkpoint, checkProof, openCheckpoint, parseCheckpoint, parseProof } from './checkpoint.ts'
import { type Cosignature, checkCosignatures, readCosignatures, type Witness } from './cosignature.ts'
import { CHECKPOINT } from './log.ts'
import { decodeEntry, type LogEntry } from './log-entry.ts'
import { leafHash, rootOf } from './merkle.ts'
import { NoteError, readNote, type Verifier } from './note.ts'
import { bundlesOf, decodeBundle, hashesIn, hashTilesOf, pathOf, TILE_WIDTH } from './tiles.ts'

/** @returns the bytes of a log file by its path below the log, or null when it is missing */
export type ReadLogFile = (path: string) => Promise<Buffer | null>

/** An earlier checkpoint, or a proof that ends with one. */
export interface Earlier {
  /** Origin of the checkpoint, for messages. */
  readonly name: string
  readonly text: string
}

export interface LogVerdict {
  readonly origin: string
  readonly size: number
  readonly root: string
  readonly entries: readonly LogEntry[]
  /** Number of earlier checkpoints that the log extends. */
  readonly agreed: number
  /** Signatures of the checkpoint other than the log's. */
  readonly cosignatures: readonly Cosignature[]
  readonly findings: readonly string[]
  /** True when entries and tiles follow from the checkpoint, whatever earlier checkpoints say. */
  readonly isWhole: boolean
}

/** Limits the findings; more of one kind add nothing. */
const FINDINGS_MAX = 20

/**
 * @param verifiers if empty, the signature of the checkpoint is not checked
 * @param witnesses must all have cosigned the checkpoint
 * @throws NoteError when there is no checkpoint, or none of the keys signed it
 */
export async function verifyLog(
  read: ReadLogFile,
  verifiers: readonly Verifier[],
  earlier: readonly Earlier[],
  witnesses: readonly Witness[] = [],
): Promise<LogVerdict> {
  const note = await read(CHECKPOINT)
  if (note === null) throw new NoteError('is not there')
  const checkpoint =
    verifiers.length === 0
      ? parseCheckpoint(readNote(note.toString(), []).text)
      : openCheckpoint(note.toString(), verifiers)
  const findings: string[] = []
  const entries = await readEntries(read, checkpoint, findings)
  const leaves = entries.map(leafHash)
  if (entries.length === checkpoint.size) {
    if (!rootOf(leaves).equals(checkpoint.root))
      findings.push(
        `the ${checkpoint.size} entries are not those that the checkpoint was signed over: one was removed, changed, re-dated or moved`,
      )
    findings.push(...(await checkTiles(read, leaves)))
  }
  const isWhole = findings.length === 0 && entries.length === checkpoint.size
  const decoded = entries.map(decodeEntry)
  findings.push(...checkEntries(decoded))
  const cosignatures = readCosignatures(note.toString(), verifiers, witnesses)
  for (const problem of checkCosignatures(cosignatures, witnesses)) findings.push(`${CHECKPOINT} ${problem}`)
  let agreed = 0
  for (const { name, text } of earlier) {
    const problem = checkEarlier(text, verifiers, checkpoint, entries, leaves)
    if (problem === null) agreed += 1
    else findings.push(`${name}: ${problem}`)
  }
  return {
    origin: checkpoint.origin,
    size: checkpoint.size,
    root: checkpoint.root.toString('base64'),
    entries: decoded.filter((entry) => entry !== null),
    agreed,
    cosignatures,
    findings: findings.slice(0, FINDINGS_MAX),
    isWhole,
  }
}

async function readEntries(read: ReadLogFile, { size }: Checkpoint, findings: string[]): Promise<Buffer[]> {
  const entries: Buffer[] = []
  for (const tile of bundlesOf(size)) {
    const path = pathOf(tile)
    const bytes = await read(path)
    const bundle = bytes === null ? null : decodeBundle(bytes)
    if (bundle?.length === tile.width) entries.push(...bundle)
    else {
      const problem =
        bytes === null
          ? 'is missing'
          : bundle === null
            ? 'is no bundle of entries'
            : `has ${bundle.length} entries where the checkpoint says ${tile.width}`
      findings.push(`${path} ${problem}`)
      break
    }
  }
  return entries
}

/** Compares the stored tiles, from which clients build proofs, with those computed from the entries. */
async function checkTiles(read: ReadLogFile, leaves: readonly Buffer[]): Promise<string[]> {
  const findings: string[] = []
  for (const { tile, bytes } of hashTilesOf(leaves)) {
    const path = pathOf(tile)
    const stored = await read(path)
    if (stored === null) findings.push(`${path} is missing`)
    else if (!stored.equals(bytes)) {
      const expected = hashesIn(bytes)
      const first = hashesIn(stored).findIndex((hash, at) => expected[at]?.equals(hash) !== true)
      findings.push(
        tile.level === 0 && first >= 0
          ? `entry ${tile.index * TILE_WIDTH + first} is not the one that was logged: ${path} holds the hash of another`
          : `${path} does not follow from the entries`,
      )
    }
  }
  return findings
}

function checkEntries(entries: readonly (LogEntry | null)[]): string[] {
  return entries.flatMap((entry, index) => {
    if (entry === null) return [`entry ${index} is not an entry of this log`]
    const before = entries[index - 1]?.time ?? ''
    return entry.time < before ? [`entry ${index} says ${entry.time}, before the one in front of it`] : []
  })
}

/** @returns why the log does not extend an earlier checkpoint, or null */
function checkEarlier(
  text: string,
  verifiers: readonly Verifier[],
  current: Checkpoint,
  entries: readonly Buffer[],
  leaves: readonly Buffer[],
): string | null {
  try {
    const proof = text.startsWith('c2sp.org/tlog-proof@') ? parseProof(text) : null
    const before = proof === null ? openCheckpoint(text, verifiers) : checkProof(proof, verifiers, true)
    if (before.origin !== current.origin) return `is of another log, ${before.origin}`
    if (before.size > current.size)
      return `had ${before.size} entries; the log has ${current.size}: entries were removed from its end`
    if (proof !== null && entries[proof.index]?.equals(proof.entry) !== true)
      return `proves another entry ${proof.index} than the log has: ${proof.entry.toString()}`
    return rootOf(leaves.slice(0, before.size)).equals(before.root)
      ? null
      : `of the first ${before.size} entries, one was removed, changed, re-dated or moved since`
  } catch (error) {
    if (error instanceof NoteError) return error.message
    throw error
  }
}
