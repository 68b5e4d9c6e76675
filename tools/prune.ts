/** Prunes releases for the commands `prune` and `update`, with the pins of links and the log of releases. */
import { readLinkedReleases } from '../src/keys/link-record.ts'
import { type PrunePlan, planPrune, pruneReleases } from '../src/release/prune.ts'
import type { Settings } from '../src/settings.ts'
import { openRecorder } from './recorder.ts'

export const KEEP_MIN = 2

export interface PruneRequest {
  /** Number of releases to keep in the order of their promotions; at least KEEP_MIN. */
  readonly keep?: number
  /** Releases that came here at this time (milliseconds since 1970) or later stay. */
  readonly olderThan?: number | null
  /** False lists what would be removed. */
  readonly apply: boolean
}

/**
 * @returns what stays and why, and what was or would be removed
 * @throws PruneError, KeysError, LogError; nothing was removed then
 */
export async function prune(
  settings: Pick<Settings, 'releasesDir' | 'keysFile' | 'signingKeyFile' | 'signingName'>,
  { keep = KEEP_MIN, olderThan = null, apply }: PruneRequest,
): Promise<PrunePlan> {
  const { releasesDir, keysFile } = settings
  const options = { keep, olderThan, readPins: () => readLinkedReleases(keysFile) }
  if (!apply) return planPrune(releasesDir, options)
  const recorder = await openRecorder(releasesDir, settings)
  return pruneReleases(releasesDir, options, (ids) => recorder?.recordRemoval(ids))
}
