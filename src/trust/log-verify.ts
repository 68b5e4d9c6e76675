/**
 * Was the log only ever appended to? In: the files of a log (a folder's or a server's), the keys that may have signed it, and
 * checkpoints of before. Out: what it holds, and what is wrong with it, in sentences; it trusts no file but what is signed.
 *
 * The whole tree is computed anew from the entries. An entry that was removed, changed, re-dated or moved gives another root
 * than the checkpoint; where the checkpoint was signed anew, too, the one of before shows it.
 */
import { type Checkpoint, checkProof, openCheckpoint, parseCheckpoint, parseProof } from './checkpoint.ts'
import { type Cosignature, checkCosignatures, readCosignatures, type Witness } from './cosignature.ts'
import { CHECKPOINT } from './log.ts'
import { decodeEntry, type LogEntry } from './log-entry.ts'
import { leafHash, rootOf } from './merkle.ts'
import { NoteError, readNote, type Verifier } from './note.ts'
import { bundlesOf, decodeBundle, hashesIn, hashTilesOf, pathOf, TILE_WIDTH } from './tiles.ts'

/** @returns the bytes of a file of the log by its path below the log, or null where it is not there */
export type ReadLogFile = (path: string) => Promise<Buffer | null>

/** A checkpoint of before, or a proof that ends with one. */
export interface Earlier {
  /** Where it comes from, for messages. */
  readonly name: string
  readonly text: string
}

export interface LogVerdict {
  readonly origin: string
  readonly size: number
  readonly root: string
  readonly entries: readonly LogEntry[]
  /** Checkpoints of before that the log goes on from. */
  readonly agreed: number
  /** Signatures of the checkpoint that are not the log's. */
  readonly cosignatures: readonly Cosignature[]
  readonly findings: readonly string[]
}

/** More findings of one kind say no more. */
const FINDINGS_MAX = 20

/**
 * @param known without any key, the signature of the checkpoint is not checked
 * @param witnesses that must have cosigned the checkpoint
 * @throws NoteError where there is no checkpoint, or none of the keys has signed it
 */
export async function verifyLog(
  read: ReadLogFile,
  known: readonly Verifier[],
  earlier: readonly Earlier[],
  witnesses: readonly Witness[] = [],
): Promise<LogVerdict> {
  const note = await read(CHECKPOINT)
  if (note === null) throw new NoteError('is not there')
  const checkpoint =
    known.length === 0
      ? parseCheckpoint(readNote(note.toString(), []).text)
      : openCheckpoint(note.toString(), known)
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
  const decoded = entries.map(decodeEntry)
  findings.push(...checkEntries(decoded))
  const cosignatures = readCosignatures(note.toString(), known, witnesses)
  for (const problem of checkCosignatures(cosignatures, witnesses)) findings.push(`${CHECKPOINT} ${problem}`)
  let agreed = 0
  for (const { name, text } of earlier) {
    const problem = checkEarlier(text, known, checkpoint, entries, leaves)
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

/** Compares the stored tiles, by which others prove things, with those that the entries give. */
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

/** @returns why the log does not go on from a checkpoint of before, or null */
function checkEarlier(
  text: string,
  known: readonly Verifier[],
  now: Checkpoint,
  entries: readonly Buffer[],
  leaves: readonly Buffer[],
): string | null {
  try {
    const proof = text.startsWith('c2sp.org/tlog-proof@') ? parseProof(text) : null
    const before = proof === null ? openCheckpoint(text, known) : checkProof(proof, known, true)
    if (before.origin !== now.origin) return `is of another log, ${before.origin}`
    if (before.size > now.size)
      return `had ${before.size} entries; the log has ${now.size}: entries were removed from its end`
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
