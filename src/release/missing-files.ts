/** Has a refused release changed since? In: the folder of releases, ids. Out: a text of the states of all of their files. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileState } from './file-state.ts'

/** @returns a text that changes when a file of one of the folders does */
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
