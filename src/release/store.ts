/**
 * Manages the releases of a folder for the server: verifies each once, follows current.json, and opens others when they are
 * pinned. In: the releases folder. Out: `ReleaseView` values. current.json is read every half second, because file events get
 * lost on network file systems, and on demand. A release that fails verification is refused and reported, and the release in
 * service stays.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReleaseSource } from '../engine/types.ts'
import { forEachArea } from '../model/areas.ts'
import { AREA_NAMES } from '../model/datasets.ts'
import { readAcquisitions } from './acquisition.ts'
import { contentIdOf } from './content.ts'
import { canonicalJson, digestJson } from './digest.ts'
import { createFileGuard, type FileGuard } from './guard.ts'
import { type Manifest, RELEASE_ID } from './manifest.ts'
import { stateOfFolders } from './missing-files.ts'
import { lookAtPointer, POINTER } from './pointer.ts'
import { wasRemoved } from './promote.ts'
import { verifyRelease } from './verify.ts'
import { holdsRelease, type ReleaseView, readComponents } from './view.ts'

const POLL_MS = 500
/** Delay before a refused release is verified again although no file changed. Reading all of it takes seconds. */
const RETRY_REFUSED_MS = 30_000
/** Interval between checks of the file states of refused releases, in milliseconds. */
const REFUSED_SCAN_MS = 3000

export interface StoreOptions {
  readonly releasesDir: string
  /** Watches the files of verified releases. Code that reads the files checks with it. */
  readonly guard?: FileGuard
  /** Called with a verified release. A throw refuses it. */
  readonly checkTrust?: (releaseId: string) => unknown
  /** Called before verification, for example to start what `prepare` waits for. */
  readonly onOpening?: (releaseId: string) => void
  /** Called before a view becomes current or is returned; the engine opens it here. A throw refuses the release. */
  readonly prepare?: (view: ReleaseView) => Promise<void>
  readonly onProblem?: (releaseId: string, reason: string) => void
  readonly onCurrent?: (view: ReleaseView) => void
  /** Largest number of open releases, including the one in service; unlimited by default. */
  readonly keepOpen?: number
  /** Frees a closed release. It is opened again when requested. */
  readonly onClosed?: (id: string) => Promise<void>
}

export interface ReleaseStore extends ReleaseSource {
  refresh(): Promise<void>
  /**
   * Opens a release before the first request for it: first the newest in the folder, up to `keepOpen`, later new ones. Each
   * is tried once. @returns null when none is left
   */
  openNext(): Promise<ReleaseView | null>
  close(): void
}

export async function openStore(options: StoreOptions): Promise<ReleaseStore> {
  const store = createStore(options)
  await store.refresh()
  return store
}

