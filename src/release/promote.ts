/**
 * Promotes a release by replacing the pointer. In: folder and id of a verified analytics release. Out: a new current.json,
 * and a line in promotions.log, from which rollback reads the previous release.
 */
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile, withFileLock } from '../files.ts'
import { RELEASE_ID } from './manifest.ts'
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

const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
const ID = String.raw`(?:demo-)?analytics-[a-z]{2}-\d{6}-[0-9a-f]{64}`
/** Matches a promotion at the end of a line. A partial line may precede it, from versions that appended and met a full disk. */
const PROMOTION = new RegExp(`(?<time>${TIME}) (?<before>${ID}|-) (?<after>${ID})(?= forced: |$)`)
const REMOVAL = new RegExp(`${TIME} removed ${RELEASE_ID.source.slice(1)}`)

/** promotions.log has lines that are no promotions where a promotion is looked for. The message is for the operator. */
export class PromotionsDamaged extends Error {
  constructor(line: number) {
    super(
      `${PROMOTIONS}: line ${line} is no promotion, so which release was in service before is not known. Restore the file, or remove the line and promote the release that you want`,
    )
    this.name = 'PromotionsDamaged'
  }
}

/** @returns whether a release was removed on purpose at some time, by promotions.log */
export function wasRemoved(releasesDir: string, id: string): boolean {
  try {
    return readFileSync(join(releasesDir, PROMOTIONS), 'utf8').includes(` removed ${id}\n`)
  } catch {
    return false
  }
}

/** A promotion that moved the pointer. */
export interface Promotion {
  readonly promoted_at: string
  readonly release_id: string
  /** Release in service before; null for the first one. */
  readonly previous_release_id: string | null
}

/** @returns the promotions, newest first; a line whose pointer never moved is left out */
export async function listPromotions(releasesDir: string): Promise<Promotion[]> {
  const current = await readPointer(releasesDir)
  const text = await readFile(join(releasesDir, PROMOTIONS), 'utf8').catch(() => '')
  const lines = text.split('\n').flatMap((line) => {
    const groups = PROMOTION.exec(line)?.groups
    return groups === undefined ? [] : [groups]
  })
  return lines
    .filter(({ after }, index) => after === (lines[index + 1]?.before ?? current))
    .map(({ time = '', before = '-', after = '' }) => ({
      promoted_at: time,
      release_id: after,
      previous_release_id: before === '-' ? null : before,
    }))
    .reverse()
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

/**
 * @returns the release that was in service before the current one, or null
 * @throws PromotionsDamaged when a line may hide a later promotion. The beginning of a line at the end of the file hides none: the
 * disk was full, and the pointer did not move.
 */
export async function previousRelease(releasesDir: string): Promise<string | null> {
  const current = await readPointer(releasesDir)
  const lines = (await readFile(join(releasesDir, PROMOTIONS), 'utf8').catch(() => '')).split('\n')
  const isPassable = (at: number): boolean => {
    const lastPromotion = lines.slice(0, at).findLast((line) => PROMOTION.test(line))
    return at === lines.length - 1 && PROMOTION.exec(lastPromotion ?? '')?.groups?.after === current
  }
  for (const [at, line] of [...lines.entries()].reverse()) {
    if (isDamaged(line) && !isPassable(at)) throw new PromotionsDamaged(at + 1)
    const { before = '-', after } = PROMOTION.exec(line)?.groups ?? {}
    if (after === current && before !== '-') return before
  }
  return null
}

const isDamaged = (line: string): boolean => line !== '' && !PROMOTION.test(line) && !REMOVAL.test(line)

/** @returns the number of the first line of promotions.log that is no promotion; null when all are, or without the file */
export async function findDamagedPromotion(releasesDir: string): Promise<number | null> {
  const text = await readFile(join(releasesDir, PROMOTIONS), 'utf8').catch(() => '')
  const at = text.split('\n').findIndex(isDamaged)
  return at < 0 ? null : at + 1
}
