/**
 * Reads where and when the published files of a release were fetched: `acquisition.json` beside its manifest, which the import
 * writes. No digest covers it, so it says what an operator recorded, not what the publisher signed.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export const ACQUISITION_FILE = 'acquisition.json'

export interface AcquiredFile {
  readonly publisher: string | null
  readonly url: string | null
  readonly retrieved_at: string | null
  readonly bytes: number | null
  /** Time of the file as the publisher's server gives it, without a zone. */
  readonly server_time: string | null
  readonly sha256: string | null
}

/** Place and time at which a file was fetched. */
export interface Acquisition extends AcquiredFile {
  readonly file: string
}

/** @returns the facts that have the expected type; every other one is null */
export function toFacts(facts: Readonly<Record<string, unknown>>): AcquiredFile {
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  return {
    publisher: text(facts.publisher),
    url: text(facts.url),
    retrieved_at: text(facts.retrieved_at),
    bytes: typeof facts.bytes === 'number' ? facts.bytes : null,
    server_time: text(facts.server_time),
    sha256: text(facts.sha256),
  }
}

/** @returns the recorded files in the order of the import; none when nothing was recorded or the file is not readable */
export async function readAcquisitions(
  releasesDir: string,
  releaseId: string,
): Promise<readonly Acquisition[]> {
  try {
    const recorded: unknown = JSON.parse(
      await readFile(join(releasesDir, releaseId, ACQUISITION_FILE), 'utf8'),
    )
    if (!Array.isArray(recorded)) return []
    return recorded.flatMap((facts: Record<string, unknown> | null) =>
      typeof facts?.file === 'string' ? [{ file: facts.file, ...toFacts(facts) }] : [],
    )
  } catch {
    return []
  }
}
