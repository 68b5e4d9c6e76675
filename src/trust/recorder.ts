/**
 * What the operator's key does when a release is made, signed or promoted: the signature beside the manifest, the entry in the
 * log, and the proof of that entry beside the manifest. Each step may be done again: what is there stays as it is.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { appendToLog, logFolder, proveEntry, writeWhole } from './log.ts'
import type { LogEntry, NewEntry } from './log-entry.ts'
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

export function createRecorder(releasesDir: string, signer: NoteSigner): Recorder {
  const folder = logFolder(releasesDir)
  const lacking = (entries: readonly LogEntry[], ids: readonly string[]): NewEntry[] => {
    const there = new Set(entries.filter(({ kind }) => kind === 'release').map((entry) => entry.release_id))
    return [...new Set(ids)]
      .filter((id) => !there.has(id))
      .map((release_id) => ({ kind: 'release', release_id }))
  }
  const writeProofs = (entries: readonly LogEntry[], ids: readonly string[]): void => {
    for (const [index, { kind, release_id }] of entries.entries()) {
      const path = join(releasesDir, release_id, PROOF_FILE)
      if (kind === 'release' && ids.includes(release_id) && !existsSync(path))
        writeWhole(path, Buffer.from(proveEntry(entries, index, signer)))
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
        if (after !== before) writeWhole(path, Buffer.from(after))
      }
      const { log } = appendToLog(folder, signer, (entries) => lacking(entries, ids))
      writeProofs(log, ids)
    },
    recordPromotion({ releaseIds, previous, forced }) {
      const { log } = appendToLog(folder, signer, (entries) => [
        ...lacking(entries, releaseIds),
        { kind: 'promotion', release_id: releaseIds.at(-1) ?? '', previous, forced },
      ])
      writeProofs(log, releaseIds)
    },
  }
}
