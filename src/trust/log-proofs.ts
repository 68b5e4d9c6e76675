/**
 * The proofs beside releases (`log.tlog-proof`): are they what their name says, and does the log go on from them? In: the folder
 * of releases and keys. Out: what is wrong, in words that follow the name of the file.
 *
 * Each proof that the operator's key signed is a checkpoint of before: a log that is shorter, or has other entries, is not the one
 * that was promised, and an entry that is signed onto it makes a second history (a fork).
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASE_ID } from '../release/manifest.ts'
import { ReleaseRefused } from '../release/verify.ts'
import { type Checkpoint, checkProof, parseProof } from './checkpoint.ts'
import { decodeEntry, encodeEntry, type LogEntry } from './log-entry.ts'
import { leafHash, rootOf } from './merkle.ts'
import { NoteError, type NoteSigner, type Verifier } from './note.ts'
import { PROOF_FILE, readOrNull } from './release-notes.ts'

/** A proof as it stands beside a release. */
export interface StoredProof {
  readonly releaseId: string
  /** Path below the folder of releases. */
  readonly file: string
  readonly text: string
}

/** @returns the proofs of all releases of a folder, by id */
export function readProofs(releasesDir: string): StoredProof[] {
  let names: string[]
  try {
    names = readdirSync(releasesDir)
  } catch {
    return []
  }
  return names
    .filter((name) => RELEASE_ID.test(name))
    .sort()
    .flatMap((releaseId) => {
      const file = `${releaseId}/${PROOF_FILE}`
      const text = readOrNull(join(releasesDir, file))
      return text === null ? [] : [{ releaseId, file, text }]
    })
}

/**
 * @param known keys whose signatures can be checked: a proof of a log that has the name of one of them needs its signature
 * @returns the tree of the proof; @throws NoteError where it is not the proof that this release is in a log
 */
export function checkStoredProof(
  { releaseId, text }: Pick<StoredProof, 'releaseId' | 'text'>,
  known: readonly Verifier[],
): Checkpoint & { readonly trusted: boolean } {
  const proof = parseProof(text)
  const entry = decodeEntry(proof.entry)
  if (entry?.kind !== 'release' || entry.release_id !== releaseId)
    throw new NoteError(
      `proves ${entry === null ? 'something' : entry.release_id} to be in the log, not this release`,
    )
  const tree = checkProof(proof, known)
  if (!tree.trusted && known.some(({ name }) => name === tree.origin)) checkProof(proof, known, true)
  return tree
}

/** @returns what is wrong with the proof beside a release; null where nothing is, and where there is none */
export function findProofProblem(
  releasesDir: string,
  releaseId: string,
  known: readonly Verifier[],
): string | null {
  const text = readOrNull(join(releasesDir, releaseId, PROOF_FILE))
  if (text === null) return null
  try {
    checkStoredProof({ releaseId, text }, known)
    return null
  } catch (error) {
    if (error instanceof NoteError) return error.message
    throw error
  }
}

/** @throws ReleaseRefused where the proof beside a release is damaged or that of another one */
export function requireProof(releasesDir: string, releaseId: string, known: readonly Verifier[]): void {
  const problem = findProofProblem(releasesDir, releaseId, known)
  if (problem !== null)
    throw new ReleaseRefused(releaseId, PROOF_FILE, `${problem}; sus-data sign makes it again`)
}

/**
 * Does a log go on from the proofs that its key has signed?
 * @param proofs damaged ones and those of other logs say nothing
 * @returns what is wrong, in one sentence, or null
 */
export function findFork(
  entries: readonly LogEntry[],
  proofs: readonly StoredProof[],
  { verifier }: Pick<NoteSigner, 'verifier'>,
): string | null {
  const leaves = entries.map((entry) => leafHash(encodeEntry(entry)))
  const trees = proofs.flatMap(({ file, text }): (Checkpoint & { readonly file: string })[] => {
    try {
      return [{ ...checkProof(parseProof(text), [verifier], true), file }]
    } catch (error) {
      if (error instanceof NoteError) return []
      throw error
    }
  })
  // The largest first: it says how much of the log is missing.
  for (const { file, ...tree } of trees.sort((left, right) => right.size - left.size)) {
    if (tree.origin !== verifier.name) continue
    if (tree.size > leaves.length)
      return `${file} proves a log of ${tree.size} entries, and this one has ${leaves.length}: it is lost, or an older copy was put back`
    if (!rootOf(leaves.slice(0, tree.size)).equals(tree.root))
      return `${file} proves other first ${tree.size} entries than the log has`
  }
  return null
}
