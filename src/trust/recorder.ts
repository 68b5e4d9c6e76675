/**
 * Signs and logs releases with the operator's key when they are made, signed or promoted: the signature and the proof beside
 * the manifest, and the log entry. Each step can be repeated; existing results stay as they are.
 */
import { join } from 'node:path'
import { replaceFile } from '../files.ts'
import { appendToLog, LogError, logFolder, proveEntry, readLog } from './log.ts'
import type { LogEntry, NewEntry } from './log-entry.ts'
import { findFork, readProofs } from './log-proofs.ts'
import type { NoteSigner } from './note.ts'
import { PROOF_FILE, readOrNull, SIGNATURE_FILE, signRelease } from './release-notes.ts'

export interface Recorder {
  readonly signer: NoteSigner
  /** @returns the content of manifest.sig for a release in the making */
  sign(releaseId: string): string
  /** Signs releases in the folder and appends them to the log. @throws LogError, KeysError, ReleaseRefused */
  recordReleases(releaseIds: readonly string[]): void
  /** Must be called before the pointer moves, so that every release in service is in the log. @throws as recordReleases */
  recordPromotion(promotion: {
    /** The release, preceded by its components. */
    readonly releaseIds: readonly string[]
    readonly previous: string | null
    readonly forced: boolean
  }): void
  /** Must be called before the releases are removed, so that no release of the log is missing without an entry. */
  recordRemoval(releaseIds: readonly string[]): void
}

/** @throws LogError when the log is damaged, lost, or older than a proof beside a release */
export function createRecorder(releasesDir: string, signer: NoteSigner): Recorder {
  const folder = logFolder(releasesDir)
  const refuseFork = (entries: readonly LogEntry[]): void => {
    const problem = findFork(entries, readProofs(releasesDir), signer)
    if (problem !== null)
      throw new LogError(
        `${problem}. Put the newest copy of ${folder} back; where there is none, begin another log under another name (SUS_SIGNING_NAME).`,
      )
  }
  refuseFork(readLog(folder, signer)?.entries ?? [])
  const listMissing = (entries: readonly LogEntry[], ids: readonly string[]): NewEntry[] => {
    const present = presentIn(entries)
    return [...new Set(ids)]
      .filter((id) => !present.has(id))
      .map((release_id) => ({ kind: 'release', release_id }))
  }
  const writeProofs = (entries: readonly LogEntry[], ids: readonly string[]): void => {
    // A release that was removed and came back has two entries; its proof is of the last one.
    const last = new Map<string, number>()
    for (const [index, { kind, release_id }] of entries.entries())
      if (kind === 'release' && ids.includes(release_id)) last.set(release_id, index)
    for (const [release_id, index] of last) {
      const path = join(releasesDir, release_id, PROOF_FILE)
      // Proofs are reproducible, so a different text is damaged or belongs to another log.
      const proof = proveEntry(entries, index, signer)
      if (readOrNull(path) !== proof) replaceFile(path, proof)
    }
  }
  return {
    signer,
    sign: (id) => signRelease(id, signer),
    recordReleases(ids) {
      for (const id of ids) {
        const path = join(releasesDir, id, SIGNATURE_FILE)
        const before = readOrNull(path)
        const after = signRelease(id, signer, before)
        if (after !== before) replaceFile(path, after)
      }
      const { log } = appendToLog(folder, signer, (entries) => {
        refuseFork(entries)
        return listMissing(entries, ids)
      })
      writeProofs(log, ids)
    },
    recordPromotion({ releaseIds, previous, forced }) {
      const release_id = releaseIds.at(-1) ?? ''
      const { log } = appendToLog(folder, signer, (entries) => {
        refuseFork(entries)
        const last = entries.findLast((entry) => entry.kind === 'promotion')
        const isInService = previous === release_id
        // A promotion from before the log existed is not in it.
        if (isInService && (last === undefined || last.release_id === release_id)) return []
        // The last promotion was logged, then killed before its release came into service. The log returns to this release.
        const before = isInService ? (last?.release_id ?? null) : previous
        // This promotion was logged, then killed before the pointer moved.
        const isLogged = last?.release_id === release_id && last.previous === before && last.forced === forced
        if (isLogged) return listMissing(entries, releaseIds)
        return [
          ...listMissing(entries, releaseIds),
          { kind: 'promotion', release_id, previous: before, forced },
        ]
      })
      writeProofs(log, releaseIds)
    },
    recordRemoval(releaseIds) {
      appendToLog(folder, signer, (entries) => {
        refuseFork(entries)
        const present = presentIn(entries)
        // Releases from before the log existed are not in it, and one whose removal was killed has its entry.
        return releaseIds
          .filter((id) => present.has(id))
          .map((release_id) => ({ kind: 'removal' as const, release_id }))
      })
    },
  }
}

/** @returns the releases that the log says are there */
function presentIn(entries: readonly LogEntry[]): Set<string> {
  const present = new Set<string>()
  for (const { kind, release_id } of entries)
    if (kind === 'release') present.add(release_id)
    else if (kind === 'removal') present.delete(release_id)
  return present
}
