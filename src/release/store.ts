/**
 * The releases of a folder as the server sees them: verified once, the promoted one current, the others to be pinned.
 *
 * In: the releases folder. Out: `ReleaseView` values. current.json is looked at every half second (file events get lost
 * on network file systems) and on demand; a release that fails verification is refused and named, and the one in service stays.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ReleaseSource } from '../engine/types.ts'
import { AREA_NAMES } from '../model/datasets.ts'
import { contentIdOf } from './content.ts'
import { createFileGuard, type FileGuard } from './guard.ts'
import { type Manifest, RELEASE_ID } from './manifest.ts'
import { stateOfFolders } from './missing-files.ts'
import { lookAtPointer, POINTER } from './pointer.ts'
import { verifyRelease } from './verify.ts'
import { componentId, type ReleaseView } from './view.ts'

const POLL_MS = 500
/** A refused release may be repaired; reading all of it again costs seconds, so it is done once a file of it has changed. */
const RETRY_REFUSED_MS = 30_000
/** So often the files of a refused release are looked at, without reading them. */
const LOOK_MS = 3000

export interface StoreOptions {
  readonly releasesDir: string
  /** Watches the files of verified releases; who reads them asks it. */
  readonly guard?: FileGuard
  /** Called with a release that is whole. A throw refuses it. */
  readonly checkTrust?: (releaseId: string) => unknown
  /** Called before a release is verified; may begin what `prepare` waits for. */
  readonly onOpening?: (releaseId: string) => void
  /** Runs before a view becomes current or is handed out: the engine opens it here. A throw refuses the release. */
  readonly prepare?: (view: ReleaseView) => Promise<void>
  readonly onProblem?: (releaseId: string, reason: string) => void
  readonly onCurrent?: (view: ReleaseView) => void
  /** Releases kept open beside each other, the one in service among them; all of them by default. */
  readonly keepOpen?: number
  /** Frees a release that was closed: it is opened again when it is requested. */
  readonly onClosed?: (id: string) => Promise<void>
}

export interface ReleaseStore extends ReleaseSource {
  /** Looks at current.json now. */
  refresh(): Promise<void>
  /**
   * Opens a release before anybody asks for it: at first the newest of the folder, as many as are kept open; from then on those
   * that come. Each is tried once. @returns null where none is left
   */
  openNext(): Promise<ReleaseView | null>
  close(): void
}

/** @returns a store that has looked at current.json once */
export async function openStore(options: StoreOptions): Promise<ReleaseStore> {
  const store = createStore(options)
  await store.refresh()
  return store
}

