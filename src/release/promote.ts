/**
 * Promotion: replacing the pointer. In: folder and id of a verified analytics release. Out: current.json replaced, and a line in
 * promotions.log, which is where rollback finds what was in service before.
 */
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RELEASE_ID } from './manifest.ts'
import { readPointer } from './store.ts'
import { writePointer } from './writer.ts'

const LOG = 'promotions.log'

/**
 * The caller has verified the release.
 * @param forced why a release is promoted that fails a promotion check
 * @param record called before the pointer moves, where it moves: what it throws stops the promotion
 */
export async function promoteRelease(
  releasesDir: string,
  id: string,
  forced: string | null = null,
  record: (before: string | null) => void = () => undefined,
): Promise<void> {
  const before = await readPointer(releasesDir)
  if (before !== id) record(before)
  // The line is written first: rollback ignores a line without a promotion, but needs one for every promotion.
  if (before !== id)
    await appendFile(
      join(releasesDir, LOG),
      `${new Date().toISOString()} ${before ?? '-'} ${id}${forced === null ? '' : ` forced: ${forced}`}\n`,
    )
  await writePointer(releasesDir, id)
}

/** @returns the release that was in service before the current one, or null */
export async function previousRelease(releasesDir: string): Promise<string | null> {
  const current = await readPointer(releasesDir)
  const lines = (await readFile(join(releasesDir, LOG), 'utf8').catch(() => ''))
    .trimEnd()
    .split('\n')
    .reverse()
  for (const line of lines) {
    const [, before = '', after = ''] = line.split(' ')
    if (after === current && RELEASE_ID.test(before)) return before
  }
  return null
}
