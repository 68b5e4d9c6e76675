/**
 * Keeps a folder of releases as a cache of another place, for a server without a shared disk. In: the place and a limit of bytes.
 * Out: verified copies of the release in service there and of releases that requests pin, the log, and the pointer, which moves
 * last. While the place is away, everything in the cache goes on being served.
 */
import { existsSync, readdirSync } from 'node:fs'
import { lstat, mkdir, readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { isFullDisk } from '../files.ts'
import { type Manifest, RELEASE_ID } from '../release/manifest.ts'
import { readPointer } from '../release/pointer.ts'
import { promoteRelease } from '../release/promote.ts'
import { removeReleases } from '../release/prune.ts'
import { readManifest, verifyRelease } from '../release/verify.ts'
import { cleanReleases, findFilesByDigest } from '../release/writer.ts'
import type { Verifier } from '../trust/note.ts'
import { copyLog, logInFolder } from './copy-log.ts'
import { fetchRelease, removeStagings, repairFile, STAGING } from './fetch-release.ts'
import { type Place, PlaceError } from './place.ts'

/** Interval between looks at the pointer of the place. */
const POLL_MS = 5000
/** Time that a request waits for a release that it pins. A longer copy goes on without it. */
const WAIT_MS = 2000
/** Time for which a release that the place lacks is not looked up again, and the number of such releases remembered. */
const ABSENT_MS = 30_000
const ABSENT_MAX = 1000
/** Least time between two repairs of the same file. */
const REPAIR_EVERY_MS = 30_000

class CacheFullError extends PlaceError {}
class NoneInServiceError extends PlaceError {}

export interface FollowState {
  /** False while the place cannot be read. */
  readonly up: boolean
  /** Release in service at the place, as far as known. */
  readonly release_id: string | null
  /**
   * Reason why that release is not in service here yet; null when it is. `refused` means that it does not verify, or lacks a
   * file at the place.
   */
  readonly reason: 'unreachable' | 'copying' | 'refused' | 'cache_full' | 'none_in_service' | null
}

export interface FollowOptions {
  readonly place: Place
  readonly releasesDir: string
  readonly trusted: readonly Verifier[]
  /** Largest size of the folder; null for no limit. */
  readonly cacheBytes: number | null
  /** @returns releases in the folder that do not verify; they are copied again */
  readonly listRefused: () => readonly string[]
  /** @returns damaged files of open releases, `<release id>/<path>`; they are copied again */
  readonly listDamaged: () => readonly string[]
  /** Called when the pointer of the folder has moved. */
  readonly onPointer: () => Promise<void>
  /** Called when a release has come into the folder. */
  readonly onArrived: (releaseId: string) => void
  /** Called once for each new problem. */
  readonly onProblem: (reason: string) => void
  readonly onMended: () => void
}

export interface Follower {
  state(): FollowState
  /** Copies what is in service at the place. It never throws. */
  look(): Promise<void>
  /**
   * Copies a release that a request pins.
   * @returns 'here' when it is in the folder, 'copying' when that takes longer, 'absent' when the place lacks it or is away
   */
  want(releaseId: string): Promise<'here' | 'copying' | 'absent'>
  close(): Promise<void>
}

/** Begins to follow at once, and then every five seconds. */
export function follow(options: FollowOptions): Follower {
  const { place, releasesDir, trusted } = options
  let state: FollowState = { up: true, release_id: null, reason: 'copying' }
  let problem: string | null = null
  const stop = new AbortController()
  /** Refused releases that were copied again once. */
  const replaced = new Set<string>()
  const absent = new Map<string, number>()
  const repairedAt = new Map<string, number>()

  /** Copies run one after another, so that their sizes count against the limit. */
  let queue: Promise<unknown> = Promise.resolve()
  const enqueue = <Value>(job: () => Promise<Value>): Promise<Value> => {
    const result = queue.then(() => {
      stop.signal.throwIfAborted()
      return job()
    })
    queue = result.catch(() => undefined)
    return result
  }
  /** @returns whether something was copied */
  const copy = async (id: string): Promise<boolean> => {
    const copies = await fetchRelease(place, releasesDir, id, {
      trusted,
      signal: stop.signal,
      onPlan: (missing) => makeRoom(releasesDir, id, missing, options.cacheBytes),
    })
    const hasArrived = copies.some(({ present }) => !present)
    if (hasArrived) options.onArrived(id)
    return hasArrived
  }
  const removeRefused = async (): Promise<void> => {
    for (const id of options.listRefused()) {
      if (replaced.has(id) || !existsSync(join(releasesDir, id))) continue
      // The server also refuses a release that takes too long to open, whose copy is right.
      const isRight = await verifyRelease(releasesDir, id).then(
        () => true,
        () => false,
      )
      if (isRight) continue
      replaced.add(id)
      await removeReleases(releasesDir, [id])
    }
  }
  /** A file that the place has damaged, too, keeps nothing else from being copied. */
  const repairDamaged = async (): Promise<void> => {
    for (const file of options.listDamaged()) {
      const [id = '', ...path] = file.split('/')
      if (path.length === 0 || Date.now() - (repairedAt.get(file) ?? 0) < REPAIR_EVERY_MS) continue
      if (repairedAt.size >= ABSENT_MAX) repairedAt.clear()
      repairedAt.set(file, Date.now())
      await repairFile(place, releasesDir, id, path.join('/'), stop.signal).catch((error: unknown) => {
        stop.signal.throwIfAborted()
        options.onProblem(error instanceof Error ? error.message : String(error))
      })
    }
  }
  const lookOnce = async (): Promise<void> => {
    const id = await place.current()
    if (id === null) {
      state = { up: true, release_id: null, reason: 'none_in_service' }
      throw new NoneInServiceError(`No release is in service at ${place.name}.`)
    }
    const isHere = (await readPointer(releasesDir)) === id
    state = { up: true, release_id: id, reason: isHere ? null : 'copying' }
    await removeRefused()
    await repairDamaged()
    const hasArrived = await copy(id)
    await copyLog(place, logInFolder(releasesDir), trusted)
    if (!isHere) await promoteRelease(releasesDir, id)
    if (!isHere || hasArrived) await options.onPointer()
    state = { up: true, release_id: id, reason: null }
  }
  const reasonFor = (error: unknown): FollowState['reason'] => {
    if (error instanceof CacheFullError || isFullDisk(error)) return 'cache_full'
    if (error instanceof NoneInServiceError) return 'none_in_service'
    return error instanceof PlaceError && error.isAway ? 'unreachable' : 'refused'
  }
  const look = (): Promise<void> =>
    enqueue(lookOnce).then(
      () => {
        if (problem !== null) options.onMended()
        problem = null
      },
      (error: unknown) => {
        if (stop.signal.aborted) return
        const reason = reasonFor(error)
        state = { ...state, up: !(error instanceof PlaceError && error.isAway), reason }
        const message = error instanceof Error ? error.message : String(error)
        if (message !== problem) options.onProblem(message)
        problem = message
      },
    )
  let timer: NodeJS.Timeout | undefined
  const poll = (): void => {
    timer = setTimeout(() => void look().then(() => stop.signal.aborted || poll()), POLL_MS).unref()
  }
  void mkdir(releasesDir, { recursive: true })
    .then(() => cleanReleases(releasesDir))
    .then(look, look)
    .then(() => stop.signal.aborted || poll())

  const wanted = new Map<string, Promise<boolean>>()
  const fetchWanted = async (id: string): Promise<boolean> => {
    if ((await place.read(`${id}/manifest.json`)) === null) {
      if (absent.size >= ABSENT_MAX) absent.clear()
      absent.set(id, Date.now())
      return false
    }
    await enqueue(() => copy(id))
    return true
  }
  return {
    state: () => state,
    look,
    async want(id) {
      const isKnownAbsent = Date.now() - (absent.get(id) ?? 0) < ABSENT_MS
      if (!RELEASE_ID.test(id) || !id.includes('analytics-') || isKnownAbsent || !state.up) return 'absent'
      let job = wanted.get(id)
      if (job === undefined) {
        job = fetchWanted(id).catch((error: unknown) => {
          options.onProblem(error instanceof Error ? error.message : String(error))
          return false
        })
        wanted.set(id, job)
        void job.finally(() => wanted.delete(id))
      }
      const isHere = await Promise.race([
        job,
        new Promise<null>((resolve) => {
          setTimeout(() => resolve(null), WAIT_MS).unref()
        }),
      ])
      return isHere === null ? 'copying' : isHere ? 'here' : 'absent'
    },
    async close() {
      clearTimeout(timer)
      stop.abort()
      await queue
    },
  }
}

/**
 * Removes leftovers of other copies, and releases until the missing ones fit: those that came first go first. The release in service here stays.
 * @throws CacheFullError when they do not fit beside what is in service
 */
async function makeRoom(
  releasesDir: string,
  id: string,
  missing: readonly Manifest[],
  cacheBytes: number | null,
): Promise<void> {
  if (missing.length === 0) return
  const missingIds = new Set(missing.map(({ release_id }) => release_id))
  // Copies run one after another, so what other copies left is unused.
  await removeStagings(releasesDir, missingIds)
  if (cacheBytes === null) return
  const kept = new Set<string>()
  const current = await readPointer(releasesDir)
  if (current !== null && existsSync(join(releasesDir, current))) await keepJoined(releasesDir, current, kept)
  for (const { components } of missing) for (const component of Object.values(components)) kept.add(component)
  const removable = await listByArrival(releasesDir, kept)
  for (;;) {
    // A removal may take files away that would have been linked, so both sizes are computed again.
    const existing = await findFilesByDigest(releasesDir)
    const needed = missing
      .flatMap(({ files }) => files)
      .reduce((sum, { bytes, sha256 }) => sum + (existing.has(sha256) ? 0 : bytes), 0)
    const used = await sizeOf(releasesDir, missingIds)
    if (used + needed <= cacheBytes) return
    const oldest = removable.shift()
    if (oldest === undefined)
      throw new CacheFullError(
        `${id} needs ${needed} bytes beside the ${used} in the cache, and SUS_RELEASES_CACHE_BYTES is ${cacheBytes}.`,
      )
    await removeReleases(releasesDir, [oldest])
  }
}

async function keepJoined(releasesDir: string, id: string, kept: Set<string>): Promise<void> {
  kept.add(id)
  const manifest = await readManifest(releasesDir, id).catch(() => null)
  for (const component of Object.values(manifest?.components ?? {}))
    await keepJoined(releasesDir, component, kept)
}

/** @returns releases that may go, analytics releases before their components, the first to come first */
async function listByArrival(releasesDir: string, kept: ReadonlySet<string>): Promise<string[]> {
  const names = readdirSync(releasesDir).filter((name) => RELEASE_ID.test(name) && !kept.has(name))
  const arrivals = await Promise.all(
    names.map(async (name) => ({
      name,
      ms: (await lstat(join(releasesDir, name, 'manifest.json'))).ctimeMs,
    })),
  )
  const isAnalytics = ({ name }: { readonly name: string }): number => Number(name.includes('analytics-'))
  return arrivals
    .sort((left, right) => isAnalytics(right) - isAnalytics(left) || left.ms - right.ms)
    .map(({ name }) => name)
}

/**
 * @param missing ids whose partial copies do not count, because their full size is needed anyway
 * @returns the bytes of all files in a folder, of which hard links count once
 */
async function sizeOf(folder: string, missing: ReadonlySet<string>): Promise<number> {
  const sizes = new Map<number, number>()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const [top = ''] = relative(folder, entry.parentPath).split(sep)
    if (!entry.isFile() || missing.has(STAGING.exec(top)?.groups?.id ?? '')) continue
    const stat = await lstat(join(entry.parentPath, entry.name)).catch(() => null)
    if (stat !== null) sizes.set(stat.ino, stat.size)
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}
