/**
 * Checks the proofs beside releases (`log.tlog-proof`) and that the log extends them. In: the folder of releases and keys.
 * Out: problems, as clauses about the file. Each proof with the operator's signature contains an earlier checkpoint. A log
 * that is shorter or has other entries contradicts it, and signing another entry onto that log would create a second history
 * (a fork).
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASE_ID } from '../release/manifest.ts'
import { ReleaseRefused } from '../release/verify.ts'
import { type Checkpoint, checkProof, checkStoredProof, parseProof } from './checkpoint.ts'
import { encodeEntry, type LogEntry } from './log-entry.ts'
import type { Earlier } from './log-verify.ts'
import { leafHash, rootOf } from './merkle.ts'
import { NoteError, type NoteSigner, type Verifier } from './note.ts'
import { PROOF_FILE, readOrNull } from './release-notes.ts'

export interface StoredProof {
  readonly releaseId: string
  /** Path below the folder of releases. */
  readonly file: string
  readonly text: string
}

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
 * Selects the proofs that a log must extend. Proofs of other operators' logs do not apply to it, so they are only checked.
 * @param checkpoint of the log; null when it is missing, and then every log that a verifier names may be the missing one
 * @param operator name of the operator's key, whose proofs a log of another name contradicts; null when there is no key
 */
export function selectProofs(
  proofs: readonly StoredProof[],
  verifiers: readonly Verifier[],
  checkpoint: string | null,
  operator: string | null,
): { readonly earlier: readonly Earlier[]; readonly problems: readonly ProofProblem[] } {
  const origins =
    checkpoint === null ? verifiers.map(({ name }) => name) : [checkpoint.split('\n', 1)[0], operator]
  const earlier: Earlier[] = []
  const problems: ProofProblem[] = []
  for (const proof of proofs)
    try {
      const { origin } = checkStoredProof(proof, verifiers)
      // A proof contains an earlier checkpoint.
      if (origins.includes(origin)) earlier.push({ name: proof.file, text: proof.text })
    } catch (error) {
      if (!(error instanceof NoteError)) throw error
      problems.push({ proof, reason: error.message })
    }
  return { earlier, problems }
}

/** A proof beside a release that is damaged, or belongs to another release. */
export interface ProofProblem {
  readonly proof: StoredProof
  readonly reason: string
}

/** @returns the problem with the proof beside a release; null when it is valid or missing */
export function findProofProblem(
  releasesDir: string,
  releaseId: string,
  verifiers: readonly Verifier[],
): string | null {
  const text = readOrNull(join(releasesDir, releaseId, PROOF_FILE))
  if (text === null) return null
  try {
    checkStoredProof({ releaseId, text }, verifiers)
    return null
  } catch (error) {
    if (error instanceof NoteError) return error.message
    throw error
  }
}

/** @throws ReleaseRefused when the proof beside a release is damaged or belongs to another release */
export function requireProof(releasesDir: string, releaseId: string, verifiers: readonly Verifier[]): void {
  const problem = findProofProblem(releasesDir, releaseId, verifiers)
  if (problem !== null)
    throw new ReleaseRefused(releaseId, PROOF_FILE, `${problem}; sus-data sign makes it again`)
}

/**
 * Checks that a log extends every proof that its key has signed.
 * @param proofs damaged ones and those of other logs are ignored
 * @returns the problem in one sentence, or null
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
  // Check the largest tree first: it shows how much of the log is missing.
  for (const { file, ...tree } of trees.sort((left, right) => right.size - left.size)) {
    if (tree.origin !== verifier.name) continue
    if (tree.size > leaves.length)
      return `${file} proves a log of ${tree.size} entries, and this one has ${leaves.length}: it is lost, or an older copy was put back`
    if (!rootOf(leaves.slice(0, tree.size)).equals(tree.root))
      return `${file} proves other first ${tree.size} entries than the log has`
  }
  return null
}
