/** Describes the state of all files of release folders, to detect changes of refused releases. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileState } from './file-state.ts'

/** @returns a string that changes when any file of the folders changes */
export async function stateOfFolders(releasesDir: string, ids: readonly string[]): Promise<string> {
  const states: string[] = []
  for (const id of ids) {
    const folder = join(releasesDir, id)
    const entries = await readdir(folder, { recursive: true }).catch(() => [])
    for (const path of entries.sort()) {
      states.push(`${path} ${await fileState(join(folder, path))}`)
    }
  }
  return states.join('\n')
}
