/**
 * Reads and writes checkpoints (C2SP tlog-checkpoint) and inclusion proofs (C2SP tlog-proof). A checkpoint is a signed note
 * with a tree's origin, size and root; a proof shows that an entry is in the tree. Pure.
 */
import { decodeEntry, type LogEntry } from './log-entry.ts'
import { HASH_BYTES, leafHash, rootFromPath } from './merkle.ts'
import { NoteError, openNote, readNote, type Verifier } from './note.ts'

export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Buffer
}

export interface Proof {
  /** The entry's bytes as hashed. */
  readonly entry: Buffer
  readonly index: number
  readonly path: readonly Buffer[]
  readonly checkpoint: string
}

const PROOF_FORMAT = 'c2sp.org/tlog-proof@v1'
const DECIMAL_INTEGER = /^(0|[1-9]\d{0,14})$/
/** Upper bound of a proof's hashes; trees of any size need fewer. */
const PATH_MAX = 64

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`

/** @param text of an opened note; @throws NoteError */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', hash = ''] = text.split('\n')
  const root = readHash(hash)
  if (origin === '' || !DECIMAL_INTEGER.test(size) || root === null)
    throw new NoteError('is not a checkpoint')
  return { origin, size: Number(size), root }
}

/** @throws NoteError when the note is not a checkpoint, or none of the keys signed it */
export const openCheckpoint = (note: string, verifiers: readonly Verifier[]): Checkpoint =>
  parseCheckpoint(openNote(note, verifiers).text)

export const formatProof = ({ entry, index, path, checkpoint }: Proof): string =>
  [
    PROOF_FORMAT,
    `extra ${entry.toString('base64')}`,
    `index ${index}`,
    ...path.map((hash) => hash.toString('base64')),
    '',
    checkpoint,
  ].join('\n')

/** @throws NoteError when the text is not a tlog-proof that contains its entry */
export function parseProof(text: string): Proof {
  const split = text.indexOf('\n\n')
  const [format, extra = '', index = '', ...hashes] = text.slice(0, Math.max(split, 0)).split('\n')
  const [, encoded = ''] = /^extra ([A-Za-z0-9+/]+={0,2})$/.exec(extra) ?? []
  const [, indexDigits = ''] = /^index (\d+)$/.exec(index) ?? []
  const path = hashes.map(readHash).filter((hash) => hash !== null)
  const hasValidPath = path.length === hashes.length && path.length <= PATH_MAX
  if (format !== PROOF_FORMAT || encoded === '' || !DECIMAL_INTEGER.test(indexDigits) || !hasValidPath)
    throw new NoteError('is not a proof of inclusion')
  const entry = Buffer.from(encoded, 'base64')
  const proof = { entry, index: Number(indexDigits), path, checkpoint: text.slice(split + 2) }
  // Base64 has several texts for the same bytes, and a changed one is damage.
  if (formatProof(proof) !== text) throw new NoteError('is not a proof of inclusion')
  return proof
}

/**
 * Checks that a proof's entry is in the tree of its checkpoint.
 * @param verifiers one of them must have signed a checkpoint whose log has the name of one of them
 * @param isSignatureRequired one of the verifiers must have signed the checkpoint, whatever its name
 * @returns the tree, and whether one of the verifiers signed it
 * @throws NoteError that states the mismatch
 */
export function checkProof(
  proof: Proof,
  verifiers: readonly Verifier[],
  isSignatureRequired = false,
): Checkpoint & { readonly trusted: boolean } {
  const note = readNote(proof.checkpoint, verifiers)
  const checkpoint = parseCheckpoint(note.text)
  if (isSignatureRequired || verifiers.some(({ name }) => name === checkpoint.origin))
    openNote(proof.checkpoint, verifiers)
  const root = rootFromPath(leafHash(proof.entry), proof.index, checkpoint.size, proof.path)
  if (root === null || !root.equals(checkpoint.root))
    throw new NoteError('does not lead from its entry to the root of its checkpoint')
  return { ...checkpoint, trusted: note.signatures.some(({ verified }) => verified) }
}

/**
 * @param verifiers as in checkProof
 * @returns the tree of the proof, and the entry with its position
 * @throws NoteError when it does not prove that this release is in a log
 */
export function checkStoredProof(
  { releaseId, text }: { readonly releaseId: string; readonly text: string },
  verifiers: readonly Verifier[],
): Checkpoint & { readonly trusted: boolean; readonly entry: LogEntry; readonly index: number } {
  const proof = parseProof(text)
  const entry = decodeEntry(proof.entry)
  if (entry?.kind !== 'release' || entry.release_id !== releaseId)
    throw new NoteError(
      `proves ${entry === null ? 'something' : entry.release_id} to be in the log, not this release`,
    )
  return { ...checkProof(proof, verifiers), entry, index: proof.index }
}

function readHash(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === HASH_BYTES && bytes.toString('base64') === text ? bytes : null
}
