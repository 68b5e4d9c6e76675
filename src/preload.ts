/**
 * Loads releases before requests need them: opens releases that are not in service, and holds the tables of the current and of the newest
 * one in memory for aggregations. Loading keeps both cores busy for some seconds, so it waits until a start or a promotion is over.
 */
import type { Logger } from 'pino'
import type { Engine } from './engine/types.ts'
import type { ReleaseStore } from './release/store.ts'
import type { ReleaseView } from './release/view.ts'

/** Delay before the tables of a new current release are loaded into memory. */
const WARM_DELAY_MS = 10_000
/** Delay before other releases are opened, and the interval between scans for new ones. */
const PRELOAD_DELAY_MS = 1000
const PRELOAD_INTERVAL_MS = 3000

export interface Preloader {
  /** Loads the current release, later ones as they come into service, and opens the others. */
  start(): void
  /** Called with each release that comes into service. */
  onCurrent(view: ReleaseView): void
  /** @returns when no release is being opened */
  close(): Promise<void>
}

/** @param releases function, because the store of releases reports to the preloader */
export function createPreloader(
  releases: () => Pick<ReleaseStore, 'current' | 'openNext' | 'findOpen'>,
  engine: Pick<Engine, 'warm'>,
  logger: Logger,
): Preloader {
  let currentTimer: NodeJS.Timeout | undefined
  let newestTimer: NodeJS.Timeout | undefined
  let scanTimer: NodeJS.Timeout | undefined
  let opening: Promise<void> = Promise.resolve()
  let state: 'waiting' | 'started' | 'closed' = 'waiting'
  const loadIntoMemory = async (view: ReleaseView, keep: ReleaseView | null): Promise<void> => {
    if (state === 'closed') return
    try {
      await engine.warm(view, keep)
    } catch (error) {
      return logger.warn({ release_id: view.id, err: error }, 'release not held in memory')
    }
    logger.info({ release_id: view.id }, 'release held in memory')
  }
  const loadLater = (view: ReleaseView): void => {
    clearTimeout(currentTimer)
    currentTimer = setTimeout(() => void loadIntoMemory(view, null), WARM_DELAY_MS).unref()
  }
  const openOthers = async (): Promise<void> => {
    const newest = await releases().openNext()
    if (newest === null) return
    let view: ReleaseView | null = newest
    for (; view !== null; view = await releases().openNext())
      logger.info({ release_id: view.id }, 'release opened ahead')
    clearTimeout(newestTimer)
    newestTimer = setTimeout(() => {
      // The store may have closed this release to open requested ones.
      if (releases().findOpen(newest.id) === newest) void loadIntoMemory(newest, releases().current())
    }, WARM_DELAY_MS).unref()
  }
  const scan = (afterMs: number): void => {
    scanTimer = setTimeout(() => {
      opening = openOthers()
        .catch((error: unknown) => logger.warn({ err: error }, 'no release opened ahead'))
        .then(() => (state === 'closed' ? undefined : scan(PRELOAD_INTERVAL_MS)))
    }, afterMs).unref()
  }
  return {
    start() {
      state = 'started'
      const current = releases().current()
      if (current !== null) loadLater(current)
      scan(PRELOAD_DELAY_MS)
    },
    onCurrent(view) {
      if (state === 'started') loadLater(view)
    },
    async close() {
      state = 'closed'
      for (const timer of [scanTimer, currentTimer, newestTimer]) clearTimeout(timer)
      await opening
    },
  }
}
