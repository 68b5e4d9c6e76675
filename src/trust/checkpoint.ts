/**
 * Checkpoints (C2SP tlog-checkpoint) and proofs of inclusion (C2SP tlog-proof): a tree's origin, size and root in a signed
 * note, and what shows that an entry is in it. Text to values and back; pure.
 */
import { HASH_BYTES, leafHash, rootFromPath } from './merkle.ts'
import { NoteError, openNote, readNote, type Verifier } from './note.ts'

export interface Checkpoint {
  /** Name of the log. */
  readonly origin: string
  readonly size: number
  readonly root: Buffer
}

export interface Proof {
  /** The entry, as it was hashed. */
  readonly entry: Buffer
  readonly index: number
  readonly path: readonly Buffer[]
  /** The note, as it was signed. */
  readonly checkpoint: string
}

const PROOF_FORMAT = 'c2sp.org/tlog-proof@v1'
const WHOLE_NUMBER = /^(0|[1-9]\d{0,14})$/
/** More than a tree of every size needs. */
const PATH_MAX = 64

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`

/** @param text of a note that was opened; @throws NoteError */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', hash = ''] = text.split('\n')
  const root = readHash(hash)
  if (origin === '' || !WHOLE_NUMBER.test(size) || root === null) throw new NoteError('is not a checkpoint')
  return { origin, size: Number(size), root }
}

/** @throws NoteError where the note is not a checkpoint, or none of the keys has signed it */
export const openCheckpoint = (note: string, known: readonly Verifier[]): Checkpoint =>
  parseCheckpoint(openNote(note, known).text)

/** @returns the text of a tlog-proof, whose extra data are the entry */
export const formatProof = ({ entry, index, path, checkpoint }: Proof): string =>
  [
    PROOF_FORMAT,
    `extra ${entry.toString('base64')}`,
    `index ${index}`,
    ...path.map((hash) => hash.toString('base64')),
    '',
    checkpoint,
  ].join('\n')

/** @throws NoteError where it is not a tlog-proof that carries its entry */
export function parseProof(text: string): Proof {
  const split = text.indexOf('\n\n')
  const [format, extra = '', index = '', ...hashes] = text.slice(0, Math.max(split, 0)).split('\n')
  const [, encoded = ''] = /^extra ([A-Za-z0-9+/]+={0,2})$/.exec(extra) ?? []
  const [, place = ''] = /^index (\d+)$/.exec(index) ?? []
  const path = hashes.map(readHash).filter((hash) => hash !== null)
  const isWhole = path.length === hashes.length && path.length <= PATH_MAX
  if (format !== PROOF_FORMAT || encoded === '' || !WHOLE_NUMBER.test(place) || !isWhole)
    throw new NoteError('is not a proof of inclusion')
  return {
    entry: Buffer.from(encoded, 'base64'),
    index: Number(place),
    path,
    checkpoint: text.slice(split + 2),
  }
}

/**
 * Checks that a proof's entry is in the tree of its checkpoint.
 * @param known keys whose signatures can be checked; @param isDemanded one of them must have signed the checkpoint
 * @returns the tree, and whether one of the keys has signed it; @throws NoteError that says what does not fit
 */
export function checkProof(
  proof: Proof,
  known: readonly Verifier[],
  isDemanded = false,
): Checkpoint & { readonly trusted: boolean } {
  const note = (isDemanded ? openNote : readNote)(proof.checkpoint, known)
  const checkpoint = parseCheckpoint(note.text)
  const root = rootFromPath(leafHash(proof.entry), proof.index, checkpoint.size, proof.path)
  if (root === null || !root.equals(checkpoint.root))
    throw new NoteError('does not lead from its entry to the root of its checkpoint')
  return { ...checkpoint, trusted: note.signatures.some(({ verified }) => verified) }
}

function readHash(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === HASH_BYTES && bytes.toString('base64') === text ? bytes : null
}