/** @returns a store that has not read current.json; `refresh` or the first poll does */
export function createStore(options: StoreOptions): ReleaseStore {
  const { releasesDir } = options
  const guard = options.guard ?? createFileGuard()
  const views = new Map<string, Promise<ReleaseView | null>>()
  const manifests = new Map<string, Promise<Manifest | null>>()
  const problems = new Map<string, string>()
  /** Release → state of its files just before its last verification. */
  const verifiedStates = new Map<string, string>()
  /** Open views by each id that they can be pinned by. */
  const open = new Map<string, ReleaseView>()
  /** Analytics releases found in the folder so far. */
  const seen = new Set<string>()
  let current: ReleaseView | null = null
  let refreshing: Promise<void> | null = null

  const refuse = (id: string, error: unknown): null => {
    const reason =
      error instanceof Error && error.name === 'ReleaseRefused' ? error.message : 'cannot be opened'
    if (problems.get(id) !== reason)
      options.onProblem?.(id, error instanceof Error ? error.message : String(error))
    problems.set(id, reason)
    return null
  }
  const verify = (id: string): Promise<Manifest | null> => {
    let manifest = manifests.get(id)
    if (manifest === undefined) {
      const states = new Map<string, string>()
      manifest = stateOfFolders(releasesDir, [id])
        .then((state) => {
          verifiedStates.set(id, state)
          return verifyRelease(releasesDir, id, states)
        })
        .then((manifestOfId) => {
          options.checkTrust?.(id)
          guard.watch(join(releasesDir, id), manifestOfId, states)
          return manifestOfId
        })
        .catch((error) => refuse(id, error))
      manifests.set(id, manifest)
      // Cache only successes: a refused release may be repaired (copied again).
      manifest.then((value) => (value === null ? manifests.delete(id) : problems.delete(id)))
    }
    return manifest
  }
  const buildView = async (id: string): Promise<ReleaseView | null> => {
    options.onOpening?.(id)
    const analytics = await verify(id)
    if (analytics === null || analytics.area !== 'analytics') return null
    const components = await readComponents(analytics, verify)
    const facts = await Promise.all(
      Object.values(analytics.components).map((component) => readAcquisitions(releasesDir, component)),
    )
    // Components that read the same file record it each, such as an archive that all take municipality codes from.
    const files = [...new Map(facts.flat().map((each) => [canonicalJson(each), each])).values()]
    const view: ReleaseView = {
      id,
      contentId: await contentIdOf(releasesDir, analytics),
      componentContentIds: await forEachArea(async (area) => {
        const component = components[area]
        return component === null ? null : contentIdOf(releasesDir, component)
      }),
      analytics,
      components,
      synthetic: analytics.synthetic,
      ...(files.length === 0 ? {} : { acquired: { files, digest: digestJson(files) } }),
    }
    const refusedComponents = AREA_NAMES.flatMap((area) => analytics.components[area] ?? []).filter(
      (component) => problems.has(component),
    )
    if (refusedComponents.length > 0)
      return refuse(id, new Error(`component ${refusedComponents.join(', ')} is refused`))
    if (!(await prepare(view))) return null
    problems.delete(id)
    return view
  }
  const prepare = async (view: ReleaseView): Promise<boolean> => {
    try {
      await options.prepare?.(view)
      return true
    } catch (error) {
      refuse(view.id, error)
      return false
    }
  }
  const viewOf = (id: string): Promise<ReleaseView | null> => {
    let view = views.get(id)
    // Delete and set again, so that the map is ordered by last use.
    views.delete(id)
    view ??= buildView(id)
    views.set(id, view)
    view.then((value) => value === null && views.delete(id))
    closeUnused(id)
    return view
  }
  const closeUnused = (wanted: string): void => {
    const { keepOpen = Number.POSITIVE_INFINITY, onClosed } = options
    for (const id of [...views.keys()]) {
      if (views.size <= keepOpen) return
      if (id === wanted || id === current?.id) continue
      views.delete(id)
      for (const [name, view] of open) if (view.id === id) open.delete(name)
      void onClosed?.(id)
    }
  }
  const folderIds = async (): Promise<string[]> =>
    (await readdir(releasesDir).catch(() => [])).filter((name) => RELEASE_ID.test(name)).sort()

  /** Closes releases that were removed on purpose. A folder that is gone for another reason is damage. */
  const forgetRemoved = async (): Promise<void> => {
    const present = new Set(await folderIds())
    for (const id of new Set([...manifests.keys(), ...views.keys(), ...problems.keys()])) {
      if (present.has(id) || !wasRemoved(releasesDir, id)) continue
      for (const [name, view] of open) if (view.id === id) open.delete(name)
      for (const map of [manifests, problems, verifiedStates, seen]) map.delete(id)
      if (views.delete(id)) await options.onClosed?.(id)
      guard.forget(join(releasesDir, id))
    }
  }

  let refused: { readonly id: string; readonly at: number; readonly state: string } | null = null
  let pointerProblem: string | null = null
  let scannedAt = 0
  /** Returns the file states of refused releases and their components. */
  const readRefusedState = (): Promise<string> => stateOfFolders(releasesDir, [...problems.keys()].sort())
  /** Forgets refused releases that were removed, and verifies those again whose files have changed. */
  const recheckRefused = async (): Promise<void> => {
    const present = new Set(await folderIds())
    let hasChanged = false
    for (const id of [...problems.keys()]) {
      const isNeeded = [...problems].some(([other, reason]) => other !== id && reason.includes(id))
      const state = await stateOfFolders(releasesDir, [id])
      if (!present.has(id) && !isNeeded) {
        problems.delete(id)
        hasChanged = true
      } else if (state !== verifiedStates.get(id)) {
        verifiedStates.set(id, state)
        hasChanged = true
        await verify(id)
      }
    }
    // The release in current.json is retried separately.
    for (const id of hasChanged ? [...problems.keys()] : [])
      if (id.includes('analytics-') && id !== refused?.id) await viewOf(id)
  }
  const refresh = async (isPoll: boolean): Promise<void> => {
    const isScanDue = Date.now() - scannedAt >= REFUSED_SCAN_MS
    if (isScanDue) scannedAt = Date.now()
    await forgetRemoved()
    if (isScanDue) await recheckRefused()
    const { id, problem } = await lookAtPointer(releasesDir)
    const pointerIssue = id === null && problem === null && current !== null ? 'is missing' : problem
    if (pointerIssue !== null && pointerIssue !== pointerProblem) options.onProblem?.(POINTER, pointerIssue)
    pointerProblem = pointerIssue
    if (id === null || id === current?.id) return
    if (isPoll && refused?.id === id && Date.now() - refused.at < RETRY_REFUSED_MS) {
      if (!isScanDue || (await readRefusedState()) === refused.state) return
    }
    // Take the state before verifying, so that changes during verification count as new.
    const before = await readRefusedState()
    const wasOpen = views.has(id)
    const opened = await viewOf(id)
    // Files made for the release may be newer than its opening, so prepare again.
    const view = opened !== null && wasOpen && !(await prepare(opened)) ? null : opened
    refused = view === null ? { id, at: Date.now(), state: before } : null
    if (view === null) return
    current = view
    options.onCurrent?.(view)
  }
  const refreshOnce = (isPoll = false): Promise<void> => {
    refreshing ??= refresh(isPoll).finally(() => {
      refreshing = null
    })
    return refreshing
  }
  /** Releases to open before they are requested. */
  const preloadQueue: string[] = []
  const openNext = async (): Promise<ReleaseView | null> => {
    const { keepOpen = Number.POSITIVE_INFINITY } = options
    const arrived = (await folderIds()).filter((id) => id.includes('analytics-') && !seen.has(id))
    for (const id of arrived) seen.add(id)
    const newest = arrived.sort(byNewest).filter((id) => !views.has(id))
    preloadQueue.push(...newest.slice(0, keepOpen - 1))
    const id = preloadQueue.shift()
    if (id === undefined) return null
    const view = await viewOf(id)
    if (view === null) return openNext()
    open.set(id, view)
    return view
  }
  const timer = setInterval(() => void refreshOnce(true), POLL_MS)
  timer.unref()

  const find = async (id: string): Promise<ReleaseView | null> => {
    if (current !== null && holdsRelease(current, id)) return current
    if (!RELEASE_ID.test(id)) return null
    const ids = await folderIds()
    if (id.includes('analytics-')) return ids.includes(id) ? viewOf(id) : null
    for (const candidate of ids.filter((name) => name.includes('analytics-'))) {
      const manifest = await verify(candidate)
      if (manifest !== null && Object.values(manifest.components).includes(id)) {
        const view = await viewOf(candidate)
        if (view !== null) return view
      }
    }
    return null
  }

  return {
    current: () => current,
    findOpen(id) {
      if (current !== null && holdsRelease(current, id)) return current
      const view = open.get(id) ?? null
      const promise = view === null ? undefined : views.get(view.id)
      if (view === null || promise === undefined) return null
      // Delete and set again, so that the map is ordered by last use.
      views.delete(view.id)
      views.set(view.id, promise)
      return view
    },
    async pin(id) {
      const view = await find(id)
      if (view !== null) for (const name of [id, view.id]) open.set(name, view)
      return view
    },
    async list() {
      const ids = await folderIds()
      const releases = await Promise.all(ids.map(async (id) => ({ id, manifest: await verify(id) })))
      return releases.flatMap(({ id, manifest }) =>
        manifest === null ? [] : [{ manifest, promoted: current !== null && holdsRelease(current, id) }],
      )
    },
    async locate(id) {
      if (!RELEASE_ID.test(id) || !(await folderIds()).includes(id)) return null
      const manifest = await verify(id)
      return manifest === null ? null : { folder: join(releasesDir, id), manifest }
    },
    pointerProblem: () => pointerProblem,
    guard,
    problems: () => [...problems].map(([release_id, reason]) => ({ release_id, reason })),
    refresh: () => refreshOnce(),
    openNext,
    close() {
      clearInterval(timer)
      guard.close()
    },
  }
}

/** Sort key: the month in a release's id, then its digest. */
const monthOf = (id: string): string => id.split('-').slice(-2).join('-')
const byNewest = (left: string, right: string): number => (monthOf(left) < monthOf(right) ? 1 : -1)
