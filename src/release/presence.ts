/**
 * What of releases is there, without reading it: files of the release in service that are gone, and whether a refused release
 * has changed since. In: the folder of releases, manifests. Out: names and states. Not responsible for: digests (verify.ts).
 */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Manifest } from './manifest.ts'

/** @returns files of these releases that are missing, or have another size than their manifest says: release id / path */
export async function missingFiles(releasesDir: string, manifests: readonly Manifest[]): Promise<string[]> {
  const missing: string[] = []
  for (const { release_id, files } of manifests)
    for (const { path, bytes } of files) {
      const stat = await lstat(join(releasesDir, release_id, path)).catch(() => null)
      if (stat?.size !== bytes) missing.push(`${release_id}/${path}`)
    }
  return missing
}

/** @returns a text that changes when a file of one of the folders does */
export async function stateOfFolders(releasesDir: string, ids: readonly string[]): Promise<string> {
  const states: string[] = []
  for (const id of ids) {
    const folder = join(releasesDir, id)
    const entries = await readdir(folder, { recursive: true }).catch(() => [])
    for (const path of entries.sort()) {
      const stat = await lstat(join(folder, path)).catch(() => null)
      states.push(`${path} ${stat?.size} ${stat?.mtimeMs} ${stat?.ctimeMs} ${stat?.ino}`)
    }
  }
  return states.join('\n')
}
