/**
 * Finds and removes releases that nothing needs. In: the releases folder and the releases that links pin. Out: a plan that names
 * every release with the reason why it stays or goes, and its removal.
 *
 * A removal renames folders away under the lock of promotions, and deletes them afterwards. So a reader sees a release with all
 * of its files or no release, and a kill leaves hidden folders that the next command deletes.
 */
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncPath, withFileLock } from '../files.ts'
import { type Manifest, RELEASE_ID } from './manifest.ts'
import { lookAtPointerSync, POINTER } from './pointer.ts'
import {
  addPromotionLine,
  findDamagedPromotion,
  listPromotions,
  previousRelease,
  promotedReleases,
} from './promote.ts'
import { readManifest } from './verify.ts'
import { PROMOTIONS } from './writer.ts'

/** Folder of row files, which belong to a release and go with it. */
const DERIVED = '.derived'
/** Number of attempts to plan and remove before other commands leave the folder unchanged for a moment. */
const ATTEMPTS_MAX = 5

export class PruneError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PruneError'
  }
}

export interface PruneOptions {
  /** Number of releases to keep, counted back from the one in service in the order of their promotions; at least 2. */
  readonly keep: number
  /** Releases that came into the folder at this time (milliseconds since 1970) or later stay. */
  readonly olderThan: number | null
  /** @returns releases named by links that still work, with the end of the last such link */
  readonly readPins: () => ReadonlyMap<string, number>
}

export interface KeptRelease {
  readonly release_id: string
  readonly reason: string
}

export interface RemovableRelease {
  readonly release_id: string
  /** Size of the release with its row files. Files that other releases share count, too. */
  readonly bytes: number
}

export interface PrunePlan {
  readonly kept: readonly KeptRelease[]
  /** Analytics releases come first, so that none ever lacks a component. */
  readonly removable: readonly RemovableRelease[]
  /** Bytes that the removal frees: those of files that no other release shares. */
  readonly freed_bytes: number
}

/** @throws PruneError when no release is in service, or one that stays cannot be read */
export async function planPrune(releasesDir: string, options: PruneOptions): Promise<PrunePlan> {
  const pointer = lookAtPointerSync(releasesDir)
  if (pointer.id === null)
    throw new PruneError(
      pointer.problem === null
        ? `No release is in service in ${releasesDir}, so nothing shows which releases are needed; promote one first.`
        : `${join(releasesDir, POINTER)} ${pointer.problem}; promote a release first.`,
    )
  const ids = listReleaseIds(releasesDir)
  const manifests = new Map<string, Manifest | null>()
  for (const id of ids) manifests.set(id, await readManifest(releasesDir, id).catch(() => null))
  const reasons = new Map<string, string>()
  const keep = (id: string, reason: string): void => {
    if (!manifests.has(id) || reasons.has(id)) return
    reasons.set(id, reason)
    const manifest = manifests.get(id) ?? null
    if (manifest === null)
      throw new PruneError(
        `${id} stays (${reason}), but its manifest cannot be read, so its components are unknown; sus-data verify ${id} says more.`,
      )
    for (const component of Object.values(manifest.components)) keep(component, `joined by ${id}`)
  }
  if (!manifests.has(pointer.id))
    throw new PruneError(`${pointer.id} is in service, but its folder is not in ${releasesDir}.`)
  keep(pointer.id, 'in service')
  const damagedLine = await findDamagedPromotion(releasesDir)
  if (damagedLine !== null)
    throw new PruneError(
      `Line ${damagedLine} of ${join(releasesDir, PROMOTIONS)} is no promotion, so which releases were in service is not known; restore the file, or remove the line.`,
    )
  const previous = await previousRelease(releasesDir)
  if (previous !== null) keep(previous, 'in service before')
  for (const id of (await promotedReleases(releasesDir))
    .filter((one) => manifests.has(one))
    .slice(0, options.keep))
    keep(id, `one of the last ${options.keep} in service`)
  for (const [id, endMs] of options.readPins()) keepPinned(id, endMs, manifests, keep, reasons)
  const promotedMs = await findPromotionTime(releasesDir)
  for (const id of ids) {
    const arrivedMs = await arrivalOf(releasesDir, id)
    if (arrivedMs >= promotedMs) keep(id, 'came after the last promotion')
    else if (options.olderThan !== null && arrivedMs >= options.olderThan)
      keep(id, `came after ${new Date(options.olderThan).toISOString().slice(0, 10)}`)
  }
  const removable = ids.filter((id) => !reasons.has(id)).sort(analyticsFirst)
  return {
    kept: ids.flatMap((release_id) => {
      const reason = reasons.get(release_id)
      return reason === undefined ? [] : [{ release_id, reason }]
    }),
    ...(await measure(releasesDir, removable)),
  }
}

/** A pinned component needs one analytics release that joins it, because the server answers through that. */
function keepPinned(
  id: string,
  endMs: number,
  manifests: ReadonlyMap<string, Manifest | null>,
  keep: (id: string, reason: string) => void,
  reasons: ReadonlyMap<string, string>,
): void {
  const reason = `pinned by a link until ${new Date(endMs).toISOString()}`
  keep(id, reason)
  if (id.includes('analytics-')) return
  const joining = [...manifests].flatMap(([other, manifest]) =>
    manifest !== null && other.includes('analytics-') && Object.values(manifest.components).includes(id)
      ? [other]
      : [],
  )
  const newest = joining.sort().at(-1)
  if (newest !== undefined && !joining.some((other) => reasons.has(other))) keep(newest, reason)
}

