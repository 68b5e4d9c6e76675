/**
 * Promotes a release by replacing the pointer. In: folder and id of a verified analytics release. Out: a new current.json,
 * and a line in promotions.log, from which rollback reads the previous release.
 */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile, withFileLock } from '../files.ts'
import { lookAtPointerSync, POINTER, readPointer } from './pointer.ts'
import { PROMOTIONS, writePointer } from './writer.ts'

/**
 * The caller must have verified the release.
 * @param forced reason for promoting a release that fails a promotion check
 * @param record receives the previous release before the pointer moves; a throw stops the promotion
 */
export async function promoteRelease(
  releasesDir: string,
  id: string,
  forced: string | null = null,
  record: (before: string | null) => void = () => undefined,
): Promise<void> {
  withFileLock(join(releasesDir, POINTER), (assertHeld) => {
    const before = lookAtPointerSync(releasesDir).id
    record(before)
    assertHeld()
    // Write the line first: rollback ignores a line without a promotion, but needs one for every promotion.
    if (before !== id)
      addLine(releasesDir, `${before ?? '-'} ${id}${forced === null ? '' : ` forced: ${forced}`}`)
    writePointer(releasesDir, id)
  })
}

/** Replaces the file instead of appending, because a full disk would leave a partial line. */
function addLine(releasesDir: string, line: string): void {
  const path = join(releasesDir, PROMOTIONS)
  let text = ''
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const start = text === '' || text.endsWith('\n') ? text : `${text}\n`
  replaceFile(path, `${start}${new Date().toISOString()} ${line}\n`)
}

const ID = String.raw`(?:demo-)?analytics-[a-z]{2}-\d{6}-[0-9a-f]{64}`
/** Matches a promotion at the end of a line. A partial line may precede it, from versions that appended and met a full disk. */
const PROMOTION = new RegExp(`(?<before>${ID}|-) (?<after>${ID})(?= forced: |$)`)

/** @returns the release that was in service before the current one, or null */
export async function previousRelease(releasesDir: string): Promise<string | null> {
  const current = await readPointer(releasesDir)
  const lines = (await readFile(join(releasesDir, PROMOTIONS), 'utf8').catch(() => '')).split('\n').reverse()
  for (const line of lines) {
    const { before = '-', after } = PROMOTION.exec(line)?.groups ?? {}
    if (after === current && before !== '-') return before
  }
  return null
}
