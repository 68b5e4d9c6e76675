/**
 * Promotes a release by replacing the pointer. In: folder and id of a verified analytics release. Out: a new current.json,
 * and a line in promotions.log, from which rollback reads the previous release.
 */
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile, withFileLock } from '../files.ts'
import { lookAtPointerSync, POINTER, readPointer } from './pointer.ts'
import { ReleaseRefused } from './verify.ts'
import { PROMOTIONS, writePointer } from './writer.ts'

/**
 * The caller must have verified the release.
 * @param forced reason for promoting a release that fails a promotion check
 * @param record receives the previous release before the pointer moves; a throw stops the promotion
 * @throws ReleaseRefused when the release was removed since it was verified
 */
export async function promoteRelease(
  releasesDir: string,
  id: string,
  forced: string | null = null,
  record: (before: string | null) => void = () => undefined,
): Promise<void> {
  withFileLock(join(releasesDir, POINTER), (assertHeld) => {
    const before = lookAtPointerSync(releasesDir).id
    if (!existsSync(join(releasesDir, id, 'manifest.json')))
      throw new ReleaseRefused(id, 'manifest.json', 'is missing')
    record(before)
    assertHeld()
    // Write the line first: rollback ignores a line without a promotion, but needs one for every promotion.
    if (before !== id)
      addPromotionLine(releasesDir, `${before ?? '-'} ${id}${forced === null ? '' : ` forced: ${forced}`}`)
    writePointer(releasesDir, id)
  })
}

/**
 * Adds a line with the time. It replaces the file instead of appending, because a full disk would leave a partial line. The
 * caller holds the lock of the pointer.
 */
export function addPromotionLine(releasesDir: string, line: string): void {
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

/** @returns whether a release was removed on purpose at some time, by promotions.log */
export function wasRemoved(releasesDir: string, id: string): boolean {
  try {
    return readFileSync(join(releasesDir, PROMOTIONS), 'utf8').includes(` removed ${id}\n`)
  } catch {
    return false
  }
}

/** @returns the releases that were in service, without repetition: the current one, then those before it, the last first */
export async function promotedReleases(releasesDir: string): Promise<string[]> {
  const current = await readPointer(releasesDir)
  const lines = (await readFile(join(releasesDir, PROMOTIONS), 'utf8').catch(() => '')).split('\n').reverse()
  const promoted = lines.flatMap((line) => {
    const { before = '-', after = '-' } = PROMOTION.exec(line)?.groups ?? {}
    return [after, before]
  })
  return [...new Set([current ?? '-', ...promoted])].filter((id) => id !== '-')
}

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

/** @returns the number of the first line of promotions.log that is no promotion; null when all are, or without the file */
export async function findDamagedPromotion(releasesDir: string): Promise<number | null> {
  const text = await readFile(join(releasesDir, PROMOTIONS), 'utf8').catch(() => '')
  const at = text.split('\n').findIndex((line) => line !== '' && !PROMOTION.test(line))
  return at < 0 ? null : at + 1
}
