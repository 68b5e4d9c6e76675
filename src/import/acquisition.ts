/**
 * Reads `acquisition.json`, which `sus-data fetch` writes beside the files that it stored: where and when each was fetched, its
 * size, the publisher's time and its SHA-256. No digest of a release includes these facts.
 */
import { readFileSync, statSync } from 'node:fs'
import { type AcquiredFile, toFacts } from '../release/acquisition.ts'
import { TEXT_BYTES_MAX } from './readers/unpack-limits.ts'

/** Folder of older versions of files that changed at the publisher. It is not imported. */
export const VERSIONS_FOLDER = '.versions'

/** @returns facts by file name; none if the file is missing or not readable, because facts are never needed for an import */
export function readAcquisitionFile(path: string): Readonly<Record<string, AcquiredFile>> {
  try {
    if (statSync(path).size > TEXT_BYTES_MAX) return {}
    const { files } = JSON.parse(readFileSync(path, 'utf8')) as { files?: unknown }
    if (files === null || typeof files !== 'object') return {}
    return Object.fromEntries(
      Object.entries(files).flatMap(([name, facts]: [string, unknown]) =>
        facts === null || typeof facts !== 'object'
          ? []
          : [[name, toFacts(facts as Record<string, unknown>)]],
      ),
    )
  } catch {
    return {}
  }
}