/**
 * Removes the releases that a plan names, which is made again when another command changes the folder meanwhile.
 * @param record receives the ids before anything is removed; a throw stops the removal
 * @returns the plan that was carried out
 */
export async function pruneReleases(
  releasesDir: string,
  options: PruneOptions,
  record: (releaseIds: readonly string[]) => void = () => undefined,
): Promise<PrunePlan> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const state = stateOfFolder(releasesDir, options)
    const plan = await planPrune(releasesDir, options)
    if (plan.removable.length === 0) return plan
    const isUnchanged = (): boolean => stateOfFolder(releasesDir, options) === state
    const ids = plan.removable.map(({ release_id }) => release_id)
    if (await removeReleases(releasesDir, ids, isUnchanged, record)) return plan
  }
  throw new PruneError(`Other commands keep changing ${releasesDir}; nothing was removed.`)
}

/**
 * Removes releases with their row files.
 * @param mayRemove called while the lock of promotions is held; false stops the removal
 * @param record receives the ids before anything is removed; a throw stops the removal
 * @returns whether they were removed
 */
export async function removeReleases(
  releasesDir: string,
  ids: readonly string[],
  mayRemove: () => boolean = () => true,
  record: (releaseIds: readonly string[]) => void = () => undefined,
): Promise<boolean> {
  const hidden = withFileLock(join(releasesDir, POINTER), (assertHeld) => {
    if (!mayRemove()) return null
    record(ids)
    const moved: string[] = []
    for (const id of ids) {
      assertHeld()
      // Write the line first: a running server takes a folder that is gone without one for damage.
      addPromotionLine(releasesDir, `removed ${id}`)
      moved.push(...hideRelease(releasesDir, id))
    }
    syncPath(releasesDir)
    return moved
  })
  if (hidden === null) return false
  for (const path of hidden) await rm(path, { recursive: true, force: true })
  return true
}

/** Renames a release and its row files to hidden names, which `cleanReleases` deletes when this process ends early. */
function hideRelease(releasesDir: string, id: string): string[] {
  const hidden: string[] = []
  // Row files go first: without their release, nothing would remove them.
  const moves = [
    [join(releasesDir, DERIVED, id), `rows-${id}`],
    [join(releasesDir, id), id],
  ] as const
  for (const [path, name] of moves) {
    if (!existsSync(path)) continue
    const target = join(releasesDir, `.removed-${process.pid}-${name}`)
    renameSync(path, target)
    hidden.push(target)
  }
  return hidden
}

const listReleaseIds = (releasesDir: string): string[] =>
  readdirSync(releasesDir)
    .filter((name) => RELEASE_ID.test(name))
    .sort()

/** @returns a text that changes when releases come or go, one is promoted, or links pin others */
function stateOfFolder(releasesDir: string, { readPins }: PruneOptions): string {
  const path = join(releasesDir, PROMOTIONS)
  const promotions = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const pins = [...readPins()].sort(([left], [right]) => (left < right ? -1 : 1))
  return JSON.stringify([lookAtPointerSync(releasesDir).id, listReleaseIds(releasesDir), promotions, pins])
}

/** @returns when a release came into the folder: copies and imports write its manifest then, and nothing does later */
async function arrivalOf(releasesDir: string, id: string): Promise<number> {
  const stat = await lstat(join(releasesDir, id, 'manifest.json')).catch(() => null)
  return stat?.ctimeMs ?? 0
}

/**
 * @returns when the last promotion was. If the pointer's time is in the future, promotions.log gives the time.
 * @throws PruneError if promotions.log has no such time either
 */
async function findPromotionTime(releasesDir: string): Promise<number> {
  const { mtimeMs } = await lstat(join(releasesDir, POINTER))
  const now = Date.now()
  if (Math.floor(mtimeMs) <= now) return mtimeMs
  const loggedMs = Date.parse((await listPromotions(releasesDir))[0]?.promoted_at ?? '')
  if (loggedMs <= now) return loggedMs
  throw new PruneError(
    `${join(releasesDir, POINTER)} has a time in the future (${new Date(mtimeMs).toISOString()}), and ${PROMOTIONS} has no time of its promotion, so which releases came later is not known; set its time to that of the last promotion (touch -d).`,
  )
}

const analyticsFirst = (left: string, right: string): number =>
  Number(right.includes('analytics-')) - Number(left.includes('analytics-')) || (left < right ? -1 : 1)

async function measure(
  releasesDir: string,
  ids: readonly string[],
): Promise<Pick<PrunePlan, 'removable' | 'freed_bytes'>> {
  /** Links of each file that the removal deletes, by device and inode. */
  const links = new Map<string, { readonly bytes: number; left: number }>()
  const removable: RemovableRelease[] = []
  for (const id of ids) {
    let bytes = 0
    for (const folder of [join(releasesDir, id), join(releasesDir, DERIVED, id)])
      for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
        if (!entry.isFile()) continue
        const stat = await lstat(join(entry.parentPath, entry.name))
        bytes += stat.size
        const key = `${stat.dev} ${stat.ino}`
        const file = links.get(key) ?? { bytes: stat.size, left: stat.nlink }
        file.left -= 1
        links.set(key, file)
      }
    removable.push({ release_id: id, bytes })
  }
  const freed_bytes = [...links.values()].reduce((sum, { bytes, left }) => sum + (left === 0 ? bytes : 0), 0)
  return { removable, freed_bytes }
}
