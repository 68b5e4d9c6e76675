/**
 * What the operator's key does when a release is made, signed or promoted: the signature beside the manifest, the entry in the
 * log, and the proof of that entry beside the manifest. Each step may be done again: what is there stays as it is.
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
  /** @returns the content of manifest.sig of a release that is being made */
  sign(releaseId: string): string
  /** Signs releases that are here and writes them into the log. @throws LogError, KeysError */
  recordReleases(releaseIds: readonly string[]): void
  /** To be called before the pointer moves: nothing is in service that is not in the log. @throws as recordReleases */
  recordPromotion(promotion: {
    /** The release, after those that it joins. */
    readonly releaseIds: readonly string[]
    readonly previous: string | null
    readonly forced: boolean
  }): void
}

/** @throws LogError where the log cannot be gone on with: damaged, lost, or older than a proof beside a release says */
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
  const lacking = (entries: readonly LogEntry[], ids: readonly string[]): NewEntry[] => {
    const there = new Set(entries.filter(({ kind }) => kind === 'release').map((entry) => entry.release_id))
    return [...new Set(ids)]
      .filter((id) => !there.has(id))
      .map((release_id) => ({ kind: 'release', release_id }))
  }
  const writeProofs = (entries: readonly LogEntry[], ids: readonly string[]): void => {
    for (const [index, { kind, release_id }] of entries.entries()) {
      if (kind !== 'release' || !ids.includes(release_id)) continue
      const path = join(releasesDir, release_id, PROOF_FILE)
      // The proof of an entry is the same bytes whenever it is made, so another text is damaged or of another log.
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
        return lacking(entries, ids)
      })
      writeProofs(log, ids)
    },
    recordPromotion({ releaseIds, previous, forced }) {
      const release_id = releaseIds.at(-1) ?? ''
      const { log } = appendToLog(folder, signer, (entries) => {
        refuseFork(entries)
        const last = entries.findLast((entry) => entry.kind === 'promotion')
        const isInService = previous === release_id
        // What was promoted before there was a log is not in it.
        if (isInService && (last === undefined || last.release_id === release_id)) return []
        // Another promotion was logged and then killed before its release came into service: the log goes back to this one.
        const before = isInService ? (last?.release_id ?? null) : previous
        // This promotion was logged, and then it was killed.
        const isLogged = last?.release_id === release_id && last.previous === before && last.forced === forced
        if (isLogged) return lacking(entries, releaseIds)
        return [...lacking(entries, releaseIds), { kind: 'promotion', release_id, previous: before, forced }]
      })
      writeProofs(log, releaseIds)
    },
  }
}