/** @returns a store that has not looked at current.json yet: `refresh` does, and so does the first poll */
export function createStore(options: StoreOptions): ReleaseStore {
  const { releasesDir } = options
  const guard = options.guard ?? createFileGuard()
  const views = new Map<string, Promise<ReleaseView | null>>()
  const manifests = new Map<string, Promise<Manifest | null>>()
  const problems = new Map<string, string>()
  /** State of the files of each release before it was verified last. */
  const verifiedStates = new Map<string, string>()
  /** Views that are open, by each id they can be pinned by. */
  const open = new Map<string, ReleaseView>()
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
  const verified = (id: string): Promise<Manifest | null> => {
    let manifest = manifests.get(id)
    if (manifest === undefined) {
      const states = new Map<string, string>()
      manifest = stateOfFolders(releasesDir, [id])
        .then((state) => {
          verifiedStates.set(id, state)
          return verifyRelease(releasesDir, id, states)
        })
        .then((whole) => {
          options.checkTrust?.(id)
          guard.watch(join(releasesDir, id), whole, states)
          return whole
        })
        .catch((error) => refuse(id, error))
      manifests.set(id, manifest)
      // A refused release may be repaired (copied again): only a success is cached.
      manifest.then((value) => (value === null ? manifests.delete(id) : problems.delete(id)))
    }
    return manifest
  }
  const buildView = async (id: string): Promise<ReleaseView | null> => {
    options.onOpening?.(id)
    const analytics = await verified(id)
    if (analytics === null || analytics.area !== 'analytics') return null
    const { cnes, demography, sih, sia, financing } = analytics.components
    const view: ReleaseView = {
      id,
      contentId: await contentIdOf(releasesDir, analytics),
      analytics,
      components: {
        cnes: cnes === undefined ? null : await verified(cnes),
        demography: demography === undefined ? null : await verified(demography),
        sih: sih === undefined ? null : await verified(sih),
        sia: sia === undefined ? null : await verified(sia),
        financing: financing === undefined ? null : await verified(financing),
      },
      synthetic: analytics.synthetic,
    }
    const lacking = [cnes, demography, sih, sia, financing].filter(
      (part) => part !== undefined && problems.has(part),
    )
    if (lacking.length > 0) return refuse(id, new Error(`component ${lacking.join(', ')} is refused`))
    if (!(await prepared(view))) return null
    problems.delete(id)
    return view
  }
  const prepared = async (view: ReleaseView): Promise<boolean> => {
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
    // Taken out and put back, so that the map's own order is the order of last use.
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

  let refused: { readonly id: string; readonly at: number; readonly state: string } | null = null
  let pointerProblem: string | null = null
  let lookedAt = 0
  /** Files of a refused release, and of the releases that it joins. */
  const stateOf = (): Promise<string> => stateOfFolders(releasesDir, [...problems.keys()].sort())
  /** Forgets refused releases that were removed, and verifies those again of which a file has changed. */
  const lookAtRefused = async (): Promise<void> => {
    const there = new Set(await folderIds())
    let hasChanged = false
    for (const id of [...problems.keys()]) {
      const isNeeded = [...problems].some(([other, reason]) => other !== id && reason.includes(id))
      const state = await stateOfFolders(releasesDir, [id])
      if (!there.has(id) && !isNeeded) {
        problems.delete(id)
        hasChanged = true
      } else if (state !== verifiedStates.get(id)) {
        verifiedStates.set(id, state)
        hasChanged = true
        await verified(id)
      }
    }
    // The release that the pointer names has a retry of its own.
    for (const id of hasChanged ? [...problems.keys()] : [])
      if (id.includes('analytics-') && id !== refused?.id) await viewOf(id)
  }
  const refresh = async (isPoll: boolean): Promise<void> => {
    const looks = Date.now() - lookedAt >= LOOK_MS
    if (looks) lookedAt = Date.now()
    if (looks) await lookAtRefused()
    const { id, problem } = await lookAtPointer(releasesDir)
    const wrong = id === null && problem === null && current !== null ? 'is missing' : problem
    if (wrong !== null && wrong !== pointerProblem) options.onProblem?.(POINTER, wrong)
    pointerProblem = wrong
    if (id === null || id === current?.id) return
    if (isPoll && refused?.id === id && Date.now() - refused.at < RETRY_REFUSED_MS) {
      if (!looks || (await stateOf()) === refused.state) return
    }
    // As it was before it was read: what changes meanwhile is another change.
    const before = await stateOf()
    const wasOpen = views.has(id)
    const opened = await viewOf(id)
    // What is made beside a release may have been made since it was opened.
    const view = opened !== null && wasOpen && !(await prepared(opened)) ? null : opened
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
  /** Analytics releases that were seen in the folder, and those of them that are to be opened ahead. */
  const seen = new Set<string>()
  const ahead: string[] = []
  const openNext = async (): Promise<ReleaseView | null> => {
    const { keepOpen = Number.POSITIVE_INFINITY } = options
    const come = (await folderIds()).filter((id) => id.includes('analytics-') && !seen.has(id))
    for (const id of come) seen.add(id)
    const newest = come.sort(byNewest).filter((id) => !views.has(id))
    ahead.push(...newest.slice(0, keepOpen - 1))
    const id = ahead.shift()
    if (id === undefined) return null
    const view = await viewOf(id)
    if (view === null) return openNext()
    open.set(id, view)
    return view
  }
  const timer = setInterval(() => void refreshOnce(true), POLL_MS)
  timer.unref()

  const find = async (id: string): Promise<ReleaseView | null> => {
    if (current !== null && isOf(current, id)) return current
    if (!RELEASE_ID.test(id)) return null
    const ids = await folderIds()
    if (id.includes('analytics-')) return ids.includes(id) ? viewOf(id) : null
    for (const candidate of ids.filter((name) => name.includes('analytics-'))) {
      const manifest = await verified(candidate)
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
      if (current !== null && isOf(current, id)) return current
      const view = open.get(id) ?? null
      const promise = view === null ? undefined : views.get(view.id)
      if (view === null || promise === undefined) return null
      // Taken out and put back, so that the map's own order is the order of last use.
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
      const releases = await Promise.all(ids.map(async (id) => ({ id, manifest: await verified(id) })))
      return releases.flatMap(({ id, manifest }) =>
        manifest === null ? [] : [{ manifest, promoted: current !== null && isOf(current, id) }],
      )
    },
    async locate(id) {
      if (!RELEASE_ID.test(id) || !(await folderIds()).includes(id)) return null
      const manifest = await verified(id)
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

/** The month in a release's id, and its digest, which decides between equal months. */
const monthOf = (id: string): string => id.split('-').slice(-2).join('-')
const byNewest = (left: string, right: string): number => (monthOf(left) < monthOf(right) ? 1 : -1)

const isOf = (view: ReleaseView, id: string): boolean =>
  view.id === id || AREA_NAMES.some((area) => componentId(view, area) === id)
